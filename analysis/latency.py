"""What the traffic does to the round trip: dRTT, rate predictability and rate variability."""

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
from pathlab.errors import UsageError

MINIMUM_PROBES = 40


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
