"""Capacity, N_90 and band of several saturation families, averaged by their Akaike weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.margins import SUFFICIENT_RATIO
from pathlab.analysis.fits.curve_fit import Estimate, Problem, Replicates, Statement, lack_of_fit
from pathlab.analysis.fits.models import MODELS, Family

CAPACITY = ("capacity", "bit/s")
N_90 = ("n_90", "streams")
#: Growth to come, above the highest fitted rate, from which 90 % of the capacity may not be reached yet.
MOST_GROWTH_RATIO = 1 / SUFFICIENT_RATIO - 1
#: Growth is measured from the largest stream count at or below this share of the most measured, to the most.
LOOK_BACK_RATIO = 0.75
#: No family describes the path where cells' means deviate from the best one by more than this share, ...
MOST_MISFIT_RATIO = 0.05
#: ... and beyond chance at this level.
MISFIT_P = 0.05
#: Least squares pulls the curve towards the cells, so its error elsewhere exceeds the cells' deviation.
MISFIT_FACTOR = 2.0
BAND_POINTS = 256
ROWS_AT_ONCE = 200  # bounds the memory for thousands of streams


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A family's part in the average: its Akaike weight and its refits, the estimate in row 0."""

    family: Family
    weight_ratio: float
    replicates: Replicates


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """Lack of fit as a standard deviation, a share of the rate; ``gross``: no family describes the path."""

    ratio: float
    gross: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoints:
    """Per fit (B,), rates in the reference rate; ``highest`` is that within the measured streams.

    ``capacity`` is the fit's own (its limit for many streams, or its peak), held between ``highest`` and
    ``bound``. ``n_low`` and ``n_high`` are the smallest streams that reach 90 % of ``highest`` and of
    ``bound``, ``n_high`` infinite where the measured streams do not.
    """

    highest: Floats
    capacity: Floats
    bound: Floats
    n_low: Floats
    n_high: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class FitBand:
    """The averaged curve over streams, bit/s, with the ends for its mean and for one new trial."""

    streams: tuple[float, ...]
    fitted_bits_per_s: tuple[float, ...]
    mean_low_bits_per_s: tuple[float, ...]
    mean_high_bits_per_s: tuple[float, ...]
    trial_low_bits_per_s: tuple[float, ...]
    trial_high_bits_per_s: tuple[float, ...]


def share_resamples(weights: Mapping[Family, float], resamples: int) -> dict[Family, int]:
    """Resamples of each family in proportion to its weight, as many in total as requested."""
    families = sorted(weights, key=lambda family: -weights[family])
    ends = np.round(np.cumsum([weights[family] for family in families]) * resamples).astype(int)
    return dict(zip(families, np.diff(ends, prepend=0).tolist(), strict=True))


def estimate_misfit(problem: Problem, cell_squares: float, parameters: int) -> Misfit:
    """How far cells' means deviate from a family's curve beyond chance; none without repeats or spare cells.

    Notes
    -----
    Variance component of lack of fit: mean square between cells less that of repeated trials, over the trials
    of a cell. Source: Searle, Casella and McCulloch, Variance Components, 1992, section 3.6.
    """
    cells, n = len(problem.cells.levels), problem.cells.n
    if cells <= parameters or n <= cells:
        return Misfit(ratio=0.0, gross=False)
    excess = cell_squares / (cells - parameters) - problem.within_squares / (n - cells)
    ratio = math.sqrt(max(excess, 0.0) * cells / n)
    p = lack_of_fit(problem, cell_squares, parameters)
    return Misfit(ratio=ratio, gross=ratio > MOST_MISFIT_RATIO and (p is None or p < MISFIT_P))


def find_points(
    problem: Problem, family: Family, parameters: Floats, moves: tuple[Floats, Floats]
) -> CurvePoints:
    """The points of every fit (B, p); ``moves`` (B,) are shares by which misfit moves rates and the 90 %.

    Notes
    -----
    ``bound`` is ``highest`` and what may be gained beyond the measured streams (``bound_growth``).
    """
    model, levels = MODELS[family], problem.cells.levels[:, 0]
    most = float(levels[-1])
    back = look_back(levels)
    whole = _list_streams(levels)
    ends = model.curve(np.array([back, most]), parameters, most)
    growth = bound_growth(ends, back, most)
    highest, n_low, n_high = np.empty((3, len(parameters)))
    for start in range(0, len(parameters), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        rates = model.curve(whole, parameters[rows], most)
        highest[rows] = rates.max(axis=1)
        enough = SUFFICIENT_RATIO * highest[rows] * (1 + moves[1][rows])
        n_low[rows] = _first_reaching(whole, rates, np.minimum(enough, highest[rows]))
        n_high[rows] = _first_reaching(whole, rates, enough * (1 + growth[rows]))
    bound = highest * (1 + growth)
    own = np.clip(model.capacity(parameters, most), highest, bound)
    scale = 1 + moves[0]
    return CurvePoints(
        highest=highest * scale,
        capacity=own * scale,
        bound=bound * scale,
        n_low=n_low,
        n_high=np.where(growth > MOST_GROWTH_RATIO, np.inf, n_high),
    )


def look_back(levels: Floats) -> float:
    """The level from which growth up to the highest one is measured; levels ascend."""
    before = levels[levels <= LOOK_BACK_RATIO * levels[-1]]
    return float(before[-1] if before.size else levels[0])


def bound_growth(ends: Floats, back: float, most: float) -> Floats:
    """What may be gained beyond ``most``, as a share of the rate there; 1: that or more.

    ``ends`` (B, 2): the rates at ``back`` and at ``most``, streams or total windows.

    Notes
    -----
    Of a curve that approaches its limit at least as fast as n / (n + k) (all families with a limit,
    exponentials too), for which the bound is exact. A curve that rises for ever as slowly as n to the power
    of 0.1 is not told from one with a limit.
    """
    gained = np.maximum(ends[:, 1] / np.maximum(ends[:, 0], 1e-300) - 1, 0.0)
    share = gained * back / (most - back)
    growth: Floats = np.minimum(share / np.maximum(1 - share, 1e-9), 1.0)
    return growth


def average_points(
    problem: Problem,
    members: Sequence[Member],
    misfit: Misfit,
    statement: Statement,
    rng: np.random.Generator,
) -> tuple[Estimate, Estimate]:
    """Capacity and N_90 averaged by weight, with intervals over the refits of all members.

    Both are undecided where no family describes the path, and where more of the refits than an end of the
    interval leaves out still rise at the most streams measured: the capacity is then at least the mean of the
    cell with the highest fitted rate. N_90 also where fewer streams than were measured may suffice (beyond
    range).
    """
    result = [_move_points(problem, member, misfit.ratio, rng) for member in members]
    weights = np.array([member.weight_ratio for member in members])
    decided = statement.refused is None

    def pool(name: str) -> Floats:
        return np.concatenate([getattr(points, name)[1:] for points in result])

    rising = float(np.sum(weights[[bool(np.isinf(points.n_high[0])) for points in result]]))
    if decided:
        rising = float(np.mean(np.isinf(pool("n_high"))))
    reason = Undecided.NO_FIT if misfit.gross else Undecided.STILL_RISING
    if misfit.gross or rising > (1 - statement.confidence_ratio) / 2:
        top_means = _draw_top_cell(problem, members) if decided else None
        return statement.missing(CAPACITY, reason, top_means), statement.missing(N_90, reason)
    rate = problem.reference_bits_per_s
    capacity = float(weights @ [points.capacity[0] for points in result])
    n_90 = _reach(problem, members, SUFFICIENT_RATIO * capacity)
    ends = [pool(name) for name in ("highest", "bound", "n_low", "n_high")] if decided else [np.empty(0)] * 4
    top = statement.enclose(CAPACITY, capacity * rate, (ends[0] * rate, ends[1] * rate))
    least = float(problem.cells.levels[0, 0])
    at_least = np.mean(ends[2] <= least) if decided else float(n_90 <= least)
    if least > 1 and at_least > (1 - statement.confidence_ratio) / 2:  # fewer streams may do as well
        return top, statement.missing(N_90, Undecided.BEYOND_RANGE)
    return top, statement.enclose(N_90, n_90, (ends[2], ends[3]))


def _draw_top_cell(problem: Problem, members: Sequence[Member]) -> Floats:
    """Resampled means of the cell with the highest fitted rate, bit/s."""
    levels = problem.cells.levels[:, 0]
    at = int(np.argmax(average_curves(members, levels, float(levels[-1]))))
    drawn = [member.replicates.cell_means for member in members if member.replicates.cell_means is not None]
    means: Floats = np.concatenate(drawn)[:, at] * problem.reference_bits_per_s
    return means


def average_curves(members: Sequence[Member], streams: Floats, most: float) -> Floats:
    """The members' curves averaged by weight, in the reference rate; ``most``: the most streams measured."""
    curves = [
        MODELS[member.family].curve(streams, member.replicates.parameters[:1], most)[0] for member in members
    ]
    average: Floats = np.tensordot([member.weight_ratio for member in members], np.stack(curves), axes=1)
    return average


def draw_band(
    problem: Problem, members: Sequence[Member], statement: Statement, rng: np.random.Generator
) -> FitBand | None:
    """The averaged curve with pointwise percentiles of all refits, without and with a trial's residual."""
    if statement.refused is not None:
        return None
    levels = problem.cells.levels[:, 0]
    least, most = float(levels[0]), float(levels[-1])
    points = min(BAND_POINTS, int(most - least) + 1)
    streams = np.union1d(np.round(np.linspace(least, most, points)), levels)
    fitted = average_curves(members, streams, most)
    refits = np.concatenate(
        [MODELS[member.family].curve(streams, member.replicates.parameters[1:], most) for member in members]
    )
    residuals = problem.standardise(fitted[np.searchsorted(streams, levels)])
    n, size = problem.cells.n, members[0].replicates.parameters.shape[1]
    drawn = rng.choice(residuals, size=refits.shape) * math.sqrt(n / (n - size))
    tail = (1 - statement.confidence_ratio) / 2
    mean_ends = np.quantile(refits, (tail, 1 - tail), axis=0)
    scale = np.interp(streams, levels, problem.noise_scale)
    trial_ends = np.maximum(np.quantile(refits + drawn * scale, (tail, 1 - tail), axis=0), 0.0)
    rows = np.stack([fitted, *mean_ends, *trial_ends]) * problem.reference_bits_per_s
    averaged, mean_low, mean_high, trial_low, trial_high = (tuple(row.tolist()) for row in rows)
    return FitBand(
        streams=tuple(streams.tolist()),
        fitted_bits_per_s=averaged,
        mean_low_bits_per_s=mean_low,
        mean_high_bits_per_s=mean_high,
        trial_low_bits_per_s=trial_low,
        trial_high_bits_per_s=trial_high,
    )


def _move_points(
    problem: Problem, member: Member, misfit_ratio: float, rng: np.random.Generator
) -> CurvePoints:
    """A member's points, those of its refits moved by random misfits."""
    rows = member.replicates.parameters
    moves = MISFIT_FACTOR * misfit_ratio * rng.standard_normal((2, len(rows)))
    moves[:, 0] = 0.0
    return find_points(problem, member.family, rows, (moves[0], moves[1]))


def _reach(problem: Problem, members: Sequence[Member], rate: float) -> float:
    """The smallest whole number of streams at which the averaged curve reaches a rate; inf if none does."""
    levels = problem.cells.levels[:, 0]
    whole = _list_streams(levels)
    curve = average_curves(members, whole, float(levels[-1]))
    return float(_first_reaching(whole, curve[None], np.array([rate]))[0])


def _list_streams(levels: Floats) -> Floats:
    """Every whole number of streams from the least to the most measured."""
    return np.arange(math.ceil(levels[0]), math.floor(levels[-1]) + 1.0)


def _first_reaching(whole: Floats, rates: Floats, enough: Floats) -> Floats:
    """The smallest streams whose rate (B, streams) is enough (B,), infinite where none is."""
    reached = rates >= enough[:, None]
    first: Floats = np.where(reached.any(axis=1), whole[np.argmax(reached, axis=1)], np.inf)
    return first
