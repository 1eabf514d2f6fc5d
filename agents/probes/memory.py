"""Memory and swap, from /proc/meminfo (proc(5); its "kB" are 1024 bytes)."""

from __future__ import annotations

from typing import Any, Dict, Optional

from pathlab.agents.source import Source


def parse_meminfo(text: str) -> Dict[str, int]:
    """Bytes per name; lines without a "kB" count are passed over."""
    sizes: Dict[str, int] = {}
    for line in text.splitlines():
        name, _colon, rest = line.partition(":")
        words = rest.split()
        if len(words) == 2 and words[1] == "kB" and words[0].isdigit():
            sizes[name.strip()] = int(words[0]) * 1024
    return sizes


def read_memory(source: Source) -> Dict[str, Any]:
    """``total_bytes``, ``available_bytes`` and ``swap_bytes``."""
    sizes = parse_meminfo(source.text("/proc/meminfo"))
    available: Optional[int] = sizes.get("MemAvailable")
    return {
        "total_bytes": sizes["MemTotal"],
        "available_bytes": available,
        "swap_bytes": sizes.get("SwapTotal"),
    }
