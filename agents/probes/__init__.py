"""One host fact per file: where it is read, and a pure parser of what stands there."""

from __future__ import annotations

from typing import Any, Callable, Dict

from pathlab.agents.probes import (
    buffers,
    capabilities,
    clock,
    cpu,
    echo,
    frequency,
    interpreter,
    kernel,
    load,
    memory,
    nics,
    release,
    tcp,
    virtualisation,
)
from pathlab.agents.source import Source

PROBES: Dict[str, Callable[[Source], Dict[str, Any]]] = {
    "kernel": kernel.read_kernel,
    "release": release.read_release,
    "interpreter": interpreter.read_interpreter,
    "virtualisation": virtualisation.read_virtualisation,
    "cpu": cpu.read_cpu,
    "frequency": frequency.read_frequency,
    "clock": clock.read_clock,
    "memory": memory.read_memory,
    "load": load.read_load,
    "nics": nics.read_nics,
    "tcp": tcp.read_tcp,
    "buffers": buffers.read_buffers,
    "echo": echo.read_echo,
    "capabilities": capabilities.read_capabilities,
}
