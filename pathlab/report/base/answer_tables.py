"""Tables of answers as blocks of a chapter: the rows of ``pathlab analyze``, a table for each condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pathlab.report.base.answer_table import (
    Row,
    format_cell,
    format_row,
    list_undecided,
    list_warnings,
)
from pathlab.report.base.blocks import Block, Paragraph, TableBlock
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import LazyBlock, LazyFold, LazyText, lazy_text
from pathlab.report.base.phrases import format_few_trials, format_reason
from pathlab.report.base.shortfalls import FEW, find_shortfall
from pathlab.report.base.tables import build_table
from pathlab.study.base.answer import Answer
from pathlab.study.base.cells import MeasuredCondition
from pathlab.study.base.registry import ANALYSES, AnalysisEntry
from pathlab.table_columns import TableColumn
from pathlab.units import NOT_MEASURED

#: A table of more rows is shown on demand.
LONG_ROWS = 24
#: Analyses that a sentence describes, so that their tables are shown on demand.
FOLDED = frozenset({"warm_up", "serial", "outliers", "planning", "rate_levels", "steadiness"})
Choose = Callable[[Answer[Any]], bool]


def format_note(
    answers: Sequence[Answer[Any]],
    entry: AnalysisEntry | None = None,
    conditions: Sequence[MeasuredCondition] = (),
) -> str | None:
    """What was excluded, which flags were kept and what is undecided, as one line; None for nothing.

    What ``list_caveats`` states of these ``conditions`` is not repeated.
    """
    few = any(map(_describe_few, conditions))
    lines = list_undecided(entry, answers, few_stated=few) if entry else []
    lines += list_warnings(answers, [condition.sample.selection for condition in conditions])
    return "; ".join(lines) + "." if lines else None


def list_caveats(conditions: Sequence[MeasuredCondition]) -> Iterator[Block]:
    """Excluded and flagged trials, and the combinations with too few for an interval, once where equal."""
    names: dict[str, list[str]] = {}
    for condition in conditions:
        whole = Answer(condition=condition.key, selection=condition.sample.selection, result=None)
        few = _describe_few(condition)
        if lines := [*list_warnings([whole]), *([few[:1].lower() + few[1:]] if few else [])]:
            names.setdefault("; ".join(lines).rstrip("."), []).append(condition.name)
    for text, name in names.items():
        where = "Each path" if len(name) == len(conditions) > 1 else "; ".join(name)
        yield Paragraph(text=f"{where}: {text}.", note=True)


def _describe_few(condition: MeasuredCondition) -> str:
    return format_few_trials(cell.throughput for cell in condition.cells)


def list_answer_tables(inputs: ReportInputs, name: str, choose: Choose | None = None) -> Iterator[LazyBlock]:
    """The tables of one analysis: one for all conditions where it is short, else one for each, on demand.

    ``choose``: which answers are shown; None: all.
    """
    entry = ANALYSES[name]
    per_condition = entry.per == "condition"
    rows = [1 if per_condition else len(condition.levels) for condition in inputs.conditions]
    if per_condition or sum(rows) <= LONG_ROWS:
        text = defer_answer_table(inputs, name, None, choose)
        yield LazyFold(title=entry.title, blocks=(text,)) if name in FOLDED else text
        return
    for condition in inputs.conditions:
        text = defer_answer_table(inputs, name, condition, choose)
        yield LazyFold(title=f"{entry.title}: {condition.name}", blocks=(text,))


def defer_answer_table(
    inputs: ReportInputs,
    name: str,
    condition: MeasuredCondition | None = None,
    choose: Choose | None = None,
) -> LazyText:
    """The table of ``build_answers_table``, which is left out where too few trials leave it undecided."""
    return lazy_text(
        build_answers_table,
        inputs,
        name,
        condition,
        choose,
        lacks=partial(find_shortfall, inputs, name, condition),
    )


def build_answers_table(
    inputs: ReportInputs,
    name: str,
    condition: MeasuredCondition | None = None,
    choose: Choose | None = None,
) -> Iterator[Block]:
    """The table of one analysis on one condition; None: on all, named in the first column if several.

    Nothing where no answer rests on a trial.
    """
    conditions = inputs.conditions if condition is None else (condition,)
    entry, several = ANALYSES[name], len(conditions) > 1
    shown = [
        (item, answer)
        for item in conditions
        if find_shortfall(inputs, name, item) is None
        for answer in inputs.answers(name, item)
        if answer.selection.used and (choose is None or choose(answer))
    ]
    if shown:
        rows = (
            (item.name,) * several + _leave_few(entry.columns, format_row(entry, answer))
            for item, answer in shown
        )
        yield build_table(
            f"{name.replace('_', '-')}-table{f'-{condition.number}' if condition else ''}",
            entry.title + (f": {condition.name}" if condition else ""),
            name_rows(entry.columns, "path" if several else ""),
            rows,
            note=format_note([answer for _, answer in shown], entry, conditions),
        )


def build_answer_table(
    name: str,
    title: str,
    analysis: str,
    answers: Sequence[Answer[Any]],
    *,
    label: str = "",
    labels: Sequence[str] = (),
    replaces: str = "",
    note: str | None = None,
) -> TableBlock:
    """The rows of ``pathlab analyze``, each with its text of ``labels`` in a first column named ``label``.

    ``replaces``: the column of the analysis whose texts ``labels`` are instead; empty: none.
    """
    columns = ANALYSES[analysis].columns
    place = next((at for at, item in enumerate(columns) if replaces and item.heading == replaces), None)
    kept = [item for at, item in enumerate(columns) if at != place]
    at = place or 0
    own = [(text,) for text in labels] if label else [()] * len(answers)
    rows = []
    for text, answer in zip(own, answers, strict=True):
        cells = tuple(format_cell(column, answer) for column in kept)
        rows.append((*cells[:at], *text, *cells[at:]))
    shown: list[TableColumn] = [*kept]
    if label:
        shown.insert(at, TableColumn(label))
    return build_table(name, title, name_rows(shown), rows, note=note)


def name_rows(columns: Sequence[TableColumn], label: str = "") -> tuple[TableColumn, ...]:
    """The columns after one of words with the name of each row; without ``label`` the first has the names."""
    if label:
        return (TableColumn(label, left=True), *columns)
    return (replace(columns[0], left=True), *columns[1:])


def _leave_few(columns: Sequence[TableColumn], row: Row) -> Row:
    """A row without the reason for a value that too few trials do not give; a column states it."""
    few = {format_reason(item) for item in FEW}
    return tuple(
        NOT_MEASURED if text in few and column.heading != "undecided" else text
        for column, text in zip(columns, row, strict=True)
    )


def write_paragraph(text: str, *, note: bool = False) -> Iterator[Block]:
    """A paragraph, none for an empty text."""
    if text:
        yield Paragraph(text=text, note=note)
