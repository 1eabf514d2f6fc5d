"""Trials grouped by cell and by cycle, and resampled whole cycles at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pathlab.analysis.estimators.interval import Interval, IntervalBuilder, Undecided
from pathlab.analysis.estimators.serial import (
    CORRELATION_SAMPLES,
    TREND_RATIO,
    Order,
    bound_order,
    order_at,
    pool_bound,
)
from pathlab.analysis.libraries import special

Floats = NDArray[np.float64]

METHOD = "bootstrap-multiplier-over-cycles"
MINIMUM_CYCLES = 5
#: One-sided confidence that a cycle's cells share no more of their means' variance than is allowed for.
SHARE_CONFIDENCE_RATIO = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Sums and counts of shape (cycles, cells); ``levels`` (cells, factors) ascending, cycles in their order.

    ``cell_of`` and ``cycle_of`` give the place of each trial, ``values`` its value, all in the order given.
    """

    levels: Floats
    sums: Floats
    counts: Floats
    cell_of: NDArray[np.int64]
    cycle_of: NDArray[np.int64]
    values: Floats

    @property
    def n(self) -> int:
        """Number of trials."""
        return int(self.values.shape[0])

    @property
    def cycles(self) -> int:
        """Number of distinct cycles."""
        return int(self.sums.shape[0])

    @property
    def trials(self) -> Floats:
        """Trials in each cell."""
        totals: Floats = self.counts.sum(axis=0)
        return totals

    @property
    def means(self) -> Floats:
        """Mean of each cell."""
        means: Floats = self.sums.sum(axis=0) / self.trials
        return means


def group_trials(levels: Floats, values: Floats, cycles: Floats) -> Cells:
    """Group trials by their factor levels (trials, factors) and by their cycle number. Cost n log n."""
    distinct, cell_of = np.unique(levels, axis=0, return_inverse=True)
    numbers, cycle_of = np.unique(cycles, return_inverse=True)
    place = cycle_of * len(distinct) + cell_of.ravel()
    size = len(numbers) * len(distinct)
    shape = (len(numbers), len(distinct))
    return Cells(
        levels=distinct,
        sums=np.bincount(place, weights=values, minlength=size).reshape(shape).astype(np.float64),
        counts=np.bincount(place, minlength=size).reshape(shape).astype(np.float64),
        cell_of=cell_of.ravel(),
        cycle_of=cycle_of,
        values=values,
    )


def bound_cycles(cells: Cells, residuals: Floats) -> Order:
    """Serial correlation of the cycles that a fit to all cells has to allow for, one residual per trial.

    Notes
    -----
    Two correlations of neighbours may matter. That of the cells' own series is pooled over the cells and well
    known (``serial.pool_bound``). That of what a cycle's trials share shows in the cycles' means alone
    (``serial.bound_order``). From 10 cycles on the higher bound of the two holds. Fewer cannot show the
    second, for which 0.7 is assumed; the two bounds are weighted by how much of the means' variance may be
    shared: the upper 90 % limit of that share, by F with the degrees of freedom that the pooled bound leaves.
    Cells that were not measured in a cycle are passed over. Residuals that do not vary have no order.
    Source: shared share, as the intraclass correlation in Searle, Casella and McCulloch, Variance Components,
    1992, section 3.6.
    """
    known = cells.counts > 0
    values = sum_residuals(cells, residuals) / np.where(known, cells.counts, 1.0)
    centred = np.where(known, values - values.sum(axis=0) / known.sum(axis=0), 0.0)
    if not centred.any():
        return order_at(cells.cycles, 0.0)
    sizes = known.sum(axis=1)
    means = centred.sum(axis=1) / sizes
    shared = bound_order(means)
    pooled = pool_bound([column[seen] for column, seen in zip(centred.T, known.T, strict=True)])
    if pooled is None:
        return shared
    estimate, own = pooled
    if cells.cycles >= CORRELATION_SAMPLES:
        return order_at(cells.cycles, max(own, shared.bound_ratio), estimate)
    weight = _limit_share(np.where(known, centred - means[:, None], 0.0), means, sizes, own)
    return order_at(cells.cycles, weight * shared.bound_ratio + (1 - weight) * own, estimate)


def _limit_share(rest: Floats, means: Floats, sizes: NDArray[np.int64], own: float) -> float:
    """Upper limit of the share of the means' variance that the cells of a cycle have in common.

    ``rest`` (cycles, cells) is what the ``means`` (cycles,) over ``sizes`` cells leave; ``own`` bounds the
    correlation of a cell's neighbours.
    """
    spare, together = int(np.sum(sizes - 1)), float(np.sum((means - means.mean()) ** 2))
    if spare == 0 or together == 0:
        return 1.0 if spare == 0 else 0.0
    alone = float(np.sum(rest**2)) / spare * float(np.sum(1 / sizes))
    freedom = order_at(means.size, own).freedom
    least = float(special.fdtri(freedom, freedom * spare / means.size, 1 - SHARE_CONFIDENCE_RATIO))
    return max(0.0, 1 - least * alone / together)


def draw_multipliers(order: Order, resamples: int, rng: np.random.Generator) -> Floats:
    """Multipliers of the cycles' residuals, shape (resamples, cycles), as wide as Student's t demands.

    Notes
    -----
    A sum of residuals over cycles, each times its multiplier, is spread as t with the order's degrees of
    freedom and the variance that the cycles show among each other, enlarged by what their common mean takes
    from it (one in n) and by what their order takes (``Order.error_ratio``). Effects shared by a cycle stay
    in it.
    Source: multiplier bootstrap for clusters, Cameron, Gelbach and Miller, REStat 90, 2008; t(G - 1): Bell
    and McCaffrey, Survey Methodology 28, 2002.
    """
    widen = order.error_ratio * math.sqrt(order.n / (order.n - 1))
    student = widen / np.sqrt(rng.chisquare(order.freedom, (resamples, 1)) / order.freedom)
    multipliers: Floats = rng.standard_normal((resamples, order.n)) * student
    return multipliers


def sum_residuals(cells: Cells, residuals: Floats) -> Floats:
    """Sums of trials' residuals, shape (cycles, cells)."""
    size = cells.sums.size
    place = cells.cycle_of * cells.sums.shape[1] + cells.cell_of
    sums = np.bincount(place, weights=residuals, minlength=size).astype(np.float64)
    return sums.reshape(cells.sums.shape)


def check_cycle_order(order: Order) -> Undecided | None:
    """Why cycles in this order have no interval; ``None`` for 5 or more that are no ramp."""
    if order.n < MINIMUM_CYCLES:
        return Undecided.TOO_FEW_SAMPLES
    if order.bound_ratio >= TREND_RATIO:
        return Undecided.TOO_CORRELATED
    return None


def replicate_interval(replicates: Floats, *, n: int, confidence_ratio: float) -> Interval:
    """Percentile interval of replicates, which may be infinite or not known (NaN: as infinite).

    Without an upper end where that is infinite (not bounded above), undecided where the lower one is too.
    Replicates that are all equal give an interval of one point: whole numbers may be equal in every
    replicate.
    """
    ordered = np.sort(np.where(np.isnan(replicates), np.inf, replicates))
    tail = (1 - confidence_ratio) / 2
    low, high = (_find_percentile(ordered, ratio) for ratio in (tail, 1 - tail))
    builder = IntervalBuilder(n=n, method=METHOD, confidence_ratio=confidence_ratio)
    if not math.isfinite(low) or high == -math.inf:
        return builder.build_undecided(Undecided.NOT_IDENTIFIED)
    return (
        builder.build(low, high) if math.isfinite(high) else builder.build_least(low, Undecided.NOT_BOUNDED)
    )


def _find_percentile(ordered: Floats, ratio: float) -> float:
    """The percentile by linear interpolation; infinite where one of its two neighbours is."""
    index = ratio * (ordered.size - 1)
    below, above = float(ordered[math.floor(index)]), float(ordered[math.ceil(index)])
    if not math.isfinite(below) or not math.isfinite(above):
        return below if math.isinf(below) else above
    return below + (above - below) * (index - math.floor(index))
