"""By how much pairs in time order differ: the Hodges-Lehmann shift with its interval and tests.

Where the plan drew at random which of a pair came first, the signed-rank test rests on that draw and is
exact. Elsewhere its interval is widened by what the order of the pairs may take.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.corrections import ALPHA_RATIO
from pathlab.analysis.estimators.interval import (
    CONFIDENCE_RATIO,
    Interval,
    IntervalBuilder,
    Undecided,
    as_samples,
)
from pathlab.analysis.estimators.serial import bound_order, shows_no_level
from pathlab.analysis.libraries import special, stats

METHOD = "signed-rank-widened"
DRAWN_METHOD = "signed-rank-exact"
EXACT_PAIRS = 50
#: Pairs up to which the n (n + 1) / 2 averages of two are made (16 million doubles).
MAXIMUM_PAIRS = 5600
#: Of how many differences a shift has an interval, whatever the confidence.
MINIMUM_PAIRS = 6
# Differences that differ by less than this share of the largest are equal but for the arithmetic.
ROUNDING_RATIO = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """Hodges-Lehmann shift in the unit of the differences, with its interval and p-value (two-sided, of 0).

    0 lies outside of the interval of confidence 1 - alpha exactly where the p-value is not above alpha.
    ``drawn``: both are exact, by the signed-rank test of ``differences``, whose signs a draw decided. Else
    both are Student's, of ``standard_error`` on ``freedom`` degrees; ``correlation_bound_ratio`` is the
    serial correlation that they allow for, ``error_ratio`` the factor by which it makes the error larger.
    """

    n: int
    shift: float | None
    interval: Interval
    p_value: float | None = None
    standard_error: float | None = None
    freedom: float | None = None
    correlation_bound_ratio: float | None = None
    error_ratio: float | None = None
    drawn: bool = False
    undecided: Undecided | None = None
    differences: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)

    @property
    def tested(self) -> bool:
        """Whether it has an interval and tests."""
        return self.drawn or self.standard_error is not None

    def at(self, confidence_ratio: float) -> Interval:
        """The interval at another confidence."""
        method = DRAWN_METHOD if self.drawn else METHOD
        builder = IntervalBuilder(n=self.n, method=method, confidence_ratio=confidence_ratio)
        if self.drawn and self.differences is not None:
            return _invert_signed_ranks(self.differences, builder)
        if self.shift is None or self.standard_error is None or self.freedom is None:
            return builder.build_undecided(self.interval.undecided or Undecided.NO_SAMPLES)
        return builder.build_student(self.shift, self.standard_error, self.freedom)

    def one_sided_p_value(self, bound: float, *, above: bool) -> float:
        """The p-value of the shift being above (else below) ``bound``; 1 where it was not tested."""
        if self.drawn and self.differences is not None:
            averages = _average_pairs(self.differences)
            against = averages <= bound if above else averages >= bound
            return signed_rank_tail(self.n, int(np.count_nonzero(against)))
        if self.shift is None or self.standard_error is None or self.freedom is None:
            return 1.0
        distance = (self.shift - bound) / self.standard_error
        return float(special.stdtr(self.freedom, -distance if above else distance))

    def equivalence_p_value(self, margins: tuple[float, float]) -> float:
        """The level below which the interval of confidence 1 - level is no longer within the margins."""
        low, high = margins
        sides = self.one_sided_p_value(low, above=True), self.one_sided_p_value(high, above=False)
        return min(1.0, 2 * max(sides))


def student_p_value(estimate: float, standard_error: float, freedom: float) -> float:
    """Two-sided, of an estimate of 0."""
    return 2 * float(special.stdtr(freedom, -abs(estimate) / standard_error))


def count_signed_ranks(doubled_ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Chance of each sum of positive ranks when every sign is a fair coin, index = twice the sum.

    Cost: pairs x sum of ranks.
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


@functools.cache
def _signed_rank_tails(n: int) -> NDArray[np.float64]:
    """Chance of at most each sum of positive ranks of n pairs without ties."""
    return np.cumsum(count_signed_ranks(2 * np.arange(1, n + 1))[::2])


def signed_rank_tail(n: int, averages: int) -> float:
    """Chance of at most this number of averages of n fair pairs on one side of 0; exact up to 50 pairs."""
    if n <= EXACT_PAIRS:
        return float(_signed_rank_tails(n)[min(averages, n * (n + 1) // 2)])
    mean, spread = _describe_signed_ranks(n)
    return float(stats.norm.cdf((averages + 0.5 - mean) / spread))


def _describe_signed_ranks(n: int) -> tuple[float, float]:
    """Mean and standard deviation of the sum of positive ranks of n fair pairs."""
    return n * (n + 1) / 4, math.sqrt(n * (n + 1) * (2 * n + 1) / 24)


@functools.cache
def critical_rank(n: int, confidence_ratio: float) -> tuple[int, float | None]:
    """Rank among the sorted averages at which the interval begins and its coverage where that is exact.

    Of independent pairs. Rank 0: no interval of this confidence from so few pairs.
    """
    alpha = 1 - confidence_ratio
    if n <= EXACT_PAIRS:
        below = _signed_rank_tails(n)
        # Rounding must not cost the rank where the tail equals alpha / 2 exactly.
        rank = int(np.searchsorted(below, alpha / 2 * (1 + 1e-9), side="right"))
        return rank, 1 - 2 * float(below[rank - 1]) if rank else None
    mean, spread = _describe_signed_ranks(n)
    return max(0, math.floor(mean - 0.5 + float(stats.norm.ppf(alpha / 2)) * spread) + 1), None


def decides_by_draw(pairs: int, tests: int, alpha_ratio: float = ALPHA_RATIO) -> bool:
    """Whether the exact signed-rank test of these pairs can reach the level of one of ``tests`` tests.

    Its least p-value is 2^(1 - pairs). ``tests`` 0: the order was given, and no draw decided signs.
    """
    return tests > 0 and pairs >= MINIMUM_PAIRS and 2.0 ** (1 - pairs) <= alpha_ratio / tests


def hodges_lehmann(differences: ArrayLike, *, drawn_tests: int = 0) -> Shift:
    """Shift of paired differences, in time order, with an interval and a test.

    ``drawn_tests``: where the plan drew at random which of each pair came first, of how many tests, corrected
    together, this is one; 0: the order was given.

    Notes
    -----
    The median of the averages of all pairs of differences, each with itself included. Assumption:
    differences symmetric about the shift (so two series with equal noise); where they are skewed it is the
    pseudo-median.

    With ``drawn_tests``, and pairs enough for the level (``decides_by_draw``), the test is the exact
    signed-rank test and the interval its inversion. Under the null hypothesis each sign was a fair coin,
    whatever the noise does over time, so neither allows for serial correlation. Averages equal to the bound
    count against it.

    Otherwise their order: as ``serial.bound_order``. The standard error is the half-length of the 95 %
    interval of the signed-rank test over Student's quantile of its coverage, times ``Order.error_ratio``; the
    interval takes Student's quantile of ``Order.freedom``. Where most differences are equal, so that the
    signed-rank interval has no length, the error is that of their mean. Minimum sample: 1 for the shift, 6
    for an interval; a ramp or a step is undecided (too correlated).
    In simulation (``tests/statistics/test_serial_targets.py``) of 7 to 200 pairs the 95 % interval holds the
    shift in 97 % or more without correlation and in 94 % or more at a first-order correlation of up to 0.7.
    Where there is none it is 3.0, 1.6, 1.4, 1.2 and 1.1 times as wide as that of the signed-rank test for
    independent pairs, at 7, 13, 19, 60 and 200 of them. Cost: n^2 / 2; above 5600 pairs an even choice.
    Source: Hodges and Lehmann, Annals of Mathematical Statistics 34, 1963; Hollander and Wolfe, Nonparametric
    Statistical Methods, section 3.3; a scale from the interval's length: Lehmann, ibid.; by the draw: Fisher,
    The Design of Experiments, 1935; Edgington and Onghena, Randomization Tests, 4th ed., 2007.
    """
    values = as_samples(differences, "differences")
    n = values.size
    drawn = decides_by_draw(n, drawn_tests) and n <= MAXIMUM_PAIRS
    builder = IntervalBuilder(n=n, method=DRAWN_METHOD if drawn else METHOD)
    if n == 0:
        none = builder.build_undecided(Undecided.NO_SAMPLES)
        return Shift(n=0, shift=None, interval=none, undecided=Undecided.NO_SAMPLES)
    few = np.linspace(0, n - 1, MAXIMUM_PAIRS).astype(np.int64)
    used = values if n <= MAXIMUM_PAIRS else values[few]
    averages = _average_pairs(used)
    shift = float(np.mean(averages[(averages.size - 1) // 2 : averages.size // 2 + 1]))
    reason = None
    if n < MINIMUM_PAIRS:
        reason = Undecided.TOO_FEW_SAMPLES
    elif np.ptp(values) <= ROUNDING_RATIO * np.abs(values).max():
        reason = Undecided.NO_VARIATION
    elif not drawn and shows_no_level(values):
        reason = Undecided.TOO_CORRELATED
    if reason is not None:
        return Shift(n=n, shift=shift, interval=builder.build_undecided(reason))
    if drawn:
        return _test_by_draw(values, averages, shift, builder)
    order = bound_order(values)
    error = _measure_error(values, averages, used.size) * order.error_ratio
    return Shift(
        n=n,
        shift=shift,
        interval=builder.build_student(shift, error, order.freedom),
        p_value=student_p_value(shift, error, order.freedom),
        standard_error=error,
        freedom=order.freedom,
        correlation_bound_ratio=order.bound_ratio,
        error_ratio=order.error_ratio,
    )


def _test_by_draw(
    values: NDArray[np.float64], averages: NDArray[np.float64], shift: float, builder: IntervalBuilder
) -> Shift:
    sides = int(np.count_nonzero(averages <= 0)), int(np.count_nonzero(averages >= 0))
    return Shift(
        n=values.size,
        shift=shift,
        interval=_invert_signed_ranks(values, builder),
        p_value=min(1.0, 2 * signed_rank_tail(values.size, min(sides))),
        drawn=True,
        differences=values,
    )


def _invert_signed_ranks(values: NDArray[np.float64], builder: IntervalBuilder) -> Interval:
    """All shifts that the exact signed-rank test does not refuse; none of a confidence out of reach."""
    rank, coverage = critical_rank(values.size, builder.confidence_ratio)
    if rank == 0:
        return builder.build_undecided(Undecided.TOO_FEW_SAMPLES)
    averages = _average_pairs(values)
    return builder.build(averages[rank - 1], averages[averages.size - rank], coverage)


def _average_pairs(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The averages of all pairs of values, each with itself included, sorted; made in place of one array."""
    averages = np.empty(values.size * (values.size + 1) // 2)
    end = 0
    for index in range(values.size):
        begin, end = end, end + values.size - index
        averages[begin:end] = (values[index] + values[index:]) / 2
    averages.sort()
    return averages


def _measure_error(values: NDArray[np.float64], averages: NDArray[np.float64], used: int) -> float:
    """Standard error of the shift of as many independent differences, from the signed-rank interval."""
    rank, coverage = critical_rank(used, CONFIDENCE_RATIO)
    length = float(averages[averages.size - rank] - averages[rank - 1])
    if length <= ROUNDING_RATIO * float(np.abs(averages[[0, -1]]).max()):
        return float(values.std(ddof=1)) / math.sqrt(values.size)
    quantile = float(special.stdtrit(used - 1, (1 + (coverage or CONFIDENCE_RATIO)) / 2))
    return length / 2 / quantile * math.sqrt(used / values.size)
