"""Limits of socket buffers, from /proc/sys/net (kernel: networking/ip-sysctl, admin-guide/sysctl/net)."""

from __future__ import annotations

from typing import Any, Dict, Optional

from pathlab.agents.source import Source


def parse_triple(text: str) -> Dict[str, int]:
    """``min_bytes``, ``default_bytes`` and ``max_bytes`` of tcp_rmem or tcp_wmem. ValueError if malformed."""
    words = text.split()
    if len(words) != 3:
        raise ValueError(f"expected three numbers, found {text[:40]!r}")
    return {"min_bytes": int(words[0]), "default_bytes": int(words[1]), "max_bytes": int(words[2])}


def read_buffers(source: Source) -> Dict[str, Any]:
    """What SO_RCVBUF and SO_SNDBUF may request, and what autotuning may reach.

    Network namespaces other than the first hide the net.core limits on older kernels: these are then null.
    """
    facts: Dict[str, Any] = {
        f"{name}_bytes": source.integer(f"/proc/sys/net/core/{name}")
        for name in ("rmem_max", "wmem_max", "rmem_default", "wmem_default")
    }
    for name in ("tcp_rmem", "tcp_wmem"):
        text: Optional[str] = source.optional(f"/proc/sys/net/ipv4/{name}")
        facts[name] = None if text is None else parse_triple(text)
    return facts
