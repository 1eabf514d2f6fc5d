"""Packets per core on their way into the network stack, from /proc/net/softnet_stat.

Source: Linux, net/core/net-procfs.c, softnet_seq_show: one line of hexadecimal columns per core that is
online: processed, dropped, time_squeeze, …; since Linux 5.10 the thirteenth is the core's number. The
counters have 32 bits and are the whole host's, not those of one network namespace.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional

from pathlab.agents.counters.differences import subtract_columns
from pathlab.agents.counters.text import read_text

COUNTERS = ("processed", "dropped", "time_squeeze")
_CORE_COLUMN = 12


class CoreCounts(NamedTuple):
    """One line: the core's number, None where the kernel does not name it, and one count per COUNTERS."""

    core: Optional[int]
    counts: List[int]


def parse_softnet(text: str) -> List[CoreCounts]:
    """The lines of /proc/net/softnet_stat in order. ValueError for anything else."""
    rows: List[CoreCounts] = []
    for line in text.splitlines():
        words = line.split()
        if len(words) < len(COUNTERS):
            raise ValueError(f"a line of {len(words)} columns, {len(COUNTERS)} are needed")
        numbers = [int(word, 16) for word in words]
        core = numbers[_CORE_COLUMN] if len(numbers) > _CORE_COLUMN else None
        rows.append(CoreCounts(core=core, counts=numbers[: len(COUNTERS)]))
    if not rows:
        raise ValueError("no line")
    return rows


def compare_softnet(before: List[CoreCounts], after: List[CoreCounts]) -> Optional[Dict[str, Any]]:
    """The sums over all cores, and ``cores``: per core its number ``core`` and its differences.

    A sum is None when one core's part of it is unknown. None altogether when cores without a number came or
    went, because nothing shows then which line is the same core's.
    """
    if any(row.core is None for row in before + after):
        if len(before) != len(after):
            return None
        pairs = list(zip(before, after))  # noqa: B905 -- Python 3.8; the lengths are checked
    else:
        known = {row.core: row for row in before}
        pairs = [(known[row.core], row) for row in after if row.core in known]
    cores: List[Dict[str, Any]] = [
        {"core": new.core, **subtract_columns(COUNTERS, old.counts, new.counts)} for old, new in pairs
    ]
    result: Dict[str, Any] = {}
    for name in COUNTERS:
        parts = [entry[name] for entry in cores]
        whole = len(pairs) == len(before) == len(after) and None not in parts
        result[name] = sum(parts) if whole else None
    result["cores"] = cores
    return result


def read_softnet() -> List[CoreCounts]:
    """What the kernel shows now. OSError or ValueError when it cannot be read."""
    return parse_softnet(read_text("/proc/net/softnet_stat"))
