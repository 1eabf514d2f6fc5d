"""The columns of tables, for the terminal, pages and answers of analyses: their type, and which are shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Generic, TypeVar

from pathlab.units import NOT_MEASURED

Item = TypeVar("Item")
#: Texts of cells that hold no value.
NO_VALUE = frozenset({"", NOT_MEASURED})


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


def divide_columns(
    columns: Sequence[TableColumn],
    rows: Sequence[Sequence[str]],
    *,
    stated: Collection[int],
    kept: Collection[int] = (),
    least_rows: int = 2,
) -> tuple[list[int], list[int]]:
    """The numbers of the columns to show, and of those of ``stated`` with one value in all rows.

    Columns without a value are left out, those of ``kept`` are not. In fewer than ``least_rows`` rows equal
    values may be chance.
    """
    shown, constant = list[int](), list[int]()
    for number in range(len(columns)):
        texts = {row[number] for row in rows}
        if number in stated and texts - NO_VALUE and len(texts) == 1 and len(rows) >= least_rows:
            constant.append(number)
        elif number in kept or texts - NO_VALUE:
            shown.append(number)
    return shown, constant
