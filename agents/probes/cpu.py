"""CPU model and counts, from /proc/cpuinfo (proc(5)); its keys differ between architectures."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional, Set, Tuple

from pathlab.agents.source import Source

# x86, then riscv and s390, then arm boards, in the order of how much they say
_MODEL_KEYS = ("model name", "uarch", "cpu model", "Model", "Hardware")


def parse_cpuinfo(text: str) -> Dict[str, Any]:
    """``model``, ``logical`` processors, physical ``cores`` and ``sockets``; None where not stated.

    ValueError when it lists no processor.
    """
    blocks = _split_blocks(text)
    processors = [block for block in blocks if block.get("processor", "").isdigit()]
    if not processors:
        raise ValueError("no processor in /proc/cpuinfo")
    named = (block[key] for key in _MODEL_KEYS for block in blocks if block.get(key))
    model: Optional[str] = next(named, None)
    if model is None and "CPU part" in processors[0]:
        model = f"implementer {processors[0].get('CPU implementer')} part {processors[0]['CPU part']}"
    cores: Set[Tuple[str, str]] = {
        (block["physical id"], block["core id"])
        for block in processors
        if "physical id" in block and "core id" in block
    }
    return {
        "model": model,
        "logical": len(processors),
        "cores": len(cores) or None,
        "sockets": len({socket for socket, _core in cores}) or None,
    }


def _split_blocks(text: str) -> List[Dict[str, str]]:
    blocks: List[Dict[str, str]] = [{}]
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            blocks[-1][name.strip()] = value.strip()
        elif not line.strip() and blocks[-1]:
            blocks.append({})
    return blocks


def read_cpu(source: Source) -> Dict[str, Any]:
    """The parsed model and counts, and how many CPUs this process may run on (``usable``)."""
    facts = parse_cpuinfo(source.text("/proc/cpuinfo"))
    facts["usable"] = len(os.sched_getaffinity(0))
    return facts
