"""A channel over the pipes of a process, however it was started: our child, or a process of a lab."""

from __future__ import annotations

import contextlib
import io
import os
import select
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from pathlab.remote.transport import Channel

STDERR_TAIL_BYTES = 16 * 1024
WRITE_TIMEOUT_S = 10.0
END_TIMEOUT_S = 3.0


class Child(Protocol):
    """What a channel needs of the process behind it."""

    pid: int

    def poll(self) -> int | None:
        """Its exit status, None while it runs."""

    def wait(self, timeout_s: float) -> int | None:
        """Wait for its end; None when the time is over first."""

    def kill(self) -> None:
        """Kill it and what it started; no error when it is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipes:
    """Descriptors of our ends: we write its stdin, read its stdout and stderr."""

    stdin: int
    stdout: int
    stderr: int


@contextlib.contextmanager
def open_pipes() -> Iterator[tuple[Pipes, tuple[int, int, int]]]:
    """Three pipes: our ends, and the process's ends, which are closed on leaving. On error all are closed."""
    stdin, ours_in = os.pipe2(os.O_CLOEXEC)
    ours_out, stdout = os.pipe2(os.O_CLOEXEC)
    ours_err, stderr = os.pipe2(os.O_CLOEXEC)
    theirs = (stdin, stdout, stderr)
    try:
        yield Pipes(stdin=ours_in, stdout=ours_out, stderr=ours_err), theirs
    except BaseException:
        for descriptor in (ours_in, ours_out, ours_err):
            os.close(descriptor)
        raise
    finally:
        for descriptor in theirs:
            os.close(descriptor)


class ProcessChannel(Channel):
    """Our ends of the pipes of one process that speaks frames; they are closed with the channel.

    When the controller dies, the process reads end of file and ends by itself.
    """

    def __init__(self, child: Child, pipes: Pipes) -> None:
        self._child = child
        self._input = io.FileIO(pipes.stdin, "w")
        self._output = io.FileIO(pipes.stdout)
        self._errors = io.FileIO(pipes.stderr)
        os.set_blocking(self._input.fileno(), False)
        self._read_lock, self._write_lock = threading.Lock(), threading.Lock()
        self._close_lock, self._closed = threading.Lock(), False
        self._wake, self._woken_by = os.pipe()
        self._tail, self._tail_lock = bytearray(), threading.Lock()
        self._stderr_thread = threading.Thread(target=self._keep_stderr, name="pathlab-stderr", daemon=True)
        self._stderr_thread.start()

    @property
    def pid(self) -> int:
        return self._child.pid

    def write(self, data: bytes) -> None:
        deadline_s = time.monotonic() + WRITE_TIMEOUT_S
        left = memoryview(data)
        with self._write_lock:
            if self._input.closed:
                raise BrokenPipeError("the channel is closed")
            poll = select.poll()
            poll.register(self._input.fileno(), select.POLLOUT)
            while left:
                try:
                    left = left[os.write(self._input.fileno(), left) :]
                except BlockingIOError:
                    wait_s = deadline_s - time.monotonic()
                    if wait_s <= 0 or not poll.poll(wait_s * 1000):
                        raise TimeoutError(f"it accepted no input for {WRITE_TIMEOUT_S:g} s") from None

    def read(self, max_bytes: int) -> bytes:
        with self._read_lock:
            if self._output.closed:
                return b""
            poll = select.poll()
            poll.register(self._output.fileno(), select.POLLIN)
            poll.register(self._wake, select.POLLIN)
            ready = {descriptor for descriptor, _events in poll.poll()}
            if self._output.fileno() not in ready:
                return b""  # closed by another thread
            return os.read(self._output.fileno(), max_bytes)

    def close(self) -> None:
        with self._close_lock:
            if self._closed:
                return
            self._closed = True
            with self._write_lock:
                self._input.close()
            if self._child.wait(END_TIMEOUT_S) is None:
                self._child.kill()
                self._child.wait(END_TIMEOUT_S)
            self._stderr_thread.join(1.0)
            os.write(self._woken_by, b"x")
            with self._read_lock:
                self._output.close()
            if not self._stderr_thread.is_alive():
                self._errors.close()
            os.close(self._wake)
            os.close(self._woken_by)

    def stderr_tail(self) -> str:
        if not self.alive():
            self._stderr_thread.join(1.0)  # its last words are in the pipe still
        with self._tail_lock:
            return self._tail.decode("utf-8", "replace")

    def alive(self) -> bool:
        return self._child.poll() is None

    def _keep_stderr(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while data := self._errors.read(4096):
                with self._tail_lock:
                    self._tail += data
                    del self._tail[:-STDERR_TAIL_BYTES]
