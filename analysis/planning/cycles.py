"""How many cycles a question needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.corrections import ALPHA_RATIO
from pathlab.analysis.estimators.interval import (
    CONFIDENCE_RATIO,
    Interval,
    IntervalBuilder,
    Undecided,
    as_samples,
    check_sample_count,
)
from pathlab.analysis.estimators.margins import MARGIN_RATIO, log_margins
from pathlab.analysis.estimators.serial import (
    BOUND_RATIO,
    CEILING_RATIO,
    CORRELATION_SAMPLES,
    UPPER_QUANTILE,
    bound_order,
    order_moments,
)
from pathlab.analysis.estimators.shifts import MINIMUM_PAIRS, ROUNDING_RATIO, critical_rank
from pathlab.analysis.libraries import special, stats
from pathlab.errors import UsageError

METHOD = "chi-square"
POWER_RATIO = 0.8
MINIMUM_CYCLES = MINIMUM_PAIRS
MAXIMUM_CYCLES = 1_000_000
#: A signed-rank test needs pi / 3 times the pairs of a t test when differences are normal (Lehmann 1975).
RANK_COST = math.pi / 3
#: How far the correlation's estimate lies above the truth in one campaign of five, in standard errors.
UNLUCKY_QUANTILE = 0.84


@dataclass(frozen=True, slots=True, kw_only=True)
class Pilot:
    """Mean and standard deviation (above 0) of the log ratios of n pairs.

    ``correlation_ratio`` is the estimate for neighbouring cycles, 0 or more; 0 too where fewer than 10 pairs
    could not show it.
    """

    pairs: int
    mean: float
    spread: float
    correlation_ratio: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CyclePlan:
    """Cycles that suffice with the stated power; the interval mirrors how well the spread is known.

    ``spread`` is the standard deviation of the log ratio of two trials of one cycle. ``cycles`` is ``None``
    where more than a million would be needed or the spread is unknown.
    """

    cycles: int | None = None
    interval: Interval
    spread: float | None = None
    power_ratio: float = POWER_RATIO
    alpha_ratio: float = ALPHA_RATIO
    undecided: Undecided | None = None


def _look_ahead(
    cycles: int, alpha_ratio: float, correlation_ratio: float, *, drawn: bool
) -> tuple[float, float, float]:
    """The interval that ``shifts.hodges_lehmann`` will give, where the correlation's estimate is unlucky.

    ``drawn``: the plan draws the order within each cycle, so that it need not allow for any. Student's
    quantile of it for an estimate divided by the error that samples of the true correlation show, that error
    in units of the spread, and its degrees of freedom.
    """
    if drawn:
        quantile = float(special.stdtrit(cycles - 1, 1 - alpha_ratio / 2))
        return quantile, math.sqrt(RANK_COST / cycles), float(cycles - 1)
    bound = BOUND_RATIO
    if cycles >= CORRELATION_SAMPLES:
        error = math.sqrt((1 - correlation_ratio**2) / cycles)
        bound = correlation_ratio + (UPPER_QUANTILE + UNLUCKY_QUANTILE) * error
        bound = min(bound, max(BOUND_RATIO, correlation_ratio + UNLUCKY_QUANTILE * error), CEILING_RATIO)
    inflation, shown, freedom = _find_moments(cycles, bound)
    true_inflation, true_shown, true_freedom = _find_moments(cycles, correlation_ratio)
    ratio = math.sqrt(inflation / shown / (true_inflation / true_shown))
    quantile = float(special.stdtrit(freedom, 1 - alpha_ratio / 2)) * ratio
    return quantile, math.sqrt(RANK_COST * true_inflation / cycles), true_freedom


def _find_moments(cycles: int, correlation: float) -> tuple[float, float, float]:
    """``serial.order_moments``, by their limits where there are very many cycles."""
    if cycles <= 10_000:
        return order_moments(cycles, correlation)
    square = correlation**2
    return (1 + correlation) / (1 - correlation), 1.0, cycles * (1 - square) / (1 + square)


def difference_power(
    difference: float,
    spread: float,
    cycles: int,
    alpha_ratio: float,
    correlation_ratio: float = 0.0,
    *,
    drawn: bool = False,
) -> float:
    """Probability that the interval of n pairs excludes 0 where their mean log ratio is ``difference``.

    ``correlation_ratio``: that of neighbouring cycles, of no effect where the order was ``drawn``. 0 for
    fewer than the 6 pairs that an interval needs, or too few for the exact test at this level.
    """
    if cycles < MINIMUM_CYCLES or (drawn and 2.0 ** (1 - cycles) > alpha_ratio):
        return 0.0
    if drawn and critical_rank(cycles, 1 - alpha_ratio)[0] == 1:  # all differences must have one sign
        same = float(special.ndtr(abs(difference) / spread))
        return same**cycles + (1 - same) ** cycles
    quantile, error, freedom = _look_ahead(cycles, alpha_ratio, correlation_ratio, drawn=drawn)
    # Beyond some 37 standard errors scipy's non-central t gives up; the chance is 1 long before.
    effect = min(abs(difference) / (spread * error), 37.0)
    return float(stats.nct.sf(quantile, freedom, effect))


def find_detectable_ratio(cycles: int, noise_ratio: float) -> float | None:
    """Least factor between two combinations that the pairs of a drawn order show in 80 % of campaigns.

    ``noise_ratio``: standard deviation of a trial's logarithm within a cycle (0.05: 5 %), above 0. ``None``
    for fewer than the 6 cycles that a test needs.

    Notes
    -----
    Assumption: noise about normal. Test: the exact signed-rank test of one pair at ``ALPHA_RATIO``; of
    several combinations more is needed. Power as for ``plan_cycles``; where all differences must have one
    sign to reach the level, as at 6 cycles, it is the chance of that.
    """
    if cycles < MINIMUM_CYCLES:
        return None
    spread = noise_ratio * math.sqrt(2)

    def power(difference: float) -> float:
        return difference_power(difference, spread, cycles, ALPHA_RATIO, drawn=True)

    low, high = 0.0, spread
    while power(high) < POWER_RATIO:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= POWER_RATIO else (middle, high)
    return math.exp(high)


def equivalence_power(
    difference: float,
    spread: float,
    cycles: int,
    alpha_ratio: float,
    correlation_ratio: float = 0.0,
    *,
    drawn: bool = False,
) -> float:
    """Probability that the interval of n pairs lies within ``MARGIN_RATIO``; ``drawn``: as above.

    Source: Phillips, Journal of Pharmacokinetics and Biopharmaceutics 18, 1990, by non-central t.
    """
    if cycles < MINIMUM_CYCLES:
        return 0.0
    drawn = drawn and 2.0 ** (1 - cycles) <= alpha_ratio
    low, high = log_margins(MARGIN_RATIO)
    quantile, error, freedom = _look_ahead(cycles, alpha_ratio, correlation_ratio, drawn=drawn)
    error *= spread
    above = stats.nct.sf(quantile, freedom, min((difference - low) / error, 37.0))
    below = stats.nct.cdf(-quantile, freedom, max((difference - high) / error, -37.0))
    return max(0.0, float(above + below) - 1)


def find_cycles(power: Callable[[int], float]) -> int | None:
    """Smallest number of cycles, 6 or more, whose power suffices (80 %); ``None`` above a million.

    ``power`` must not fall as cycles are added.
    """
    if power(MINIMUM_CYCLES) >= POWER_RATIO:
        return MINIMUM_CYCLES
    below, above = MINIMUM_CYCLES, 2 * MINIMUM_CYCLES
    while power(above) < POWER_RATIO:
        below, above = above, 2 * above
        if above > MAXIMUM_CYCLES:
            return None
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if power(middle) >= POWER_RATIO else (middle, above)
    return above


def plan_cycles(log_ratios: ArrayLike, difference_ratio: float = 0.05, *, drawn: bool = False) -> CyclePlan:
    """Cycles needed to see that one of a pair is ``difference_ratio`` (0.05: 5 %) larger than the other.

    ``log_ratios`` are those of pairs from a pilot, or of repeated equal trials (an A/A campaign); only their
    spread is used. ``drawn``: the plan draws the order within each cycle, so that only that spread matters.
    Raises ``UsageError`` for a difference out of range.

    Notes
    -----
    Assumption: log ratios about normal; the pilot's spread, and from 10 pairs on the correlation of its
    cycles, are the campaign's. The pilot is in time order. Test: that of ``pairs.compare_pairs`` at
    ``ALPHA_RATIO``, with all that it allows for the order of the cycles, and an estimate of their correlation
    that lies as high above the truth as one in five does. Minimum sample: 6 pairs; the interval goes by those
    of the spread (95 %, chi-square) and of the correlation, and is wide for a small pilot. Source: power by
    non-central t, times the asymptotic relative efficiency of the signed-rank test, pi / 3; Lehmann,
    Nonparametrics, 1975.
    """
    if not 0 < difference_ratio < 10:
        raise UsageError(
            f"difference {difference_ratio} cannot be planned for",
            hint="0.05 stands for a difference of 5 %",
        )
    values = as_samples(log_ratios, "log ratios")
    n = values.size
    reason = check_sample_count(n, MINIMUM_CYCLES)
    if reason is None and np.ptp(values) <= ROUNDING_RATIO * np.abs(values).max():
        reason = Undecided.NO_VARIATION
    builder = IntervalBuilder(n=n, method=METHOD)
    if reason is not None:
        return CyclePlan(interval=builder.build_undecided(reason), undecided=reason)
    spread, target = float(values.std(ddof=1)), math.log1p(difference_ratio)
    correlation = _estimate_correlation(values)
    tail = (1 - CONFIDENCE_RATIO) / 2
    low_spread, high_spread = (
        spread * math.sqrt((n - 1) / stats.chi2.ppf(q, n - 1)) for q in (1 - tail, tail)
    )
    order = bound_order(values)
    least = 2 * correlation - order.bound_ratio if order.correlation_ratio is not None else 0.0

    def cycles_at(assumed: float, correlation: float) -> int | None:
        return find_cycles(
            lambda cycles: difference_power(target, assumed, cycles, ALPHA_RATIO, correlation, drawn=drawn)
        )

    cycles, low = cycles_at(spread, correlation), cycles_at(low_spread, max(0.0, least))
    high = cycles_at(high_spread, order.bound_ratio)
    known = low is not None and high is not None
    return CyclePlan(
        cycles=cycles,
        interval=builder.build(low or 0, high or 0)
        if known
        else builder.build_undecided(Undecided.INCONCLUSIVE),
        spread=spread,
        undecided=Undecided.INCONCLUSIVE if cycles is None else None,
    )


def cycles_to_decide(
    log_ratios: ArrayLike, alpha_ratio: float = ALPHA_RATIO, *, drawn: bool = False
) -> int | None:
    """Cycles beyond those given that would decide between a winner and equivalence, or ``None``.

    ``drawn``: the plan draws the order within each cycle.
    ``None``: fewer than 6 pairs, no variation, or more than a million cycles. At least 1 otherwise.

    Notes
    -----
    Takes mean, spread and correlation seen for the truth and asks when the interval either excludes no
    difference or lies within the margin. An outlook and no promise: with few cycles the mean seen may be
    far off.
    """
    pilot = describe_pilot(log_ratios)
    return None if pilot is None else cycles_beyond(pilot, alpha_ratio, drawn=drawn)


def describe_pilot(log_ratios: ArrayLike) -> Pilot | None:
    """Mean, spread and correlation of log ratios in time order; ``None`` for fewer than 6 or all equal."""
    values = as_samples(log_ratios, "log ratios")
    if values.size < MINIMUM_CYCLES or np.ptp(values) <= ROUNDING_RATIO * np.abs(values).max():
        return None
    return Pilot(
        pairs=values.size,
        mean=float(values.mean()),
        spread=float(values.std(ddof=1)),
        correlation_ratio=_estimate_correlation(values),
    )


def _estimate_correlation(values: NDArray[np.float64]) -> float:
    return max(0.0, bound_order(values).correlation_ratio or 0.0)


def cycles_beyond(pilot: Pilot, alpha_ratio: float = ALPHA_RATIO, *, drawn: bool = False) -> int | None:
    """``cycles_to_decide`` from what a pilot showed; for one of m corrected tests pass alpha / m."""
    mean, spread, correlation = pilot.mean, pilot.spread, pilot.correlation_ratio
    _, high = log_margins(MARGIN_RATIO)

    def power(cycles: int) -> float:
        seen = difference_power(mean, spread, cycles, alpha_ratio, correlation, drawn=drawn)
        if abs(mean) >= high:
            return seen
        return max(seen, equivalence_power(mean, spread, cycles, alpha_ratio, correlation, drawn=drawn))

    needed = find_cycles(power)
    return None if needed is None else max(1, needed - pilot.pairs)
