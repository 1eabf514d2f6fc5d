"""Waiting for processes to end, without polling: pidfd_open(2)."""

from __future__ import annotations

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


def assert_all_end(descriptors: list[int], seconds: float = PATIENCE_S) -> None:
    """Each ends by itself, within this time."""
    for descriptor in descriptors:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        assert poll.poll(seconds * 1000), "a process outlived its controller"


def parent_of(pid: int) -> int:
    """The parent's number, from /proc/PID/stat (proc(5): the second field after the name in brackets)."""
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
