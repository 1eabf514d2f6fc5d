"""Every curve against the baseline's: by what factor, or by how much, it differs at each x."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.interval import Interval
from pathlab.analysis.estimators.shifts import DRAWN_METHOD, MINIMUM_PAIRS, hodges_lehmann
from pathlab.analysis.verdicts.paired_samples import compare_paired
from pathlab.analysis.verdicts.two_samples import compare_groups, compare_levels
from pathlab.study.exploration.estimates import find_state
from pathlab.study.exploration.exploration import AgainstCurve, AgainstPoint
from pathlab.study.exploration.explored_results import RESULTS
from pathlab.study.exploration.grouping import Places, split_rows
from pathlab.study.exploration.selected_trials import SelectedTrials, SplitColumn
from pathlab.study.exploration.view import CHANGES
from pathlab.study.exploration.view_text import show_level

RATIO, DIFFERENCE = CHANGES
CYCLE, FACTOR = "cycle", "factor"
#: Bounds of what does not matter, which intervals do not depend on.
_ANY_MARGINS = (-1.0, 1.0)


def build_against(trials: SelectedTrials, xs: SplitColumn) -> tuple[AgainstCurve, ...] | None:
    """Each curve against that of the view's baseline in the same facet; None: the view has no baseline.

    Notes
    -----
    Values of the same cycle of the same results are pairs, as in the comparison of levels of a factor:
    Hodges-Lehmann shift of their differences, or of the logarithms for a ratio (``paired_samples``,
    ``shifts.hodges_lehmann``). Where fewer than 6 cycles have both, the two groups are independent, as in the
    comparison of results (``two_samples``). Intervals of 95 % for each point by itself. Where the colour is a
    factor and the plan of all these results drew the order of each cycle, that of pairs is the inversion of
    the exact signed-rank test; elsewhere serial correlation is allowed for. They are cut where they reach
    beyond the changes of all pairs, or of all trials of one side against all of the other. Minimum: 6 pairs,
    or 6 trials on each side.
    """
    level = _find_baseline(trials)
    if level is None or trials.colours is None:
        return None
    levels = trials.colours.levels.places[trials.rows]
    return tuple(
        curve
        for facet, places in trials.split_facets()
        for at in range(len(trials.ys))
        for curve in _compare_facet(trials, xs, (facet, at), (places, levels == level))
    )


def _find_baseline(trials: SelectedTrials) -> int | None:
    """The place of the baseline among the levels of colour, -1: the missing one."""
    view, table = trials.view, trials.table
    if view.baseline is None or view.colour is None or trials.colours is None:
        return None
    kind = trials.colours.levels.column.kind
    if kind == "flags":
        return None
    levels = table.levels(view.colour) if kind == "category" else trials.colours.levels.values.tolist()
    shown = [show_level(level) for level in levels]
    if view.baseline in shown:
        return shown.index(view.baseline)
    return -1 if view.baseline == show_level(None) else None


def _compare_facet(
    trials: SelectedTrials, xs: SplitColumn, where: tuple[str, int], chosen: tuple[Places, NDArray[np.bool_]]
) -> Iterator[AgainstCurve]:
    """The curves of one facet and y column that are not the baseline's."""
    (facet, at), (indices, is_baseline) = where, chosen
    values = trials.values[at]
    known = indices[trials.used[indices] & ~np.isnan(values[indices])]
    before = split_rows(xs.keys[known[is_baseline[known]]], known[is_baseline[known]])
    for colour, part in trials.split_colours(known[~is_baseline[known]]):
        after = split_rows(xs.keys[part], part)
        points = tuple(
            _compare(trials, values, float(xs.levels.values[xs.shown[key]]), (before[key], after[key]))
            for key in sorted(before.keys() & after.keys())
        )
        if points:
            yield AgainstCurve(
                facet=facet,
                name=trials.name_curve(colour, trials.ys[at]),
                colour_level=trials.find_level(colour),
                y_column=trials.ys[at].name,
                points=points,
            )


def _compare(trials: SelectedTrials, values: Floats, x: float, sides: tuple[Places, Places]) -> AgainstPoint:
    first, second, drawn = _pair_cycles(trials, values, sides)
    paired = first.size >= MINIMUM_PAIRS
    if not paired:
        first, second = (values[indices] for indices in sides)
    ratio = trials.view.against == RATIO
    if paired:
        y, interval = _compare_pairs(first, second, ratio=ratio, drawn=drawn)
    else:
        y, interval = _compare_groups(first, second, ratio=ratio)
    drawn = interval.decided and interval.method == DRAWN_METHOD
    interval = interval.cut_at(*_find_range(first, second, paired=paired, ratio=ratio))
    return AgainstPoint(
        x=x,
        y=y,
        low=interval.low,
        high=interval.high,
        state=find_state(interval),
        trials=int(second.size),
        baseline_trials=int(first.size),
        paired=paired,
        drawn=drawn,
    )


def _find_range(first: Floats, second: Floats, *, paired: bool, ratio: bool) -> tuple[float, float]:
    """The least and the largest change of a pair, or of trials of the second side to the first one."""
    if not first.size or not second.size:
        return -math.inf, math.inf
    if not paired:
        first = np.array([first.max(), first.min()])
        second = np.array([second.min(), second.max()])
    if ratio and min(first.min(), second.min()) <= 0:
        return -math.inf, math.inf
    changes = second / first if ratio else second - first
    return float(changes.min()), float(changes.max())


def _compare_pairs(
    first: Floats, second: Floats, *, ratio: bool, drawn: bool
) -> tuple[float | None, Interval]:
    """Each point by itself: one test."""
    if ratio:
        change = compare_paired(first, second, drawn_tests=int(drawn))
        return change.ratio, change.interval_ratio
    shift = hodges_lehmann(second - first, drawn_tests=int(drawn))
    return shift.shift, shift.interval


def _compare_groups(first: Floats, second: Floats, *, ratio: bool) -> tuple[float | None, Interval]:
    if ratio:
        change = compare_groups(first, second)
        return change.ratio, change.interval_ratio
    change = compare_levels(first, second, margins=_ANY_MARGINS)
    return change.shift, change.interval


def _pair_cycles(
    trials: SelectedTrials, values: Floats, sides: tuple[Places, Places]
) -> tuple[Floats, Floats, bool]:
    """The mean of each side in the cycles that have both, those of the first results first.

    And whether the order of the sides was drawn in all of these cycles.
    """
    means = [_average_cycles(trials, values, places) for places in sides]
    shared = sorted(means[0].keys() & means[1].keys())
    first, second = (np.array([side[key] for key in shared], dtype=np.float64) for side in means)
    drawn = {key: source.order_drawn for key, source in enumerate(trials.table.sources)}
    by_factor = trials.colours is not None and trials.colours.levels.column.role == FACTOR
    return first, second, by_factor and all(drawn[source] for source, _ in shared)


def _average_cycles(
    trials: SelectedTrials, values: Floats, indices: Places
) -> dict[tuple[int, float], float]:
    """The mean of the values of each results and cycle; trials without a cycle are left out."""
    rows = trials.rows[indices]
    cycles = trials.table.numbers(CYCLE)[rows]
    groups: dict[tuple[int, float], list[float]] = {}
    for source, cycle, value in zip(
        trials.table.codes(RESULTS)[rows].tolist(), cycles.tolist(), values[indices].tolist(), strict=True
    ):
        if cycle == cycle:
            groups.setdefault((source, cycle), []).append(value)
    return {key: sum(group) / len(group) for key, group in groups.items()}
