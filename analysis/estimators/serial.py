"""Serial correlation of samples in time order, and how every interval allows for it.

One rule for all: ``bound_order`` gives an upper limit of the correlation of neighbours in a series and
its effective size; ``pool_bound`` gives it for the many short series of a fit. Intervals of shifts,
ratios, groups and medians are those of independent samples, widened by it (``Order.widening``); every verdict
is read from such an interval. One that reaches beyond every sample is shown cut at their range
(``keep_in_range``), since nothing was measured there; its level is then not known, and verdicts are read from
its uncut ends (``Interval.limits``).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.interval import (
    CONFIDENCE_RATIO,
    Interval,
    IntervalBuilder,
    Undecided,
    as_samples,
    check_confidence,
    check_sample_count,
)
from pathlab.analysis.estimators.quantiles import median_interval
from pathlab.analysis.estimators.ranks import correlate_lags, rank_samples
from pathlab.analysis.estimators.repetition import estimate_once
from pathlab.analysis.libraries import special

MEDIAN_METHOD = "order-statistic-widened"
MINIMUM_SAMPLES, LAGS = 20, 10
#: Fewer samples cannot show their correlation: at 7 its estimate has a standard error of 0.3.
CORRELATION_SAMPLES = 10
#: The correlation of neighbours that is allowed for where the samples do not show that it is lower.
BOUND_RATIO = 0.7
#: Upper limit of every estimate: where neighbours are almost equal, a mean cannot be known.
CEILING_RATIO = 0.97
#: One-sided 95 %: how far above its estimate the correlation may lie, in standard errors.
UPPER_QUANTILE = 1.645
#: Series of fewer values have no part in a correlation that is pooled over many, ...
MINIMUM_POOLED = 3
#: ... which is looked for among these.
POOLED_RATIOS = np.linspace(0.0, CEILING_RATIO, 98)
#: From this number of samples on, the sum of lags is used as well, which detects long memory.
SHAPE_SAMPLES = 40
#: Two-sided 95 %: from how many standard errors on the partial correlation at lag two counts.
SECOND_QUANTILE = 1.96
#: Fewer samples show no more than the correlation of neighbours: by chance wandering ones seem to turn back.
SECOND_SAMPLES = 20
#: A cycle is told from a wandering level where the samples hold as many of its periods.
LEAST_PERIODS = 2
#: Neighbours whose ranks are correlated this much make a ramp or a step, and no level.
TREND_RATIO = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Autocorrelation:
    """Correlation with the samples one, two ... places on, and the band that noise stays within (95 %)."""

    n: int
    lag_ratios: tuple[float, ...] | None = None
    noise_ratio: float | None = None
    undecided: Undecided | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveSize:
    """How many independent samples a series is worth at least: n / inflation; never more than n."""

    n: int
    effective: float | None = None
    inflation_ratio: float | None = None
    undecided: Undecided | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SerialEstimate:
    """Median in the unit of the samples, with an interval that allows for serial correlation."""

    n: int
    effective: float | None
    estimate: float | None
    interval: Interval
    undecided: Undecided | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Effect of serial correlation on n samples in time order.

    ``correlation_ratio`` is the estimate for neighbours, corrected for its bias; None for fewer than 10.
    ``bound_ratio`` is the correlation that intervals allow for. ``inflation_ratio`` is the variance of a mean
    over that of n independent samples; ``spread_ratio`` the share of their variance that the samples show
    among each other; ``freedom`` the degrees of freedom that this sample variance is worth.
    """

    n: int
    correlation_ratio: float | None
    bound_ratio: float
    inflation_ratio: float
    spread_ratio: float
    freedom: float

    @property
    def effective(self) -> float:
        """Independent samples that n of this correlation are worth for a mean."""
        return self.n / self.inflation_ratio

    @property
    def error_ratio(self) -> float:
        """Standard error of a mean over the one that independent samples of the same spread would have."""
        return math.sqrt(self.inflation_ratio / self.spread_ratio)

    def widening(self, confidence_ratio: float) -> float:
        """Factor, 1 or more, from Student's interval of n independent samples to the one that holds."""
        tail = (1 + confidence_ratio) / 2
        plain, ours = (float(special.stdtrit(freedom, tail)) for freedom in (self.n - 1, self.freedom))
        return max(1.0, self.error_ratio * ours / plain)


def bound_order(samples: NDArray[np.float64], fitted: int = 1) -> Order:
    """Upper limit of the serial correlation of a series in time order, and its effect on a mean.

    ``fitted`` is 1 for samples as they are, 2 for what a line or a step leaves of them. Samples that are
    missing between two others (a failed trial) are passed over: those left count as neighbours.

    Notes
    -----
    Assumption: stationary, equal distances in time, correlation about that of an autoregressive series of
    first or second order, and up to 0.7 where the samples do not show more. The estimate is that of the ranks
    at lag 1, for which an outlier is no more than the highest value; it is corrected for the bias of short
    series (Marriott and Pope, Biometrika 41, 1954; Kendall, ibid.: too low by (fitted + (fitted + 2) r) / n).
    The bound is its upper 95 % limit, but at most 0.7 or the estimate itself, whichever is higher. Fewer than
    10 samples cannot show it: 0.7 is allowed for.

    Where the partial correlation at lag 2 of 20 samples or more is not 0 at 5 %, the series is of second
    order. The variance of its mean is that of independent samples times (1 + p)(1 + q) / ((1 - p)(1 - q)), p
    and q the partial correlations at lags 1 and 2 (its spectral density at 0: Priestley, Spectral Analysis
    and Time Series, 1981), and the bound is the correlation of the first-order series with the same variance.
    A cycle has q below 0: what it adds in one half of its period it takes away in the other. It counts as one
    from two periods on; a longer one is a wandering level. p and q are about independent, with the variances
    (1 - p^2)(1 + q) / ((1 - q) n) and (1 - q^2) / n.

    From 40 samples on the bound is, except for a cycle, not below what the sum of pairs of lags shows while
    they fall and stay above 0 (Geyer, Statistical Science 7, 1992), which sees other shapes. The moments at
    the bound are exact: Bayley and Hammersley, JRSS Suppl. 8, 1946, for the mean; degrees of freedom by
    Satterthwaite, Biometrics Bulletin 2, 1946. Equal samples: as for 0.7.
    """
    n = samples.size
    estimate, bound = None, BOUND_RATIO
    if n >= CORRELATION_SAMPLES and np.ptp(samples) > 0:
        result, partial = _correlate_ranks(samples)
        estimate = min(CEILING_RATIO, (result + fitted / n) / (1 - (fitted + 2) / n))
        error = math.sqrt(max(0.0, 1 - estimate**2) / n)
        bound = min(estimate + UPPER_QUANTILE * error, max(BOUND_RATIO, estimate))
        second = _find_second_order((result, partial), estimate, n, fitted)
        if second is not None:
            bound = second.bound_ratio
        if n >= SHAPE_SAMPLES and not (second and second.cyclic):
            bound = max(bound, _measure_shape(samples))
    return order_at(n, bound, estimate)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SecondOrder:
    """Bound of a second-order series, as the correlation of a first-order one; whether it is a cycle."""

    bound_ratio: float
    cyclic: bool


def _find_second_order(
    partials: tuple[float, float], estimate: float, n: int, fitted: int
) -> _SecondOrder | None:
    """The bound where the partial correlation at lag 2 is not 0; ``estimate`` is that of neighbours."""
    if n < SECOND_SAMPLES:
        return None
    second = (partials[1] + (fitted + 1) / n) / (1 - (fitted + 3) / n)
    second = min(CEILING_RATIO, max(-CEILING_RATIO, second))
    if abs(second) <= SECOND_QUANTILE * math.sqrt((1 - second**2) / n):
        return None
    # The correction for bias is that of a first-order series: that of a cycle is smaller.
    first = min(CEILING_RATIO, max(-CEILING_RATIO, estimate if second > 0 else partials[0]))
    if second < 0:
        cosine = first * (1 - second) / (2 * math.sqrt(-second))
        if abs(cosine) >= 1 or 2 * math.pi / math.acos(cosine) > n / LEAST_PERIODS:
            return None
    inflation_log = 2 * (math.atanh(first) + math.atanh(second))
    spread = (1 + second) / ((1 - second) * (1 - first**2)) + 1 / (1 - second**2)
    upper_log = inflation_log + UPPER_QUANTILE * 2 * math.sqrt(spread / n)
    bound = min(math.tanh(upper_log / 2), max(BOUND_RATIO, math.tanh(inflation_log / 2)))
    return _SecondOrder(bound_ratio=bound, cyclic=second < 0)


def _correlate_ranks(samples: NDArray[np.float64]) -> tuple[float, float]:
    """Autocorrelation of the ranks at lag one, and their partial one at lag two."""
    centred = rank_samples(samples) - (samples.size + 1) / 2
    power = float(centred @ centred)
    first, second = float(centred[1:] @ centred[:-1]) / power, float(centred[2:] @ centred[:-2]) / power
    return first, (second - first**2) / (1 - first**2)


def order_at(n: int, bound_ratio: float, correlation_ratio: float | None = None) -> Order:
    """The ``Order`` of n samples whose neighbours are correlated by the bound, held between 0 and 0.97."""
    bound = min(CEILING_RATIO, max(0.0, bound_ratio))
    inflation, spread, freedom = order_moments(n, bound)
    return Order(
        n=n,
        correlation_ratio=correlation_ratio,
        bound_ratio=bound,
        inflation_ratio=inflation,
        spread_ratio=spread,
        freedom=freedom,
    )


def pool_bound(series: Sequence[NDArray[np.float64]]) -> tuple[float, float] | None:
    """Common correlation of neighbours in many series, 0 or more, and its upper limit.

    ``None`` without two series of 3 or more values that vary.

    Notes
    -----
    Assumption: first-order autoregressive series of one correlation and spread, independent of each other.
    The products of neighbours over the squares, both about each series' own mean and summed over all series,
    are compared with the ratio of what is expected of both, which has no bias however short the series are.
    The limit is that of a ratio of sums: its upper 95 % by Student, the series being its independent samples;
    but at most 0.7 or the estimate itself, as in ``bound_order``. No ranks: those of fewer than 20 values
    understate a correlation of 0.7 by a quarter. Source: ratio of sums, Cochran, Sampling Techniques, 3rd
    ed., 1977, section 2.11; expectations as in ``order_moments``.
    """
    centred = [values - values.mean() for values in series if values.size >= MINIMUM_POOLED]
    centred = [values for values in centred if np.ptp(values) > 0]
    if len(centred) < 2:
        return None
    products, squares = np.array([(values[1:] @ values[:-1], values @ values) for values in centred]).T
    ratio = float(products.sum() / squares.sum())
    error = math.sqrt(len(centred) * float(np.var(products - ratio * squares, ddof=1))) / float(squares.sum())
    sizes, counts = np.unique([values.size for values in centred], return_counts=True)
    expected = np.tensordot(counts, np.stack([_expect_pooled(int(size)) for size in sizes]), axes=1)
    limit = ratio + float(special.stdtrit(len(centred) - 1, 0.95)) * error
    estimate, upper = np.interp((ratio, limit), expected[0] / expected[1], POOLED_RATIOS).tolist()
    return estimate, min(upper, max(BOUND_RATIO, estimate))


@functools.lru_cache(maxsize=256)
def _expect_pooled(n: int) -> NDArray[np.float64]:
    """Expected products of neighbours and squares of n samples about their mean, at ``POOLED_RATIOS``.

    Shape (2, ratios). With S the correlation matrix and M the matrix that subtracts the mean: sum next to the
    diagonal of MSM, and its trace. Cost n.
    """
    places, ratios = np.arange(n), POOLED_RATIOS[:, None]
    ends = ratios ** (places + 1), ratios ** (n - places)
    rows = (1 + ratios - ends[0] - ends[1]) / (1 - ratios)
    total = rows.sum(axis=1)
    products = (n - 1) * (POOLED_RATIOS + total / n**2) - (2 * total - rows[:, 0] - rows[:, -1]) / n
    return np.stack([products, n - total / n])


def _measure_shape(samples: NDArray[np.float64]) -> float:
    """The first-order correlation that inflates a mean as much as the pairs of lags of the series do."""
    lags = correlate_lags(samples, max(1, samples.size // 2 - 1))
    pairs = lags[: lags.size // 2 * 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0)
    pairs = np.minimum.accumulate(pairs[: ends[0]] if ends.size else pairs)
    inflation = max(1.0, 2 * float(pairs.sum()) - 1)
    return (inflation - 1) / (inflation + 1)


@functools.lru_cache(maxsize=4096)
def order_moments(n: int, correlation: float) -> tuple[float, float, float]:
    """Inflation of a mean's variance, share of the variance shown, and degrees of freedom, as in ``Order``.

    Of n samples of a stationary first-order series. With S their correlation matrix and M the one that takes
    the mean off: 1'S1 / n, tr(MS) / (n - 1) and tr(MS)^2 / tr(MSMS). Cost n.
    """
    if n < 2 or correlation <= 0:
        return 1.0, 1.0, float(max(n - 1, 1))
    indices = np.arange(n)
    rows = (1 + correlation - correlation ** (indices + 1) - correlation ** (n - indices)) / (1 - correlation)
    total, cross = float(rows.sum()), float(rows @ rows)
    squares = n + 2 * float(((n - indices[1:]) * correlation ** (2 * indices[1:])).sum())
    trace = n - total / n
    return total / n, trace / (n - 1), trace**2 / (squares - 2 * cross / n + (total / n) ** 2)


def shows_no_level(samples: NDArray[np.float64]) -> bool:
    """Whether a series is a ramp or a step rather than samples about one level, or a cycle about it."""
    if samples.size < CORRELATION_SAMPLES or np.ptp(samples) == 0:
        return False
    result = _correlate_ranks(samples)
    return result[0] >= TREND_RATIO and _find_second_order(result, result[0], samples.size, 1) is None


def measure_autocorrelation(values: ArrayLike) -> Autocorrelation:
    """Autocorrelation at lags 1 to 10 of samples in the order of measurement.

    Notes
    -----
    Assumption: equal distances in time, stationary. Minimum sample: 20. An estimate of a short series is too
    small by about (1 + 3 r) / n. ``noise_ratio`` is 1.96 / sqrt(n): of uncorrelated samples, 19 of 20 lie
    within. Source: Box and Jenkins, Time Series Analysis.
    """
    samples = as_samples(values)
    reason = _find_shortage(samples, MINIMUM_SAMPLES)
    if reason is not None:
        return Autocorrelation(n=samples.size, undecided=reason)
    result = correlate_lags(samples, LAGS)[1:]
    return Autocorrelation(
        n=samples.size,
        lag_ratios=tuple(float(ratio) for ratio in result),
        noise_ratio=float(special.ndtri(0.975)) / math.sqrt(samples.size),
    )


def measure_effective_size(values: ArrayLike) -> EffectiveSize:
    """Number of independent samples that this series is worth at least for its mean.

    Notes
    -----
    At the correlation that intervals allow for. Assumption and source: as ``bound_order``. Minimum sample:
    10, since fewer cannot show their correlation; equal samples are undecided.
    """
    samples = as_samples(values)
    reason = _find_shortage(samples, CORRELATION_SAMPLES)
    if reason is not None:
        return EffectiveSize(n=samples.size, undecided=reason)
    order = bound_order(samples)
    return EffectiveSize(n=samples.size, effective=order.effective, inflation_ratio=order.inflation_ratio)


@estimate_once
def serial_median(values: ArrayLike, confidence_ratio: float = CONFIDENCE_RATIO) -> SerialEstimate:
    """Median of samples in the order of measurement with an interval that allows for that order.

    Notes
    -----
    Assumption: as ``bound_order``; none on the distribution. Minimum sample: that of
    ``quantiles.median_interval`` (6 at 95 %), whose two order statistics are moved away from the median by
    ``Order.widening``, less the surplus of their coverage over the requested one. Where that is beyond every
    sample the ends are cut at their range (``keep_in_range``). A ramp or a step has no level and is undecided
    (too correlated). In simulation (``tests/statistics/test_serial_targets.py``) of 7 to 200 samples,
    Gaussian, skewed and heavy-tailed, the uncut 95 % interval holds the median in 96 to 99.8 % without
    correlation, in 93.4 % or more at a first-order correlation of up to 0.7, and in 92 % or more of
    second-order cycles. Cut, that of 7 samples holds it in 98 % without correlation and in 77 % at 0.7.
    Source: sign test under dependence, Gastwirth and Rubin, JASA 66, 1971; ``bound_order``.
    """
    check_confidence(confidence_ratio)
    samples = as_samples(values)
    n = samples.size
    plain = median_interval(samples, confidence_ratio)
    estimate = float(np.median(samples)) if n else None
    effective, interval = None, plain
    builder = IntervalBuilder(n=n, method=MEDIAN_METHOD, confidence_ratio=confidence_ratio)
    if plain.low is not None and plain.high is not None and estimate is not None:
        order = bound_order(samples)
        effective = order.effective
        if np.ptp(samples) == 0:
            interval = plain
        elif shows_no_level(samples):
            interval = builder.build_undecided(Undecided.TOO_CORRELATED)
        else:
            interval = keep_in_range(builder.build(*_widen(plain, estimate, order)), samples)
    return SerialEstimate(
        n=n,
        effective=effective,
        estimate=estimate,
        interval=interval,
        undecided=interval.undecided if estimate is None else None,
    )


def ordered_median_interval(values: ArrayLike, confidence_ratio: float = CONFIDENCE_RATIO) -> Interval:
    """The interval of ``serial_median``: that of every median of trials in the order of measurement."""
    return serial_median(values, confidence_ratio).interval


def keep_in_range(interval: Interval, samples: NDArray[np.float64]) -> Interval:
    """The widened interval of a level, cut where it reaches beyond every sample.

    No verdict is read from the range: ``Interval.limits`` keeps the ends of the stated confidence, of samples
    that are nowhere below 0 not below 0 either.
    """
    least, most = float(samples.min()), float(samples.max())
    if least >= 0:
        interval = interval.transform(lambda end: max(0.0, end))
    return interval.cut_at(least, most)


def _widen(plain: Interval, median: float, order: Order) -> tuple[float, float]:
    """The interval's ends, farther from the median by what the order of the samples may take."""
    requested, has = plain.confidence_ratio, plain.coverage_ratio or plain.confidence_ratio
    spare, full = (float(special.stdtrit(order.n - 1, (1 + ratio) / 2)) for ratio in (has, requested))
    factor = max(1.0, order.widening(requested) * full / spare)
    low, high = plain.low or 0.0, plain.high or 0.0
    return median - factor * (median - low), median + factor * (high - median)


def _find_shortage(samples: NDArray[np.float64], least: int) -> Undecided | None:
    few = check_sample_count(samples.size, least)
    return few or (Undecided.NO_VARIATION if np.ptp(samples) == 0 else None)
