"""Who may send ICMP echo without privilege: net.ipv4.ping_group_range (icmp(7))."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterable, Tuple

from pathlab.agents.source import Source


def parse_group_range(text: str) -> Tuple[int, int]:
    """The first and the last group allowed; first > last means nobody. ValueError when malformed."""
    words = text.split()
    if len(words) != 2:
        raise ValueError(f"expected two numbers, found {text[:40]!r}")
    return int(words[0]), int(words[1])


def is_permitted(first: int, last: int, groups: Iterable[int]) -> bool:
    return any(first <= group <= last for group in groups)


def read_echo(source: Source) -> Dict[str, Any]:
    """``first_group`` and ``last_group`` of the range, and whether this process is in it (``permitted``)."""
    first, last = parse_group_range(source.text("/proc/sys/net/ipv4/ping_group_range"))
    groups = {os.getegid(), *os.getgroups()}
    return {"first_group": first, "last_group": last, "permitted": is_permitted(first, last, groups)}
