"""The knee of latency over the offered rate: the highest rate that is carried without queueing."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.interval import (
    Interval,
    IntervalBuilder,
    Undecided,
    as_amounts,
    as_samples,
    check_lengths,
    check_sample_count,
)
from pathlab.analysis.estimators.serial import ordered_median_interval

METHOD = "median-over-cycles"
#: Latency above this many times that of the lowest rates is beyond the knee.
KNEE_FACTOR = 2.0
#: Lowest rates that the latency without queueing is taken from.
BASE_RATES = 2
MINIMUM_RATES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadKnee:
    """The highest measured rate up to which every rate was kept with low latency; median over ``n`` cycles.

    ``base_ns`` is the latency at the lowest rates. ``next_per_s`` is the next measured rate, which was not
    carried so; None where ``rate_per_s`` is the highest one, so that the knee may be above it (beyond range).
    ``rate_per_s`` None: not even the lowest rate. ``left_out``: cycles in which a rate was not measured.
    """

    n: int
    left_out: int
    rate_per_s: float | None
    next_per_s: float | None
    base_ns: float | None
    interval: Interval
    undecided: Undecided | None = None


def find_load_knee(
    rates_per_s: ArrayLike, latencies_ns: ArrayLike, *, cycles: ArrayLike, factor: float = KNEE_FACTOR
) -> LoadKnee:
    """Find the knee from the offered rate and the latency (p99) of each trial; NaN: it missed its rate.

    Undecided: fewer than 4 rates, no cycle with all of them, or the highest rate carried.

    Notes
    -----
    Highest load under a bound on latency that is a multiple of the latency without load, as in Prekas, Kogias
    and Bugnion, ZygOS, SOSP 2017; a rate that was missed is not sustained (Karimov et al., ICDE 2018). In
    each cycle the bound is ``factor`` times the geometric mean over the two lowest rates of that cycle, or
    times the lowest one's latency where the second exceeds that: the rate that is tested is not its own
    base. The knee is the rate before the first that was missed or exceeds the bound. Nothing is
    interpolated: the truth lies from this rate to below the next one. The interval is the median's over
    cycles (``serial.serial_median``), extended to measured rates; 6 cycles at least. In simulation
    (``tests/statistics/test_load_knee.py``) of 6 to 40 cycles it holds the knee in 95 % or more.
    """
    rates, numbers = as_amounts(rates_per_s, "rates"), as_samples(cycles, "cycles")
    latencies = np.asarray(latencies_ns, dtype=np.float64)
    check_lengths(rates=rates, latencies=latencies, cycles=numbers)
    levels = np.unique(rates)
    known = [
        values
        for number in np.unique(numbers)
        if (values := _read_cycle(rates[numbers == number], latencies[numbers == number], levels)) is not None
    ]
    left_out = np.unique(numbers).size - len(known)
    reason = (
        Undecided.TOO_FEW_LEVELS if 0 < levels.size < MINIMUM_RATES else check_sample_count(len(known), 1)
    )
    if reason is not None:
        return _build_undecided_knee(reason, len(known), left_out)
    places = np.array([_find_place(values, factor) for values in known], dtype=np.float64)
    middle = int(np.quantile(places, 0.5, method="lower"))
    bases = [base for values in known if (base := _measure_base(values, factor)) is not None]
    top = middle == levels.size - 1
    return LoadKnee(
        n=len(known),
        left_out=left_out,
        rate_per_s=float(levels[middle]) if middle >= 0 else None,
        next_per_s=None if top else float(levels[middle + 1]),
        base_ns=float(np.median(bases)) if bases else None,
        interval=_find_interval(places, levels),
        undecided=Undecided.BEYOND_RANGE if top or middle < 0 else None,
    )


def _read_cycle(rates: Floats, latencies: Floats, levels: Floats) -> Floats | None:
    """The latency at each level; None where one was not measured. Of several trials the highest counts."""
    result = np.full(levels.size, -np.inf)
    np.maximum.at(result, np.searchsorted(levels, rates), np.where(np.isnan(latencies), np.inf, latencies))
    return None if np.isneginf(result).any() else result


def _measure_base(values: Floats, factor: float) -> float | None:
    """The latency at the lowest rates; at the lowest alone where the next one is beyond the bound already."""
    base = values[:BASE_RATES]
    if not np.isfinite(base).all() or base.min() <= 0:
        return None
    if (base > factor * base[0]).any():
        return float(base[0])
    return math.exp(float(np.log(base).mean()))


def _find_place(values: Floats, factor: float) -> int:
    """The place of the last level before the first beyond the bound; -1: none."""
    base = _measure_base(values, factor)
    if base is None:
        return int(np.isfinite(values[0])) - 1
    beyond = np.flatnonzero(values > factor * base)
    return int(beyond[0]) - 1 if beyond.size else values.size - 1


def _find_interval(ranks: Floats, levels: Floats) -> Interval:
    builder = IntervalBuilder(n=ranks.size, method=METHOD)
    result = ordered_median_interval(ranks + 1)  # from 0, below which no place is
    if result.limits is None:
        return builder.build_undecided(result.undecided or Undecided.TOO_FEW_SAMPLES)
    low, high = math.floor(result.limits[0] + 1e-9) - 1, math.ceil(result.limits[1] - 1e-9) - 1
    if high >= levels.size - 1 or low < 0:
        return builder.build_undecided(Undecided.BEYOND_RANGE)
    least, most = levels[int(ranks.min())], levels[int(ranks.max())]
    return builder.build(levels[low], levels[high]).cut_at(float(least), float(most))


def _build_undecided_knee(reason: Undecided, cycles: int, left_out: int) -> LoadKnee:
    none = IntervalBuilder(n=cycles, method=METHOD).build_undecided(reason)
    return LoadKnee(
        n=cycles,
        left_out=left_out,
        rate_per_s=None,
        next_per_s=None,
        base_ns=None,
        interval=none,
        undecided=reason,
    )
