"""Tables and paragraphs for a terminal: what does not fit is left out by whole columns, never by digits.

A table states what all rows share above itself, leaves empty columns out, and drops those of least priority
until the rest fits. A number stays on one line with its unit. A pipe has no width, so it gets all columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from pathlab.escaping import escape_line
from pathlab.table_columns import TableColumn, divide_columns

GAP = "  "
WORDS_MIN_WIDTH = 16  # below this, a column of words is left out before its words are stacked any further
#: What belongs together on one line: a number and its unit, and the terms of a product.
_UNIT = re.compile(r"(?<=\d) (?=[%A-Za-zµ])|(?<=×) | (?=×)")
_BOUND = "\x00"


@dataclass(frozen=True, slots=True)
class _Arrangement:
    """The columns shown by number with their widths, and those left out; ``folded``: headings wrap."""

    widths: dict[int, int]
    left_out: tuple[int, ...] = ()
    folded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedTable:
    """A table that fits the console that it is printed to. ``styles``: one for each row, or none.

    ``elsewhere`` names what shows every column besides a wider terminal and a pipe, such as ``--json``;
    without ``explains`` nothing is said of the columns left out.
    """

    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[str]]
    title: str = ""
    styles: Sequence[str] = field(default=())
    elsewhere: str = ""
    explains: bool = True

    def print_to(self, console: Console) -> None:
        """Print the table; a single word wider than the console is not cut."""
        console.print(self, soft_wrap=True)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        rows = [[escape_line(cell) for cell in row] for row in self.rows]
        stated = [number for number, column in enumerate(self.columns) if column.constant]
        shown, constant = divide_columns(self.columns, rows, stated=stated)
        said = "; ".join(self.columns[number].constant.format(rows[0][number]) for number in constant)
        if self.title and said and cell_len(self.title) + cell_len(said) + 2 <= width:
            yield Text.assemble((f"{self.title}: ", "bold"), (said, "dim"), no_wrap=True, overflow="ignore")
        else:
            yield from _print_lines(wrap_words(self.title, width), "bold")
            yield from _print_lines(wrap_words(said, width), "dim")
        styles = self.styles or [""] * len(rows)
        result = _arrange(self.columns, rows, shown, width)
        if result is None:
            yield from _stack(self.columns, rows, shown, styles, width)
            return
        headings = [column.heading for column in self.columns]
        yield from _print_lines(self.align(headings, result, fold=result.folded), "bold")
        for row, style in zip(rows, styles, strict=True):
            yield from _print_lines(self.align(row, result), style)
        if result.left_out and self.explains:
            yield from _print_lines(wrap_words(self.explain(result, width), width), "dim")

    def align(self, cells: Sequence[str], result: _Arrangement, *, fold: bool = False) -> Iterator[str]:
        """The lines of one row."""
        parts: list[list[str]] = []
        for number, width in result.widths.items():
            column, text = self.columns[number], cells[number]
            lines = wrap_words(text, width) if fold or column.wraps else [text]
            parts.append([_pad(line, width, left=column.has_words) for line in lines or [""]])
        depth = max(map(len, parts), default=0)
        blank = [[" " * width] for width in result.widths.values()]
        for lines, empty in zip(parts, blank, strict=True):
            rest = empty * (depth - len(lines))
            lines[:] = [*rest, *lines] if fold else [*lines, *rest]
        for line in zip(*parts, strict=True):
            yield GAP.join(line).rstrip()

    def explain(self, result: _Arrangement, width: int) -> str:
        """Which columns are left out, and what shows them."""
        names = ", ".join(self.columns[number].heading for number in sorted(result.left_out))
        ways = ", ".join(["wider terminal", "pipe", *([self.elsewhere] if self.elsewhere else [])])
        return f"Not shown in {width} columns: {names} ({ways})."


class PrintedRows:
    """A table whose rows are printed one by one, laid out for ``templates``: rows of the width to expect.

    A cell that is wider than its template moves the rest of its row.
    """

    def __init__(
        self,
        columns: Sequence[TableColumn],
        templates: Sequence[Sequence[str]],
        console: Console,
        *,
        elsewhere: str = "",
    ) -> None:
        self._table = PrintedTable(columns=columns, rows=(), elsewhere=elsewhere)
        self._console = console
        rows = [[escape_line(cell) for cell in row] for row in templates]
        shown, _ = divide_columns(columns, rows, stated=())
        self._found = _arrange(columns, rows, shown, console.width)
        self._shown = shown
        if self._found is not None:
            self._print([column.heading for column in columns], "bold", fold=self._found.folded)

    def print_row(self, cells: Sequence[str]) -> None:
        self._print([escape_line(cell) for cell in cells])

    def print_end(self) -> None:
        """Say which columns were left out."""
        if self._found is not None and self._found.left_out:
            text = self._table.explain(self._found, self._console.width)
            self._console.print(PrintedParagraph(text, "dim"))

    def _print(self, cells: Sequence[str], style: str = "", *, fold: bool = False) -> None:
        if self._found is None:
            lines = _stack(self._table.columns, [cells], self._shown, [style], self._console.width)
        else:
            lines = _print_lines(self._table.align(cells, self._found, fold=fold), style)
        for line in lines:
            self._console.print(line, soft_wrap=True)


@dataclass(frozen=True, slots=True)
class PrintedParagraph:
    """Words that continue below their own beginning; ``mark`` is what stands before the first line."""

    text: str
    style: str = ""
    mark: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        indent = cell_len(self.mark)
        lines = wrap_words(escape_line(self.text), max(1, options.max_width - indent))
        marks = [self.mark, *[" " * indent] * len(lines)]
        yield from _print_lines(
            (f"{mark}{line}" for mark, line in zip(marks, lines, strict=False)), self.style
        )


def wrap_words(text: str, width: int) -> list[str]:
    """Lines of at most ``width``, broken between words only; a number keeps its unit. No line for no text."""
    lines: list[str] = []
    for bound in _UNIT.sub(_BOUND, text).split(" "):
        word = bound.replace(_BOUND, " ")
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        elif word or not lines:
            lines.append(word)
    return lines if text else []


def _print_lines(lines: Sequence[str] | Iterator[str], style: str) -> RenderResult:
    for line in lines:
        yield Text(line, style=style, no_wrap=True, overflow="ignore", end="\n")


def _pad(text: str, width: int, *, left: bool) -> str:
    blank = " " * (width - cell_len(text))
    return f"{text}{blank}" if left else f"{blank}{text}"


def _widest_word(text: str) -> int:
    return max(map(cell_len, wrap_words(text, 1)), default=0)


def _find_folded_width(heading: str) -> int:
    """The least width of a heading on two lines."""
    return next(
        width
        for width in range(_widest_word(heading), cell_len(heading) + 1)
        if len(wrap_words(heading, width)) <= 2
    )


def _arrange(
    columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], shown: Sequence[int], width: int
) -> _Arrangement | None:
    """The most columns that fit; None where those that are always shown do not."""
    kept = list(shown)
    left_out: list[int] = []
    while True:
        for folded in (False, True):
            widths = _find_widths(columns, rows, kept, width, folded=folded)
            if widths is not None:
                return _Arrangement(widths, tuple(left_out), folded)
        optional = [number for number in kept if columns[number].priority]
        if not optional:
            return None
        left_out.append(max(optional, key=lambda number: (columns[number].priority, number)))
        kept.remove(left_out[-1])


def _find_widths(
    columns: Sequence[TableColumn],
    rows: Sequence[Sequence[str]],
    kept: Sequence[int],
    width: int,
    *,
    folded: bool,
) -> dict[int, int] | None:
    """The width of each column; None where they do not fit."""
    least: dict[int, int] = {}
    whole: dict[int, int] = {}
    for number in kept:
        heading = columns[number].heading
        head = _find_folded_width(heading) if folded else cell_len(heading)
        whole[number] = least[number] = max([head, *(cell_len(row[number]) for row in rows)])
        if columns[number].wraps:
            words = max([head, *(_widest_word(row[number]) for row in rows)])
            least[number] = max(words, min(whole[number], WORDS_MIN_WIDTH))
    spare = width - sum(least.values()) - len(GAP) * (len(kept) - 1)
    if spare < 0:
        return None
    for number in sorted(kept, key=lambda number: whole[number] - least[number]):
        waiting = sum(whole[other] > least[other] for other in kept)
        more = min(whole[number] - least[number], spare // max(1, waiting))
        least[number] += more
        spare -= more
        whole[number] = least[number]
    return least


def _stack(
    columns: Sequence[TableColumn],
    rows: Sequence[Sequence[str]],
    shown: Sequence[int],
    styles: Sequence[str],
    width: int,
) -> RenderResult:
    """Each row as lines of heading and value, where the columns that are always shown do not fit."""
    indent = max(cell_len(columns[number].heading) for number in shown) + len(GAP)
    for index, (row, style) in enumerate(zip(rows, styles, strict=True)):
        yield from _print_lines([""] if index else [], "")
        for number in shown:
            heading = columns[number].heading
            lines = wrap_words(row[number], max(1, width - indent)) or [""]
            for mark, line in zip([heading, *[""] * len(lines)], lines, strict=False):
                yield from _print_lines([f"{_pad(mark, indent, left=True)}{line}".rstrip()], style)
