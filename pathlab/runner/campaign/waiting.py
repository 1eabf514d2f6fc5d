"""Waits between trials that a stop request ends, and that a jump of the wall clock does not lead astray.

Requests to stop or to pause are files in the results folder, so that any process of the user can make them.
"""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from pathlab.errors import UsageError
from pathlab.files import open_in_place
from pathlab.runner.events import Emit, Waiting

#: A stop request is seen this late at most; the wall clock is looked at as often.
LOOK_S = 1.0


class RunRequest:
    """A file in the results folder that asks something of the run that writes it."""

    name: ClassVar[str]
    hint: ClassVar[str]  # what to do where the file cannot be written

    def __init__(self, folder: Path) -> None:
        self._path = folder / self.name

    def is_made(self) -> bool:
        """Whether it was requested."""
        return self._path.exists()

    def make(self) -> None:
        """Request it. Raises UsageError when the folder cannot be written."""
        try:
            os.close(open_in_place(self._path))
        except OSError as error:
            raise self._describe_write_error(error) from error

    def clear(self) -> None:
        """Withdraw it. Raises UsageError when the folder cannot be written."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise self._describe_write_error(error) from error

    def _describe_write_error(self, error: OSError) -> UsageError:
        return UsageError(f"cannot write '{self._path}': {error.strerror or error}", hint=self.hint)


class StopRequest(RunRequest):
    """By which `pathlab stop` ends a run after its trial."""

    name = "stop"
    hint = "end the run's process with SIGTERM instead"


class PauseRequest(RunRequest):
    """By which `pathlab pause` holds a run after its trial, for as long as the file is there."""

    name = "pause"
    hint = "run this as the user who started the run"


class Wait:
    """Waits in small steps. ``now`` and ``sleep`` may be replaced, so that tests need no time."""

    def __init__(
        self,
        stop: StopRequest,
        *,
        now: Callable[[], datetime.datetime] = lambda: datetime.datetime.now().astimezone(),
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._stop = stop
        self.now = now
        self._sleep = sleep

    def announce(self, moment: datetime.datetime, reason: str, emit: Emit) -> bool:
        """Report a wait for what is still to come, and wait; False when stopped instead."""
        if moment > self.now():
            utc = moment.astimezone(datetime.UTC).isoformat(timespec="seconds")
            emit(Waiting(reason=reason, until_utc=utc))
        return self.until(moment)

    def until(self, moment: datetime.datetime) -> bool:
        """Wait for a moment of the wall clock; False when a stop was requested instead."""
        while not self._stop.is_made():
            left_s = (moment - self.now()).total_seconds()
            if left_s <= 0:
                return True
            self._sleep(min(left_s, LOOK_S))
        return False

    def while_made(self, request: RunRequest) -> bool:
        """Wait until a request is withdrawn; False when a stop was requested instead."""
        while not self._stop.is_made():
            if not request.is_made():
                return True
            self._sleep(LOOK_S)
        return False
