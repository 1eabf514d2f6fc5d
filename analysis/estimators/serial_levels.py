"""Mean, quantile and distribution of samples in time order, with intervals that allow for that order.

The median has its own in ``serial``; all of them are widened by the same ``serial.Order``.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.interval import (
    CONFIDENCE_RATIO,
    IntervalBuilder,
    Undecided,
    as_samples,
    check_confidence,
)
from pathlab.analysis.estimators.quantiles import median_interval_minimum
from pathlab.analysis.estimators.serial import (
    Order,
    SerialEstimate,
    bound_order,
    keep_in_range,
    shows_no_level,
)
from pathlab.analysis.libraries import special, stats
from pathlab.errors import UsageError

MEAN_METHOD = "student-widened"
QUANTILE_METHOD = "order-statistics-widened"


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributionBand:
    """Half-width, as a share, of the band about the empirical distribution of n samples; None: undecided."""

    n: int
    half_width_ratio: float | None = None
    undecided: Undecided | None = None


def serial_mean(values: ArrayLike, confidence_ratio: float = CONFIDENCE_RATIO) -> SerialEstimate:
    """Mean of samples in the order of measurement with an interval that allows for that order.

    Notes
    -----
    Student's interval, with the standard error times ``Order.error_ratio`` and the degrees of freedom of
    ``Order.freedom``. Assumption: a mean of n samples is about normal; order as ``serial.bound_order``.
    Minimum sample: that of the median (6 at 95 %). Ends beyond every sample are cut at their range
    (``serial.keep_in_range``). Equal samples give an interval of one point. A ramp or a step is undecided
    (too correlated). In simulation (``tests/statistics/test_serial_levels.py``) of 7 to 200 samples the 95 %
    interval holds the mean in 95 % or more without correlation and in 93 % or more at a first-order
    correlation of 0.5; of log-normal noise (standard deviation of the logarithm 0.3) too, but with one of 1,
    in 94 % and 89 % or more.
    Source: as ``serial.bound_order``.
    """
    check_confidence(confidence_ratio)
    samples = as_samples(values)
    builder = IntervalBuilder(n=samples.size, method=MEAN_METHOD, confidence_ratio=confidence_ratio)
    if not samples.size:
        return _without_samples(builder)
    estimate = float(samples.mean())
    reason = _find_shortage(samples, median_interval_minimum(confidence_ratio))
    if reason is not None:
        return SerialEstimate(
            n=samples.size, effective=None, estimate=estimate, interval=builder.build_undecided(reason)
        )
    order = bound_order(samples)
    if np.ptp(samples) == 0:
        interval = builder.build(estimate, estimate)
    else:
        error = float(samples.std(ddof=1)) / math.sqrt(samples.size) * order.error_ratio
        interval = keep_in_range(builder.build_student(estimate, error, order.freedom), samples)
    return SerialEstimate(n=samples.size, effective=order.effective, estimate=estimate, interval=interval)


def serial_quantile(
    values: ArrayLike, quantile_ratio: float, confidence_ratio: float = CONFIDENCE_RATIO
) -> SerialEstimate:
    """Quantile of samples in the order of measurement with an interval that allows for that order.

    Raises ``UsageError`` for a quantile that is not between 0 and 1.

    Notes
    -----
    The estimate interpolates between order statistics (type 7, as ``quantiles.quartiles``). The interval's
    ends are the order statistics x(l) and x(u) with P(B < l) and P(B >= u) of at most half the complement of
    the confidence, B binomial(n, quantile), each moved away from the estimate by ``Order.widening``, less the
    surplus of their coverage, as ``serial.serial_median`` does. Minimum sample: as many as have both order
    statistics (6 for the median, 72 for the 5 % and 95 % quantiles at 95 %). Ends beyond every sample, equal
    samples and a ramp or a step: as ``serial_mean``.
    Source: David and Nagaraja, Order Statistics, 3rd ed., section 7.1; ``serial.bound_order``.
    """
    check_confidence(confidence_ratio)
    if not 0 < quantile_ratio < 1:
        raise UsageError(f"quantile {quantile_ratio} is not between 0 and 1", hint="0.95 stands for p95")
    samples = as_samples(values)
    n = samples.size
    builder = IntervalBuilder(n=n, method=QUANTILE_METHOD, confidence_ratio=confidence_ratio)
    if not n:
        return _without_samples(builder)
    ordered = np.sort(samples)
    estimate = float(np.quantile(ordered, quantile_ratio, method="linear"))
    low_rank, high_rank, coverage = find_quantile_ranks(n, quantile_ratio, confidence_ratio)
    reason = _find_shortage(samples, 1) if low_rank else Undecided.TOO_FEW_SAMPLES
    if reason is not None:
        return SerialEstimate(
            n=n, effective=None, estimate=estimate, interval=builder.build_undecided(reason)
        )
    order = bound_order(samples)
    low, high = float(ordered[low_rank - 1]), float(ordered[high_rank - 1])
    factor = _widen(order, confidence_ratio, coverage)
    interval = builder.build(
        min(low, estimate - factor * (estimate - low)), max(high, estimate + factor * (high - estimate))
    )
    return SerialEstimate(
        n=n, effective=order.effective, estimate=estimate, interval=keep_in_range(interval, samples)
    )


def measure_distribution_band(
    values: ArrayLike, confidence_ratio: float = CONFIDENCE_RATIO
) -> DistributionBand:
    """Band about the empirical distribution that holds the whole true one with the given confidence.

    Notes
    -----
    sqrt(ln(2 / alpha) / 2n), which holds for every distribution and all values at once, times
    ``Order.widening`` of the samples' order. Minimum sample: 6 at 95 %, as the median; a ramp or a step is
    undecided (too correlated).
    Source: Dvoretzky, Kiefer and Wolfowitz, Annals of Mathematical Statistics 27, 1956, with the constant of
    Massart, Annals of Probability 18, 1990; ``serial.bound_order``.
    """
    check_confidence(confidence_ratio)
    samples = as_samples(values)
    n = samples.size
    reason = _find_shortage(samples, median_interval_minimum(confidence_ratio)) if n else Undecided.NO_SAMPLES
    if reason is not None:
        return DistributionBand(n=n, undecided=reason)
    width = math.sqrt(math.log(2 / (1 - confidence_ratio)) / (2 * n))
    return DistributionBand(
        n=n, half_width_ratio=min(1.0, width * bound_order(samples).widening(confidence_ratio))
    )


@functools.lru_cache(maxsize=4096)
def find_quantile_ranks(n: int, quantile_ratio: float, confidence_ratio: float) -> tuple[int, int, float]:
    """Ranks (from 1) of the order statistics about a quantile and their coverage; (0, 0, 0.0): none."""
    tail = (1 - confidence_ratio) / 2
    counts = np.arange(n + 1)
    below = np.asarray(stats.binom.cdf(counts, n, quantile_ratio))
    above = np.asarray(stats.binom.sf(counts, n, quantile_ratio))
    low = int(np.count_nonzero(below <= tail))
    # P(B >= u) = sf(u - 1): the smallest u that leaves at most the tail
    high = int(np.argmax(above <= tail)) + 1
    if low == 0 or high > n:
        return 0, 0, 0.0
    return low, high, float(1 - below[low - 1] - above[high - 1])


def _widen(order: Order, confidence_ratio: float, coverage_ratio: float) -> float:
    """How far the order statistics have to move away from the estimate; 1 or more."""
    spare, full = (
        float(special.stdtrit(order.n - 1, (1 + ratio) / 2)) for ratio in (coverage_ratio, confidence_ratio)
    )
    return max(1.0, order.widening(confidence_ratio) * full / spare)


def _find_shortage(samples: NDArray[np.float64], least: int) -> Undecided | None:
    if samples.size < least:
        return Undecided.TOO_FEW_SAMPLES
    return Undecided.TOO_CORRELATED if shows_no_level(samples) else None


def _without_samples(builder: IntervalBuilder) -> SerialEstimate:
    none = builder.build_undecided(Undecided.NO_SAMPLES)
    return SerialEstimate(n=0, effective=None, estimate=None, interval=none, undecided=Undecided.NO_SAMPLES)
