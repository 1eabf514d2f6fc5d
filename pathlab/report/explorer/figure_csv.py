"""The numbers of an explored figure as CSV: one row for each point.

``web/core/figure_csv.js`` writes the same bytes in the browser.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Context

from pathlab.escaping import escape_cell
from pathlab.study.exploration.exploration import Exploration, ExploredAxis

#: Ten digits of a number: fewer than both languages compute alike, and more than were measured. Halves are
#: rounded away from zero, as JavaScript does.
_ROUNDING = Context(prec=10, rounding=ROUND_HALF_UP)
BEFORE_X = ("facet", "measure", "curve", "statistic")
AFTER_X = ("value", "range", "low", "high", "state", "trials", "baseline_trials")
#: Whole numbers are written without a point up to here.
_WHOLE_MAX = 1e15


def write_figure_csv(exploration: Exploration) -> str:
    """A heading, the points of every curve, then those of the comparison with a baseline.

    Numbers are in the units of ``measure`` and of the heading of x; times are ISO 8601 in UTC. Text that a
    spreadsheet would take for a formula is marked (``escape_cell``).
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*BEFORE_X, escape_cell(name_axis(exploration.x)), *AFTER_X])
    for row in _list_rows(exploration):
        writer.writerow([escape_cell(cell) for cell in row])
    return out.getvalue()


def name_axis(axis: ExploredAxis) -> str:
    """The label of an axis with its unit."""
    return f"{axis.label} ({axis.unit})" if axis.unit else axis.label


def format_csv_number(value: float | None) -> str:
    """A number with ten significant digits, as ``repr`` writes it; empty for none."""
    if value is None or not math.isfinite(value):
        return ""
    rounded = float(_ROUNDING.create_decimal_from_float(value))
    return str(int(rounded)) if rounded.is_integer() and abs(rounded) < _WHOLE_MAX else repr(rounded)


def format_csv_place(axis: ExploredAxis, value: float) -> str:
    """A place on the x axis: the name of a level, a time in UTC or a number."""
    if axis.levels:
        return axis.levels[int(value)]
    if axis.kind == "time":
        whole, milliseconds = divmod(math.floor(value * 1000 + 0.5), 1000)
        return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%dT%H:%M:%S}.{milliseconds:03d}Z"
    return format_csv_number(value)


def _list_rows(exploration: Exploration) -> Iterator[tuple[str, ...]]:
    measures = {axis.column: name_axis(axis) for axis in exploration.ys}
    for facet in exploration.facets:
        for curve in facet.curves:
            for point in curve.points:
                yield (
                    *(facet.name, measures[curve.y_column], curve.name, exploration.statistic),
                    *(
                        format_csv_place(exploration.x, point.x),
                        format_csv_number(point.y),
                        exploration.range,
                    ),
                    *(format_csv_number(point.low), format_csv_number(point.high)),
                    *(point.state, str(point.trials), ""),
                )
    for against in exploration.against or ():
        for change in against.points:
            yield (
                *(against.facet, measures[against.y_column], against.name, "against the baseline"),
                *(
                    format_csv_place(exploration.x, change.x),
                    format_csv_number(change.y),
                    "95 % confidence interval",
                ),
                *(format_csv_number(change.low), format_csv_number(change.high)),
                *(change.state, str(change.trials), str(change.baseline_trials)),
            )
