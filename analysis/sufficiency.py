"""Which settings carry the most, which nearly as much, and which is the least that suffices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from pathlab.errors import UsageError

#: Share of the highest rate from which a setting suffices.
SUFFICIENT_RATIO = 0.9
#: Share of the highest rate from which a setting is as good as it.
NEAR_RATIO = 0.98


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Places in the sequences that were given.

    ``near`` are the others within ``NEAR_RATIO`` of the highest, ``sufficient`` the smallest that reaches
    ``SUFFICIENT_RATIO`` of it. ``None``: nothing was measured, or nothing of known size suffices.
    """

    highest: int | None
    near: tuple[int, ...]
    sufficient: int | None


def choose_cells(
    rates_bits_per_s: Sequence[float | None], sizes_bytes: Sequence[float | None] | None = None
) -> Choice:
    """Choose by the cells' typical rates and sizes (streams x window asked; None: not known, autotuned).

    Of equal rates the first is the highest; of equal sizes the faster one suffices. A rate or size that
    is not known (None, NaN, infinite) or not above 0 is not chosen. Raises ``UsageError`` for unequal
    lengths.

    Notes
    -----
    Says what was measured and tests nothing: whether two cells differ is told by ``pairs.compare_pairs``.
    The shares are this project's; METHOD section 2 asks for 90 %.
    """
    sizes = [None] * len(rates_bits_per_s) if sizes_bytes is None else list(sizes_bytes)
    if len(sizes) != len(rates_bits_per_s):
        raise UsageError(
            f"{len(rates_bits_per_s)} rates but {len(sizes)} sizes", hint="pass one size per rate, or none"
        )
    known = {place: rate for place, rate in enumerate(rates_bits_per_s) if _is_positive(rate)}
    if not known:
        return Choice(highest=None, near=(), sufficient=None)
    highest = max(known, key=lambda place: known[place])
    near = [place for place in known if place != highest and known[place] >= NEAR_RATIO * known[highest]]
    enough = [
        (size, -rate, place)
        for place, rate in known.items()
        if rate >= SUFFICIENT_RATIO * known[highest] and _is_positive(size := sizes[place])
    ]
    sufficient = min(enough)[2] if enough else None
    return Choice(highest=highest, near=tuple(near), sufficient=sufficient)


def _is_positive(value: float | None) -> TypeGuard[float]:
    return value is not None and 0 < value < math.inf
