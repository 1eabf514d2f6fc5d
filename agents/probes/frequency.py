"""Frequency scaling: governors and drivers, from /sys/devices/system/cpu (kernel: admin-guide/pm/cpufreq)."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional

from pathlab.agents.source import Source

_CPUS = "/sys/devices/system/cpu"
_CPU_NAME = re.compile(r"cpu[0-9]+")


def read_frequency(source: Source) -> Dict[str, Any]:
    """``governors`` and ``drivers`` in use (distinct, sorted), ``boost``, and whether there is ``scaling``.

    Guests usually have no scaling of their own: the lists are then null, not empty.
    """
    cpus = [name for name in source.names(_CPUS) if _CPU_NAME.fullmatch(name)]
    scaling = [name for name in cpus if source.exists(f"{_CPUS}/{name}/cpufreq/scaling_governor")]
    return {
        "scaling": bool(scaling),
        "governors": _distinct(source, scaling, "scaling_governor"),
        "drivers": _distinct(source, scaling, "scaling_driver"),
        "boost": read_boost(source),
    }


def read_boost(source: Source) -> Optional[bool]:
    """Whether clocks above nominal are allowed; None when the kernel does not say."""
    if source.exists(f"{_CPUS}/cpufreq/boost"):
        return source.integer(f"{_CPUS}/cpufreq/boost") == 1
    if source.exists(f"{_CPUS}/intel_pstate/no_turbo"):
        return source.integer(f"{_CPUS}/intel_pstate/no_turbo") == 0
    return None


def _distinct(source: Source, cpus: List[str], name: str) -> Optional[List[str]]:
    read = {source.optional(f"{_CPUS}/{cpu}/cpufreq/{name}") for cpu in cpus}
    return sorted(value for value in read if value) or None
