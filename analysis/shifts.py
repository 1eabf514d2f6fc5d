"""By how much pairs differ: the Hodges-Lehmann shift with its interval and the signed-rank test."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from pathlab.analysis.interval import (
    CONFIDENCE_RATIO,
    Interval,
    Undecided,
    as_samples,
    check_confidence,
    undecided_interval,
)

METHOD = "signed-rank"
EXACT_PAIRS = 50
#: Pairs up to which the n (n + 1) / 2 averages of two are made (16 million doubles).
MAXIMUM_PAIRS = 5600


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """Hodges-Lehmann shift in the unit of the differences, its interval and the signed-rank p-value.

    ``p_exact`` says whether the p-value is from the exact distribution. ``p_value`` is ``None`` without
    a difference that is not 0.
    """

    n: int
    shift: float | None
    interval: Interval
    p_value: float | None
    p_exact: bool
    undecided: Undecided | None = None


def count_signed_ranks(doubled_ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Chance of each sum of positive ranks when every sign is a fair coin, index = twice the sum.

    Ranks are doubled so that ties, whose ranks are halves, stay whole numbers: with ties the distribution is
    exact given them. Cost: pairs x sum of ranks.
    """
    chances = np.zeros(int(doubled_ranks.sum()) + 1)
    chances[0] = 1.0
    reached = 0
    for rank in doubled_ranks:
        moved = chances[: reached + 1] / 2
        chances[: reached + 1] /= 2
        chances[rank : rank + reached + 1] += moved
        reached += int(rank)
    return chances


def signed_rank_p_value(differences: NDArray[np.float64]) -> tuple[float | None, bool]:
    """Two-sided p-value of Wilcoxon's signed-rank test and whether it is exact; zeros are left out.

    Notes
    -----
    Exact up to 50 differences, ties included; beyond that ``scipy.stats.wilcoxon`` with its normal
    approximation, corrected for ties and continuity. Source: Wilcoxon, Biometrics Bulletin 1, 1945.
    """
    moved = differences[differences != 0]
    if moved.size == 0:
        return None, False
    if moved.size > EXACT_PAIRS:
        answer = stats.wilcoxon(moved, method="asymptotic", correction=True)
        return float(answer.pvalue), False
    ranks = np.rint(2 * stats.rankdata(np.abs(moved))).astype(np.int64)
    chances = count_signed_ranks(ranks)
    seen = int(ranks[moved > 0].sum())
    tail = min(float(chances[: seen + 1].sum()), float(chances[seen:].sum()))
    return min(1.0, 2 * tail), True


@functools.cache
def critical_rank(n: int, confidence_ratio: float) -> tuple[int, float | None]:
    """Rank among the sorted averages at which the interval begins and its coverage where that is exact.

    Rank 0: no interval of this confidence from so few pairs.
    """
    alpha = 1 - confidence_ratio
    if n <= EXACT_PAIRS:
        below = np.cumsum(count_signed_ranks(2 * np.arange(1, n + 1))[::2])
        # Rounding must not cost the rank where the tail equals alpha / 2 exactly.
        rank = int(np.searchsorted(below, alpha / 2 * (1 + 1e-9), side="right"))
        return rank, 1 - 2 * float(below[rank - 1]) if rank else None
    mean, spread = n * (n + 1) / 4, math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return max(0, math.floor(mean - 0.5 + float(stats.norm.ppf(alpha / 2)) * spread) + 1), None


def hodges_lehmann(differences: ArrayLike, confidence_ratio: float = CONFIDENCE_RATIO) -> Shift:
    """Shift of paired differences with the interval that belongs to the signed-rank test.

    Notes
    -----
    The median of the averages of all pairs of differences, each with itself included. Assumption:
    independent pairs whose differences are symmetric about the shift (so two series with equal noise);
    where they are skewed it is the pseudo-median. Minimum sample: 1 for the shift, 6 for an interval at
    95 %. Coverage is exact up to 50 pairs without ties (at least that with ties) and approximate beyond.
    Cost: n^2 / 2; above 5600 pairs an even choice of them is used for shift and interval.
    Source: Hodges and Lehmann, Annals of Mathematical Statistics 34, 1963; Hollander and Wolfe,
    Nonparametric Statistical Methods, section 3.3.
    """
    check_confidence(confidence_ratio)
    values = as_samples(differences, "differences")
    n = values.size
    if n == 0:
        none = undecided_interval(Undecided.NO_SAMPLES, n=0, confidence_ratio=confidence_ratio, method=METHOD)
        return Shift(
            n=0, shift=None, interval=none, p_value=None, p_exact=False, undecided=Undecided.NO_SAMPLES
        )
    p_value, exact = signed_rank_p_value(values)
    used = values
    if n > MAXIMUM_PAIRS:
        used = values[np.linspace(0, n - 1, MAXIMUM_PAIRS).astype(np.int64)]
    first, second = np.triu_indices(used.size)
    averages = np.sort((used[first] + used[second]) / 2)
    return Shift(
        n=n,
        shift=float(np.median(averages)),
        interval=_shift_interval(averages, used.size, confidence_ratio),
        p_value=p_value,
        p_exact=exact,
    )


def _shift_interval(averages: NDArray[np.float64], n: int, confidence_ratio: float) -> Interval:
    rank, coverage = critical_rank(n, confidence_ratio)
    reason = None
    if rank == 0:
        reason = Undecided.TOO_FEW_SAMPLES
    elif averages[0] == averages[-1]:
        reason = Undecided.NO_VARIATION
    if reason is not None:
        return undecided_interval(reason, n=n, confidence_ratio=confidence_ratio, method=METHOD)
    return Interval(
        low=float(averages[rank - 1]),
        high=float(averages[averages.size - rank]),
        n=n,
        confidence_ratio=confidence_ratio,
        coverage_ratio=coverage,
        method=METHOD,
    )
