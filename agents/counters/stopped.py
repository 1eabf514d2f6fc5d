"""Which processes that this agent started are stopped now, from proc(5).

A program that is stopped by a signal (SIGSTOP, a debugger's stop, a terminal's) counts and sends nothing, and
cannot state it. Its state is ``T`` in ``/proc/PID/stat``; the processes below this one are found by
``/proc/PID/task/TID/children``, which kernels with CONFIG_PROC_CHILDREN have.
"""

from __future__ import annotations

import os
from typing import Iterator, List

_STOPPED = "T"


def list_stopped() -> List[str]:
    """The names of the stopped ones. OSError where the kernel does not list children."""
    with open("/proc/self/task/%d/children" % os.getpid(), encoding="ascii"):
        pass  # not every kernel has it
    result, ahead = [], list(_list_children(os.getpid()))
    for pid in ahead:  # grows meanwhile
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                before, _, after = file.read().rpartition(")")
            ahead += _list_children(pid)
        except (OSError, ValueError):
            continue  # it has ended meanwhile
        if after.split()[0] == _STOPPED:
            result.append(before.partition("(")[2])
    return sorted(result)


def _list_children(pid: int) -> Iterator[int]:
    folder = f"/proc/{pid}/task"
    for thread in os.listdir(folder):
        with open(f"{folder}/{thread}/children", encoding="ascii") as file:
            yield from map(int, file.read().split())
