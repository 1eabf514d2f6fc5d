"""What waits to be written to the controller: non-blocking, with marks that stop the sources of data."""

from __future__ import annotations

import os
from collections import deque
from typing import Deque

from pathlab.agents.limits import OUTBOX_HARD_BYTES, OUTBOX_HIGH_BYTES, OUTBOX_LOW_BYTES


class Outbox:
    """Frames on their way out through a non-blocking descriptor, in order."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._frames: Deque[memoryview] = deque()
        self._throttled = False
        self.size_bytes = 0

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
        while self._frames:
            try:
                written = os.write(self._descriptor, self._frames[0])
            except BlockingIOError:
                return
            self.size_bytes -= written
            if written == len(self._frames[0]):
                self._frames.popleft()
            else:
                self._frames[0] = self._frames[0][written:]
