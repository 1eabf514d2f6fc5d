"""The trials that a view selects, split by facet and colour, and what of them is not shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pathlab.study.base.selection import LAB_FLAGS, PROVISIONAL_FLAGS, choose_evenly
from pathlab.study.exploration.columns import leaves_to_system
from pathlab.study.exploration.exploration import ExploredCurve
from pathlab.study.exploration.explored_results import RESULTS
from pathlab.study.exploration.grouping import (
    ColumnLike,
    Levels,
    Places,
    TableLike,
    index_levels,
    name_unset,
    read_numbers,
    sort_by_start,
    split_rows,
)
from pathlab.study.exploration.labels import name_curve, write_trial_count
from pathlab.study.exploration.view import COUNTS, View

#: What is shown of more levels than anyone can tell apart, chosen evenly.
FACETS_MAX, CURVES_MAX, PLACES_MAX = 12, 24, 512
USABLE, _ = COUNTS


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitColumn:
    """A column that selected trials are split by; ``shown`` are the places of its levels, ascending.

    The place one beyond the last level is that of trials without a level.
    """

    levels: Levels
    shown: Places
    keys: Places  # of each selected trial: its place in ``shown``; -1: not shown
    present: int  # levels that selected trials have

    def name(self, key: int) -> str:
        """The name of a shown level."""
        return self.levels.name(self.place(key))

    def place(self, key: int) -> int:
        """The place of a shown level among all levels; -1: missing."""
        place = int(self.shown[key])
        return place if place < self.levels.size else -1

    def note_limit(self, what: str) -> Iterator[str]:
        """That not all levels are shown, if so."""
        if self.present > self.shown.size:
            shown = f"{self.shown.size} of {self.present} {what} shown"
            yield f"{shown}, chosen evenly: filter to see the others."


def split_column(
    table: TableLike, name: str | None, rows: Places, most: int, *, unset: bool
) -> SplitColumn | None:
    """Split rows by a column; ``unset``: trials without a level are a level of their own. None: no column."""
    return None if name is None else split_levels(index_levels(table, name), rows, most, unset=unset)


def split_places(table: TableLike, name: str, rows: Places) -> SplitColumn:
    """Split rows by the column of an x axis; what a factor leaves to the system is a level like any other."""
    levels = index_levels(table, name)
    if leaves_to_system(levels.column) and np.any(levels.places[rows] < 0):
        levels = name_unset(levels)
    return split_levels(levels, rows, PLACES_MAX, unset=False)


def split_levels(levels: Levels, rows: Places, most: int, *, unset: bool) -> SplitColumn:
    """Split rows by levels of all trials."""
    indices = levels.places[rows]
    if unset:
        indices = np.where(indices < 0, levels.size, indices)
    present = np.unique(indices[indices >= 0])
    shown = np.array(choose_evenly(present.tolist(), most), dtype=np.intp)
    keys = np.full(rows.size, -1, dtype=np.intp)
    result = np.isin(indices, shown)
    keys[result] = np.searchsorted(shown, indices[result])
    return SplitColumn(levels=levels, shown=shown, keys=keys, present=present.size)


class SelectedTrials:
    """Some rows of a table in the order of measurement, as a view splits them.

    ``rows`` are their places in the table. All other arrays have one entry for each of these: ``counted``;
    ``used``, whether estimates take it; ``flagged``, whether it has a flag that not all have; ``values`` of
    each of the columns ``ys``, NaN where it was not measured. ``places`` are places in ``rows``.
    """

    def __init__(self, table: TableLike, view: View, rows: Places) -> None:
        self.table, self.view = table, view
        self.rows = sort_by_start(table, rows)
        self.counted = np.asarray(table.counted)[self.rows]
        self.used = self.counted if view.count == USABLE else np.ones(self.rows.size, dtype=np.bool_)
        self.ys = [table.column(name) for name in view.y]
        self.values = [read_numbers(table, column.name)[self.rows] for column in self.ys]
        self.flagged = _find_flagged(table, self.rows)
        self.provisional = _find_provisional(table, self.rows)
        self.facets = split_column(table, view.facet, self.rows, FACETS_MAX, unset=True)
        self.colours = split_column(table, view.colour, self.rows, CURVES_MAX, unset=True)

    def split_facets(self) -> Iterator[tuple[str, Places]]:
        """The name and the trials of each facet; one without a name where there is no column."""
        for key, places in _split(self.facets, np.arange(self.rows.size)):
            yield "" if self.facets is None else self.facets.name(key), places

    def split_colours(self, places: Places) -> list[tuple[int, Places]]:
        """The trials of each level of colour, by its key; all of them where there is no column."""
        return _split(self.colours, places)

    def name_curve(self, colour: int, column: ColumnLike) -> str:
        """The name of a curve, by the key of its colour and its y column."""
        level = "" if self.colours is None else self.colours.name(colour)
        return name_curve(level, column, several=len(self.ys) > 1)

    def find_level(self, colour: int) -> int | None:
        """The place of a key of colour among all levels; None: there is no colour."""
        return None if self.colours is None else self.colours.place(colour)

    def list_limits(self) -> Iterator[str]:
        """What of the y columns, facets and colours is not shown."""
        for column, values in zip(self.ys, self.values, strict=True):
            unmeasured = int(np.isnan(values).sum())
            if unmeasured:
                yield note_missing(unmeasured, column)
        for split, what in ((self.facets, "panels"), (self.colours, "colours")):
            if split is not None:
                yield from split.note_limit(what)

    def count_excluded(self, taken: Places) -> tuple[tuple[str, int], ...]:
        """Trials that no estimate takes, by reason, most first; ``taken``: rows of provisional points."""
        return self._count_reasons(~self.used & ~np.isin(self.rows, taken))

    def note_unusable(self) -> Iterator[str]:
        """That estimates take trials that do not count, and why these do not."""
        counts = self._count_reasons(self.used & ~self.counted)
        if counts:
            named = ", ".join(f"{count} {reason}" for reason, count in counts)
            yield f"Unusable trials are counted: {named}."

    def _count_reasons(self, chosen: NDArray[np.bool_]) -> tuple[tuple[str, int], ...]:
        codes = np.asarray(self.table.reason_codes)[self.rows[chosen]]
        counts = Counter(self.table.reasons[code] for code in codes.tolist())
        return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def note_missing(trials: int, column: ColumnLike) -> str:
    """That trials without a value of a column are not shown."""
    return f"{write_trial_count(trials)} without {column.label} not shown."


def sort_curves(curves: list[ExploredCurve], view: View) -> tuple[ExploredCurve, ...]:
    """Curves from low to high by the median of their points; those of results as they were given."""
    if view.colour == RESULTS:
        return tuple(sorted(curves, key=lambda curve: view.y.index(curve.y_column)))
    return tuple(sorted(curves, key=_rank_curve))


def _rank_curve(curve: ExploredCurve) -> tuple[float, int]:
    heights = [point.y for point in curve.points if point.y is not None]
    middle = float(np.median(heights)) if heights else np.inf
    level = -1 if curve.colour_level is None else curve.colour_level
    return middle, level


def _split(split: SplitColumn | None, indices: Places) -> list[tuple[int, Places]]:
    return [(0, indices)] if split is None else list(split_rows(split.keys[indices], indices).items())


def _find_provisional(table: TableLike, rows: Places) -> NDArray[np.bool_]:
    """Which rows have no other flaw than that the lab was at its limit."""
    reasons, bits = np.asarray(table.reason_codes)[rows], np.asarray(table.flag_bits)[rows]
    other = sum(1 << index for index, flag in enumerate(table.flags) if flag in PROVISIONAL_FLAGS)
    limited = [code for code, reason in enumerate(table.reasons) if reason in LAB_FLAGS]
    result: NDArray[np.bool_] = np.isin(reasons, limited) & ((bits & np.uint64(other)) == 0)
    return result


def _find_flagged(table: TableLike, rows: Places) -> NDArray[np.bool_]:
    """Which rows have a flag that not all of them have."""
    bits = np.asarray(table.flag_bits)[rows]
    if not bits.size:
        return np.zeros(0, dtype=np.bool_)
    flagged: NDArray[np.bool_] = (bits & ~np.bitwise_and.reduce(bits)) != 0
    return flagged
