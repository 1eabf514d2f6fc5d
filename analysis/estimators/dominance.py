"""Cliff's delta: how often one setting's values are above another's."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.interval import (
    Interval,
    IntervalBuilder,
    Undecided,
    as_samples,
    check_lengths,
)
from pathlab.analysis.estimators.serial import bound_order

METHOD = "paired-influence-atanh"
MINIMUM_PAIRS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Dominance:
    """Cliff's delta, -1 (every first below every second) to 1, with its interval; ``None`` without pairs."""

    n: int
    delta_ratio: float | None = None
    interval_ratio: Interval
    undecided: Undecided | None = None


def cliffs_delta(first: ArrayLike, second: ArrayLike) -> Dominance:
    """Chance that a value of ``first`` is above one of ``second``, less the chance that it is below.

    The two are paired (one of each per cycle); the interval allows for what the pairs share.
    Raises ``UsageError`` for unequal lengths.

    Notes
    -----
    Pairs are in time order. Assumption: none on the distributions; their order as ``serial.bound_order``.
    Minimum sample: 1 pair, 10 for the interval, which is undecided (no variation) where all firsts lie on one
    side of all seconds. The interval takes the variance of each pair's influence, widened by the influences'
    order, and Student's quantiles on the atanh scale. It shows how far the two settings overlap over all
    cycles and is no verdict: a small difference that every cycle shows has a delta near 0.
    Source: Cliff, Psychological Bulletin 114, 1993; asymmetric scale: Feng and Cliff, 2004.
    """
    ours, theirs = as_samples(first, "first"), as_samples(second, "second")
    n = ours.size
    builder = IntervalBuilder(n=n, method=METHOD)
    check_lengths(first=ours, second=theirs)
    if n == 0:
        return Dominance(
            n=0, interval_ratio=builder.build_undecided(Undecided.NO_SAMPLES), undecided=Undecided.NO_SAMPLES
        )
    above = _mean_signs(ours, np.sort(theirs))
    below = -_mean_signs(theirs, np.sort(ours))
    delta = float(above.mean())
    order = bound_order(above + below)
    error = float((above + below).std(ddof=1)) / math.sqrt(n) * order.error_ratio if n > 1 else 0.0
    reason = None
    if n < MINIMUM_PAIRS:
        reason = Undecided.TOO_FEW_SAMPLES
    elif error == 0 or abs(delta) == 1:
        reason = Undecided.NO_VARIATION
    if reason is not None:
        return Dominance(n=n, delta_ratio=delta, interval_ratio=builder.build_undecided(reason))
    scaled = builder.build_student(math.atanh(delta), error / (1 - delta**2), order.freedom)
    return Dominance(n=n, delta_ratio=delta, interval_ratio=scaled.transform(math.tanh))


def _mean_signs(values: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each value the share of ``others`` (sorted) below it, less the share above it."""
    below = np.searchsorted(others, values, side="left")
    above = others.size - np.searchsorted(others, values, side="right")
    return (below - above) / others.size
