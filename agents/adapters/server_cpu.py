"""CPU time of a server and its responder, with all their processes: their CPU clocks, and proc(5)."""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any, Dict, List, Optional, Tuple

from pathlab.agents.listeners import list_descendants

_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
# Fields of /proc/PID/stat after the name, by proc(5): utime, stime, cutime, cstime.
_USER, _SYSTEM, _CHILD_USER, _CHILD_SYSTEM = 11, 12, 13, 14
_SCHEDULED = 2  # CPUCLOCK_SCHED of a process's clock: time on a core in ns, ended threads included


def read_server_cpu(responder: Optional[int], own: List[int]) -> Dict[str, Any]:
    """A ``server_cpu`` record: what all processes below this one have used so far.

    ``responder`` is the pid of the responder's first process, None where there is none. Of the pids in
    ``own``, which are not the server's, only the ended children count, as they do of any process. Those are
    known to the tick of 10 ms alone, as is how the whole divides into user and system.
    """
    at_ns = time.monotonic_ns()
    responders = set() if responder is None else set(list_descendants(responder))
    user_ns = 0
    parts = {"server": 0, "responder": 0}
    for pid in list_descendants(os.getpid())[1:]:
        with contextlib.suppress(OSError, ValueError, IndexError):
            total_ns, ticks_ns = _read_process(pid, is_own=pid in own)
            parts["responder" if pid in responders else "server"] += total_ns
            user_ns += ticks_ns
    whole_ns = sum(parts.values())
    user_ns = min(user_ns, whole_ns)
    return {
        "type": "server_cpu",
        "at_ns": at_ns,
        "user_ns": user_ns,
        "system_ns": whole_ns - user_ns,
        "parts": {**parts, "responder": None if responder is None else parts["responder"]},
    }


def _read_process(pid: int, *, is_own: bool) -> Tuple[int, int]:
    """Its time on cores and the user part of it, with those of its ended children."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        words = file.read().rpartition(b")")[2].split()
    ticks = {number: int(words[number]) * _TICK_NS for number in range(_USER, _CHILD_SYSTEM + 1)}
    total_ns, user_ns = ticks[_CHILD_USER] + ticks[_CHILD_SYSTEM], ticks[_CHILD_USER]
    if not is_own:
        total_ns += time.clock_gettime_ns(~pid << 3 | _SCHEDULED)
        user_ns += ticks[_USER]
    return total_ns, user_ns


def subtract_cpu(last: Optional[Dict[str, Any]], first: Optional[Dict[str, Any]]) -> Dict[str, Any]:
    """What was used between two records; None where one of them is missing."""
    if last is None or first is None:
        return {"user_ns": None, "system_ns": None, "parts": None}
    parts = {
        # Of a child that nobody waited for, what it had used before is lost, and nothing is negative.
        name: None if value is None else max(value - first["parts"][name], 0)
        for name, value in last["parts"].items()
    }
    spent_ns = sum(value for value in parts.values() if value is not None)
    user_ns = min(max(last["user_ns"] - first["user_ns"], 0), spent_ns)
    return {"user_ns": user_ns, "system_ns": spent_ns - user_ns, "parts": parts}
