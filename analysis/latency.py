"""What the traffic does to the round trip: dRTT, whether it still rises, rate predictability, variability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.blocks import METHOD, choose_block_length, expanded_percentiles, resample_blocks
from pathlab.analysis.interval import (
    CONFIDENCE_RATIO,
    Interval,
    Undecided,
    check_confidence,
    undecided_interval,
)
from pathlab.analysis.trend import find_trend, pair_slopes
from pathlab.errors import UsageError

MINIMUM_PROBES = 40
#: Readings within a trial that a verdict on its end needs, and how many are tested where half are fewer.
MINIMUM_READINGS, TESTED_READINGS = 10, 20
#: The last quarter stands above this share of what came before it where the RTT rises to the end.
BEFORE_RATIO = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class RttRise:
    """dRTT, loaded minus unloaded, in nanoseconds: of the averages and of the medians.

    The two differences are ``None`` only when one of the sets has no answered probe; the intervals need more.
    """

    loaded_n: int
    unloaded_n: int
    mean_ns: float | None
    median_ns: float | None
    mean_interval_ns: Interval
    median_interval_ns: Interval
    undecided: Undecided | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RateStability:
    """Rate predictability RP = min / mean of the RTTs and rate variability RV = 1 - RP, both 0 to 1."""

    n: int
    predictability_ratio: float | None
    variability_ratio: float | None
    undecided: Undecided | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RttClimb:
    """Whether the RTT still rises at the end of a trial's steady window: its queue was not yet full.

    ``rise_ns`` is by how much it rose over the last half of the window; ``slope_interval`` (ns per second)
    is that of the part that was tested.
    """

    n: int
    rise_ns: float | None
    slope_interval: Interval
    rising: bool | None
    undecided: Undecided | None = None


def answered_rtts(rtts_ns: ArrayLike) -> NDArray[np.float64]:
    """The RTTs of answered probes, in order; a lost probe is NaN. ``UsageError`` if an RTT is not above 0."""
    rtts = np.asarray(rtts_ns, dtype=np.float64)
    if rtts.ndim != 1:
        raise UsageError(f"RTTs: expected one dimension, got {rtts.ndim}", hint="pass a flat sequence of ns")
    rtts = rtts[~np.isnan(rtts)]
    if rtts.size and (rtts.min() <= 0 or np.isinf(rtts).any()):
        raise UsageError("RTTs: a value is not above 0 and finite", hint="mark a lost probe with NaN")
    return rtts


def rtt_rise(
    loaded_ns: ArrayLike,
    unloaded_ns: ArrayLike,
    *,
    rng: np.random.Generator,
    confidence_ratio: float = CONFIDENCE_RATIO,
    resamples: int = 2000,
) -> RttRise:
    """DRTT of the averages and of the medians, each with a bootstrap interval, in nanoseconds.

    Both sets are in the order of sending; NaN marks a lost probe and is left out.

    Notes
    -----
    Assumption: each set is stationary; neighbours may depend on each other (a queue empties slowly), so
    moving blocks are drawn, from each set by itself. Loss that depends on delay biases the rise downwards.
    Minimum sample: 40 answered probes in each set, else the intervals are undecided. In simulation the 95 %
    intervals hold the truth in 95 % or more of uncorrelated sets of 40; with first-order correlation 0.6 in
    88 % of sets of 40 and 90 % of sets of 100.
    Source: METHOD section 1 (dRTT); Künsch, Annals of Statistics 17, 1989; widening: Hesterberg 2015.
    """
    check_confidence(confidence_ratio)
    loaded, unloaded = answered_rtts(loaded_ns), answered_rtts(unloaded_ns)
    smaller = min(loaded.size, unloaded.size)
    if smaller < MINIMUM_PROBES:
        reason = Undecided.TOO_FEW_SAMPLES if smaller else Undecided.NO_SAMPLES
        none = undecided_interval(reason, n=smaller, confidence_ratio=confidence_ratio, method=METHOD)
        return RttRise(
            loaded_n=loaded.size,
            unloaded_n=unloaded.size,
            mean_ns=float(loaded.mean() - unloaded.mean()) if smaller else None,
            median_ns=float(np.median(loaded) - np.median(unloaded)) if smaller else None,
            mean_interval_ns=none,
            median_interval_ns=none,
            undecided=reason if smaller == 0 else None,
        )
    lengths = choose_block_length(loaded), choose_block_length(unloaded)
    drawn = [
        samples[resample_blocks(samples.size, min(length, samples.size), resamples, rng)]
        for samples, length in zip((loaded, unloaded), lengths, strict=True)
    ]
    blocks = min(loaded.size / lengths[0], unloaded.size / lengths[1])
    intervals = [
        expanded_percentiles(replicates, n=smaller, blocks=blocks, confidence_ratio=confidence_ratio)
        for replicates in (
            drawn[0].mean(axis=1) - drawn[1].mean(axis=1),
            np.median(drawn[0], axis=1) - np.median(drawn[1], axis=1),
        )
    ]
    return RttRise(
        loaded_n=loaded.size,
        unloaded_n=unloaded.size,
        mean_ns=float(loaded.mean() - unloaded.mean()),
        median_ns=float(np.median(loaded) - np.median(unloaded)),
        mean_interval_ns=intervals[0],
        median_interval_ns=intervals[1],
    )


def classify_rtt_climb(times_ns: ArrayLike, rtts_ns: ArrayLike, margin_ns: float) -> RttClimb:
    """Whether the RTT rises to the end of these readings, one trial's steady window in the order of time.

    ``rtts_ns`` are loaded probes (NaN: lost) or the kernel's smoothed RTT; ``margin_ns`` is the rise over
    the last half that does not matter.

    Notes
    -----
    Rising: over the last half the line through the readings (Theil-Sen) gains more than the margin, the last
    quarter's median is above nine tenths of all earlier readings (a saw-tooth has been as high before), and
    the interval of the slope over the last half, or the last 20 readings where that is fewer, lies above 0
    (``trend.find_trend``, which allows for serial correlation as far as so many readings can tell it).
    Assumption: the readings are evenly spread over the window. Minimum: 10 answered readings. In simulation
    noise about a level is called rising in at most 4 % of trials of 20 and more at first-order correlation up
    to 0.8; of 10 to 19 readings, which cannot tell correlation, in 5 % at 0.5 and 14 % at 0.8.
    """
    times, rtts = np.asarray(times_ns, dtype=np.float64), np.asarray(rtts_ns, dtype=np.float64)
    if times.shape != rtts.shape or times.ndim != 1:
        raise UsageError("RTTs: one time for each is needed", hint="pass flat sequences of one length")
    known = ~np.isnan(rtts)
    seconds, rtts = times[known] / 1e9, rtts[known]
    n = rtts.size
    if n < MINIMUM_READINGS:
        reason = Undecided.TOO_FEW_SAMPLES if n else Undecided.NO_SAMPLES
        none = undecided_interval(reason, n=n, confidence_ratio=CONFIDENCE_RATIO, method="theil-sen")
        return RttClimb(n=n, rise_ns=None, slope_interval=none, rising=None, undecided=reason)
    late = slice(n // 2, n)
    slopes = pair_slopes(rtts[late], seconds[late])
    rise = float(np.median(slopes) * np.ptp(seconds[late])) if slopes.size else 0.0
    tested = slice(min(n // 2, max(0, n - TESTED_READINGS)), n)
    interval = find_trend(rtts[tested], seconds[tested]).slope_interval
    quarter = n - n // 4
    highest = float(np.median(rtts[quarter:])) > float(np.quantile(rtts[:quarter], BEFORE_RATIO))
    rising: bool | None = False
    if rise > margin_ns and highest:
        rising = None if interval.low is None else interval.low > 0
    return RttClimb(
        n=n,
        rise_ns=rise,
        slope_interval=interval,
        rising=rising,
        undecided=interval.undecided if rising is None else None,
    )


def rate_stability(rtts_ns: ArrayLike) -> RateStability:
    """Rate predictability and variability of a set of probes; NaN marks a lost probe and is left out.

    Notes
    -----
    RP = min(RTT) / mean(RTT), RV = 1 - RP. Assumes nothing of the distribution, but the minimum falls as
    probes are added: compare sets of equal size. Minimum sample: 2 answered
    probes (one would give RV 0 by definition).
    Source: METHOD section 1; Cottrell et al., Bulk thruput measurements, 2000.
    """
    rtts = answered_rtts(rtts_ns)
    if rtts.size < 2:
        reason = Undecided.TOO_FEW_SAMPLES if rtts.size else Undecided.NO_SAMPLES
        return RateStability(n=rtts.size, predictability_ratio=None, variability_ratio=None, undecided=reason)
    predictability = min(1.0, float(rtts.min() / rtts.mean()))
    return RateStability(
        n=rtts.size, predictability_ratio=predictability, variability_ratio=1 - predictability
    )
