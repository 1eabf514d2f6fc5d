"""Corrections for asking several questions of the same data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pathlab.errors import UsageError

ALPHA_RATIO = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """Adjusted p-values in the order given and which are rejected; ``None`` where there was no test."""

    tests: int
    alpha_ratio: float
    adjusted_p_values: tuple[float | None, ...]
    rejected: tuple[bool | None, ...]


def check_alpha(alpha_ratio: float) -> None:
    """Raise ``UsageError`` unless the level lies strictly between 0 and 0.5."""
    if not 0 < alpha_ratio < 0.5:
        raise UsageError(
            f"level {alpha_ratio} is not between 0 and 0.5", hint="0.05 stands for 5 % false findings"
        )


def correct_holm(p_values: Sequence[float | None], alpha_ratio: float = ALPHA_RATIO) -> Correction:
    """Adjust p-values so that the chance of any false finding among them stays at the level.

    ``None`` stands for a test that could not be made; it stays ``None`` and does not count.
    Raises ``UsageError`` for a p-value outside 0 to 1.

    Notes
    -----
    Assumption: none on how the tests depend on each other. Minimum: no test (gives an empty answer).
    Source: Holm, Scandinavian Journal of Statistics 6, 1979.
    """
    check_alpha(alpha_ratio)
    made = [(place, p) for place, p in enumerate(p_values) if p is not None]
    if not all(0 <= p <= 1 for _, p in made):
        raise UsageError(
            "p-values: one is not between 0 and 1", hint="pass None for a test that could not be made"
        )
    adjusted: list[float | None] = [None] * len(p_values)
    rejected: list[bool | None] = [None] * len(p_values)
    if made:
        # statsmodels' multipletests collects garbage in every call: up to a third of a second for two values.
        made.sort(key=lambda one: one[1])
        ascending = np.array([p for _, p in made]) * np.arange(len(made), 0, -1)
        for (place, _), value in zip(made, np.minimum(np.maximum.accumulate(ascending), 1.0), strict=True):
            adjusted[place], rejected[place] = float(value), bool(value <= alpha_ratio)
    return Correction(
        tests=len(made),
        alpha_ratio=alpha_ratio,
        adjusted_p_values=tuple(adjusted),
        rejected=tuple(rejected),
    )
