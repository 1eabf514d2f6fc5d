"""Selected trials grouped by facet, colour and x: every group in the order of measurement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pathlab.analysis.estimators.cells import Floats
from pathlab.study.exploration.explored_results import RESULTS
from pathlab.study.exploration.level_text import format_explored_level

Places = NDArray[np.intp]

START = "started_utc"


class ColumnLike(Protocol):
    """What is read of a column."""

    @property
    def name(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def log_suggested(self) -> bool: ...
    @property
    def missing_label(self) -> str: ...


class SourceLike(Protocol):
    """What is read of one of the results."""

    @property
    def label(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def order_drawn(self) -> bool: ...


class TableLike(Protocol):
    """What is read of results."""

    @property
    def sources(self) -> Sequence[SourceLike]: ...
    @property
    def columns(self) -> Sequence[ColumnLike]: ...
    @property
    def flags(self) -> tuple[str, ...]: ...
    @property
    def flag_bits(self) -> NDArray[np.uint64]: ...
    @property
    def counted(self) -> NDArray[np.bool_]: ...
    @property
    def reasons(self) -> tuple[str, ...]: ...
    @property
    def reason_codes(self) -> NDArray[np.int16]: ...
    def column(self, name: str) -> ColumnLike: ...
    def numbers(self, name: str) -> Floats: ...
    def codes(self, name: str) -> NDArray[np.int32]: ...
    def levels(self, name: str) -> tuple[str | float | int | bool, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """A column as levels, over all trials of a table, whatever is selected.

    ``values`` are the places 0, 1, 2 ... of a category's levels, and the numbers themselves of a number.
    ``places`` is the place of each trial's level; -1: missing.
    """

    column: ColumnLike
    values: Floats
    places: Places
    texts: tuple[str, ...] | None = None  # None: the texts of the values

    @property
    def size(self) -> int:
        """How many levels there are."""
        return int(self.values.size)

    def name(self, index: int) -> str:
        """The level's text."""
        if not 0 <= index < self.size:
            return self.column.missing_label
        if self.texts is not None:
            return self.texts[index]
        return format_explored_level(self.column, float(self.values[index]))


def index_levels(table: TableLike, name: str) -> Levels:
    """The levels of a column. Numbers and times: their distinct values. Flags: the distinct sets of flags.

    Raises KeyError where there is no such column.
    """
    column = table.column(name)
    if column.kind == "category":
        texts = tuple(format_explored_level(column, level) for level in table.levels(name))
        if name == RESULTS and len(table.sources) > 1:
            texts = name_sources(table.sources)
        codes = np.asarray(table.codes(name), dtype=np.intp)
        return Levels(
            column=column, values=np.arange(len(texts), dtype=np.float64), places=codes, texts=texts
        )
    if column.kind == "flags":
        sets, places = np.unique(table.flag_bits, return_inverse=True)
        texts = tuple(_name_flags(table.flags, int(bits)) for bits in sets)
        values = np.arange(sets.size, dtype=np.float64)
        return Levels(column=column, values=values, places=places.ravel(), texts=texts)
    numbers = read_numbers(table, name)
    known = ~np.isnan(numbers)
    values, inverse = np.unique(numbers[known], return_inverse=True)
    places = np.full(numbers.size, -1, dtype=np.intp)
    places[known] = inverse.ravel()
    return Levels(column=column, values=values, places=places)


def name_sources(sources: Sequence[SourceLike]) -> tuple[str, ...]:
    """``A: Streams sweep``, with the folder behind it where several have that title."""
    titles = [source.title for source in sources]
    return tuple(
        f"{source.label}: {source.title}"
        + (f" ({PurePath(source.path).name or source.name})" if titles.count(source.title) > 1 else "")
        for source in sources
    )


def name_unset(levels: Levels) -> Levels:
    """The levels as names, and the missing one as the last of them."""
    texts = (*(levels.name(place) for place in range(levels.size)), levels.column.missing_label)
    return Levels(
        column=levels.column,
        values=np.arange(len(texts), dtype=np.float64),
        places=np.where(levels.places < 0, levels.size, levels.places),
        texts=texts,
    )


def read_numbers(table: TableLike, name: str) -> Floats:
    """A column's numbers; NaN where there is none, or where it is not finite."""
    numbers = np.asarray(table.numbers(name), dtype=np.float64)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def sort_by_start(table: TableLike, rows: Places) -> Places:
    """The rows in the order of measurement; trials without a start come last, in their order in the table."""
    rows = np.sort(np.asarray(rows, dtype=np.intp))
    return rows[np.argsort(table.numbers(START)[rows], kind="stable")]


def split_rows(keys: NDArray[np.integer], rows: Places) -> dict[int, Places]:
    """The rows of each key, 0 or more, keys ascending and rows in their order; key -1 is left out."""
    order = np.argsort(keys, kind="stable")
    result, starts = np.unique(keys[order], return_index=True)
    parts = np.split(rows[order], starts[1:]) if result.size else []
    return {int(key): part for key, part in zip(result, parts, strict=True) if key >= 0}


def _name_flags(flags: tuple[str, ...], bits: int) -> str:
    return ", ".join(flag for index, flag in enumerate(flags) if bits >> index & 1) or "no flag"
