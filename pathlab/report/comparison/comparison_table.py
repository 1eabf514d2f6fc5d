"""A comparison of results for a terminal: sentences, a table for each metric, notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.console import Console

from pathlab.printed_table import PrintedParagraph, PrintedTable
from pathlab.report.base.phrases import format_probability
from pathlab.report.base.trial_flags import PROVISIONAL
from pathlab.report.comparison.comparison_changes import (
    capitalise_title,
    describe_no_verdict,
    format_change,
    format_metric,
    list_comparison_warnings,
    list_summaries,
)
from pathlab.report.comparison.comparison_names import CellNames, name_cells
from pathlab.report.comparison.comparison_text import list_notes
from pathlab.report.comparison.comparison_times import warn_of_times
from pathlab.study.comparison.rows import ComparisonRow, ResultsComparison
from pathlab.table_columns import TableColumn
from pathlab.units import NOT_MEASURED, format_ratio

#: What a narrow terminal leaves out; the largest first.
PRIORITIES = {"Trials": 4, "Before": 3, "After": 2, "Verdict": 1}


def render_comparison(comparison: ResultsComparison, console: Console) -> None:
    """Print what changed in sentences, then a table for each of the results and metrics, then the notes."""
    names = name_cells(comparison.rows)
    if refusal := describe_no_verdict(comparison):
        console.print(PrintedParagraph(refusal, "bold"))
    for label in () if refusal else comparison.labels[1:]:
        if len(comparison.labels) > 2:
            console.print(f"{label}:", soft_wrap=True)
        for sentence in list_summaries(comparison, label):
            console.print(PrintedParagraph(sentence, "bold"))
        if warning := warn_of_times(comparison, label):
            console.print(PrintedParagraph(warning))
    for warning in list_comparison_warnings(comparison):
        console.print(PrintedParagraph(warning, "yellow"))
    console.print()
    console.print(f"Before: {comparison.labels[0]}", soft_wrap=True)
    for label in comparison.labels[1:]:
        console.print(f"After: {label}", soft_wrap=True)
        for rows in group_rows(comparison, label):
            console.print()
            _print_table(rows, comparison, names, console)
        console.print()
    for line in list_notes(comparison):
        console.print(PrintedParagraph(line))


def group_rows(comparison: ResultsComparison, label: str) -> list[list[ComparisonRow]]:
    """The rows of ``label``, those of each metric together."""
    groups: dict[str, list[ComparisonRow]] = {}
    for row in comparison.rows:
        if row.label == label:
            groups.setdefault(row.metric.name, []).append(row)
    return list(groups.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeColumn(TableColumn):
    """One column of the table of a metric; ``unit``: of all its values, which then do not repeat it."""

    texts: tuple[str, ...]
    unit: str = ""

    def name_unit(self, form: str = "{} {}") -> ChangeColumn:
        """The column with its unit in the heading."""
        return replace(self, heading=form.format(self.heading, self.unit)) if self.unit else self


def list_change_columns(
    rows: Sequence[ComparisonRow], comparison: ResultsComparison, names: CellNames
) -> list[ChangeColumn]:
    """The columns of one metric's rows, without empty ones and without trials where all have as many."""
    changes = [format_change(row) for row in rows]
    columns = [
        ("Combination", [names.format(row.cell) for row in rows]),
        ("Before", [format_metric(row.before_median, row.metric) for row in rows]),
        ("After", [format_metric(row.after_median, row.metric) for row in rows]),
        ("Change", [change for change, _ in changes]),
        (f"{format_ratio(1 - comparison.rules.alpha_ratio)} CI", [interval for _, interval in changes]),
        ("Trials", [format_trials(row) for row in rows]),
        ("Verdict", [str(row.verdict) for row in rows]),
    ]
    intervals = columns[4][1]
    hidden = {"Trials"} if find_trials(rows) else set()
    if all(text == NOT_MEASURED for text in intervals):
        hidden |= {columns[4][0], "Verdict"}  # the sentence says why there is none
    shown = [_build_column(name, texts) for name, texts in columns if name not in hidden]
    return [_mark_provisional(item) for item in shown] if comparison.provisional else shown


def _mark_provisional(column: ChangeColumn) -> ChangeColumn:
    """The column with a mark on every number that was measured."""
    if column.heading in ("Combination", "Trials", "Verdict"):
        return column
    texts = (text if text == NOT_MEASURED else f"{text}{PROVISIONAL}" for text in column.texts)
    return replace(column, texts=tuple(texts))


def find_trials(rows: Sequence[ComparisonRow]) -> str:
    """The numbers of trials that all rows have, for the title: ``6 trials``; empty where they differ."""
    numbers = {(row.change.first_n, row.change.second_n) for row in rows}
    if len(numbers) > 1:
        return ""
    ((before, after),) = numbers
    return f"{before} trials each" if before == after else f"{before} trials before, {after} after"


def format_trials(row: ComparisonRow) -> str:
    """The numbers of trials before and after: ``6/7``."""
    return f"{row.change.first_n}/{row.change.second_n}"


def _build_column(name: str, texts: Sequence[str]) -> ChangeColumn:
    """The column, with the unit apart where all values have the same."""
    column = ChangeColumn(
        heading=name,
        priority=PRIORITIES.get(name, 0),
        left=name == "Verdict",
        wraps=name == "Combination",
        texts=tuple(texts),
    )
    units = {text.rpartition(" ")[2] for text in texts if text != NOT_MEASURED}
    if name not in ("Before", "After") or len(units) != 1:
        return column
    (unit,) = units
    return replace(column, unit=unit, texts=tuple(text.removesuffix(f" {unit}") for text in texts))


def explain_verdicts(
    columns: Sequence[ChangeColumn], rows: Sequence[ComparisonRow], heading: str
) -> list[ChangeColumn]:
    """The columns with p-values under ``heading`` and the reasons of verdicts, where there are verdicts."""
    if columns[-1].heading != "Verdict":
        return list(columns)
    reasons = tuple(f"{row.verdict}: {row.reason}" if row.reason else str(row.verdict) for row in rows)
    chances = ChangeColumn(heading=heading, texts=tuple(format_probability(row.p_value) for row in rows))
    return [*columns[:-1], chances, replace(columns[-1], texts=reasons)]


def _print_table(
    rows: Sequence[ComparisonRow], comparison: ResultsComparison, names: CellNames, console: Console
) -> None:
    columns = list_change_columns(rows, comparison, names)
    title = ", ".join(filter(None, [capitalise_title(rows[0].metric), *names.shared, find_trials(rows)]))
    PrintedTable(
        columns=[column.name_unit() for column in columns],
        rows=list(zip(*(column.texts for column in columns), strict=True)),
        title=title,
        elsewhere="--json",
    ).print_to(console)
