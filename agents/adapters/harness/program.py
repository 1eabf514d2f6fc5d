"""What both ends of an adapter's program have: its records, its commands and the adapter's functions."""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import os
import select
import signal
import sys
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, Optional

from .settings import AdapterError

NEVER_NS = 1 << 63
STATUSES = {"contract": 2, "needs": 3, "start": 3, "port": 3, "connect": 3, "limit": 6}
REASONS = {
    "stop": "stopped by the controller",
    "signal": "ended by a signal",
    "gone": "the controller is gone",
}


def write_remark(text: str) -> None:
    sys.stderr.write(f"{text}\n")


class RecordOutput:
    """The records on stdout; what anything else prints there goes to stderr."""

    def __init__(self) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(line_buffering=True)  # the process ends without flushing
        self._fd = os.dup(1)
        os.dup2(2, 1)

    def write(self, kind: str, **fields: Any) -> None:
        data = (json.dumps({"type": kind, **fields}, separators=(",", ":")) + "\n").encode()
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError as error:
            write_remark(f"a record cannot be written to stdout: {error.strerror}")
            os._exit(6)

    def write_error(self, name: str, error: AdapterError) -> int:
        text = error.text[:255]
        self.write("error", stage=error.stage, text=text)
        write_remark(f"{name}: {text!a}"[: len(name) + 600])
        return STATUSES.get(error.stage, 4)


class CommandInput:
    """Lines of stdin, signals and news from other threads, as one wait."""

    def __init__(self) -> None:
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        os.set_blocking(self._reading, False)
        self._waiting: Deque[str] = deque()
        self._rest = b""
        self._poll = select.poll()
        self._poll.register(self._reading, select.POLLIN)
        self._poll.register(0, select.POLLIN)
        signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self._waiting.append("signal"))

    def wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(self._writing, b"1")

    def wait(self, deadline_ns: int) -> Optional[str]:
        """The next of go, stop, signal and gone; None: something else has happened, or the time is over."""
        if not self._waiting:
            left_ms = (deadline_ns - time.monotonic_ns() + 999_999) // 1_000_000
            events = self._poll.poll(None if deadline_ns >= NEVER_NS else max(left_ms, 0))
            for fd, _ in events:
                self._read(fd)
        return self._waiting.popleft() if self._waiting else None

    def _read(self, fd: int) -> None:
        data = os.read(fd, 4096)
        if fd == self._reading:
            return
        if not data:
            self._poll.unregister(0)
            self._waiting.append("gone")
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line in (b"go", b"stop"):
                self._waiting.append(line.decode())
            else:
                write_remark(f"unknown command {line[:48]!r} ignored; known: go, stop")


class AdapterFunctions:
    """The functions of the adapter's file."""

    def __init__(
        self,
        connect: Callable[..., Any],
        answer: Optional[Callable[..., Any]],
        describe: Optional[Callable[..., Any]],
    ) -> None:
        self.connect, self.answer, self._describe = connect, answer, describe
        self.is_async = inspect.iscoroutinefunction(connect)

    def describe(self, connection: Any) -> Dict[str, Any]:
        versions, settings = self._describe(connection) if self._describe else ("", None)
        return {"versions": versions or None, "settings": settings}
