"""CPU time per core from /proc/stat, reported as shares of the span.

Source: proc(5), /proc/stat, "cpuN" lines: user nice system idle iowait irq softirq steal guest guest_nice, in
ticks. Guest time is contained in user time already. ``nice`` is reported as user, ``iowait`` as idle.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

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


def compare_cores(before: Dict[int, CoreTicks], after: Dict[int, CoreTicks]) -> List[Dict[str, Any]]:
    """Per core its number ``core`` and its shares; a core that came up meanwhile has no span yet."""
    return [
        {"core": core, **share_ticks(before[core], after[core])} for core in sorted(after) if core in before
    ]
