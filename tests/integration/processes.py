"""Engines that this process started, and waiting for processes to end without polling: pidfd_open(2)."""

import contextlib
import os
import select
from collections.abc import Iterator
from pathlib import Path

from tests.patience import PATIENCE_S


@contextlib.contextmanager
def watching(*pids: int) -> Iterator[list[int]]:
    """Descriptors that become readable when the processes end, opened while they still run."""
    with contextlib.ExitStack() as stack:
        descriptors = [os.pidfd_open(pid) for pid in pids]
        for descriptor in descriptors:
            stack.callback(os.close, descriptor)
        yield descriptors


def assert_all_end(descriptors: list[int]) -> None:
    """Each ends by itself."""
    for descriptor in descriptors:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        assert poll.poll(PATIENCE_S * 1000), "a process outlived its controller"


def parent_of(pid: int) -> int:
    """The parent's number, from /proc/PID/stat (proc(5): the second field after the name in brackets)."""
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])


def find_engines(subcommand: str) -> list[int]:
    """Processes of `pathlab-engine SUBCOMMAND` that this process started, itself or through an agent."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # one that has ended meanwhile
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if words[1:2] == [subcommand.encode()] and os.getpid() in _list_ancestors(int(folder.name)):
                found.append(int(folder.name))
    return found


def _list_ancestors(pid: int) -> Iterator[int]:
    while pid > 1:
        pid = parent_of(pid)
        yield pid
