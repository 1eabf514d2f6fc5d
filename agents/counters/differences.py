"""Differences of counters that may wrap, start anew or be missing."""

from __future__ import annotations

from typing import Dict, Mapping, Optional, Sequence


def subtract_count(before: Optional[int], after: Optional[int]) -> Optional[int]:
    """``after - before``; None when either is missing or the counter went backwards.

    A counter goes backwards when it wraps (many have 32 bits) or when what it counts was made anew. What was
    counted in between is unknown then.
    """
    if before is None or after is None or after < before:
        return None
    return after - before


def subtract_columns(
    names: Sequence[str], before: Sequence[int], after: Sequence[int]
) -> Dict[str, Optional[int]]:
    """The same for counters in columns, one per name in ``names``."""
    return {name: subtract_count(before[at], after[at]) for at, name in enumerate(names)}


def subtract_named(
    names: Sequence[str], before: Mapping[str, int], after: Mapping[str, int]
) -> Dict[str, Optional[int]]:
    """The same for those of ``names`` that a reading has; None for one that it lacks."""
    return {name: subtract_count(before.get(name), after.get(name)) for name in names}
