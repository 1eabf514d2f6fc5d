"""A run that is paused: between two trials it waits until somebody lets it continue."""

from __future__ import annotations

import time
from collections.abc import Callable

from pathlab.runner.campaign.waiting import PauseRequest, Wait
from pathlab.runner.events import Continued, Emit, Paused
from pathlab.runner.journal import CONTINUED, PAUSED, Journal
from pathlab.units import SECOND_NS, format_time


class Pauses:
    """The pauses of one run. ``clock`` counts ns; a wall clock that jumps does not change their lengths."""

    def __init__(
        self,
        request: PauseRequest,
        wait: Wait,
        journal: Journal,
        emit: Emit,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._request, self._wait, self._journal, self._emit = request, wait, journal, emit
        self._clock = clock

    def is_requested(self) -> bool:
        """Whether no trial may start now."""
        return self._request.is_made()

    def hold(self) -> bool:
        """Wait while a pause is requested; False when a stop was requested instead.

        Call it while no trial is under way.
        """
        if not self.is_requested():
            return True
        begun_ns = self._clock()
        self._journal.add(PAUSED, "paused by `pathlab pause`")
        self._emit(Paused())
        if not self._wait.while_made(self._request):
            return False
        paused_ns = self._clock() - begun_ns
        text = f"continued after a pause of {format_time(paused_ns)}"
        self._journal.add(CONTINUED, text, facts={"paused_s": round(paused_ns / SECOND_NS, 3)})
        self._emit(Continued(paused_ns=paused_ns))
        return True
