"""The number of streams at which a unit of throughput costs the least delay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pathlab.analysis.estimators.cells import (
    METHOD,
    Cells,
    Floats,
    bound_cycles,
    check_cycle_order,
    draw_multipliers,
    group_trials,
    replicate_interval,
    sum_residuals,
)
from pathlab.analysis.estimators.interval import (
    CONFIDENCE_RATIO,
    Interval,
    IntervalBuilder,
    Undecided,
    as_amounts,
    as_samples,
    check_lengths,
)
from pathlab.errors import UsageError

RESAMPLES = 1000
MINIMUM_TRIALS = 5
MINIMUM_LEVELS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimalStreams:
    """The measured number of streams with the least dRTT / throughput, and every number's ratio.

    ``cost_ns_per_bit_per_s`` belongs to ``candidates``, ascending, and is below 0 where the mean dRTT was;
    ``left_out`` are stream counts with fewer than 5 usable trials. ``n`` counts trials with dRTT measured.
    """

    n: int
    streams: float | None = None
    interval: Interval
    candidates: tuple[float, ...] = ()
    cost_ns_per_bit_per_s: tuple[float, ...] = ()
    left_out: tuple[float, ...]
    undecided: Undecided | None = None


def find_optimal_streams(
    streams: ArrayLike,
    throughput_bits_per_s: ArrayLike,
    drtt_ns: ArrayLike,
    *,
    cycles: ArrayLike,
    rng: np.random.Generator,
) -> OptimalStreams:
    """The number of streams that minimises mean dRTT / mean throughput, one value of each argument per trial.

    ``drtt_ns`` may be below 0 (noise about no rise) and is NaN where it was not measured. ``cycles`` numbers
    each trial's cycle in time order. Only measured numbers of streams are candidates; of those whose mean
    dRTT is not above 0, which cost no delay, the fastest one is taken.

    Notes
    -----
    Assumption: trials of a stream count have one mean; the ratio is that of the means. The interval spans the
    numbers of streams at which resampled cycles have their optimum (percentiles); where dRTT is noise about 0
    at few streams it is wide, as it should be. Minimum: 5 trials per stream count, 5 cycles, 2 stream counts.
    Source: METHOD section 2, streams-sweep; multiplier bootstrap over cycles as in ``cells``.
    """
    counts = as_amounts(streams, "streams", least=1)
    rates = as_amounts(throughput_bits_per_s, "throughput")
    rises = np.asarray(drtt_ns, dtype=np.float64)
    if rises.ndim != 1 or np.isinf(rises).any():
        raise UsageError("dRTT: not a flat sequence of numbers", hint="mark what was not measured with NaN")
    numbers = as_samples(cycles, "cycles")
    check_lengths(streams=counts, throughput=rates, dRTT=rises, cycles=numbers)
    _, index, trials = np.unique(counts[~np.isnan(rises)], return_inverse=True, return_counts=True)
    usable = np.zeros(rises.size, dtype=bool)
    usable[np.flatnonzero(~np.isnan(rises))] = (trials >= MINIMUM_TRIALS)[index]
    left_out = tuple(sorted(set(counts.tolist()) - set(counts[usable].tolist())))
    reason = _find_shortage(counts[usable], rates[usable])
    if reason is not None:
        n = int(usable.sum())
        none = IntervalBuilder(n=n, method=METHOD).build_undecided(reason)
        return OptimalStreams(n=n, interval=none, left_out=left_out, undecided=reason)
    carried = group_trials(counts[usable, None], rates[usable], numbers[usable])
    delayed = group_trials(counts[usable, None], rises[usable], numbers[usable])
    costs = delayed.means / carried.means
    best = int(np.argmin(_rank(delayed.means, carried.means)))
    return OptimalStreams(
        n=carried.n,
        streams=float(carried.levels[best, 0]),
        interval=_interval(carried, delayed, rng),
        candidates=tuple(carried.levels[:, 0].tolist()),
        cost_ns_per_bit_per_s=tuple(costs.tolist()),
        left_out=left_out,
    )


def _find_shortage(counts: Floats, rates: Floats) -> Undecided | None:
    if counts.size == 0:
        return Undecided.TOO_FEW_SAMPLES
    levels = np.unique(counts)
    if levels.size < MINIMUM_LEVELS:
        return Undecided.TOO_FEW_LEVELS
    if any(rates[counts == level].max() == 0 for level in levels):
        return Undecided.ALL_ZERO
    return None


def _rank(rises: Floats, rates: Floats) -> Floats:
    """What the optimum is least of: delay per rate, and below all of these minus the rate where none rose."""
    ranks: Floats = np.where(rises > 0, rises / rates, -rates)
    return ranks


def _interval(carried: Cells, delayed: Cells, rng: np.random.Generator) -> Interval:
    """Percentiles of the optimum when both means move by the same multipliers of the cycles' residuals."""
    rests = [cells.values - cells.means[cells.cell_of] for cells in (carried, delayed)]
    scales = [float(np.std(rest)) or 1.0 for rest in rests]  # equal residuals are rounding
    orders = [
        bound_cycles(cells, rest / scale)
        for cells, rest, scale in zip((carried, delayed), rests, scales, strict=True)
    ]
    order = max(orders, key=lambda item: item.bound_ratio)
    refused = check_cycle_order(order)
    if refused is not None:
        return IntervalBuilder(n=carried.n, method=METHOD).build_undecided(refused)
    multipliers = draw_multipliers(order, RESAMPLES, rng)
    moved = [
        cells.means + multipliers @ sum_residuals(cells, rest) / cells.trials
        for cells, rest in zip((carried, delayed), rests, strict=True)
    ]
    rates = np.maximum(moved[0], 1e-3 * carried.means)
    result = carried.levels[np.argmin(_rank(moved[1], rates), axis=1), 0]
    return replicate_interval(result, n=carried.n, confidence_ratio=CONFIDENCE_RATIO)
