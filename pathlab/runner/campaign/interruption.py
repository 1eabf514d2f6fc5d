"""Ending a run on SIGINT, SIGTERM or SIGHUP without losing what was measured."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Those that Python does not make an exception of by itself.
ENDING = (signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal came; raised where the main thread waits, never while results are stored."""


class Interruption:
    """Turns the first of ``numbers`` into :class:`Interrupted`; later signals are ignored after it."""

    def __init__(self, numbers: Sequence[signal.Signals] = NUMBERS) -> None:
        self._numbers = numbers
        self._shields = 0
        self._pending = False
        self.reason = "stopped by a signal"

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Handle the signals inside this block (main thread only; elsewhere it does nothing).

        An ignored SIGHUP stays so: whoever started the run with nohup wants it to outlive the terminal.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {
            number: signal.signal(number, self._handle)
            for number in self._numbers
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _handle(self, given: int, _frame: FrameType | None) -> None:
        self.reason = f"stopped by {'Ctrl-C' if given == signal.SIGINT else signal.Signals(given).name}"
        for number in self._numbers:
            signal.signal(number, signal.SIG_IGN)
        self._pending = True
        if not self._shields:
            raise Interrupted

    @contextmanager
    def shield(self) -> Iterator[None]:
        """Put a signal off to the end of this block."""
        self._shields += 1
        try:
            yield
        finally:
            self._shields -= 1
        if self._pending and not self._shields:
            raise Interrupted
