"""The columns of tables: one type for the terminal, for pages and for answers of analyses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column of a table by its heading.

    ``priority``: a narrow terminal leaves out the largest first, and 0 never. ``left``: set flush left, as
    words are. ``wraps``: words that may continue on the next line, flush left. ``constant``: how a terminal
    states the value above the table where all rows have the same, such as ``Granted {}``; empty: the column
    stays. ``stays``: pages show the column where it is empty or has one value, too. ``meaning`` explains the
    heading.
    """

    heading: str
    _: KW_ONLY
    priority: int = 0
    left: bool = False
    wraps: bool = False
    constant: str = ""
    stays: bool = False
    meaning: str = ""

    @property
    def has_words(self) -> bool:
        """Whether its cells are set flush left."""
        return self.left or self.wraps


@dataclass(frozen=True, slots=True)
class ItemColumn(TableColumn, Generic[Item]):
    """A column with its reader: ``read`` gives the text of an item."""

    read: Callable[[Item], str] = field(kw_only=True)


def list_rows(columns: Sequence[ItemColumn[Item]], items: Iterable[Item]) -> list[tuple[str, ...]]:
    """The texts of every item, one row each."""
    return [tuple(column.read(item) for column in columns) for item in items]


def list_table_columns(
    headings: Sequence[str], words: Collection[str] | None = None, *, stay: bool = False
) -> tuple[TableColumn, ...]:
    """A column for each heading; ``words``: those that hold words, None: the first. ``stay``: all do."""
    left = headings[:1] if words is None else words
    return tuple(TableColumn(heading, left=heading in left, stays=stay) for heading in headings)
