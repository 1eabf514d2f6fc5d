"""Which analyses are wanted, by their names. Loads nothing that takes long."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pathlab.errors import UsageError


def choose_known_names(names: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """Those of ``known`` that are wanted, in their order; all for no name. UsageError for another name."""
    wanted = dict.fromkeys(names)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise UsageError(f"there is no analysis '{unknown[0]}'", hint=f"choose one of: {', '.join(known)}")
    return tuple(name for name in known if not wanted or name in wanted)
