"""Segmented regression: the throughput from which dRTT and RV rise.

Model: two straight lines that meet, least squares over 201 candidates that keep a twentieth of the
trials, at least 5, on either side. Test: the largest gain of a hinge over one line, against the same of
the hinge's residuals of whole cycles with random multipliers, so that scatter may depend on x. Intervals:
percentiles of refits with the same multipliers; a break found only just is placed less surely than they
say.
Assumption: serial correlation of cycles as in ``cells.bound_cycles``, of what tilts a line: with 5 to 9
cycles it is estimated from the cells' own series, and 0.7 is allowed for where ``cells`` is missing. In
simulation (60 to 200 draws; 5 to 60 cycles of 14 cells; scatter constant, growing with x, or correlated
by up to 0.7) 95 % intervals of place and slopes held the truth in 94 % or more, and at most 4 % of
straight lines were called broken.
Source: Hudson, JASA 61, 1966 (estimate); Hansen, Econometrica 64, 1996 (test of a break at an unknown
place); Cameron, Gelbach and Miller, REStat 90, 2008 (clusters). Cost: trials x candidates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.cells import (
    Floats,
    bound_cycles,
    check_cycle_order,
    draw_multipliers,
    group_trials,
)
from pathlab.analysis.estimators.interval import (
    CONFIDENCE_RATIO,
    Undecided,
    as_samples,
    check_lengths,
    check_sample_count,
)
from pathlab.analysis.fits.curve_fit import Estimate, Statement

MINIMUM_TRIALS = 50
MINIMUM_SIDE = 5
MINIMUM_LEVELS = 4
SIDE_RATIO = 0.05
CANDIDATES = 201
RESAMPLES = 1000
PARAMETERS = 4
#: Values of candidate hinges held at a time (2 MiB, which caches hold), however many trials there are.
BLOCK_VALUES = 2**18

LINE = ("slope", "unit of y per unit of x")
BREAK = ("breakpoint", "unit of x")
BEFORE = ("slope_before", "unit of y per unit of x")
AFTER = ("slope_after", "unit of y per unit of x")


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakpoint:
    """Two lines that meet at ``breakpoint``, the slopes of both; ``slope`` is that of one line through all.

    ``break_p`` tests one line against two. Where no break is supported only the one line is given.
    ``corners`` are the points (x, y) of what was fitted: the ends and the break; none without a slope.
    """

    n: int
    slope: Estimate
    breakpoint: Estimate
    slope_before: Estimate
    slope_after: Estimate
    break_p: float | None
    corners: tuple[tuple[float, float], ...] = ()
    undecided: Undecided | None = None


def find_breakpoint(
    x: ArrayLike,
    y: ArrayLike,
    *,
    cycles: ArrayLike,
    rng: np.random.Generator,
    cells: ArrayLike | None = None,
) -> Breakpoint:
    """Where y (dRTT, RV) turns from one line over x (throughput) to another, one value of each per trial.

    ``cycles`` numbers each trial's cycle in time order, ``cells`` its combination (``None``: all are one).
    Undecided: fewer than 50 trials or 5 cycles, x that leave no room for a break, y without variation, too
    much serial correlation, or no break supported at the confidence.
    """
    across, up, numbers = as_samples(x, "x"), as_samples(y, "y"), as_samples(cycles, "cycles")
    labels = np.zeros(up.size) if cells is None else as_samples(cells, "cells")
    check_lengths(x=across, y=up, cycles=numbers, cells=labels)
    reason = _find_shortage(across, up)
    if reason is not None:
        return _without(Statement(n=up.size), reason)
    hinges = _build_hinges(across, up, numbers, _room(across))
    fit = _fit_hinge(hinges)
    # What tilts a line: a level that the trials of a cycle share does not.
    tilting = hinges.centred * fit.residuals
    order = bound_cycles(group_trials(labels[:, None], tilting, numbers), tilting)
    refused = check_cycle_order(order)
    statement = Statement(n=up.size, refused=refused)
    line = fit.slope * hinges.slope_unit
    if refused is not None:
        slope = statement.estimate(LINE, line, np.empty(0))
        return _without(statement, refused, slope=slope, points=(across, up))
    multipliers = draw_multipliers(order, RESAMPLES, rng)
    lines = fit.slope + multipliers @ _lean(hinges, fit.line_residuals)
    slope = statement.estimate(LINE, line, lines * hinges.slope_unit)
    multipliers *= np.sqrt(up.size / (up.size - PARAMETERS))
    probability = _test_break(hinges, fit, multipliers)
    if probability > 1 - CONFIDENCE_RATIO:
        return _without(statement, Undecided.NO_BREAK, slope=slope, break_p=probability, points=(across, up))
    coarse, _, _ = _replicate(hinges, fit, multipliers)
    closer = _build_hinges(across, up, numbers, _zoom(coarse, _room(across)))
    place, before, after = _replicate(closer, _fit_hinge(closer), multipliers)
    return Breakpoint(
        n=up.size,
        slope=slope,
        breakpoint=statement.estimate(BREAK, place[0], place[1:]),
        slope_before=statement.estimate(BEFORE, before[0], before[1:]),
        slope_after=statement.estimate(AFTER, after[0], after[1:]),
        break_p=probability,
        corners=_list_corners(across, up, float(place[0]), float(before[0]), float(after[0])),
    )


def _test_break(hinges: _Hinges, fit: _HingeFit, multipliers: Floats) -> float:
    """Chance of as large a gain of a hinge where one line holds."""
    chance = np.max((multipliers @ _sum_hinges(hinges, fit.residuals).T) ** 2, axis=1)
    return float(1 + np.sum(chance >= np.max(fit.gains**2))) / (RESAMPLES + 1)


def _list_corners(
    x: Floats, y: Floats, at: float, before: float, after: float
) -> tuple[tuple[float, float], ...]:
    """Ends and meeting point of two lines of these slopes through the trials' mean level."""

    def rise(over: Floats) -> Floats:
        return before * np.minimum(over - at, 0) + after * np.maximum(over - at, 0)

    places = np.array([x.min(), at, x.max()])
    heights = rise(places) + np.mean(y - rise(x))
    return tuple(zip(places.tolist(), heights.tolist(), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hinges:
    """Candidate hinges, freed of the straight line and of unit length, over x and y of unit size.

    ``lengths`` and ``tilts`` (K,): what was taken off. ``trials`` per cycle. The hinges (K, trials) are
    made by ``_make_units``, some at a time: all of them take 0.8 GB for half a million trials.
    """

    up: Floats
    unit: Floats
    centred: Floats
    places: Floats
    knots: Floats  # the places on the scale of ``unit``
    lengths: Floats
    tilts: Floats
    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    trials: Floats
    slope_unit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _HingeFit:
    slope: float
    gains: Floats
    best: int
    fitted: Floats
    residuals: Floats
    line_residuals: Floats


def _room(x: Floats) -> tuple[float, float]:
    """The smallest and the largest candidate; the second is not larger where there is no room."""
    side = max(MINIMUM_SIDE, int(np.ceil(SIDE_RATIO * x.size)))
    ordered, levels = np.sort(x), np.unique(x)
    if levels.size < MINIMUM_LEVELS:
        return 0.0, 0.0
    # A hinge at the smallest level or at the largest is a straight line.
    return float(max(ordered[side - 1], levels[1])), float(min(ordered[-side], levels[-2]))


def _zoom(places: Floats, room: tuple[float, float]) -> tuple[float, float]:
    """The range of the refits' places with a margin, so that the candidates lie closer than the refits do."""
    margin = max(float(np.ptp(places)) / 4, 2 * (room[1] - room[0]) / CANDIDATES)
    return max(room[0], float(places.min()) - margin), min(room[1], float(places.max()) + margin)


def _find_shortage(x: Floats, y: Floats) -> Undecided | None:
    if y.size < MINIMUM_TRIALS:
        return check_sample_count(y.size, MINIMUM_TRIALS)
    if np.ptp(x) <= 1e-9 * np.abs(x).max() or np.ptp(y) <= 1e-9 * np.abs(y).max():
        return Undecided.NO_VARIATION
    low, high = _room(x)
    return Undecided.TOO_FEW_LEVELS if high - low <= 1e-9 * np.ptp(x) else None


def _build_hinges(x: Floats, y: Floats, cycles: Floats, room: tuple[float, float]) -> _Hinges:
    spread, height = float(np.ptp(x)), float(np.ptp(y))
    unit = (x - x.min()) / spread
    places = np.linspace(*room, CANDIDATES)
    centred = unit - unit.mean()
    square = float(centred @ centred)
    knots = (places - x.min()) / spread
    tilts, lengths = np.empty(CANDIDATES), np.empty(CANDIDATES)
    for block in _list_blocks(unit.size):
        raised = np.maximum(0.0, unit - knots[block, None])
        tilts[block] = raised @ centred / square
        raised -= raised.mean(axis=1, keepdims=True) + tilts[block, None] * centred
        lengths[block] = np.sqrt(np.sum(raised**2, axis=1))
    order = np.argsort(cycles, kind="stable")
    _, starts, trials = np.unique(cycles[order], return_index=True, return_counts=True)
    return _Hinges(
        up=(y - y.mean()) / height,
        unit=unit,
        centred=centred,
        places=places,
        knots=knots,
        lengths=lengths,
        tilts=tilts,
        order=order,
        starts=starts,
        trials=trials.astype(np.float64),
        slope_unit=height / spread,
    )


def _list_blocks(trials: int) -> list[slice]:
    """The candidates in blocks of as many as are held at a time."""
    size = max(1, BLOCK_VALUES // trials)
    return [slice(first, min(first + size, CANDIDATES)) for first in range(0, CANDIDATES, size)]


def _make_units(hinges: _Hinges, block: slice) -> Floats:
    """Some of the hinges, shape (candidates, trials)."""
    raised = np.maximum(0.0, hinges.unit - hinges.knots[block, None])
    raised -= raised.mean(axis=1, keepdims=True) + hinges.tilts[block, None] * hinges.centred
    raised /= hinges.lengths[block, None]
    return raised


def _project(hinges: _Hinges, values: Floats) -> Floats:
    """The product of every hinge with the trials' values, shape (K,)."""
    blocks = _list_blocks(hinges.unit.size)
    return np.concatenate([_make_units(hinges, block) @ values for block in blocks])


def _sum_hinges(hinges: _Hinges, values: Floats) -> Floats:
    """Sums of every hinge times the trials' values over each cycle, shape (K, cycles)."""
    blocks = _list_blocks(hinges.unit.size)
    return np.concatenate([_sum_cycles(hinges, _make_units(hinges, block) * values) for block in blocks])


def _fit_hinge(hinges: _Hinges) -> _HingeFit:
    slope = float(hinges.centred @ hinges.up / (hinges.centred @ hinges.centred))
    line = slope * hinges.centred
    gains = _project(hinges, hinges.up)
    best = int(np.argmax(gains**2))
    fitted = line + gains[best] * _make_units(hinges, slice(best, best + 1))[0]
    return _HingeFit(
        slope=slope,
        gains=gains,
        best=best,
        fitted=fitted,
        residuals=hinges.up - fitted,
        line_residuals=hinges.up - line,
    )


def _sum_cycles(hinges: _Hinges, rows: Floats) -> Floats:
    """Sums over each cycle's trials, shape (rows, cycles)."""
    return np.asarray(np.add.reduceat(rows[:, hinges.order], hinges.starts, axis=1))


def _lean(hinges: _Hinges, residuals: Floats) -> Floats:
    """What each cycle's residuals add to the slope of one line."""
    square = float(hinges.centred @ hinges.centred)
    leans: Floats = _sum_cycles(hinges, (hinges.centred * residuals)[None])[0] / square
    return leans


def _replicate(hinges: _Hinges, fit: _HingeFit, multipliers: Floats) -> tuple[Floats, Floats, Floats]:
    """Breakpoint and the slopes before and after it, the estimate first, then the refits."""
    shocks = multipliers @ _sum_hinges(hinges, fit.residuals).T
    gains = np.concatenate([fit.gains[None], _project(hinges, fit.fitted) + shocks])
    lines = np.concatenate([[fit.slope], fit.slope + multipliers @ _lean(hinges, fit.residuals)])
    best = np.argmax(gains**2, axis=1)
    turn = gains[np.arange(len(best)), best] / hinges.lengths[best]
    before = lines - turn * hinges.tilts[best]
    return hinges.places[best], before * hinges.slope_unit, (before + turn) * hinges.slope_unit


def _without(
    statement: Statement,
    reason: Undecided,
    *,
    slope: Estimate | None = None,
    break_p: float | None = None,
    points: tuple[Floats, Floats] | None = None,
) -> Breakpoint:
    corners: tuple[tuple[float, float], ...] = ()
    if points is not None and slope is not None and slope.value is not None:
        x, y = points
        first, _, last = _list_corners(x, y, float(x.mean()), slope.value, slope.value)
        corners = (first, last)
    return Breakpoint(
        n=statement.n,
        slope=slope or statement.missing(LINE, reason),
        breakpoint=statement.missing(BREAK, reason),
        slope_before=statement.missing(BEFORE, reason),
        slope_after=statement.missing(AFTER, reason),
        break_p=break_p,
        corners=corners,
        undecided=reason,
    )
