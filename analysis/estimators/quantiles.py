"""Medians, inter-quartile ranges and their intervals."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pathlab.analysis.estimators.interval import (
    CONFIDENCE_RATIO,
    Interval,
    IntervalBuilder,
    Undecided,
    as_samples,
    check_confidence,
)
from pathlab.analysis.libraries import special

ORDER_METHOD = "order-statistic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quartiles:
    """Median and quartiles, in the unit of the samples; all ``None`` when undecided."""

    n: int
    q1: float | None = None
    median: float | None = None
    q3: float | None = None
    iqr: float | None = None
    undecided: Undecided | None = None


def quartiles(values: ArrayLike) -> Quartiles:
    """Median and inter-quartile range of the samples.

    Notes
    -----
    Linear interpolation between order statistics (Hyndman and Fan 1996, type 7: the default of numpy and R).
    Assumes nothing of the distribution. Minimum sample: 1 (the range is then 0).
    """
    samples = as_samples(values)
    if samples.size == 0:
        return Quartiles(n=0, undecided=Undecided.NO_SAMPLES)
    q1, median, q3 = (float(value) for value in np.quantile(samples, (0.25, 0.5, 0.75), method="linear"))
    return Quartiles(n=samples.size, q1=q1, median=median, q3=q3, iqr=q3 - q1)


def median_interval_minimum(confidence_ratio: float = CONFIDENCE_RATIO) -> int:
    """Smallest n whose extreme order statistics reach the confidence (6 at 95 %)."""
    check_confidence(confidence_ratio)
    return 1 + math.ceil(-math.log2(1 - confidence_ratio) - 1e-12)


def median_interval(values: ArrayLike, confidence_ratio: float = CONFIDENCE_RATIO) -> Interval:
    """Distribution-free interval of the median between two order statistics, with its exact coverage.

    Notes
    -----
    Assumption: independent samples of one distribution; of trials in time order see
    ``serial.ordered_median_interval``, which widens this one. The stated coverage is exact for a continuous
    distribution and a lower bound for one with ties. The pair is symmetric: x(k) and x(n + 1 - k) with the
    largest k for which 1 - 2 P(B < k) reaches the confidence, B binomial(n, 1/2).
    Minimum sample: 6 at 95 %; with fewer the answer is undecided.
    Source: David and Nagaraja, Order Statistics, 3rd ed., section 7.1.
    """
    check_confidence(confidence_ratio)
    samples = np.sort(as_samples(values))
    n = samples.size
    rank, coverage = _find_rank(n, confidence_ratio)
    builder = IntervalBuilder(n=n, method=ORDER_METHOD, confidence_ratio=confidence_ratio)
    if rank == 0:
        return builder.build_undecided(Undecided.TOO_FEW_SAMPLES if n else Undecided.NO_SAMPLES)
    return builder.build(samples[rank - 1], samples[n - rank], coverage)


@functools.lru_cache(maxsize=4096)
def _find_rank(n: int, confidence_ratio: float) -> tuple[int, float]:
    """Rank at which the median's interval of n samples begins, and its coverage; 0: there is none."""
    if n < 2:
        return 0, 0.0
    counts = np.arange(n // 2)
    coverages = 1 - 2 * special.betaincc(counts + 1.0, n - counts, 0.5)  # P(B <= count), B binomial(n, 1/2)
    rank = int(np.count_nonzero(coverages >= confidence_ratio))
    return rank, float(coverages[rank - 1]) if rank else 0.0
