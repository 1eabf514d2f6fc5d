"""All host facts of this machine, one key per probe; what cannot be read is null and has a reason."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping

from pathlab.agents.probes import PROBES
from pathlab.agents.protocol import MessageError, quote
from pathlab.agents.source import Source


def collect_facts(
    root: str = "/", probes: Mapping[str, Callable[[Source], Dict[str, Any]]] = PROBES
) -> Dict[str, Any]:
    """Every probe's fact under its name, and under ``unread`` the reasons per probe for what is null.

    A probe that fails, in whatever way, leaves null and its reason; it never spoils the others.
    """
    facts: Dict[str, Any] = {}
    unread: Dict[str, List[str]] = {}
    for name, read in probes.items():
        source = Source(root)
        try:
            facts[name] = read(source)
        except Exception as error:  # noqa: BLE001 -- a strange host must not cost the other facts
            facts[name] = None
            source.reasons.append(f"{type(error).__name__}: {error}")
        if source.reasons:
            unread[name] = source.reasons
    facts["unread"] = unread
    return facts


def collect_requested(request: Mapping[str, Any]) -> Dict[str, Any]:
    """The facts that a request names under ``probes``, in its order; without names all. MessageError."""
    names = request.get("probes")
    if names is None:
        return collect_facts()
    for name in names:
        if name not in PROBES:
            raise MessageError(f"there is no probe {quote(name)}; known: {', '.join(PROBES)}")
    return collect_facts(probes={name: PROBES[name] for name in names})
