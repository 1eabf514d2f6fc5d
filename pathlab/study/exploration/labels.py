"""Texts of a figure: what all selected trials share is its title, what differs its legend."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pathlab.study.exploration.columns import HOSTS, UNKNOWN
from pathlab.study.exploration.explored_results import RESULTS
from pathlab.study.exploration.grouping import ColumnLike, Places, TableLike, index_levels
from pathlab.study.exploration.view import View

#: Columns whose text in a title needs no name before it.
PATH = "path"
#: Conditions that are named even where all results have one level.
MEDIUM = "medium"


def write_trial_count(number: int) -> str:
    """``1 trial``, ``12 trials``."""
    return f"{number} trial" if number == 1 else f"{number} trials"


def name_curve(level: str, column: ColumnLike, *, several: bool) -> str:
    """The name of a curve in the legend: its level of colour, and its y column where there are several."""
    parts = [part for part in (level, column.label if several else "") if part]
    return ", ".join(parts) or column.label


def describe_shared(table: TableLike, view: View, rows: Places) -> str:
    """What all selected trials share: ``Streams sweep, a → b, Window 64 KiB``; empty: nothing.

    The title of the results if they are of one; the path; factors; the medium, and other conditions where
    not all trials of the table have the same.
    """
    shown = {view.x, view.colour, view.facet, *view.y}
    parts = []
    for column in table.columns:
        if column.name in shown or column.name in HOSTS or not rows.size:
            continue  # hosts are named by the path
        if column.name == RESULTS:
            places = np.unique(table.codes(RESULTS)[rows])
            parts += [table.sources[int(index)].title for index in places if places.size == 1]
        elif column.name == PATH or column.role == "factor" or _is_condition(table, column):
            parts += _share(table, column, rows)
    return ", ".join(part for part in parts if part)


def _is_condition(table: TableLike, column: ColumnLike) -> bool:
    """Whether it is a condition that titles name: the medium, or one that differs among all trials."""
    if column.role != "condition":
        return False
    return column.name == MEDIUM or np.unique(index_levels(table, column.name).places).size > 1


def _share(table: TableLike, column: ColumnLike, rows: Places) -> Iterator[str]:
    """The level that all rows have in this column with its name, if they share one."""
    if column.kind == "flags":
        return
    levels = index_levels(table, column.name)
    places = levels.places[rows]
    if np.any(places != places[0]) or (places[0] < 0 and column.missing_label in UNKNOWN):
        return
    text = levels.name(int(places[0]))
    yield text if column.name in (PATH, MEDIUM) else f"{column.label} {text}"
