"""Latency and capacity of each hop from round trips of probes of several sizes: the method of pathchar."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.interval import (
    CONFIDENCE_RATIO,
    Interval,
    IntervalBuilder,
    Undecided,
    as_samples,
    check_confidence,
    check_lengths,
)
from pathlab.analysis.libraries import stats
from pathlab.errors import UsageError

METHOD = "floor-line-difference"
MINIMUM_SIZES = 5
BITS_NS = 8e9  # a slope of 1 ns per byte is 8 Gbit/s
QUARTER = 4


class Floor(StrEnum):
    """Estimate of the round trip of the empty path at one size.

    The minimum is best where waiting is often exactly nothing, the mean of the lowest quarter where every
    probe waits briefly, as on busy hosts: there a minimum of many still varies. Both are shifted alike at all
    sizes.
    """

    MINIMUM = "minimum"
    LOW_QUARTER = "low-quarter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Floors:
    """The floor (ns) of each probe size (bytes), sizes ascending, and the number of samples."""

    sizes_bytes: NDArray[np.float64]
    rtt_ns: NDArray[np.float64]
    samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeLine:
    """Least squares of floors on size: ``intercept_ns`` and ``slope_ns_per_byte`` with what intervals need.

    ``scatter_ns`` is the residual standard deviation on ``freedom`` degrees of freedom; ``r_squared`` is None
    where the floors do not vary.
    """

    intercept_ns: float
    slope_ns_per_byte: float
    scatter_ns: float
    freedom: int
    sizes: int
    mean_bytes: float
    squares_bytes2: float
    r_squared: float | None

    def value_at(self, size_bytes: float) -> tuple[float, float]:
        """The line at a size, and the variance of that value (ns, ns²)."""
        value = self.intercept_ns + self.slope_ns_per_byte * size_bytes
        lever = 1 / self.sizes + (size_bytes - self.mean_bytes) ** 2 / self.squares_bytes2
        return value, self.scatter_ns**2 * lever

    @property
    def slope_variance(self) -> float:
        """Variance of the slope, (ns/byte)²."""
        return self.scatter_ns**2 / self.squares_bytes2


@dataclass(frozen=True, slots=True, kw_only=True)
class HopSamples:
    """Answered probes of one hop: IP sizes (bytes), round trips (ns), and the size of its answers (bytes)."""

    hop: int
    sizes_bytes: ArrayLike
    rtt_ns: ArrayLike
    reply_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HopEstimate:
    """What lies between hop ``from_hop`` (0: the source) and ``hop``, a link or several in a row.

    ``capacity_bits_per_s`` is None unless its interval is decided: ``undecided`` then says ``not-positive``
    (the slope did not grow at all), ``beyond-range`` (it grew by less than the noise: too fast to resolve) or
    too few samples or sizes. ``at_least_bits_per_s`` belongs to the upper end of the slope's interval: a
    lower bound of the capacity even where that is undecided. ``latency_ns`` is one way: half of the round
    trip without serialisation. ``slope_ns_per_byte`` and ``r_squared`` are those of the whole way to ``hop``.
    """

    hop: int
    from_hop: int
    samples: int
    sizes: int
    slope_ns_per_byte: float | None = None
    slope_growth_ns_per_byte: float | None = None
    r_squared: float | None = None
    capacity_bits_per_s: float | None = None
    capacity_interval: Interval
    at_least_bits_per_s: float | None = None
    latency_ns: float | None = None
    latency_interval: Interval
    undecided: Undecided | None = None


def find_floors(sizes_bytes: ArrayLike, rtt_ns: ArrayLike, floor: Floor = Floor.MINIMUM) -> Floors:
    """The floor of the RTTs of each size: queues only ever add, so the least of many are near the empty path.

    With fewer than 8 probes of a size both floors are its minimum. Raises ``UsageError`` where sizes and
    times do not pair.
    """
    sizes, times = as_samples(sizes_bytes, "sizes"), as_samples(rtt_ns, "round trips")
    check_lengths(sizes=sizes, round_trips=times)
    order = np.lexsort((times, sizes))
    distinct, starts, counts = np.unique(sizes[order], return_index=True, return_counts=True)
    kept = np.maximum(counts // QUARTER, 1) if floor is Floor.LOW_QUARTER else np.ones_like(counts)
    sums = np.concatenate(([0.0], np.cumsum(times[order] - times.min(initial=0.0))))
    means = (sums[starts + kept] - sums[starts]) / kept + times.min(initial=0.0)
    return Floors(sizes_bytes=distinct, rtt_ns=means, samples=sizes.size)


def fit_line(floors: Floors) -> SizeLine | None:
    """Ordinary least squares of the floors on size; None below 5 sizes, where scatter is hardly known."""
    sizes, times = floors.sizes_bytes, floors.rtt_ns
    if sizes.size < MINIMUM_SIZES:
        return None
    centred = sizes - sizes.mean()
    squares = float(centred @ centred)
    slope = float(centred @ times) / squares
    residuals = times - times.mean() - slope * centred
    freedom = sizes.size - 2
    total = float(np.sum((times - times.mean()) ** 2))
    left = float(residuals @ residuals)
    return SizeLine(
        intercept_ns=float(times.mean()) - slope * float(sizes.mean()),
        slope_ns_per_byte=slope,
        scatter_ns=math.sqrt(left / freedom),
        freedom=freedom,
        sizes=sizes.size,
        mean_bytes=float(sizes.mean()),
        squares_bytes2=squares,
        r_squared=None if total == 0 else 1 - left / total,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HopEstimates:
    """The estimates of a path's hops, in order, and the floor that they were taken from."""

    floor: Floor
    hops: tuple[HopEstimate, ...]


def estimate_hops(hops: Sequence[HopSamples], confidence_ratio: float = CONFIDENCE_RATIO) -> HopEstimates:
    """Capacity and one-way latency of each hop, from the growth of the line over the one of the hop before.

    Of the floors the one is taken whose lines fit the whole path best.
    Hops in the order of the path. A hop whose line cannot be fitted is passed over: the next is then compared
    with the last that could be, and ``from_hop`` says so. Raises ``UsageError`` where hops do not ascend.

    Notes
    -----
    Model: the least RTT to hop h of a probe of s bytes is a_h + s (8/C_1 + … + 8/C_h), where every hop takes
    in a packet before it forwards it, and answers have one size (probes of 600 bytes and more to hops that
    quote 548 at most; no hop that echoes whole probes). Capacity is 8 over the growth of the slope, its
    interval that of the slope turned over; it is decided only where all of that lies above 0. Latency is half
    the growth of the line at minus the answer's size, which takes out the answer's serialisation where both
    directions are equally fast; half of the time that a router takes to answer is in it. Assumption: the
    floors scatter alike at all sizes, independently, about normally; waiting does not depend on size. Latency
    is always taken from the minima. Intervals are Student's on Welch and Satterthwaite's degrees of freedom.
    That floors lie above the empty path shifts latency (of the first hop above all), not capacity, and is not
    in its interval. Minimum sample: 5 sizes; from 8 probes a size on the intervals hold what they say
    (tests/statistics/test_per_hop.py). Source: Jacobson, pathchar, 1997; Downey, SIGCOMM 1999.
    """
    check_confidence(confidence_ratio)
    for earlier, later in pairwise((0, *(samples.hop for samples in hops))):
        if later <= earlier:
            raise UsageError(f"hop {later} comes out of turn", hint="pass the hops in the path's order")
    fitted = {}
    for floor in Floor:
        floorses = [find_floors(samples.sizes_bytes, samples.rtt_ns, floor) for samples in hops]
        fitted[floor] = [(item, fit_line(item)) for item in floorses]
    chosen = min(Floor, key=lambda floor: _test_scatter(fitted[floor]))
    estimates: list[HopEstimate] = []
    before = _SizeFit(hop=0)
    for index, samples in enumerate(hops):
        item, rate = fitted[chosen][index]
        delay = fitted[Floor.MINIMUM][index][1]
        if rate is None or delay is None:
            estimates.append(_unfitted(samples.hop, before.hop, item, confidence_ratio))
            continue
        fit = _SizeFit(hop=samples.hop, rate=rate, delay=delay)
        estimates.append(_compare(item, samples.reply_bytes, (before, fit), confidence_ratio))
        before = fit
    return HopEstimates(floor=chosen, hops=tuple(estimates))


@dataclass(frozen=True, slots=True, kw_only=True)
class _SizeFit:
    """A hop's lines: of the chosen floors for the rate, of the minima (shifted least) for the delay."""

    hop: int
    rate: SizeLine | None = None
    delay: SizeLine | None = None


def _test_scatter(fits: Sequence[tuple[Floors, SizeLine | None]]) -> float:
    """Smaller is better: the mean logarithm of the scatter, so that every hop counts alike."""
    logarithms = [math.log(max(line.scatter_ns, 1e-3)) for _, line in fits if line is not None]
    return sum(logarithms) / len(logarithms) if logarithms else 0.0


def _unfitted(hop: int, from_hop: int, floors: Floors, confidence_ratio: float) -> HopEstimate:
    reason = Undecided.TOO_FEW_LEVELS if floors.samples else Undecided.NO_SAMPLES
    builder = IntervalBuilder(n=floors.samples, method=METHOD, confidence_ratio=confidence_ratio)
    none = builder.build_undecided(reason)
    return HopEstimate(
        hop=hop,
        from_hop=from_hop,
        samples=floors.samples,
        sizes=floors.sizes_bytes.size,
        capacity_interval=none,
        latency_interval=none,
        undecided=reason,
    )


def _compare(
    floors: Floors, reply_bytes: int, fits: tuple[_SizeFit, _SizeFit], confidence_ratio: float
) -> HopEstimate:
    before, fit = fits
    builder = IntervalBuilder(n=floors.samples, method=METHOD, confidence_ratio=confidence_ratio)
    assert fit.rate is not None
    slope_growth = fit.rate.slope_ns_per_byte - (before.rate.slope_ns_per_byte if before.rate else 0.0)
    slopes = [(line.slope_variance, line.freedom) for line in (fit.rate, before.rate) if line is not None]
    half = _half_width(slopes, confidence_ratio)
    low, high = slope_growth - half, slope_growth + half
    capacity = _capacity_interval(slope_growth, (low, high), builder)
    values = [
        (*line.value_at(-reply_bytes), line.freedom) for line in (fit.delay, before.delay) if line is not None
    ]
    latency_ns = (values[0][0] - sum(value for value, _, _ in values[1:])) / 2
    latency_half = _half_width([part[1:] for part in values], confidence_ratio) / 2
    return HopEstimate(
        hop=fit.hop,
        from_hop=before.hop,
        samples=floors.samples,
        sizes=floors.sizes_bytes.size,
        slope_ns_per_byte=fit.rate.slope_ns_per_byte,
        slope_growth_ns_per_byte=slope_growth,
        r_squared=fit.rate.r_squared,
        capacity_bits_per_s=BITS_NS / slope_growth if capacity.decided else None,
        capacity_interval=capacity,
        at_least_bits_per_s=BITS_NS / high if high > 0 else None,
        latency_ns=latency_ns,
        latency_interval=builder.build(latency_ns - latency_half, latency_ns + latency_half),
        undecided=capacity.undecided,
    )


def _half_width(parts: Sequence[tuple[float, int]], confidence_ratio: float) -> float:
    """Half the interval of a sum of independent parts, each its variance and degrees of freedom."""
    variance = sum(part for part, _ in parts)
    if variance == 0:
        return 0.0
    freedom = variance**2 / sum(part**2 / degrees for part, degrees in parts)
    return float(stats.t.ppf((1 + confidence_ratio) / 2, freedom)) * math.sqrt(variance)


def _capacity_interval(growth: float, ends: tuple[float, float], builder: IntervalBuilder) -> Interval:
    low, high = ends
    if low <= 0:
        return builder.build_undecided(Undecided.NOT_POSITIVE if growth <= 0 else Undecided.BEYOND_RANGE)
    return builder.build(BITS_NS / high, BITS_NS / low)
