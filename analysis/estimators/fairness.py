"""How evenly the streams of a flow share what they carry."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from pathlab.analysis.estimators.interval import Undecided, as_amounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Fairness:
    """Jain's index, from 1/streams (one stream has all) to 1 (equal shares); ``None`` when undecided."""

    streams: int
    jain_ratio: float | None = None
    undecided: Undecided | None = None


def jain_index(shares: ArrayLike) -> Fairness:
    """Jain's fairness index of what each stream carried (bytes or rates; the scale cancels).

    Raises ``UsageError`` for a negative share.

    Notes
    -----
    (sum x)^2 / (n sum x^2). Assumes that every stream was offered the same chance. Minimum: 1 stream, which
    gives 1 by definition. Undefined, and said so, when no stream carried anything.
    Source: Jain, Chiu, Hawe, DEC-TR-301, 1984.
    """
    values = as_amounts(shares, "shares")
    if values.size == 0:
        return Fairness(streams=0, undecided=Undecided.NO_SAMPLES)
    largest = values.max()
    if largest == 0:
        return Fairness(streams=values.size, undecided=Undecided.ALL_ZERO)
    scaled = values / largest  # keeps the squares of byte counts within a double
    index = float(scaled.sum() ** 2 / (values.size * (scaled @ scaled)))
    return Fairness(streams=values.size, jain_ratio=min(1.0, index))
