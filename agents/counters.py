"""CPU time per core, sampled from /proc/stat at absolute deadlines and reported as shares of the span.

Source: proc(5), /proc/stat, "cpuN" lines: user nice system idle iowait irq softirq steal guest guest_nice, in
ticks. Guest time is contained in user time already. ``nice`` is reported as user, ``iowait`` as idle.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Optional, Tuple

# user, system, softirq, irq, steal, idle: ticks since boot
CoreTicks = Tuple[int, int, int, int, int, int]
SHARES = ("user_ratio", "system_ratio", "softirq_ratio", "irq_ratio", "steal_ratio", "idle_ratio")


def parse_core_ticks(text: str) -> Dict[int, CoreTicks]:
    """Ticks per core number from the text of /proc/stat. ValueError when no core can be read."""
    cores: Dict[int, CoreTicks] = {}
    for line in text.splitlines():
        words = line.split()
        if not words or not words[0].startswith("cpu") or not words[0][3:].isdigit():
            continue
        if len(words) < 9:
            raise ValueError(f"{words[0]} has {len(words) - 1} numbers, 8 are needed")
        user, nice, system, idle, iowait, irq, softirq, steal = (int(word) for word in words[1:9])
        cores[int(words[0][3:])] = (user + nice, system, softirq, irq, steal, idle + iowait)
    if not cores:
        raise ValueError("no cpuN line")
    return cores


def share_ticks(before: CoreTicks, after: CoreTicks) -> Dict[str, Optional[float]]:
    """The shares of one core between two readings; all None when no tick passed.

    Idle counters may step back on some kernels (proc(5)); such a step counts as nothing.
    """
    spent = [max(0, after[at] - before[at]) for at in range(len(SHARES))]
    total = sum(spent)
    return {name: (spent[at] / total if total else None) for at, name in enumerate(SHARES)}


def read_stat() -> str:
    """The text of /proc/stat. OSError when it cannot be read."""
    with open("/proc/stat", encoding="ascii") as stat:
        return stat.read()


class CounterWatch:
    """One running series of CPU samples. OSError or ValueError when the counters cannot be read.

    Deadlines are start + k·interval. A missed deadline is skipped, never made up for: the next sample's
    ``span_ns`` tells the true time between its two readings, so no CPU time is lost.
    """

    def __init__(
        self,
        interval_ns: int,
        *,
        clock_ns: Callable[[], int] = time.monotonic_ns,
        read: Callable[[], str] = read_stat,
    ) -> None:
        self.interval_ns = interval_ns
        self._clock_ns = clock_ns
        self._read = read
        self._ticks = parse_core_ticks(read())
        self._taken_ns = self.start_ns = clock_ns()
        self.due_ns = self.start_ns + interval_ns

    def skip(self) -> None:
        """Move the deadline to the next one that lies ahead, without a sample."""
        behind_ns = self._clock_ns() - self.start_ns
        self.due_ns = self.start_ns + (behind_ns // self.interval_ns + 1) * self.interval_ns

    def sample(self) -> Dict[str, Any]:
        """``time_ns`` (CLOCK_MONOTONIC), ``span_ns`` and per core the shares since the sample before."""
        ticks = parse_core_ticks(self._read())
        now_ns = self._clock_ns()
        cores: List[Dict[str, Any]] = []
        for core in sorted(ticks):
            if core in self._ticks:  # a core that came up meanwhile has no span yet
                entry: Dict[str, Any] = {"core": core}
                entry.update(share_ticks(self._ticks[core], ticks[core]))
                cores.append(entry)
        result = {"time_ns": now_ns, "span_ns": now_ns - self._taken_ns, "cores": cores}
        self._ticks, self._taken_ns = ticks, now_ns
        self.skip()
        return result
