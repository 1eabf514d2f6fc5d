"""The curves of a view: selected trials grouped by facet, colour and x, with an estimate for each group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.study.exploration.baselines import build_against
from pathlab.study.exploration.distributions import DISTRIBUTIONS, build_distributions
from pathlab.study.exploration.dots import choose_dots
from pathlab.study.exploration.drawn_panels import DrawnPanels
from pathlab.study.exploration.estimates import estimate, name_range, name_statistic
from pathlab.study.exploration.exploration import (
    AgainstCurve,
    Dot,
    Exploration,
    ExploredCurve,
    ExploredPoint,
    Facet,
    PointState,
)
from pathlab.study.exploration.explored_results import RESULTS, ExploredResults
from pathlab.study.exploration.figure_axes import LINEAR, describe_axis, describe_x, describe_y
from pathlab.study.exploration.filtering import select_rows
from pathlab.study.exploration.grouping import START, ColumnLike, Places, TableLike, split_rows
from pathlab.study.exploration.labels import PATH, describe_shared
from pathlab.study.exploration.pooling import list_pooled
from pathlab.study.exploration.selected_trials import (
    SelectedTrials,
    SplitColumn,
    note_missing,
    sort_curves,
    split_places,
)
from pathlab.study.exploration.view import View

COURSE = "course"


def build_curves(results: ExploredResults, view: View) -> Exploration:
    """What the view shows of results. Raises KeyError for a column that they do not have."""
    return build_from_rows(results, view, select_rows(results, view))


def build_from_rows(table: TableLike, view: View, rows: Places) -> Exploration:
    """What the view shows of these rows of the table.

    Raises KeyError for a column that the table does not have.
    """
    trials = SelectedTrials(table, view, rows)
    distribution = view.statistic in DISTRIBUTIONS
    if view.statistic == COURSE:
        drawing = _leave_to_trial(trials)
    else:
        drawing = build_distributions(trials) if distribution else _build_over_x(trials)
    points = [point for facet in drawing.facets for curve in facet.curves for point in curve.points]
    provisional = [point for point in points if point.state is PointState.PROVISIONAL]
    return Exploration(
        title=describe_shared(table, view, trials.rows),
        notes=(
            *drawing.notes,
            *list_pooled(trials, drawing.facets, whole=distribution),
            *_note_provisional(provisional),
            *(trials.note_unusable() if drawing.facets else ()),
            *_note_inference(drawing.against or ()),
            *_note_cut(drawing),
        ),
        statistic=name_statistic(view.statistic),
        range=name_range(view.statistic, view.range),
        x=drawing.x,
        ys=drawing.ys,
        facets=drawing.facets,
        excluded=trials.count_excluded(np.array([row for item in provisional for row in item.rows], np.intp)),
        against=drawing.against,
        undecided=sum(point.state is PointState.UNDECIDED for point in points),
    )


def _note_provisional(points: Sequence[ExploredPoint]) -> Iterator[str]:
    """How many points are provisional, and why."""
    if points:
        item = len(points) == 1
        yield (
            f"{len(points)} {'point is' if item else 'points are'} provisional: all trials of "
            f"{'it' if item else 'each'} were lab-limited."
        )


def _note_inference(curves: Iterable[AgainstCurve]) -> Iterator[str]:
    """What the intervals against the baseline rest on."""
    shown = [point for curve in curves for point in curve.points if point.state is not PointState.UNDECIDED]
    drawn = sum(point.drawn for point in shown)
    rest = "on the drawn order of each cycle: exact signed-rank tests, whatever changed over time."
    if drawn and drawn == len(shown):
        yield f"The intervals against the baseline rest {rest}"
    elif drawn:
        yield f"{drawn} of {len(shown)} intervals against the baseline rest {rest}"
        yield "The others allow for serial correlation."
    elif shown:
        yield "The intervals against the baseline allow for serial correlation."


def _note_cut(drawing: DrawnPanels) -> Iterator[str]:
    """How many intervals are cut at the range of their trials, and what that means."""
    shown = [point.state for facet in drawing.facets for curve in facet.curves for point in curve.points]
    against = [point.state for curve in drawing.against or () for point in curve.points]
    count = [*shown, *against].count(PointState.CUT)
    if count:
        intervals = "1 interval is" if count == 1 else f"{count} intervals are"
        yield (
            f"{intervals} cut at the range of the trials: a 95 % confidence interval would reach beyond it. "
            "The level of what is shown is not known."
        )


def _leave_to_trial(trials: SelectedTrials) -> DrawnPanels:
    """The time course of a trial is no curve over trials: it is drawn with the trial's details."""
    x = describe_axis(trials.table.column(START), LINEAR)
    ys = tuple(describe_y(trials.view, item) for item in trials.ys)
    note = "A time course is that of one trial: open a trial to see it."
    return DrawnPanels(x=x, ys=ys, facets=(), notes=() if trials.view.trial else (note,))


def _build_over_x(trials: SelectedTrials) -> DrawnPanels:
    """A point for each level of x."""
    column = trials.table.column(trials.view.x or START)
    xs = split_places(trials.table, column.name, trials.rows)
    against = build_against(trials, xs)
    notes = [*_list_limits(trials, column, xs)]
    if against == ():
        notes.append("Nothing is compared: no place has trials of the baseline and of another curve.")
    return DrawnPanels(
        x=describe_x(trials.view, column, xs),
        ys=tuple(describe_y(trials.view, item) for item in trials.ys),
        facets=tuple(_build_facets(trials, xs)),
        notes=tuple(notes),
        against=against,
    )


def _list_limits(trials: SelectedTrials, column: ColumnLike, xs: SplitColumn) -> Iterator[str]:
    missing = int(np.count_nonzero(xs.levels.places[trials.rows] < 0))
    if missing:
        yield note_missing(missing, column)
    yield from trials.list_limits()
    yield from xs.note_limit("places on the x axis")


def _build_facets(trials: SelectedTrials, xs: SplitColumn) -> Iterator[Facet]:
    for name, places in trials.split_facets():
        curves = [
            curve
            for at in range(len(trials.ys))
            for colour, part in trials.split_colours(places)
            for curve in _build_curve(trials, at, (colour, part), xs)
        ]
        if curves:
            yield Facet(name=name, curves=sort_curves(curves, trials.view))


def _build_curve(
    trials: SelectedTrials, at: int, group: tuple[int, Places], xs: SplitColumn
) -> Iterator[ExploredCurve]:
    """The curve of the y column ``at`` and a colour with its trials; none where no trial has a value."""
    colour, indices = group
    values = trials.values[at]
    points: list[ExploredPoint] = []
    dots: list[Dot] = []
    combined = xs.levels.column.role == "factor" or xs.levels.column.name in (PATH, RESULTS)
    indices = indices[~np.isnan(values[indices])]
    for key, part in split_rows(xs.keys[indices], indices).items():
        x = float(xs.levels.values[xs.shown[key]])
        taken = part[trials.used[part]]
        limited = part[trials.provisional[part]] if combined and not taken.size else taken
        if taken.size:
            points.append(_build_point(trials, x, values[taken], taken))
        elif limited.size:
            point = _build_point(trials, x, values[limited], limited)
            points.append(replace(point, low=None, high=None, state=PointState.PROVISIONAL))
        if trials.view.dots:
            dots += _build_dots(trials, x, values, part)
    if points or dots:
        yield ExploredCurve(
            name=trials.name_curve(colour, trials.ys[at]),
            colour_level=trials.find_level(colour),
            y_column=trials.ys[at].name,
            points=tuple(points),
            dots=tuple(dots),
        )


def _build_point(trials: SelectedTrials, x: float, values: Floats, indices: Places) -> ExploredPoint:
    result = estimate(values, trials.view.statistic, trials.view.range)
    return ExploredPoint(
        x=x,
        y=result.y,
        low=result.low,
        high=result.high,
        state=result.state,
        trials=int(values.size),
        rows=tuple(trials.rows[indices].tolist()),
    )


def _build_dots(trials: SelectedTrials, x: float, values: Floats, indices: Places) -> Iterator[Dot]:
    """A dot for each trial, or for a choice of many."""
    table = trials.table
    marked = ~trials.counted[indices] | trials.flagged[indices]
    for part in (indices[~marked], indices[marked]):
        for index in part[choose_dots(values[part])]:
            row = int(trials.rows[index])
            counted = bool(trials.counted[index])
            yield Dot(
                x=x,
                y=float(values[index]),
                row=row,
                counted=counted,
                reason=None if counted else table.reasons[int(table.reason_codes[row])],
                flagged=bool(trials.flagged[index]),
            )
