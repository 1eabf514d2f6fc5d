"""Two groups of trials that share nothing but their condition: by what factor they differ."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from pathlab.analysis.corrections import ALPHA_RATIO, check_alpha
from pathlab.analysis.equivalence import MARGIN_RATIO, check_margins, log_margins
from pathlab.analysis.interval import Interval, Undecided, as_samples, undecided_interval
from pathlab.errors import UsageError

METHOD = "rank-sum"
#: Up to this many pairs of values the distribution of the rank sum is the exact one where nothing is tied.
EXACT_PRODUCT = 2500
#: Pairs of values up to which all ratios are made (16 million doubles); groups above are thinned evenly.
MAXIMUM_PRODUCT = 16_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRatio:
    """``second`` over ``first``: Hodges-Lehmann ratio, interval, and the tests of being 1 and of mattering.

    ``p_value`` is two-sided, of no difference; ``equivalence_p_value`` the larger of two one-sided ones,
    of a difference of at least the margin. All ``None`` where ``undecided`` says why.
    """

    first_n: int
    second_n: int
    ratio: float | None
    interval_ratio: Interval
    p_value: float | None
    equivalence_p_value: float | None
    undecided: Undecided | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupShift:
    """``second`` less ``first``: Hodges-Lehmann shift in the values' unit; p-values as of ``GroupRatio``."""

    first_n: int
    second_n: int
    shift: float | None
    interval: Interval
    p_value: float | None
    equivalence_p_value: float | None
    undecided: Undecided | None = None


def compare_groups(
    first: ArrayLike,
    second: ArrayLike,
    *,
    margin_ratio: float = MARGIN_RATIO,
    alpha_ratio: float = ALPHA_RATIO,
) -> GroupRatio:
    """By what factor the values of ``second`` differ from those of ``first``; the groups need not be equal.

    Raises ``UsageError`` for a margin or level that means nothing.

    Notes
    -----
    Assumption: independent trials; the logarithms of the groups have the same shape and are shifted. Ratio:
    the median over all second / first. Interval and tests: Wilcoxon's rank sum (Mann and Whitney's U), exact
    up to 2500 pairs of values without ties, else normal with correction for ties and continuity. Equivalence:
    two one-sided rank-sum tests against 1 / (1 + margin) and 1 + margin. Minimum sample: 4 on each side (or
    3 against 5) for either verdict at 95 %. Cost: n x m.
    Source: Hodges and Lehmann 1963; Moses' interval as in Hollander and Wolfe, section 4.3.
    """
    margins = log_margins(margin_ratio)
    ours, theirs = as_samples(first, "first"), as_samples(second, "second")
    if min(ours.min(initial=1.0), theirs.min(initial=1.0)) <= 0:
        check_alpha(alpha_ratio)
        empty = not (ours.size and theirs.size)
        reason = Undecided.NO_SAMPLES if empty else Undecided.NOT_POSITIVE
        found = _undecided(reason, (ours.size, theirs.size), alpha_ratio)
    else:
        found = compare_levels(np.log(ours), np.log(theirs), margins=margins, alpha_ratio=alpha_ratio)
    interval = found.interval
    return GroupRatio(
        first_n=found.first_n,
        second_n=found.second_n,
        ratio=None if found.shift is None else math.exp(found.shift),
        interval_ratio=replace(
            interval,
            low=None if interval.low is None else math.exp(interval.low),
            high=None if interval.high is None else math.exp(interval.high),
        ),
        p_value=found.p_value,
        equivalence_p_value=found.equivalence_p_value,
        undecided=found.undecided,
    )


def compare_levels(
    first: ArrayLike,
    second: ArrayLike,
    *,
    margins: tuple[float, float],
    alpha_ratio: float = ALPHA_RATIO,
) -> GroupShift:
    """By how much the values of ``second`` lie above those of ``first``, in their own unit.

    For what may be 0 or below, such as loss and dRTT. ``margins`` (low below 0, high above) bound what does
    not matter. Raises ``UsageError`` for margins or a level that mean nothing.

    Notes
    -----
    As ``compare_groups``, of the values instead of their logarithms. Where most values are equal, such as a
    loss of 0, the shift is theirs and its interval is undecided (no variation); the tests are corrected for
    the ties.
    """
    check_margins(margins, alpha_ratio)
    low, high = margins
    before, after = as_samples(first, "first"), as_samples(second, "second")
    if not (before.size and after.size):
        return _undecided(Undecided.NO_SAMPLES, (before.size, after.size), alpha_ratio)
    differences = np.sort(np.subtract.outer(_thin(after), _thin(before)).ravel())
    return GroupShift(
        first_n=before.size,
        second_n=after.size,
        shift=float(np.median(differences)),
        interval=_bound_shift(differences, (before.size, after.size), alpha_ratio),
        p_value=_rank_sum(after, before, "two-sided"),
        equivalence_p_value=max(
            _rank_sum(after - low, before, "greater"), _rank_sum(after - high, before, "less")
        ),
    )


def trials_to_decide(tests: int, alpha_ratio: float = ALPHA_RATIO) -> int:
    """The fewest trials on each side with which one of ``tests`` tests can be decided at all, Holm-corrected.

    With fewer even a complete separation of the groups proves nothing.
    """
    check_alpha(alpha_ratio)
    if tests < 1:
        raise UsageError(f"{tests} tests are none", hint="pass at least 1")
    n = 2
    while 2 / math.comb(2 * n, n) * tests >= alpha_ratio:
        n += 1
    return n


def split_halves(values: ArrayLike) -> float | None:
    """How far the two halves of one group differ, as a factor of at least 1: how no change looks.

    Every other value, in the order of measurement, against the rest; the ratio of their medians.
    ``None`` for fewer than 4 values, or where one is not above 0.

    Notes
    -----
    Halves have half the trials, so that their difference is about 1.4 times that of two whole groups: a floor
    taken from it is on the careful side. Source: A/A comparison.
    """
    samples = as_samples(values, "values")
    if samples.size < 4 or samples.min() <= 0:
        return None
    logs = np.log(samples)
    return math.exp(abs(float(np.median(logs[::2]) - np.median(logs[1::2]))))


def _thin(values: NDArray[np.float64]) -> NDArray[np.float64]:
    side = math.isqrt(MAXIMUM_PRODUCT)
    return values if values.size <= side else values[np.linspace(0, values.size - 1, side).astype(np.int64)]


def _has_no_ties(before: NDArray[np.float64], after: NDArray[np.float64]) -> bool:
    return np.unique(np.concatenate((before, after))).size == before.size + after.size


def _rank_sum(after: NDArray[np.float64], before: NDArray[np.float64], alternative: str) -> float:
    """The p-value of Mann and Whitney's U; scipy would count its distribution anew for every call."""
    if before.size * after.size > EXACT_PRODUCT or not _has_no_ties(before, after):
        answer = stats.mannwhitneyu(after, before, alternative=alternative, method="asymptotic")
        p_value = float(answer.pvalue)
        return 1.0 if math.isnan(p_value) else min(1.0, p_value)
    above = int(np.searchsorted(np.sort(before), after).sum())
    below = np.cumsum(_count_rank_sums(after.size, before.size))
    less, greater = float(below[above]), float(below[before.size * after.size - above])
    if alternative == "two-sided":
        return min(1.0, 2 * min(less, greater))
    return min(1.0, less if alternative == "less" else greater)


def _bound_shift(differences: NDArray[np.float64], sizes: tuple[int, int], alpha_ratio: float) -> Interval:
    """Moses' interval: as many differences from either end as the rank-sum test leaves inside."""
    n, m = sizes
    rank = _critical_rank(n, m, alpha_ratio)
    total = n + m
    # A thinned set of differences keeps its quantiles.
    scaled = rank * differences.size // (n * m)
    reason = None
    if rank < 1:
        reason = Undecided.TOO_FEW_SAMPLES
    elif differences[0] == differences[-1]:
        reason = Undecided.NO_VARIATION
    if reason is not None:
        return undecided_interval(reason, n=total, confidence_ratio=1 - alpha_ratio, method=METHOD)
    scaled = max(1, scaled)
    return Interval(
        low=float(differences[scaled - 1]),
        high=float(differences[differences.size - scaled]),
        n=total,
        confidence_ratio=1 - alpha_ratio,
        coverage_ratio=None,
        method=METHOD,
    )


def _critical_rank(n: int, m: int, alpha_ratio: float) -> int:
    """The largest k with P(U <= k - 1) <= alpha / 2, so that the k-th differences bound the interval."""
    if n * m <= EXACT_PRODUCT:
        below = np.cumsum(_count_rank_sums(n, m))
        return int(np.searchsorted(below, alpha_ratio / 2 * (1 + 1e-9), side="right"))
    spread = math.sqrt(n * m * (n + m + 1) / 12)
    return max(0, math.floor(n * m / 2 - 0.5 + float(stats.norm.ppf(alpha_ratio / 2)) * spread) + 1)


@functools.cache
def _count_rank_sums(n: int, m: int) -> NDArray[np.float64]:
    """Chance of each value of U from 0 to n m without ties, as the coefficients of the Gaussian binomial."""
    ways = [1] + [0] * (n * m)  # whole numbers: floats would cancel
    for step in range(1, n + 1):
        rise, fall = m + step, step
        for place in range(n * m, rise - 1, -1):
            ways[place] -= ways[place - rise]
        for place in range(fall, n * m + 1):
            ways[place] += ways[place - fall]
    total = math.comb(n + m, n)
    return np.array([count / total for count in ways])


def _undecided(reason: Undecided, sizes: tuple[int, int], alpha_ratio: float) -> GroupShift:
    none = undecided_interval(reason, n=sum(sizes), confidence_ratio=1 - alpha_ratio, method=METHOD)
    return GroupShift(
        first_n=sizes[0],
        second_n=sizes[1],
        shift=None,
        interval=none,
        p_value=None,
        equivalence_p_value=None,
        undecided=reason,
    )
