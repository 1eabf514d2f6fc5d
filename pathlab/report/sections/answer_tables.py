"""Tables of answers as blocks of a chapter: the rows of ``pathlab analyze``, a table for each condition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from pathlab.report.answer_table import Row, format_row, list_headings, list_warnings
from pathlab.report.blocks import Block, Heading, Paragraph, TableBlock, TextTable
from pathlab.report.inputs import ReportInputs
from pathlab.report.sections.lazy import LazyBlock, LazyFold, lazy_text
from pathlab.study.answer import Answer
from pathlab.study.cells import MeasuredCondition
from pathlab.study.registry import ANALYSES

#: Columns that hold words; every other one but the first is set flush right.
WORDS = frozenset(
    {
        *("verdict", "limit", "trials", "undecided", "distribution", "model", "bottleneck", "rule", "enough"),
        *(
            "path",
            "medians within ±5 %",
            "widest",
            "within ±5 %",
            "parameters",
            "formula",
            "source",
            "evidence",
        ),
    }
)
#: A table of more rows is shown on demand.
LONG_ROWS = 24
#: Analyses that are told in a sentence, so that their tables are shown on demand.
FOLDED = frozenset({"warm_up", "serial", "outliers", "planning"})
Choose = Callable[[Answer[Any]], bool]


def build_table(columns: Sequence[str], rows: Iterable[Row], meanings: Sequence[str] = ()) -> TextTable:
    """A table; a last column ``undecided`` that is empty throughout is left out."""
    told = list(rows)
    shown = list(columns)
    if shown[-1] == "undecided" and not any(row[-1] for row in told):
        shown, told = shown[:-1], [row[:-1] for row in told]
    explained = [*meanings, *[""] * (len(shown) - len(meanings))]
    return TextTable(
        headings=tuple(
            Heading(label=label, meaning=text) for label, text in zip(shown, explained, strict=False)
        ),
        rows=tuple(told),
        numeric=tuple(at > 0 and label not in WORDS for at, label in enumerate(shown)),
    )


def tabulate_answers(
    name: str, answers: Sequence[Answer[Any]], condition: MeasuredCondition
) -> Iterator[Block]:
    """The table of one analysis at one condition; nothing where no answer rests on a trial."""
    found = [answer for answer in answers if answer.selection.used]
    if not found:
        return
    entry = ANALYSES[name]
    table = build_table(list_headings(entry), (format_row(entry, answer) for answer in found))
    yield TableBlock(
        name=f"{name.replace('_', '-')}-table-{condition.number}",
        title=f"{entry.title}: {condition.name}",
        table=table,
        note=format_note(answers),
    )


def format_note(answers: Sequence[Answer[Any]]) -> str | None:
    """What was left out and what is doubtful, as one line; None for nothing."""
    lines = list_warnings(answers)
    return "; ".join(lines) + "." if lines else None


def outline_tables(inputs: ReportInputs, name: str, choose: Choose | None = None) -> Iterator[LazyBlock]:
    """The tables of one analysis: one for all conditions where it is short, else one for each, on demand.

    ``choose``: which answers are told; None: all.
    """
    entry = ANALYSES[name]
    title, per_place = entry.title, entry.per == "condition"
    rows = [1 if per_place else len(condition.levels) for condition in inputs.conditions]
    if per_place or sum(rows) <= LONG_ROWS:
        draft = lazy_text(_tabulate_together, inputs, name, choose)
        yield LazyFold(title=title, blocks=(draft,)) if name in FOLDED else draft
        return
    for condition in inputs.conditions:
        draft = lazy_text(_tabulate_chosen, inputs, name, condition, choose)
        yield LazyFold(title=f"{title}: {condition.name}", blocks=(draft,))


def _tabulate_chosen(
    inputs: ReportInputs, name: str, condition: MeasuredCondition, choose: Choose | None
) -> Iterator[Block]:
    found = inputs.answers(name, condition)
    yield from tabulate_answers(name, [one for one in found if choose is None or choose(one)], condition)


def _tabulate_together(inputs: ReportInputs, name: str, choose: Choose | None) -> Iterator[Block]:
    """One table with the answers on all places; the first column names the place where there are several."""
    entry, several = ANALYSES[name], len(inputs.conditions) > 1
    rows: list[Row] = []
    told: list[Answer[Any]] = []
    for condition in inputs.conditions:
        for answer in inputs.answers(name, condition):
            if answer.selection.used and (choose is None or choose(answer)):
                told.append(answer)
                rows.append((condition.name,) * several + format_row(entry, answer))
    if rows:
        yield TableBlock(
            name=f"{name.replace('_', '-')}-table",
            title=entry.title,
            table=build_table(("path",) * several + list_headings(entry), rows),
            note=format_note(told),
        )


def say(text: str, *, note: bool = False) -> Iterator[Block]:
    """A paragraph, none for an empty text."""
    if text:
        yield Paragraph(text=text, note=note)
