"""Trend of values along a series or with a factor, and its bound."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.interval import (
    CONFIDENCE_RATIO,
    Interval,
    IntervalBuilder,
    Undecided,
    as_samples,
    check_lengths,
    check_sample_count,
)
from pathlab.analysis.estimators.margins import MARGIN_RATIO, log_margins
from pathlab.analysis.estimators.serial import bound_order
from pathlab.analysis.estimators.shifts import hodges_lehmann, student_p_value
from pathlab.analysis.libraries import stats

METHOD = "theil-sen"
MINIMUM_SAMPLES = 5
EXACT_SAMPLES = 50
#: Samples up to which the slopes between all pairs are made (16 million doubles).
MAXIMUM_SAMPLES = 5600
#: Samples up to which the moments of a slope are exact; the cost grows as their cube.
EXACT_MOMENTS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Mann-Kendall test and Theil-Sen line; slopes in the unit of the values per unit of the positions.

    ``tau_ratio`` is Kendall's tau-b, -1 to 1. ``inflation_ratio`` is the factor by which serial correlation
    inflated the slope's variance, 1 for values that are no series in time. ``change`` is the slope times the
    range of the positions, in the unit of the values.
    """

    n: int
    tau_ratio: float | None = None
    p_value: float | None = None
    p_exact: bool
    inflation_ratio: float | None = None
    slope: float | None = None
    slope_interval: Interval
    change: float | None = None
    undecided: Undecided | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeBound:
    """Relative change of values over the whole range of the positions, compared with a margin.

    ``change_ratio`` 0.02 means 2 % more at the far end. ``interval_ratio`` has the confidence 1 - alpha;
    ``bound_ratio`` is the smallest margin within which the ends would have been called equivalent.
    """

    n: int
    margin_ratio: float
    change_ratio: float | None
    interval_ratio: Interval
    bound_ratio: float | None
    equivalent: bool | None
    trend: Trend
    undecided: Undecided | None = None


def find_trend(values: ArrayLike, positions: ArrayLike | None = None) -> Trend:
    """Monotone trend of the values along their positions (their order where none are given).

    Raises ``UsageError`` where there is not one position for each value.

    Notes
    -----
    Assumption: without a trend the values are exchangeable, or, where positions ascend one by one (a series
    in time), stationary: the correlation of what the line leaves is then allowed for as in
    ``serial.bound_order``, at every number of values. The slope's standard error is the half-length of its
    95 % interval for exchangeable values over Student's quantile, times the factor by which
    correlation widens the error of a line; p-value and interval are Student's of it, so that they cannot
    contradict each other. Ties in values and positions are allowed for. Minimum sample: 5 values at two
    positions or more; undecided where all are equal. Values that are no series in time have the test's own
    p-value and interval, exact up to 50 without ties. In simulation of 7 to 200 values a trend is found in up
    to 3 % of series without one and without correlation, in up to 7 % at a first-order correlation of up to
    0.7. Source: Mann, Econometrica 13, 1945; Kendall, Rank Correlation Methods, 1975 (ties); Sen, JASA 63,
    1968; effective size for trends: Hamed and Rao, Journal of Hydrology 204, 1998. tau by
    ``scipy.stats.kendalltau``.
    """
    samples, places = _as_series(values, positions)
    n = samples.size
    reason = check_sample_count(n, MINIMUM_SAMPLES)
    if reason is None and (np.ptp(samples) == 0 or np.ptp(places) == 0):
        reason = Undecided.NO_VARIATION
    if reason is not None:
        return _without_trend(reason, n)
    slopes = pair_slopes(samples, places)
    slope = float(np.median(slopes))
    tau = float(stats.kendalltau(places, samples).statistic)
    spread = math.sqrt(kendall_variance(samples, places))
    tied = np.unique(samples).size < n or np.unique(places).size < n
    exact = not tied and n <= EXACT_SAMPLES
    trend = Trend(
        n=n,
        tau_ratio=tau,
        p_value=float(stats.kendalltau(places, samples, method="exact").pvalue)
        if exact
        else _normal_p_value(tau, spread, samples, places),
        p_exact=exact,
        inflation_ratio=1.0,
        slope=slope,
        slope_interval=_slope_interval(slopes, None if exact else spread, n),
        change=slope * float(np.ptp(places)),
    )
    if not (np.diff(places) > 0).all():
        return trend
    return _allow_for_order(trend, samples - slope * places, places)


def _allow_for_order(trend: Trend, left: NDArray[np.float64], indices: NDArray[np.float64]) -> Trend:
    """The trend of a series in time, from that of exchangeable values; ``left`` is what its line leaves."""
    plain = trend.slope_interval
    if plain.low is None or plain.high is None or trend.slope is None:
        return replace(trend, p_value=None, p_exact=False, slope_interval=plain)
    # The line runs through two samples or more: rounding must not create an order of their residuals.
    bound = bound_order(np.round(left / (np.ptp(left) or 1.0), 9), 2).bound_ratio
    inflation, shown, freedom = slope_moments(indices, bound)
    quantile = float(stats.t.ppf((1 + (plain.coverage_ratio or CONFIDENCE_RATIO)) / 2, trend.n - 2))
    error = (plain.high - plain.low) / 2 / quantile * math.sqrt(inflation / shown)
    builder = IntervalBuilder(n=trend.n, method=METHOD)
    p_value = student_p_value(trend.slope, error, freedom) if error > 0 else float(trend.slope == 0)
    return replace(
        trend,
        p_value=p_value,
        p_exact=False,
        inflation_ratio=inflation / shown,
        slope_interval=builder.build_student(trend.slope, error, freedom),
    )


def slope_moments(indices: NDArray[np.float64], correlation: float) -> tuple[float, float, float]:
    """Effect of a first-order correlation of neighbours on a line's slope, as ``serial.order_moments``.

    Inflation of the slope's variance, share of the variance that the samples show about their line, and the
    degrees of freedom of that. Exact up to 300 samples, by their limits for many beyond.
    """
    n = indices.size
    if correlation <= 0:
        return 1.0, 1.0, float(n - 2)
    if n > EXACT_MOMENTS:
        square = correlation**2
        return (1 + correlation) / (1 - correlation), 1.0, (n - 2) * (1 - square) / (1 + square)
    lags = np.arange(n)
    known = correlation ** np.abs(lags[:, None] - lags[None, :])
    axes, _ = np.linalg.qr(np.stack([np.ones(n), indices - indices.mean()], axis=1))
    along = axes[:, 1]
    left = known - axes @ (axes.T @ known)
    trace = float(np.trace(left))
    return float(along @ known @ along), trace / (n - 2), trace**2 / float(np.sum(left * left.T))


def find_common_trend(
    values: ArrayLike,
    positions: ArrayLike,
    cycles: ArrayLike,
) -> Trend:
    """The trend that the cycles of a campaign have in common, each with values at several positions.

    Raises ``UsageError`` where there is not one position and one cycle for each value.

    Notes
    -----
    Cycles are blocks: each has a slope of its own, Theil and Sen's, from which what its trials share has
    gone; the slope, its interval and p-value are those of ``shifts.hodges_lehmann`` over the slopes in the
    order of the cycles. Minimum sample: 6 cycles with two positions or more, else undecided (too few).
    ``tau_ratio`` is that of all values. In simulation of 7 to 60 cycles, whose positions vary each by
    itself at a correlation of 0.7 and all together, the 95 % interval holds the slope in 92 % or more.
    Source: as ``find_trend``; blocks: Hirsch, Slack and Smith, Water Resources Research 18, 1982.
    """
    samples, places = _as_series(values, positions)
    numbers = as_samples(cycles, "cycles")
    check_lengths(values=samples, cycles=numbers)
    plain = find_trend(samples, places)
    if plain.undecided is not None:
        return plain
    slopes = [
        float(np.median(pair_slopes(samples[inside], places[inside])))
        for inside in (numbers == number for number in np.unique(numbers))
        if np.ptp(places[inside]) > 0
    ]
    result = hodges_lehmann(slopes)
    slope = plain.slope if result.shift is None else result.shift
    return replace(
        plain,
        p_value=result.p_value,
        p_exact=False,
        inflation_ratio=None if result.error_ratio is None else result.error_ratio**2,
        slope=slope,
        slope_interval=replace(
            result.interval,
            n=plain.n,
            undecided=Undecided.TOO_FEW_SAMPLES if not slopes else result.interval.undecided,
        ),
        change=None if slope is None else slope * float(np.ptp(places)),
    )


def bound_change(
    values: ArrayLike,
    positions: ArrayLike,
    *,
    cycles: ArrayLike | None = None,
) -> ChangeBound:
    """By how much values above 0 change over the positions (throughput over durations), and the bound.

    The line is drawn through logarithms of the values over the positions as they are given; pass the
    logarithm of durations that double. ``cycles``: the cycle of each value, where a campaign repeats the
    positions cycle by cycle; the line is then that of ``find_common_trend``.

    Notes
    -----
    Assumption: as ``find_trend``; the change is monotone. "Equivalent" is a two one-sided test at alpha / 2:
    the interval of confidence 1 - alpha lies within +- margin (as a factor). Minimum sample: 5.
    Source: METHOD section 2, experiment 4; Schuirmann 1987 applied to the Theil-Sen interval.
    """
    samples, places = _as_series(values, positions)
    if samples.size and samples.min() <= 0:
        trend = _without_trend(Undecided.NOT_POSITIVE, samples.size)
    elif cycles is None:
        trend = find_trend(np.log(samples), places)
    else:
        trend = find_common_trend(np.log(samples), places, cycles)
    interval, bound = trend.slope_interval, None
    if interval.low is not None and interval.high is not None:
        span = float(np.ptp(places))
        bound = max(-interval.low * span, interval.high * span)
        interval = interval.transform(lambda end: math.expm1(end * span))
    return ChangeBound(
        n=trend.n,
        margin_ratio=MARGIN_RATIO,
        change_ratio=None if trend.change is None else math.expm1(trend.change),
        interval_ratio=interval,
        bound_ratio=None if bound is None else math.expm1(bound),
        equivalent=None if bound is None else bound < log_margins(MARGIN_RATIO)[1],
        trend=trend,
        undecided=trend.undecided or interval.undecided,
    )


def pair_slopes(samples: NDArray[np.float64], indices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Slopes between all pairs at different positions, sorted; of an even choice where there are too many."""
    if samples.size > MAXIMUM_SAMPLES:
        chosen = np.linspace(0, samples.size - 1, MAXIMUM_SAMPLES).astype(np.int64)
        samples, indices = samples[chosen], indices[chosen]
    slopes = np.empty(samples.size * (samples.size - 1) // 2)
    end = 0
    for index in range(samples.size - 1):
        run = indices[index + 1 :] - indices[index]
        apart = run != 0
        begin, end = end, end + int(np.count_nonzero(apart))
        slopes[begin:end] = (samples[index + 1 :] - samples[index])[apart] / run[apart]
    result = slopes[:end]
    result.sort()
    return result


def kendall_variance(samples: NDArray[np.float64], indices: NDArray[np.float64]) -> float:
    """Variance of Kendall's S without a trend, given the ties in both (Kendall 1975, section 4)."""
    n = float(samples.size)
    ours, theirs = (np.unique(item, return_counts=True)[1].astype(np.float64) for item in (samples, indices))

    def terms(counts: NDArray[np.float64]) -> tuple[float, float, float]:
        twos = counts * (counts - 1)
        return float(twos.sum()), float((twos * (counts - 2)).sum()), float((twos * (2 * counts + 5)).sum())

    (two, three, five), (two_x, three_x, five_x) = terms(ours), terms(theirs)
    plain = (n * (n - 1) * (2 * n + 5) - five - five_x) / 18
    return plain + two * two_x / (2 * n * (n - 1)) + three * three_x / (9 * n * (n - 1) * (n - 2))


def _normal_p_value(
    tau: float, spread: float, samples: NDArray[np.float64], indices: NDArray[np.float64]
) -> float:
    """Two-sided p-value of S with continuity correction."""
    pairs = samples.size * (samples.size - 1) / 2
    untied = [
        pairs - float((counts * (counts - 1) / 2).sum())
        for counts in (np.unique(item, return_counts=True)[1] for item in (samples, indices))
    ]
    score = abs(tau) * math.sqrt(untied[0] * untied[1])
    return min(1.0, 2 * float(stats.norm.sf(max(0.0, score - 1) / spread)))


def _exact_rank(n: int) -> tuple[int, float | None]:
    """Rank of the slope at which the interval begins without ties, and its exact coverage."""
    chances = np.ones(1)
    for count in range(2, n + 1):
        chances = np.convolve(chances, np.full(count, 1 / count))
    below = np.cumsum(chances)
    rank = int(np.searchsorted(below, (1 - CONFIDENCE_RATIO) / 2 * (1 + 1e-9), side="right"))
    return rank, 1 - 2 * float(below[rank - 1]) if rank else None


def _slope_interval(slopes: NDArray[np.float64], spread: float | None, n: int) -> Interval:
    """Order statistics of the slopes that the test would not refuse (Sen 1968); exact without ``spread``."""
    if spread is None:
        rank, coverage = _exact_rank(n)
    else:
        # With fewer samples used, S and its spread shrink as n^1.5, the number of slopes as n^2.
        scaled = spread * (min(n, MAXIMUM_SAMPLES) / n) ** 1.5
        rank = math.floor((slopes.size - float(stats.norm.ppf((1 + CONFIDENCE_RATIO) / 2)) * scaled) / 2)
        coverage = None
    builder = IntervalBuilder(n=n, method=METHOD)
    if rank < 1:
        return builder.build_undecided(Undecided.TOO_FEW_SAMPLES)
    return builder.build(slopes[rank - 1], slopes[slopes.size - rank], coverage)


def _as_series(
    values: ArrayLike, positions: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    samples = as_samples(values, "values")
    indices = np.arange(float(samples.size)) if positions is None else as_samples(positions, "positions")
    check_lengths(values=samples, positions=indices)
    return samples, indices


def _without_trend(reason: Undecided, n: int) -> Trend:
    none = IntervalBuilder(n=n, method=METHOD).build_undecided(reason)
    return Trend(n=n, p_exact=False, slope_interval=none, undecided=reason)
