"""What waits to be written to the controller: non-blocking, with marks that stop the sources of data."""

from __future__ import annotations

import os
from collections import deque
from typing import Deque, FrozenSet, Iterable, Set, Tuple

from pathlab.agents.limits import MAX_HELD_BYTES, OUTBOX_HARD_BYTES, OUTBOX_HIGH_BYTES, OUTBOX_LOW_BYTES

#: The kind of the frame with which a source of records ends: it never overtakes them.
END = "end"
Source = Tuple[str, int]


class Outbox:
    """Frames on their way out through a non-blocking descriptor, in order.

    Records of kinds that ``hold`` names wait alongside it, also in order, until it names none.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._frames: Deque[memoryview] = deque()
        self._throttled = False
        self._kinds: FrozenSet[str] = frozenset()
        self._held: Deque[bytes] = deque()
        self._sources: Set[Source] = set()  # of what is held
        self._held_bytes = 0
        self.size_bytes = 0
        self.written_bytes = 0

    @property
    def held(self) -> int:
        """How many records wait."""
        return len(self._held)

    def hold(self, kinds: Iterable[str]) -> None:
        """Have records of these kinds wait from now on; without any, what waits goes out."""
        self._kinds = frozenset(kinds)
        self._refill()

    def append_record(self, frame: bytes, kind: str, source: Source) -> None:
        """A record; it waits where its kind is held, the end of a source where its records are."""
        held = source in self._sources if kind == END else kind in self._kinds
        if not held and not (self._held and not self._kinds):
            self.append(frame)
            return
        self._held.append(frame)
        self._sources.add(source)
        self._held_bytes += len(frame)
        if self._held_bytes > MAX_HELD_BYTES:
            self.hold(())

    def _refill(self) -> None:
        """Move what waited to the way out, as much as that takes without stopping the sources of data."""
        while self._held and not self._kinds and self.size_bytes < OUTBOX_LOW_BYTES:
            frame = self._held.popleft()
            self._held_bytes -= len(frame)
            self.append(frame)
        if not self._held:
            self._sources.clear()

    @property
    def throttled(self) -> bool:
        """True from the high mark on until the low mark is reached: engines are not read meanwhile."""
        if self.size_bytes >= OUTBOX_HIGH_BYTES:
            self._throttled = True
        elif self.size_bytes <= OUTBOX_LOW_BYTES:
            self._throttled = False
        return self._throttled

    @property
    def blocked(self) -> bool:
        """True while not even requests are taken, because their answers would have no place."""
        return self.size_bytes >= OUTBOX_HARD_BYTES

    def append(self, frame: bytes) -> None:
        self._frames.append(memoryview(frame))
        self.size_bytes += len(frame)

    def flush(self) -> None:
        """Write what the descriptor takes now. OSError (BrokenPipeError) when the controller is gone."""
        self._refill()
        while self._frames:
            try:
                written = os.write(self._descriptor, self._frames[0])
            except BlockingIOError:
                return
            self.size_bytes -= written
            self.written_bytes += written
            if written == len(self._frames[0]):
                self._frames.popleft()
                self._refill()
            else:
                self._frames[0] = self._frames[0][written:]
