"""The axes of an exploration: what they show, where they are marked, which scale suits them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.study.exploration.exploration import ExploredAxis
from pathlab.study.exploration.grouping import ColumnLike
from pathlab.study.exploration.selected_trials import SplitColumn
from pathlab.study.exploration.view import SCALES, View

#: Levels of an axis up to which each has a tick.
TICKS_MAX = 24
LINEAR, LOG2, LOG10 = SCALES


def describe_x(view: View, column: ColumnLike, xs: SplitColumn) -> ExploredAxis:
    """The x axis of points over the levels of a column."""
    axis = replace(describe_axis(column, view.scale_x or LINEAR), low=view.min_x, high=view.max_x)
    if xs.levels.texts is not None:
        return replace(axis, kind="flags" if column.kind == "flags" else "category", levels=xs.levels.texts)
    values = xs.levels.values[xs.shown]
    suggested = suggest_scale(column, values)
    axis = replace(axis, scale=view.scale_x or suggested, suggested=suggested)
    if column.role != "factor" or not 0 < values.size <= TICKS_MAX:
        return axis
    names = tuple(xs.levels.name(int(place)) for place in xs.shown)
    return replace(axis, ticks=tuple(values.tolist()), tick_labels=names)


def describe_y(view: View, column: ColumnLike) -> ExploredAxis:
    """The y axis of points in the unit of a column."""
    return replace(describe_axis(column, view.scale_y or LINEAR), low=view.min_y, high=view.max_y)


def describe_axis(column: ColumnLike, scale: str) -> ExploredAxis:
    """The axis of a column without ticks and limits."""
    return ExploredAxis(
        column=column.name,
        label=column.label,
        unit=column.unit or None,
        scale=scale,
        kind=column.kind,
        suggested=LOG10 if column.log_suggested else LINEAR,
    )


def suggest_scale(column: ColumnLike, values: Floats) -> str:
    """The scale of an axis: log2 for powers of two, else log10 where the column's values suggest it."""
    if values.size >= 3 and values.min() > 0 and np.all(np.log2(values / values[0]) % 1 == 0):
        return LOG2
    return LOG10 if column.log_suggested and (not values.size or values.min() > 0) else LINEAR
