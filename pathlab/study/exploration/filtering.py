"""Which trials a view shows, and how many trials each choice of a filter has."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pathlab.study.exploration.columns import ExploredColumn
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.view import Filter, LevelFilter, RangeFilter, View

#: Name of the filter by words alongside those of columns, none of which is called so.
TEXT = ""
_SPACES = re.compile("[ \t\n\r\f\v]+")

Mask = NDArray[np.bool_]


def select_rows(results: ExploredResults, view: View) -> NDArray[np.intp]:
    """The rows of the trials that fit every filter and word of a view, ascending; counted or not."""
    return np.flatnonzero(_count_failures(results, view)[0] == 0)


def count_levels(results: ExploredResults, view: View) -> dict[str, NDArray[np.uint32]]:
    """How many trials have each level of a column, for every column that ``has_levels``.

    One number for each level (each flag of ``flags``), and one for the missing level (no flag) behind them.
    The filter of the column itself is ignored, every other one and the words hold.
    """
    failures, last = _count_failures(results, view)
    names = [*_list_filters(view)]
    result = {}
    for column in results.columns:
        if column.has_levels:
            rows = failures == 0
            if column.name in names:
                rows = rows | ((failures == 1) & (last == names.index(column.name)))
            result[column.name] = _count_column(results, column, rows)
    return result


def _list_filters(view: View) -> Iterator[str]:
    yield from view.where
    if view.text:
        yield TEXT


def _count_failures(results: ExploredResults, view: View) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """By how many filters each trial is left out, and the place of the last of these."""
    failures = np.zeros(len(results), dtype=np.uint16)
    last = np.zeros(len(results), dtype=np.uint16)
    for index, name in enumerate(_list_filters(view)):
        if name == TEXT:
            fits = _match_words(results, view.text)
        else:
            fits = _match_filter(results, results.column(name), view.where[name])
        failures += ~fits
        last[~fits] = index
    return failures, last


def _match_filter(results: ExploredResults, column: ExploredColumn, result: Filter) -> Mask:
    if isinstance(result, RangeFilter):
        values = results.numbers(column.name)
        low = -np.inf if result.low is None else result.low
        high = np.inf if result.high is None else result.high
        return (values >= low) & (values <= high)
    fits = _match_levels(results, column, result)
    return ~fits if result.excluded else fits


def _match_levels(results: ExploredResults, column: ExploredColumn, result: LevelFilter) -> Mask:
    """The trials with one of the levels; of flags those with one of them."""
    if column.kind == "flags":
        wanted = np.uint64(0)
        for index, name in enumerate(results.flags):
            if name in result.levels:
                wanted |= np.uint64(1) << np.uint64(index)
        fits: Mask = (results.flag_bits & wanted) != 0
        return fits | (results.flag_bits == 0) if None in result.levels else fits
    levels = results.levels(column.name)
    chosen = set(result.levels)
    known = np.array([*(level in chosen for level in levels), None in chosen], dtype=bool)
    return known[results.codes(column.name)]


def _match_words(results: ExploredResults, text: str) -> Mask:
    """The trials that hold every word, in any case, in one of their texts; of flags, in a flag's name."""
    fits = np.ones(len(results), dtype=bool)
    for word in split_words(text):
        result = np.zeros(len(results), dtype=bool)
        for column in results.columns:
            if column.kind == "category":
                levels = (str(level).lower() for level in results.levels(column.name))
                known = np.array([*(word in level for level in levels), False], dtype=bool)
                result |= known[results.codes(column.name)]
            elif column.kind == "flags":
                held = tuple(name for name in results.flags if word in name.lower())
                result |= _match_levels(results, column, LevelFilter(levels=held))
        fits &= result
    return fits


def split_words(text: str) -> list[str]:
    """The words of a search, in small letters; ASCII spaces part them."""
    return [word for word in _SPACES.split(text.lower()) if word]


def _count_column(results: ExploredResults, column: ExploredColumn, rows: Mask) -> NDArray[np.uint32]:
    if column.kind == "flags":
        bits = results.flag_bits[rows]
        item = np.uint64(1)
        counts = [np.count_nonzero(bits & (item << np.uint64(place))) for place in range(len(results.flags))]
        return np.array([*counts, np.count_nonzero(bits == 0)], dtype=np.uint32)
    size = len(results.levels(column.name))
    codes = results.codes(column.name)[rows]
    return np.bincount(np.where(codes < 0, size, codes), minlength=size + 1).astype(np.uint32)
