"""How evenly the streams of a flow share what they carry."""

from __future__ import annotations

from numpy.typing import ArrayLike

from pathlab.analysis.estimators.interval import as_amounts


def jain_index(shares: ArrayLike) -> float | None:
    """Jain's index of what each stream carried (bytes or rates), 1/streams (one has all) to 1 (equal shares).

    ``None`` without streams, and where none carried anything. Raises ``UsageError`` for a negative share.

    Notes
    -----
    (sum x)^2 / (n sum x^2). Assumes that every stream was offered the same chance. The scale cancels.
    Minimum: 1 stream, which gives 1 by definition.
    Source: Jain, Chiu, Hawe, DEC-TR-301, 1984.
    """
    values = as_amounts(shares, "shares")
    largest = values.max(initial=0.0)
    if largest == 0:
        return None
    scaled = values / largest  # keeps the squares of byte counts within a double
    return min(1.0, float(scaled.sum() ** 2 / (values.size * (scaled @ scaled))))
