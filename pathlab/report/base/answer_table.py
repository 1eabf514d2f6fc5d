"""Answers of any analysis as tables: the columns of its registry entry, every value as text with its unit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

from rich.console import Console

from pathlab.analysis.estimators.interval import Interval, Undecided
from pathlab.analysis.estimators.modes import Mode
from pathlab.analysis.fits.breakpoints import Breakpoint
from pathlab.analysis.fits.curve_fit import Estimate
from pathlab.analysis.verdicts.slow_hours import SlowHours
from pathlab.analysis.verdicts.steadiness import Steadiness
from pathlab.campaign.factors import format_levels
from pathlab.printed_table import PrintedParagraph, PrintedTable
from pathlab.report.base.phrases import (
    FORMATS,
    format_bounded_time,
    format_count,
    format_figure,
    format_interval,
    format_reason,
    note_cut,
)
from pathlab.report.base.rate_text import describe_hours, format_modes, format_steadiness
from pathlab.store.flags import Flag
from pathlab.study.base.answer import Answer, Spread
from pathlab.study.base.registry import ANALYSES, AnalysisEntry, AnswerColumn
from pathlab.study.base.selection import SampleSelection
from pathlab.study.base.trials import Condition
from pathlab.study.flows.limits import LimitCount
from pathlab.study.measures import MEASURES_BY_KEY
from pathlab.table_columns import TableColumn
from pathlab.units import NOT_MEASURED, format_bytes, format_rate

_CELL = re.compile(r"\b(\d+) x (\d+)\b")
Row = tuple[str, ...]


def format_cells(text: str) -> str:
    """Cells that an analysis names, ``4 x 65536``, as people write them: ``4 × 64 KiB``."""
    return _CELL.sub(lambda result: f"{result[1]} × {format_bytes(int(result[2]))}", text).replace(
        " x ", " × "
    )


def format_subject(answer: Answer[Any]) -> str:
    """The subject of an answer: combination, window or quantity."""
    window = "auto" if answer.autotuned else None
    if answer.window_bytes is not None:
        window = format_bytes(answer.window_bytes)
    if answer.streams is not None:
        return f"{answer.streams} × {window}"
    if answer.quantity is not None:
        measure = MEASURES_BY_KEY.get(answer.quantity)
        return measure.title if measure is not None else format_cells(answer.quantity)
    return window if window is not None else "all"


def format_value(value: Any, unit: str = "") -> str:
    """A value of an answer as text; a spread and an estimate with the interval.

    ``list_undecided`` gives the reasons for missing intervals, once for a table.
    """
    formatter = FORMATS.get(unit, format_figure)
    if isinstance(value, Answer):
        return format_subject(value)
    if isinstance(value, Spread | Estimate):
        if isinstance(value, Spread) and value.modes:
            return format_modes(value.modes)
        if isinstance(value, Spread) and value.median is None and value.above_ns is not None:
            return format_bounded_time(None, value.above_ns)
        middle = value.median if isinstance(value, Spread) else value.value
        if middle is None and isinstance(value, Estimate):
            least = value.interval.low
            return format_reason(value.undecided) if least is None else f"at least {formatter(least)}"
        known = value.interval.low is not None
        return (
            f"{formatter(middle)} ({format_interval(value.interval, formatter)})"
            if known
            else formatter(middle)
        )
    if isinstance(value, Interval):
        return format_interval(value, formatter) if value.low is not None else NOT_MEASURED
    if isinstance(value, Breakpoint):
        return _format_breakpoint(value, unit)
    if isinstance(value, Mode):
        return f"{value.n} near {format_rate(value.median)}"
    if isinstance(value, SlowHours):
        return describe_hours(value) or format_reason(value.undecided or "none shown")
    if isinstance(value, Steadiness):
        return format_steadiness(value)
    if isinstance(value, LimitCount):
        return f"{format_reason(value.limit or 'undecided')} {value.trials}"
    if isinstance(value, Enum):
        return format_reason(value)
    if isinstance(value, tuple):
        return ", ".join(format_value(item, unit) for item in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return format_cells(str(value))
    return str(value) if isinstance(value, int) and not unit else formatter(value)


def _format_breakpoint(result: Breakpoint, unit: str) -> str:
    """Where the line becomes steeper, or ``flatter from`` there."""
    before, after = result.slope_before.value, result.slope_after.value
    text = format_value(result.breakpoint, unit)
    return f"flatter from {text}" if before is not None and after is not None and after < before else text


def format_cell(column: AnswerColumn, answer: Answer[Any]) -> str:
    """The text of one answer in one column; empty if nothing is undecided."""
    value, unit = column.read(answer), column.find_unit(answer)
    if value is None and column.heading == "undecided":
        return ""
    text = format_reason(value) if column.heading == "undecided" else format_value(value, unit)
    if value is None and (above_ns := column.read_bound(answer)) is not None:
        text = format_bounded_time(None, above_ns)
    detail = format_value(column.read_detail(answer), unit) if column.detail else NOT_MEASURED
    return text if detail == NOT_MEASURED else f"{text} ({detail})"


def format_row(entry: AnalysisEntry, answer: Answer[Any]) -> Row:
    """The row of one answer, a text for each column of the entry."""
    return tuple(format_cell(column, answer) for column in entry.columns)


#: Analyses that may have an answer where no trial is usable.
ANSWERED_ANYWAY = ("recommendation",)


def render_analyses(answers: Mapping[str, Sequence[Answer[Any]]], console: Console) -> None:
    """Print a table for each analysis by its name, and lines that name those without data or usable trials.

    What was excluded, flagged or undecided is stated below the first table of a condition that it concerns.
    """
    stated: set[tuple[Condition, str]] = set()
    unused = [name for name, result in answers.items() if result and not _rests_on_trials(name, result)]
    for name, result in answers.items():
        if not result or name in unused:
            continue
        entry = ANALYSES[name]
        console.print()
        for condition in dict.fromkeys(answer.condition for answer in result):
            part = [answer for answer in result if answer.condition == condition]
            title = f"{entry.title}: {name_condition(condition)}"
            rows = [format_row(entry, answer) for answer in part]
            print_answers(entry.columns, rows, title, console)
            for line in (*list_undecided(entry, part), *list_warnings(part)):
                if (condition, line) not in stated:
                    console.print(PrintedParagraph(line, "dim", mark="  "))
            stated |= {(condition, line) for line in (*list_undecided(entry, part), *list_warnings(part))}
    empty = [ANALYSES[name].title for name, result in answers.items() if not result]
    if empty:
        console.print()
        console.print(PrintedParagraph(f"These results have no data for: {'; '.join(empty)}."))
    if unused:
        console.print()
        names = "; ".join(ANALYSES[name].title for name in unused)
        console.print(PrintedParagraph(f"These need usable trials: {names}."))


def _rests_on_trials(name: str, answers: Sequence[Answer[Any]]) -> bool:
    """Whether any answer used a trial. A recommendation may be provisional, which uses none."""
    return name in ANSWERED_ANYWAY or any(answer.selection.used for answer in answers)


def print_answers(columns: Sequence[TableColumn], rows: Sequence[Row], title: str, console: Console) -> None:
    """Print answers as a table: the first column is always shown, the last ones are left out first."""
    first, *others = columns
    ranked = [
        replace(first, wraps=True),
        *(
            replace(column, priority=number, constant=f"{column.heading} {{}}")
            for number, column in enumerate(others, 1)
        ),
    ]
    PrintedTable(columns=ranked, rows=rows, title=title, elsewhere="--json").print_to(console)


def name_condition(condition: Condition) -> str:
    """Path, and the settings that were set."""
    levels = format_levels({name: value for name, value in condition.settings if value is not None})
    texts = [f"{key} {text}" for key, text in levels.items()]
    where = "" if condition.medium == "hosts" else f" ({condition.medium})"
    return f"{condition.path}{where}, {', '.join(texts)}"


def list_undecided(
    entry: AnalysisEntry, answers: Sequence[Answer[Any]], *, few_stated: bool = False
) -> list[str]:
    """Why values of a table have no confidence interval, and what a cut one is, once for the table.

    ``few_stated``: a caveat names the combinations with too few trials already.
    """
    values = [
        value
        for answer in answers
        for column in entry.columns
        for value in (column.read(answer), column.read_detail(answer) if column.detail else None)
    ]
    intervals = [interval for value in values for interval in _list_intervals(value)]
    reasons = {interval.undecided for interval in intervals if interval.low is None}
    if few_stated:
        reasons.discard(Undecided.TOO_FEW_SAMPLES)
    none = f"no 95 % CI: {', '.join(sorted(map(format_reason, reasons)))}" if reasons else ""
    return [text for text in (none, note_cut(intervals)) if text]


def _list_intervals(value: Any) -> Iterator[Interval]:
    """The intervals that a value is shown with; none where the value itself is missing."""
    if isinstance(value, Interval):
        yield value
    elif isinstance(value, Spread | Estimate):
        if (value.median if isinstance(value, Spread) else value.value) is not None:
            yield value.interval
    elif isinstance(value, Breakpoint):
        yield from _list_intervals(value.breakpoint)
    elif isinstance(value, tuple):
        for item in value:
            yield from _list_intervals(item)


def list_warnings(answers: Sequence[Answer[Any]], stated: Sequence[SampleSelection] = ()) -> list[str]:
    """Excluded trials, and flags of those used, once for the table; without those of ``stated`` together."""
    known: Counter[str] = Counter()
    for selection in stated:
        known.update({item.reason: item.trials for item in selection.excluded})
    left = {(item.reason, item.trials) for answer in answers for item in answer.selection.excluded}
    excluded = [f"{trials} {reason}" for reason, trials in sorted(left) if trials > known[reason]]
    flags: dict[str, int] = {}
    for answer in answers:
        for warning in answer.selection.warnings:
            flags[warning.reason] = max(flags.get(warning.reason, 0), warning.trials)
    lines = [f"excluded: {', '.join(excluded)}"] if excluded else []
    quiet = {Flag.LAB, *(warning.reason for selection in stated for warning in selection.warnings)}
    for reason, trials in sorted(flags.items()):
        if reason not in quiet:
            most = "" if len(answers) == 1 else "at most "
            lines.append(f"includes {most}{format_count(trials, 'trial')} flagged {reason}")
    return lines
