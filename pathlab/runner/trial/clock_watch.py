"""Jumps of the wall clock: timing goes by the monotonic one, but who reads start times should know."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Below this it is the ordinary slewing of a clock that is kept in time.
JUMP_NS = 1_000_000_000


class ClockWatch:
    """Compares CLOCK_REALTIME with CLOCK_MONOTONIC. A sleep of the machine is a jump as well."""

    def __init__(
        self,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
        realtime_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._monotonic_ns, self._realtime_ns = monotonic_ns, realtime_ns
        self._offset_ns = realtime_ns() - monotonic_ns()

    def read_jump_ns(self) -> int:
        """By how much the wall clock jumped since the last call; 0 when it did not."""
        offset_ns = self._realtime_ns() - self._monotonic_ns()
        jump_ns = offset_ns - self._offset_ns
        self._offset_ns = offset_ns
        return jump_ns if abs(jump_ns) >= JUMP_NS else 0
