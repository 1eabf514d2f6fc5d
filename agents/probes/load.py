"""Load averages, from /proc/loadavg (proc(5))."""

from __future__ import annotations

from typing import Any, Dict

from pathlab.agents.source import Source


def parse_loadavg(text: str) -> Dict[str, Any]:
    """Averages over 1, 5 and 15 minutes, and tasks running and existing. ValueError when malformed."""
    words = text.split()
    if len(words) < 4:
        raise ValueError(f"/proc/loadavg holds {len(words)} fields, 4 are needed")
    running, _slash, existing = words[3].partition("/")
    return {
        "minute_1": float(words[0]),
        "minute_5": float(words[1]),
        "minute_15": float(words[2]),
        "tasks_running": int(running),
        "tasks": int(existing),
    }


def read_load(source: Source) -> Dict[str, Any]:
    return parse_loadavg(source.text("/proc/loadavg"))
