"""What a host's cores do between two readings: busy and stolen time, waiting for a core, the busiest process.

Sources: proc(5), /proc/stat and /proc/PID/stat; Linux, accounting/psi, /proc/pressure/cpu ("some": the time
in which at least one task waited for a core).
"""

from __future__ import annotations

import os
import time
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

from pathlab.agents.counters.cpu import parse_core_ticks
from pathlab.agents.counters.text import show_name
from pathlab.agents.limits import MAX_ACTIVITY_PROCESSES

_STEAL, _IDLE = 4, 5  # places in parse_core_ticks' tuples


class ProcessTime(NamedTuple):
    """One process: its name, its parent, and its user and system time in ticks."""

    name: str
    parent: int
    ticks: int


class ActivityReading(NamedTuple):
    """Everything at one instant; ``waited_us`` is None where the kernel does not count it."""

    taken_ns: int
    cores: int
    ticks: Tuple[int, int, int]  # all, idle and stolen, over all cores
    waited_us: Optional[int]
    processes: Dict[int, ProcessTime]


class ActivityMeter:
    """The activity since the call before; the process ``own`` and its descendants are never the busiest.

    ``root`` is another folder in tests.
    """

    def __init__(
        self, root: str = "/proc", *, own: int = 0, clock_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._root = root
        self._own = own or os.getpid()
        self._clock_ns = clock_ns
        self._before: Optional[ActivityReading] = None

    def measure(self) -> Dict[str, Any]:
        """Shares since the call before; all None at the first. OSError or ValueError without /proc/stat.

        ``busy_ratio`` and ``steal_ratio`` are of all cores' time, ``waiting_ratio`` of the time.
        ``busiest`` is a process with ``name``, ``pid`` and ``cores``, those that it used on average.
        """
        before, after = self._before, self._read()
        self._before = after
        result: Dict[str, Any] = {"cores": after.cores, "span_ns": None, "busy_ratio": None}
        result.update(steal_ratio=None, waiting_ratio=None, busiest=None)
        if before is None:
            return result
        span_ns = max(1, after.taken_ns - before.taken_ns)
        total, idle, stolen = (max(0, new - old) for old, new in zip(before.ticks, after.ticks))  # noqa: B905 -- 3.8
        result["span_ns"] = span_ns
        if total:
            result["busy_ratio"] = max(0.0, 1 - (idle + stolen) / total)
            result["steal_ratio"] = stolen / total
        if before.waited_us is not None and after.waited_us is not None:
            result["waiting_ratio"] = min(1.0, max(0, after.waited_us - before.waited_us) * 1000 / span_ns)
        result["busiest"] = self._find_busiest(before, after, total)
        return result

    def _find_busiest(
        self, before: ActivityReading, after: ActivityReading, total: int
    ) -> Optional[Dict[str, Any]]:
        most, result = 0, None
        for pid, process in after.processes.items():
            old = before.processes.get(pid)
            spent = process.ticks - old.ticks if old is not None else 0
            if spent > most and not self._is_own(pid, after.processes):
                most, result = spent, {"name": process.name, "pid": pid}
        if result is None or not total:
            return None
        return {**result, "cores": min(1.0, most / total) * after.cores}

    def _is_own(self, pid: int, processes: Dict[int, ProcessTime]) -> bool:
        for _generation in range(64):
            if pid == self._own:
                return True
            if pid not in processes:
                return False
            pid = processes[pid].parent
        return False

    def _read(self) -> ActivityReading:
        cores = parse_core_ticks(self._text("stat"))
        ticks = sum(map(sum, cores.values())), sum(core[_IDLE] for core in cores.values())
        return ActivityReading(
            taken_ns=self._clock_ns(),
            cores=len(cores),
            ticks=(*ticks, sum(core[_STEAL] for core in cores.values())),
            waited_us=self._read_waited(),
            processes=self._read_processes(),
        )

    def _read_waited(self) -> Optional[int]:
        try:
            return parse_waited_us(self._text("pressure/cpu"))
        except (OSError, ValueError):
            return None

    def _read_processes(self) -> Dict[int, ProcessTime]:
        """Those with the lowest numbers, where there are more than are read; one that ends is left out."""
        result: Dict[int, ProcessTime] = {}
        numbers = sorted(int(name) for name in os.listdir(self._root) if name.isdigit())
        for pid in numbers[:MAX_ACTIVITY_PROCESSES]:
            try:
                result[pid] = parse_process(self._text(f"{pid}/stat"))
            except (OSError, ValueError):
                continue
        return result

    def _text(self, name: str) -> str:
        with open(os.path.join(self._root, name), "rb") as file:
            return os.fsdecode(file.read())


def parse_waited_us(text: str) -> int:
    """The total of the line "some". ValueError where there is none."""
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["some"] and words[-1].startswith("total="):
            return int(words[-1][len("total=") :])
    raise ValueError("no line 'some' with a total")


def parse_process(text: str) -> ProcessTime:
    """Name, parent and CPU time of a line of /proc/PID/stat; a name may hold anything. ValueError if bad."""
    begin, end = text.find("("), text.rfind(")")
    words = text[end + 1 :].split()
    if begin < 0 or end < begin or len(words) < 13:
        raise ValueError("no line of /proc/PID/stat")
    name = "".join(item if item.isprintable() else "?" for item in show_name(text[begin + 1 : end]))
    return ProcessTime(name=name, parent=int(words[1]), ticks=int(words[11]) + int(words[12]))
