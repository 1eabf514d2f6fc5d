"""Trials grouped by cell and by cycle, and resampled whole cycles at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.blocks import lag_one_correlation
from pathlab.analysis.interval import Interval, Undecided, as_samples, undecided_interval
from pathlab.errors import UsageError

Floats = NDArray[np.float64]

METHOD = "bootstrap-multiplier-over-cycles"
MINIMUM_CYCLES = 5
# With fewer cycles than these their serial correlation cannot be estimated and is taken as none.
CORRELATION_CYCLES = 10
MINIMUM_FREEDOM = 3.0


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


def as_amounts(values: ArrayLike, name: str, *, least: float = 0.0) -> Floats:
    """The values as finite numbers of one dimension; ``UsageError`` where one is below ``least``."""
    amounts = as_samples(values, name)
    if amounts.size and amounts.min() < least:
        raise UsageError(f"{name}: a value is below {least:g}", hint="leave out what was not measured")
    return amounts


def check_lengths(**arrays: Floats) -> None:
    """Raise ``UsageError`` unless all arrays, named by their keywords, have the same length."""
    sizes = {name.replace("_", " "): array.size for name, array in arrays.items()}
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{size} {name}" for name, size in sizes.items())
        raise UsageError(f"lengths differ: {told}", hint="pass one value of each per trial")


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


def count_effective(series: Floats) -> float:
    """Cycles that independent ones would be worth, from the serial correlation of one value per cycle.

    Notes
    -----
    n (1 - r) / (1 + r) for a first-order autoregressive series (Bayley and Hammersley, JRSS Suppl. 8, 1946),
    r raised by (1 + 4 r) / n because short series underestimate it (Kendall 1954), and never taken below 0.
    """
    return _discount(series.size, lag_one_correlation(series))


def count_effective_cycles(cells: Cells, residuals: Floats) -> float:
    """``count_effective`` of all cells together, one residual per trial.

    Notes
    -----
    Of two correlations, that of the cycles' mean residuals sees what a cycle's trials share; the one pooled
    over the cells' own series is known far better, and is right where they share nothing. They are weighted
    by the share of the means' variance that is shared: 1 less what independent cells would leave of it.
    """
    known = cells.counts > 0
    values = sum_residuals(cells, residuals) / np.where(known, cells.counts, 1.0)
    centred = np.where(known, values - values.sum(axis=0) / known.sum(axis=0), 0.0)
    power = float(np.sum(centred**2))
    if power == 0:
        return float(cells.cycles)
    pooled = float(np.sum(centred[1:] * centred[:-1])) / power
    totals = np.bincount(cells.cycle_of, weights=residuals, minlength=cells.cycles)
    means = totals / cells.counts.sum(axis=1)
    alone = float(np.sum(centred**2 / np.sum(known, axis=1, keepdims=True) ** 2))
    together = float(np.sum((means - means.mean()) ** 2))
    weight = max(0.0, 1 - alone / together) if together > 0 else 0.0
    return _discount(cells.cycles, weight * lag_one_correlation(means) + (1 - weight) * pooled)


def _discount(n: int, estimate: float) -> float:
    """What n cycles are worth at an estimated correlation of neighbours."""
    if n < CORRELATION_CYCLES:
        return float(n)
    correlation = min(0.97, max(0.0, estimate + (1 + 4 * estimate) / n))
    return n * (1 - correlation) / (1 + correlation)


def draw_multipliers(
    cycles: int, effective_cycles: float, resamples: int, rng: np.random.Generator
) -> Floats:
    """Multipliers of the cycles' residuals, shape (resamples, cycles), as wide as Student's t demands.

    Notes
    -----
    A sum of residuals over cycles, each times its multiplier, is spread as t with one degree of freedom less
    than ``effective_cycles`` and the variance that the cycles show among each other, enlarged by what their
    common mean takes from it (one in ``effective_cycles``). Effects shared by a cycle stay in it.
    Source: multiplier bootstrap for clusters, Cameron, Gelbach and Miller, REStat 90, 2008; t(G - 1): Bell
    and McCaffrey, Survey Methodology 28, 2002.
    """
    freedom = max(effective_cycles - 1, 1.0)
    widen = np.sqrt(cycles / freedom)
    student = widen / np.sqrt(rng.chisquare(freedom, (resamples, 1)) / freedom)
    multipliers: Floats = rng.standard_normal((resamples, cycles)) * student
    return multipliers


def sum_residuals(cells: Cells, residuals: Floats) -> Floats:
    """Sums of trials' residuals, shape (cycles, cells)."""
    size = cells.sums.size
    place = cells.cycle_of * cells.sums.shape[1] + cells.cell_of
    sums = np.bincount(place, weights=residuals, minlength=size).astype(np.float64)
    return sums.reshape(cells.sums.shape)


def refuse_cycles(cycles: int, effective_cycles: float) -> Undecided | None:
    """Why so many cycles carry no interval; ``None`` for 5 or more that are worth 4 independent ones."""
    if cycles < MINIMUM_CYCLES:
        return Undecided.TOO_FEW_SAMPLES
    if effective_cycles - 1 < MINIMUM_FREEDOM:
        return Undecided.TOO_CORRELATED
    return None


def replicate_interval(
    replicates: Floats, *, n: int, confidence_ratio: float, method: str = METHOD
) -> Interval:
    """Percentile interval of replicates; undecided where an end is not finite.

    Replicates that are all equal give an interval of one point: whole numbers may well never differ.
    """
    top = np.finfo(np.float64).max / 4
    capped = np.clip(np.nan_to_num(replicates, nan=top), -top, top)
    tail = (1 - confidence_ratio) / 2
    low, high = (float(end) for end in np.quantile(capped, (tail, 1 - tail)))
    if max(abs(low), abs(high)) >= top / 2:
        return undecided_interval(
            Undecided.NOT_IDENTIFIED, n=n, confidence_ratio=confidence_ratio, method=method
        )
    return Interval(
        low=low, high=high, n=n, confidence_ratio=confidence_ratio, coverage_ratio=None, method=method
    )
