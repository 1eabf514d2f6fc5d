"""What this process may do, from the capability sets in /proc/self/status (capabilities(7))."""

from __future__ import annotations

import os
from typing import Any, Dict

from pathlab.agents.source import Source

# Bit numbers of linux/capability.h
_BITS = {"net_admin": 12, "net_raw": 13, "sys_nice": 23}


def parse_effective(text: str) -> Dict[str, bool]:
    """Which of the capabilities that PathLab can use are in ``CapEff``. ValueError when it is missing."""
    for line in text.splitlines():
        name, _colon, value = line.partition(":")
        if name == "CapEff":
            mask = int(value.strip(), 16)
            return {capability: bool(mask >> bit & 1) for capability, bit in _BITS.items()}
    raise ValueError("no CapEff line")


def read_capabilities(source: Source) -> Dict[str, Any]:
    """The effective capabilities and the effective user's number (``user``)."""
    return {**parse_effective(source.text("/proc/self/status")), "user": os.geteuid()}
