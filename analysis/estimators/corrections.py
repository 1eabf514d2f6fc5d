"""Corrections for several tests on the same data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pathlab.errors import UsageError

ALPHA_RATIO = 0.05


def check_alpha(alpha_ratio: float) -> None:
    """Raise ``UsageError`` unless the level lies strictly between 0 and 0.5."""
    if not 0 < alpha_ratio < 0.5:
        raise UsageError(
            f"level {alpha_ratio} is not between 0 and 0.5", hint="0.05 stands for 5 % false findings"
        )


def correct_holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """P-values adjusted so that the chance of any one below a level, where none should be, is that level.

    ``None`` marks a test that could not be made; it stays ``None`` and does not count.
    Raises ``UsageError`` for a p-value outside 0 to 1.

    Notes
    -----
    Assumption: none on how the tests depend on each other. Minimum: no test (gives an empty answer).
    Source: Holm, Scandinavian Journal of Statistics 6, 1979.
    """
    made = [(index, p) for index, p in enumerate(p_values) if p is not None]
    if not all(0 <= p <= 1 for _, p in made):
        raise UsageError(
            "p-values: one is not between 0 and 1", hint="pass None for a test that could not be made"
        )
    adjusted: list[float | None] = [None] * len(p_values)
    if made:
        # statsmodels' multipletests collects garbage in every call: up to a third of a second for two values.
        made.sort(key=lambda item: item[1])
        ascending = np.array([p for _, p in made]) * np.arange(len(made), 0, -1)
        for (index, _), value in zip(made, np.minimum(np.maximum.accumulate(ascending), 1.0), strict=True):
            adjusted[index] = float(value)
    return tuple(adjusted)


def holm_levels(*families: Sequence[float | None], alpha_ratio: float = ALPHA_RATIO) -> tuple[float, ...]:
    """The level at which Holm's procedure tests each question, so that its interval can use it too.

    ``families``: the p-values of each family of tests, one for each question in the same order. Of several
    families a question takes the smallest of its levels: one interval of confidence 1 - level then gives
    all verdicts on it, and each family keeps ``alpha_ratio``. Never above ``alpha_ratio``; where no test
    could be made it is ``alpha_ratio``.

    Notes
    -----
    The k-th smallest of m p-values is compared with alpha / (m - k + 1), up to the first that stays above it;
    that one's level goes for all larger ones. A p-value is rejected by Holm exactly where it is not above
    its level. Assumption, source: as ``correct_holm``.
    """
    check_alpha(alpha_ratio)
    levels = [alpha_ratio] * max((len(family) for family in families), default=0)
    for family in families:
        made = sorted((p, index) for index, p in enumerate(family) if p is not None)
        steps = [alpha_ratio / (len(made) - at) for at in range(len(made))]
        kept = next((at for at, (p, _) in enumerate(made) if p > steps[at]), len(made))
        for at, (_, index) in enumerate(made):
            levels[index] = min(levels[index], steps[min(at, kept)])
    return tuple(levels)
