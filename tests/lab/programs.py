"""Programs on the hosts of a lab, with their output read at once and every wait bounded."""

import contextlib
import os
import queue
import threading
from collections.abc import Iterator, Sequence
from signal import SIGKILL

from pathlab.lab.lab import Lab
from tests.patience import PATIENCE_S


class Program:
    """A process on a host of the lab; its stdout and stderr are read at once, as lines. Waits are bounded."""

    def __init__(self, lab: Lab, host: str, argv: Sequence[str]) -> None:
        stdin, self._stdin = os.pipe2(os.O_CLOEXEC)
        output, stdout = os.pipe2(os.O_CLOEXEC)
        try:
            self.process = lab.namespaces.spawn(host, argv, (stdin, stdout, stdout))
        finally:
            os.close(stdin)
            os.close(stdout)
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, args=(output,), daemon=True)
        self._reader.start()

    def _read(self, output: int) -> None:
        with open(output, encoding="utf-8") as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put(None)

    def wait_for(self, text: str) -> str:
        """Take lines until one holds ``text``, and return that."""
        seen = []
        while (line := self._lines.get(timeout=PATIENCE_S)) is not None:
            seen.append(line)
            if text in line:
                return line
        raise AssertionError(f"ended before '{text}': {''.join(seen)}")

    def say(self, line: str) -> None:
        os.write(self._stdin, line.encode() + b"\n")

    def read_to_end(self) -> str:
        """What it still has to say, to its end."""
        lines = []
        while (line := self._lines.get(timeout=PATIENCE_S)) is not None:
            lines.append(line)
        return "".join(lines)

    def finish(self) -> str:
        """What it still has to say, to its end, which must be a good one."""
        said = self.read_to_end()
        assert self.process.wait(PATIENCE_S) == 0, said
        return said

    def close(self) -> None:
        self.process.send_signal(SIGKILL)
        self._reader.join(timeout=PATIENCE_S)
        os.close(self._stdin)


@contextlib.contextmanager
def run_in(lab: Lab, host: str, *argv: str) -> Iterator[Program]:
    program = Program(lab, host, argv)
    try:
        yield program
    finally:
        program.close()
