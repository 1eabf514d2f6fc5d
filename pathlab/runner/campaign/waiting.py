"""Waits between trials that a stop request ends, and that a jump of the wall clock does not lead astray."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from pathlib import Path

from pathlab.errors import UsageError
from pathlab.runner.events import Emit, Waiting

STOP_NAME = "stop"
#: A stop request is seen this late at most; the wall clock is looked at as often.
LOOK_S = 1.0


class StopRequest:
    """A file in the results folder by which `pathlab stop` ends a run after its trial."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / STOP_NAME

    def is_made(self) -> bool:
        """Whether a stop was requested."""
        return self._path.exists()

    def make(self) -> None:
        """Request it. Raises UsageError when the folder cannot be written."""
        try:
            self._path.touch()
        except OSError as error:
            raise UsageError(
                f"cannot write '{self._path}': {error.strerror or error}",
                hint="end the run's process with SIGTERM instead",
            ) from error

    def clear(self) -> None:
        """Remove it: a new run begins, or the old one ends."""
        self._path.unlink(missing_ok=True)


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
