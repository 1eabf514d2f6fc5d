"""The kernel's clock source, from /sys/devices/system/clocksource; a slow one costs CPU."""

from __future__ import annotations

from typing import Any, Dict

from pathlab.agents.source import Source

_FOLDER = "/sys/devices/system/clocksource/clocksource0"


def read_clock(source: Source) -> Dict[str, Any]:
    """``current`` and ``available`` clock sources."""
    return {
        "current": source.text(f"{_FOLDER}/current_clocksource"),
        "available": source.text(f"{_FOLDER}/available_clocksource").split(),
    }
