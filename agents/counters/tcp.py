"""TCP's counters of the agent's network namespace, from /proc/net/snmp and /proc/net/netstat.

Source: Linux, net/ipv4/proc.c: per group one line of names and one of numbers, both behind ``Group:``. Names
and meanings are the kernel's (RFC 4022 for ``Tcp``, Documentation/networking/snmp_counter.rst for the rest).
"""

from __future__ import annotations

from typing import Dict, Optional

from pathlab.agents.counters.differences import subtract_count
from pathlab.agents.counters.text import read_text

# In the same group, but a setting or the number of connections now: a difference of it says nothing.
NOT_COUNTERS = frozenset({"RtoAlgorithm", "RtoMin", "RtoMax", "MaxConn", "CurrEstab"})


def parse_group(text: str, group: str) -> Dict[str, int]:
    """The counters of one group by name. ValueError when it is not there or names and numbers do not pair."""
    lines = [line.split() for line in text.splitlines() if line.startswith(group + ":")]
    if len(lines) != 2:
        raise ValueError(f"{len(lines)} lines of {group}, 2 are needed")
    names, numbers = lines
    if len(names) != len(numbers):
        raise ValueError(f"{group} has {len(names) - 1} names and {len(numbers) - 1} numbers")
    pairs = zip(names[1:], numbers[1:])  # noqa: B905 -- Python 3.8; the lengths are checked
    return {name: int(number) for name, number in pairs if name not in NOT_COUNTERS}


def compare_tcp(before: Dict[str, int], after: Dict[str, int]) -> Dict[str, Optional[int]]:
    """The differences of the counters that changed; one that is not named stood still."""
    return {
        name: subtract_count(before.get(name), count)
        for name, count in after.items()
        if before.get(name) != count
    }


def read_tcp_counters() -> Dict[str, int]:
    """``Tcp`` and ``TcpExt`` together. OSError or ValueError when one cannot be read.

    Both or none: without one of the files its counters would look as if they stood still.
    """
    counters = parse_group(read_text("/proc/net/snmp"), "Tcp")
    counters.update(parse_group(read_text("/proc/net/netstat"), "TcpExt"))
    return counters
