"""Which factors a figure pools: trials of one point that differ in more than what the figure tells apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pathlab.study.exploration.columns import HOSTS
from pathlab.study.exploration.exploration import Facet
from pathlab.study.exploration.grouping import ColumnLike, Levels, index_levels
from pathlab.study.exploration.labels import PATH
from pathlab.study.exploration.selected_trials import SelectedTrials

#: Levels that a note names; of more it gives the number.
NAMED_MAX = 4


def list_pooled(trials: SelectedTrials, facets: Sequence[Facet], *, whole: bool) -> Iterator[str]:
    """A note for each factor, and the path, of which one point has trials of several levels.

    ``whole``: the points of a curve are one group, as in a distribution, over all x.
    """
    view = trials.view
    apart = {view.colour, view.facet, *view.y, *(() if whole else (view.x,))}
    groups = [np.array(rows, dtype=np.intp) for rows in _list_groups(facets, whole=whole)]
    for column in trials.table.columns:
        if column.name in apart or column.name in HOSTS or column.kind == "flags":
            continue
        if column.role == "factor" or column.name == PATH:
            levels = index_levels(trials.table, column.name)
            if any(np.unique(levels.places[rows]).size > 1 for rows in groups):
                yield _describe(column, levels, groups)


def _list_groups(facets: Sequence[Facet], *, whole: bool) -> Iterator[tuple[int, ...]]:
    """The rows of each point, or of each curve."""
    for facet in facets:
        for curve in facet.curves:
            if whole:
                yield tuple(row for point in curve.points for row in point.rows)
            else:
                yield from (point.rows for point in curve.points)


def _describe(column: ColumnLike, levels: Levels, groups: Sequence[np.ndarray]) -> str:
    """``Each point mixes windows auto and 256 KiB.``"""
    places = np.unique(levels.places[np.concatenate(groups)])
    if places.size > NAMED_MAX:
        return f"Each point mixes {places.size} levels of {_begin_low(column.label)}."
    *others, last = (levels.name(int(place)) for place in places)
    return f"Each point mixes {_name_several(column)} {', '.join(others)} and {last}."


def _name_several(column: ColumnLike) -> str:
    """The label for several levels: ``windows``, ``paths``; that of texts may have no plural."""
    label = _begin_low(column.label)
    counted = column.kind == "number" or column.name == PATH
    return f"{label}s" if counted and not label.endswith("s") else label


def _begin_low(label: str) -> str:
    """A label inside a sentence; abbreviations keep their capitals."""
    return label if label[1:2].isupper() else f"{label[:1].lower()}{label[1:]}"
