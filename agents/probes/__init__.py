"""One host fact per file: where it is read, and a pure parser of its text."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Callable, Dict

from pathlab.agents.source import Source

#: Each is a file here, and its ``read_NAME`` reads the fact.
_NAMES = (
    *("kernel", "release", "interpreter", "virtualisation", "cpu", "frequency", "clock", "memory", "load"),
    *("nics", "bonds", "tcp", "buffers", "echo", "capabilities"),
)
PROBES: Dict[str, Callable[[Source], Dict[str, Any]]] = {
    name: getattr(import_module(f"{__name__}.{name}"), f"read_{name}") for name in _NAMES
}
