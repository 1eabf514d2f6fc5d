"""How long a flow takes to recover, where some trials end before it has."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.interval import (
    CONFIDENCE_RATIO,
    Interval,
    IntervalBuilder,
    Undecided,
    as_amounts,
    check_confidence,
    check_lengths,
)
from pathlab.analysis.estimators.quantiles import ORDER_METHOD, median_interval
from pathlab.analysis.estimators.serial import MEDIAN_METHOD, bound_order, ordered_median_interval
from pathlab.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """Times to recover, in the unit of the samples.

    ``recovered`` of ``n`` trials did within their window. ``median`` is that of all trials (Kaplan-Meier),
    ``None`` where half of them did not recover as far as they were watched. ``low`` and ``high`` bound it;
    ``high`` is ``None`` where the trials show no upper end, and ``interval`` is decided where both are known.
    ``longest_watch`` is the longest time without recovery, ``None`` where all recovered.
    """

    n: int
    recovered: int
    median: float | None = None
    low: float | None = None
    high: float | None = None
    interval: Interval
    longest_watch: float | None = None
    undecided: Undecided | None = None

    @property
    def censored(self) -> int:
        """Trials that did not recover within their window."""
        return self.n - self.recovered


def kaplan_meier_median(times: ArrayLike, recovered: ArrayLike) -> float | None:
    """The first time by which half have recovered; None where the trials do not show it.

    ``times``: to the recovery, or as long as a trial was watched where ``recovered`` is false. Where exactly
    half have recovered by one time and no more until a later one, the middle of the two, as of a median.

    Notes
    -----
    Assumption: when a trial's window ends has nothing to do with how long that trial takes. A trial that is
    watched to just the time of another's recovery counts as watched then. Minimum sample: 1.
    Source: Kaplan and Meier, JASA 53, 1958.
    """
    ends, known = _as_trials(times, recovered)
    steps = np.unique(ends[known])
    surviving = 1.0
    for index, step in enumerate(steps):
        surviving *= 1 - float((known & (ends == step)).sum()) / float((ends >= step).sum())
        if surviving < 0.5 - 1e-12:
            return float(step)
        if surviving <= 0.5 + 1e-12:
            # At one half: the median is any time up to the next recovery, so there has to be one.
            return float((step + steps[index + 1]) / 2) if index + 1 < steps.size else None
    return None


def estimate_recovery(
    times: ArrayLike, recovered: ArrayLike, confidence_ratio: float = CONFIDENCE_RATIO
) -> Recovery:
    """Median time to recover of trials in time order, some of which were not watched until they did.

    ``times`` and ``recovered``: as ``kaplan_meier_median``. Raises ``UsageError`` for a negative time or
    unequal lengths.

    Notes
    -----
    Never the median of the recovered alone, which is too short. Where all recovered, the interval is
    ``serial.ordered_median_interval``. Otherwise its ends are order statistics: for the lower one a trial
    that did not recover counts as recovered at the end of its window, for the upper one as never, so that no
    assumption on the windows is needed. ``Order.widening`` moves both ranks away from the median's. Minimum
    sample: 6 for an interval where all recovered, else 12 to 25, by the trials' order. In simulation
    (``tests/statistics/test_recovery.py``) the interval holds the median in 95 % or more.
    """
    check_confidence(confidence_ratio)
    ends, known = _as_trials(times, recovered)
    n = ends.size
    builder = IntervalBuilder(n=n, method=MEDIAN_METHOD, confidence_ratio=confidence_ratio)
    recovery = Recovery(
        n=n, recovered=int(known.sum()), interval=builder.build_undecided(Undecided.NO_SAMPLES)
    )
    if n == 0:
        return replace(recovery, undecided=Undecided.NO_SAMPLES)
    median = kaplan_meier_median(ends, known)
    if known.all():
        interval = ordered_median_interval(ends, confidence_ratio)
        return replace(recovery, median=median, low=interval.low, high=interval.high, interval=interval)
    recovery = replace(
        recovery,
        median=median,
        longest_watch=float(ends[~known].max()),
        undecided=None if median is not None else Undecided.BEYOND_RANGE,
    )
    rank = _find_rank(ends, known, confidence_ratio)
    if rank < 1:
        return replace(recovery, interval=builder.build_undecided(Undecided.TOO_FEW_SAMPLES))
    low = float(np.sort(ends)[rank - 1])
    upper = float(np.sort(np.where(known, ends, np.inf))[n - rank])
    if not np.isfinite(upper):
        return replace(recovery, low=low, interval=builder.build_undecided(Undecided.BEYOND_RANGE))
    if median is not None:
        low, upper = min(low, median), max(upper, median)
    return replace(recovery, low=low, high=upper, interval=builder.build(low, upper))


def _as_trials(times: ArrayLike, recovered: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    ends, known = as_amounts(times, "times"), np.asarray(recovered, dtype=bool)
    if known.ndim != 1:
        raise UsageError("recovered: expected one dimension", hint="pass true or false for each time")
    check_lengths(times=ends, recovered=known.astype(np.float64))
    return ends, known


def _find_rank(ends: NDArray[np.float64], known: NDArray[np.bool_], confidence_ratio: float) -> int:
    """The rank at which the interval begins, after the widening for serial correlation; below 1: none."""
    n = ends.size
    indices = np.arange(1.0, n + 1)
    plain = median_interval(indices, confidence_ratio)
    if plain.low is None or plain.method != ORDER_METHOD:
        return 0
    ranked = np.where(known, ends, ends.max() + 1)
    half = (n + 1) / 2 - plain.low
    return int(np.floor((n + 1) / 2 - half * bound_order(ranked).widening(confidence_ratio)))
