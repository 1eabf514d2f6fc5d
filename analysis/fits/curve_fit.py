"""Shared by all curves over cells: weights, resampling, intervals, residuals and the lack-of-fit test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from pathlab.analysis.estimators.cells import (
    METHOD,
    Cells,
    Floats,
    bound_cycles,
    check_cycle_order,
    draw_multipliers,
    replicate_interval,
    sum_residuals,
)
from pathlab.analysis.estimators.interval import (
    CONFIDENCE_RATIO,
    Interval,
    IntervalBuilder,
    Undecided,
    check_confidence,
)
from pathlab.analysis.libraries import stats
from pathlab.errors import UsageError

# Fits many rows of targets and weights (B, m) from starts (B, p) and returns parameters (B, p).
Fitter = Callable[[Floats, Floats, Floats], Floats]

SMALLEST_SCALE_RATIO = 1e-3
# Residuals below this part of the rate are rounding, not noise.
ROUNDING_RATIO = 1e-9


class Noise(StrEnum):
    """How the scatter of trials grows with the rate: with it (relative), or not at all (absolute)."""

    RELATIVE = "relative"
    ABSOLUTE = "absolute"


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions:
    """How a curve is fitted and its uncertainty found."""

    noise: Noise = Noise.RELATIVE
    confidence_ratio: float = CONFIDENCE_RATIO
    resamples: int = 1000

    def __post_init__(self) -> None:
        check_confidence(self.confidence_ratio)
        if self.resamples < 100:
            raise UsageError(f"{self.resamples} resamples are too few", hint="take 100 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value with its unit and interval; ``value`` is ``None`` where it could not be given."""

    name: str
    unit: str
    value: float | None = None
    interval: Interval
    undecided: Undecided | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Size and confidence of every interval of one result; ``refused`` says why none can be given."""

    n: int
    confidence_ratio: float = CONFIDENCE_RATIO
    refused: Undecided | None = None

    def estimate(self, symbol: tuple[str, str], value: float, replicates: Floats) -> Estimate:
        """An estimate named ``symbol`` (name, unit) with the interval of its replicates."""
        if not np.isfinite(value):
            return self.missing(symbol, Undecided.NOT_IDENTIFIED)
        if self.refused is not None:
            interval = self._without(self.refused)
        else:
            interval = replicate_interval(replicates, n=self.n, confidence_ratio=self.confidence_ratio)
        return Estimate(name=symbol[0], unit=symbol[1], value=float(value), interval=interval)

    def enclose(self, symbol: tuple[str, str], value: float, replicates: tuple[Floats, Floats]) -> Estimate:
        """An estimate whose interval runs from the low end of one quantity to the high end of another."""
        if self.refused is not None or not np.isfinite(value):
            return self.estimate(symbol, value, np.empty(0))
        low, high = (
            replicate_interval(replicate, n=self.n, confidence_ratio=self.confidence_ratio)
            for replicate in replicates
        )
        if low.low is None or high.low is None:
            return self.missing(symbol, Undecided.NOT_IDENTIFIED)
        kept = max(value, low.low) if high.high is None else min(max(value, low.low), high.high)
        interval = replace(low, high=high.high, undecided=high.undecided)
        return Estimate(name=symbol[0], unit=symbol[1], value=kept, interval=interval)

    def missing(self, symbol: tuple[str, str], reason: Undecided, least: Floats | None = None) -> Estimate:
        """An estimate without a value, and why; its interval begins at the low end of ``least``, if any."""
        interval = self._without(reason)
        if least is not None and self.refused is None:
            bound = replicate_interval(least, n=self.n, confidence_ratio=self.confidence_ratio)
            if bound.low is not None:
                interval = replace(interval, low=bound.low)
        return Estimate(name=symbol[0], unit=symbol[1], interval=interval, undecided=reason)

    def _without(self, reason: Undecided) -> Interval:
        builder = IntervalBuilder(n=self.n, method=METHOD, confidence_ratio=self.confidence_ratio)
        return builder.build_undecided(reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Trials in units of ``reference_bits_per_s``, with the scale of their noise in each cell."""

    cells: Cells
    reference_bits_per_s: float
    noise_scale: Floats

    @property
    def targets(self) -> Floats:
        """Mean of each cell."""
        return self.cells.means / self.reference_bits_per_s

    @property
    def weights(self) -> Floats:
        """Weight of each cell."""
        return self.cells.trials / self.noise_scale**2

    @property
    def within_squares(self) -> float:
        """Weighted squares of trials about their cell's mean, which no curve over cells can take away."""
        return float(np.sum(self.standardise(self.targets) ** 2))

    def standardise(self, curve: Floats) -> Floats:
        """Each trial's distance from the curve over cells, in units of the noise's scale."""
        rest = self.cells.values / self.reference_bits_per_s - curve[self.cells.cell_of]
        return rest / self.noise_scale[self.cells.cell_of]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicates:
    """Parameters of the resampled fits, the estimate in row 0; it is alone where ``refused`` says why.

    ``cell_means`` (resamples, cells) are resampled means about those observed, in the reference rate.
    """

    parameters: Floats
    cell_means: Floats | None = None
    refused: Undecided | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Residuals:
    """Observed minus fitted, bit/s: of every trial in the order given, and of every cell's mean.

    ``cell_levels`` are the cells' factor levels: (streams,) or (streams, window in bytes). ``cell_means``
    were observed, ``cell_fitted`` are the fit's.
    """

    trial_bits_per_s: tuple[float, ...]
    cell_levels: tuple[tuple[float, ...], ...]
    cell_n: tuple[int, ...]
    cell_bits_per_s: tuple[float, ...]
    cell_ratio: tuple[float, ...]
    cell_means_bits_per_s: tuple[float, ...]
    cell_fitted_bits_per_s: tuple[float, ...]


def build_problem(cells: Cells, scale_source: Floats | None) -> Problem:
    """Build the problem with noise proportional to ``scale_source`` (cells), or constant for ``None``."""
    scale = np.ones(len(cells.levels)) if scale_source is None else scale_source
    return Problem(
        cells=cells,
        reference_bits_per_s=float(cells.means.max()),
        noise_scale=np.maximum(scale, SMALLEST_SCALE_RATIO * scale.max()),
    )


def total_squares(problem: Problem, cell_squares: float) -> float:
    """Weighted squares of all trials about a curve, no smaller than rounding."""
    return max(cell_squares + problem.within_squares, problem.cells.n * ROUNDING_RATIO**2)


def lack_of_fit(problem: Problem, cell_squares: float, parameters: int) -> float | None:
    """p of the test that cells' means lie on the curve; ``None`` without repeats or spare cells.

    Notes
    -----
    F of the cells' squares against the pure error of repeated trials. Assumes independent normal trials whose
    scatter follows the noise's scale. Source: Draper and Smith, Applied Regression Analysis, 3rd ed., 2.1.
    """
    cells = len(problem.cells.levels)
    spare, repeats = cells - parameters, problem.cells.n - cells
    within = problem.within_squares
    if spare < 1 or repeats < 1 or within <= problem.cells.n * ROUNDING_RATIO**2:
        return None
    return float(stats.f.sf(cell_squares / spare / (within / repeats), spare, repeats))


def replicate_fits(
    problem: Problem,
    fitter: Fitter,
    fitted: tuple[Floats, Floats],
    *,
    rng: np.random.Generator,
    resamples: int,
) -> Replicates:
    """Fit resampled data from the estimate ``fitted``: parameters (1, p) and curve over cells (m,).

    Every replicate adds to the curve the residuals of whole cycles, each times its multiplier.
    """
    parameters, curve = fitted
    cells = problem.cells
    residuals = problem.standardise(curve)
    order = bound_cycles(cells, residuals)
    refused = check_cycle_order(order)
    if refused is not None:
        return Replicates(parameters=parameters, refused=refused)
    multipliers = draw_multipliers(order, resamples, rng)
    shocks = (multipliers @ sum_residuals(cells, residuals)) / cells.trials
    targets = np.maximum(curve + shocks * problem.noise_scale, 0.0)
    weights = np.repeat(problem.weights[None], resamples, axis=0)
    result = fitter(targets, weights, np.repeat(parameters, resamples, axis=0))
    return Replicates(
        parameters=np.concatenate([parameters, result]),
        cell_means=problem.targets + shocks * problem.noise_scale,
    )


def describe_residuals(problem: Problem, curve: Floats) -> Residuals:
    """Residuals of the trials and of the cells about the curve over cells."""
    cells, fitted = problem.cells, curve * problem.reference_bits_per_s
    means = cells.means
    return Residuals(
        trial_bits_per_s=tuple((cells.values - fitted[cells.cell_of]).tolist()),
        cell_levels=tuple(tuple(levels) for levels in cells.levels.tolist()),
        cell_n=tuple(int(count) for count in cells.trials),
        cell_bits_per_s=tuple((means - fitted).tolist()),
        cell_ratio=tuple((means / fitted - 1).tolist()),
        cell_means_bits_per_s=tuple(means.tolist()),
        cell_fitted_bits_per_s=tuple(fitted.tolist()),
    )
