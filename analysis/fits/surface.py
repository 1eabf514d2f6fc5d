"""Response surface: throughput over (streams, window), window-limited below and capacity-limited above.

Assumption: a stream carries at most a window per round trip, the path at most C; the knee between the two
is rounded by a p-norm. The effective RTT is that of the model and holds the queue that the traffic
builds. Scatter in proportion to the rate, or constant. Intervals: multiplier bootstrap over cycles,
minimum 5, with the serial correlation of cycles allowed for as in ``cells.bound_cycles``. In simulation
(``tests/statistics/test_fit_targets.py``) 95 % intervals hold the truth in 92 % or more at a first-order
correlation of up to 0.7, of each cell's own, shared by a cycle, or both.
Capacity: by the rule of ``saturation``, over total windows instead of streams. Its interval runs from the
fitted rate at the largest total window to what larger ones may still add (``model_average.bound_growth``),
both moved by the misfit. Where that may be more than a ninth (still rising), or where the surface does not
fit (no model fits), the capacity is at least the mean of the cell with the highest fitted rate. For ten laws,
of this form or not, two ends hold the truth in 94 % or more (``tests/statistics/test_one_capacity.py``).
Source: METHOD section 4; window limit: Little's law; weighted least squares as in ``saturation``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pathlab.analysis.estimators.cells import Cells, Floats, group_trials
from pathlab.analysis.estimators.interval import Undecided, as_amounts, as_samples, check_lengths
from pathlab.analysis.fits.curve_fit import (
    Estimate,
    FitOptions,
    Noise,
    Problem,
    Replicates,
    Residuals,
    Statement,
    build_problem,
    describe_residuals,
    lack_of_fit,
    replicate_fits,
    total_squares,
)
from pathlab.analysis.fits.least_squares import fit_many, search_start
from pathlab.analysis.fits.model_average import (
    MISFIT_FACTOR,
    MOST_GROWTH_RATIO,
    Misfit,
    bound_growth,
    estimate_misfit,
    look_back,
)
from pathlab.errors import UsageError

MINIMUM_CELLS = 4
# A limit is seen where the surface comes to within this ratio of it in some cell.
SEEN_RATIO = 0.5
BELOW_RATIO = 0.9
# Logarithms: rate of the largest product, capacity in units of it, sharpness of the knee.
LOW = np.array([-12.0, -12.0, 0.0])
HIGH = np.array([12.0, 3.0, math.log(64.0)])

CAPACITY = ("capacity", "bit/s")
RTT = ("effective_rtt", "ns")
SHARPNESS = ("sharpness", "1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """T = (x^-p + C^-p)^(-1/p) with x = N W / RTT, fitted to all cells.

    ``capacity`` C in bit/s, ``effective_rtt`` in ns, ``sharpness`` p (1: round knee, 64: min(x, C)). An RTT
    that no cell comes near is undecided, an undecided capacity is bounded from below (``interval.low``).
    ``lack_of_fit_p`` small: the surface does not fit the path, and ``residuals`` show where. ``rmse_ratio``
    is the residuals' size in units of the fitted rate.
    """

    n: int
    cycles: int
    capacity: Estimate
    effective_rtt: Estimate
    sharpness: Estimate
    rmse_ratio: float | None = None
    lack_of_fit_p: float | None = None
    fitted_bits_per_s: tuple[float, ...] = ()
    residuals: Residuals | None = None
    undecided: Undecided | None = None


def fit_surface(
    streams_and_windows: ArrayLike,
    throughput_bits_per_s: ArrayLike,
    *,
    cycles: ArrayLike,
    rng: np.random.Generator,
    options: FitOptions | None = None,
) -> Surface:
    """Fit the response surface to the trials of one path.

    ``streams_and_windows`` has a row (streams, window in bytes) per trial: the window that each stream could
    use (what was granted, not what was requested); leave autotuned trials out. ``cycles`` numbers each
    trial's cycle in time order. The fit and the residuals' cells are in ascending (streams, window). Raises
    ``UsageError`` for values that are no such numbers. Undecided: fewer than 4 cells, all zero, no variation.
    """
    options = options or FitOptions()
    levels = _as_levels(streams_and_windows)
    rates = as_amounts(throughput_bits_per_s, "throughput")
    numbers = as_samples(cycles, "cycles")
    check_lengths(streams_and_windows=levels[:, 0], throughput=rates, cycles=numbers)
    cells = group_trials(levels, rates, numbers) if rates.size else None
    reason = _find_shortage(cells)
    if cells is None or reason is not None:
        return _undecided(reason or Undecided.NO_SAMPLES, cells, options)
    problem = build_problem(cells, None if options.noise is Noise.ABSOLUTE else cells.means)
    parameters = _search(problem)
    if options.noise is Noise.RELATIVE:
        problem = build_problem(cells, _surface(_products(problem), parameters)[0])
        parameters = _search(problem)
    curve = _surface(_products(problem), parameters)
    replicates = replicate_fits(
        problem,
        lambda targets, weights, starts: _fit_rows(problem, targets, weights, starts)[0],
        (parameters, curve[0]),
        rng=rng,
        resamples=options.resamples,
    )
    squares = float(np.sum(problem.weights * (problem.targets - curve[0]) ** 2))
    misfit = estimate_misfit(problem, squares, len(LOW))
    capacity = _estimate_capacity(problem, replicates, (misfit, options), rng)
    rtt, sharpness = _publish(problem, replicates, options)
    return Surface(
        n=cells.n,
        cycles=cells.cycles,
        capacity=capacity,
        effective_rtt=rtt,
        sharpness=sharpness,
        rmse_ratio=math.sqrt(total_squares(problem, squares) / max(cells.n - len(LOW), 1)),
        lack_of_fit_p=lack_of_fit(problem, squares, len(LOW)),
        fitted_bits_per_s=tuple((curve[0] * problem.reference_bits_per_s).tolist()),
        residuals=describe_residuals(problem, curve[0]),
    )


def _as_levels(streams_and_windows: ArrayLike) -> Floats:
    pairs = np.asarray(streams_and_windows, dtype=np.float64)
    if pairs.size == 0:
        return np.empty((0, 2))
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise UsageError(
            f"streams and windows: expected shape (trials, 2), got {pairs.shape}",
            hint="pass one row (streams, window in bytes) per trial",
        )
    counts, windows = as_amounts(pairs[:, 0], "streams", least=1), as_amounts(pairs[:, 1], "window", least=1)
    return np.stack([counts, windows], axis=1)


def _find_shortage(cells: Cells | None) -> Undecided | None:
    if cells is None:
        return Undecided.NO_SAMPLES
    if cells.values.max() == 0:
        return Undecided.ALL_ZERO
    if len(cells.levels) < MINIMUM_CELLS or np.unique(cells.levels.prod(axis=1)).size < MINIMUM_CELLS - 1:
        return Undecided.TOO_FEW_LEVELS
    if np.ptp(cells.values) <= 1e-12 * cells.values.max():
        return Undecided.NO_VARIATION
    return None


def _undecided(reason: Undecided, cells: Cells | None, options: FitOptions) -> Surface:
    n, cycles = (0, 0) if cells is None else (cells.n, cells.cycles)
    statement = Statement(n=n, confidence_ratio=options.confidence_ratio)
    return Surface(
        n=n,
        cycles=cycles,
        capacity=statement.missing(CAPACITY, reason),
        effective_rtt=statement.missing(RTT, reason),
        sharpness=statement.missing(SHARPNESS, reason),
        undecided=reason,
    )


def _products(problem: Problem) -> Floats:
    """Streams x window of each cell in units of the largest."""
    products = problem.cells.levels.prod(axis=1)
    shares: Floats = products / products.max()
    return shares


def _surface(products: Floats, parameters: Floats) -> Floats:
    """Rates (B, cells) in the reference rate."""
    ratio = products / np.exp(parameters[:, 1, None])
    power = np.exp(parameters[:, 2, None])
    # The smaller limit is taken out, so that no power overflows.
    smaller = np.minimum(ratio, 1.0)
    shares = (smaller / np.maximum(ratio, 1.0)) ** power
    rates: Floats = np.exp(parameters[:, :1] + parameters[:, 1:2]) * smaller * (1 + shares) ** (-1 / power)
    return rates


def _fit_rows(problem: Problem, targets: Floats, weights: Floats, starts: Floats) -> tuple[Floats, Floats]:
    products = _products(problem)
    many = fit_many(lambda rows: _surface(products, rows), targets, weights, starts, (LOW, HIGH))
    return many.parameters, many.squares


def _search(problem: Problem) -> Floats:
    """The best of the searches from a grid, shape (1, 3)."""
    products = _products(problem)
    knees, powers = np.meshgrid(np.linspace(-6, 2, 17), np.log([1.0, 2.0, 4.0, 16.0]), indexing="ij")
    starts = search_start(
        lambda rows: _surface(products, rows),
        problem.targets,
        problem.weights,
        np.stack([knees.ravel(), powers.ravel()], axis=1),
        (float(LOW[0]), float(HIGH[0])),
    )
    rows = len(starts)
    targets = np.repeat(problem.targets[None], rows, axis=0)
    weights = np.repeat(problem.weights[None], rows, axis=0)
    parameters, squares = _fit_rows(problem, targets, weights, starts)
    return parameters[[int(np.argmin(squares))]]


def _estimate_capacity(
    problem: Problem, replicates: Replicates, how: tuple[Misfit, FitOptions], rng: np.random.Generator
) -> Estimate:
    """The capacity by the rule of ``saturation``, over total windows instead of streams."""
    misfit, options = how
    statement = Statement(
        n=problem.cells.n, confidence_ratio=options.confidence_ratio, refused=replicates.refused
    )
    rows, rate = replicates.parameters, problem.reference_bits_per_s
    products = np.unique(_products(problem))
    back = look_back(products)
    ends = _surface(np.array([back, 1.0]), rows)
    growth = bound_growth(ends, back, 1.0)
    moves = MISFIT_FACTOR * misfit.ratio * rng.standard_normal(len(rows))
    moves[0] = 0.0
    highest = ends[:, 1] * rate * (1 + moves)
    bound = highest * (1 + growth)
    own = np.clip(np.exp(rows[:, 0] + rows[:, 1]) * rate * (1 + moves), highest, bound)
    rising = growth > MOST_GROWTH_RATIO
    share = float(np.mean(rising[1:])) if statement.refused is None else float(rising[0])
    if misfit.gross or share > (1 - options.confidence_ratio) / 2:
        reason = Undecided.NO_FIT if misfit.gross else Undecided.STILL_RISING
        means, at = replicates.cell_means, int(np.argmax(_surface(_products(problem), rows[:1])[0]))
        return statement.missing(CAPACITY, reason, None if means is None else means[:, at] * rate)
    return statement.enclose(CAPACITY, float(own[0]), (highest[1:], bound[1:]))


def _publish(problem: Problem, replicates: Replicates, options: FitOptions) -> tuple[Estimate, Estimate]:
    """Effective RTT and sharpness; a limit that no cell comes near is undecided."""
    statement = Statement(
        n=problem.cells.n, confidence_ratio=options.confidence_ratio, refused=replicates.refused
    )
    products, rows = _products(problem), replicates.parameters
    curves = _surface(products, rows)
    top = np.exp(rows[:, 0] + rows[:, 1])
    slope = np.exp(rows[:, 0])
    near_top = curves.max(axis=1) >= SEEN_RATIO * top
    # A surface that is flat everywhere has its corner on the smallest cell by choice, not by evidence.
    below = curves <= BELOW_RATIO * top[:, None]
    near_window = np.max(below * curves / (slope[:, None] * products), axis=1) >= SEEN_RATIO
    largest_bits = float(problem.cells.levels.prod(axis=1).max()) * 8
    rtts = np.where(near_window, largest_bits * 1e9 / (slope * problem.reference_bits_per_s), np.inf)
    both = np.where(near_top & near_window, np.exp(rows[:, 2]), np.inf)
    return (
        statement.estimate(RTT, rtts[0], rtts[1:]),
        statement.estimate(SHARPNESS, both[0], both[1:]),
    )
