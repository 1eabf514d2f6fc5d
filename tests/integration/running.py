"""A run of the real command line in a terminal of its own, and the processes that belong to it."""

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
MARK = "PATHLAB_TEST_MARK"

CAMPAIGN = """
format = 1
name = "short"
title = "Short"
seed = 7
cycles = {cycles}
[[paths]]
source = "{source}"
destination = "{destination}"
[factors]
streams = [2]
window = ["64KiB"]
congestion = "reno"
[trial]
warmup = "100ms"
duration = "{duration}"
drain = "30s"
[probes]
interval = "20ms"
unloaded = 3
"""
LAB = """
[lab]
hosts = ["a", "b"]
[[lab.links]]
between = ["a", "b"]
rate = "20Mbit/s"
delay = "5ms"
queue = "100kB"
"""


def write_campaign(folder: Path, *, lab: bool = True, cycles: int = 2, duration: str = "1s") -> Path:
    """A small campaign file, in a lab of its own or over loopback."""
    ends = {"source": "a", "destination": "b"} if lab else {"source": "local", "destination": "local"}
    path = folder / "short.toml"
    path.write_text(CAMPAIGN.format(cycles=cycles, duration=duration, **ends) + (LAB if lab else ""))
    return path


def heed_signals() -> None:
    """As in a terminal, also where the tests themselves were started with nohup, or in the background."""
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


class Run:
    """One ``pathlab`` process on a pseudo terminal. Everything it starts carries its mark."""

    def __init__(self, arguments: list[str], cwd: Path, environment: Mapping[str, str] | None = None) -> None:
        self.mark = uuid.uuid4().hex
        self._screen, theirs = pty.openpty()
        self._seen = ""
        variables = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "XDG_CACHE_HOME": str(cwd / "cache"),
            "COLUMNS": "120",
            "TERM": "xterm",
            MARK: self.mark,
            **(environment or {}),
        }
        command = [sys.executable, "-m", "pathlab", *arguments]
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env=variables,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=heed_signals,  # noqa: PLW1509 -- one thread starts processes here
        )
        os.close(theirs)

    def read_until(self, pattern: str) -> str:
        """Read the screen until the pattern is there; what was on it, without colours."""
        deadline = time.monotonic() + PATIENCE_S
        while re.search(pattern, self._seen) is None:
            assert self._read(deadline), f"ended before {pattern!r} was seen:\n{self._seen}"
        return self._seen

    def read_to_end(self, timeout_s: float = 2 * PATIENCE_S) -> tuple[int, str]:
        """Exit status and everything that was on the screen."""
        deadline = time.monotonic() + timeout_s
        while self._read(deadline):
            pass
        return self.process.wait(PATIENCE_S), self._seen

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._screen], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"nothing more came in time:\n{self._seen}"
        try:
            data = os.read(self._screen, 65536)
        except OSError:  # the last process on this terminal has ended
            return False
        self._seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", data.decode(errors="replace"))
        return bool(data)

    def processes(self) -> dict[int, str]:
        """Every live process that this run started, by number, with its command line; itself included."""
        found = {}
        for folder in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if (
                    folder.name.isdigit()
                    and f"{MARK}={self.mark}".encode() in (folder / "environ").read_bytes()
                ):
                    words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    if words:  # a zombie has no command line
                        found[int(folder.name)] = words
        return found

    def engine(self, subcommand: str) -> int:
        """Number of the engine process that runs a subcommand."""
        (number,) = (
            pid for pid, words in self.processes().items() if f"pathlab-engine {subcommand} " in words
        )
        return number

    def close(self) -> None:
        """Kill what is left of it."""
        for number in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self.process.wait(PATIENCE_S)
        os.close(self._screen)


@contextlib.contextmanager
def running(arguments: list[str], cwd: Path, environment: Mapping[str, str] | None = None) -> Iterator[Run]:
    """A run that leaves nothing behind, however the test ends."""
    run = Run(arguments, cwd, environment)
    try:
        yield run
    finally:
        run.close()


@contextlib.contextmanager
def all_end_within(run: Run, seconds: float) -> Iterator[None]:
    """Every process that ``run`` has at the start of the block ends at most ``seconds`` after it."""
    watched = {}
    for number, words in run.processes().items():
        with contextlib.suppress(ProcessLookupError):
            watched[os.pidfd_open(number)] = words
    assert watched
    try:
        yield
        deadline = time.monotonic() + seconds
        left = dict(watched)
        while left:
            ended, _, _ = select.select(list(left), [], [], max(0.0, deadline - time.monotonic()))
            assert ended, f"still there after {seconds:g} s: {list(left.values())}"
            for descriptor in ended:
                del left[descriptor]
    finally:
        for descriptor in watched:
            os.close(descriptor)
