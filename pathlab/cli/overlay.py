"""Own results compared with published series, as tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.text import Text

from pathlab.printed_table import PrintedParagraph
from pathlab.report.base.answer_table import format_cell, list_warnings, name_condition, print_answers
from pathlab.report.base.names import shorten_levels
from pathlab.study.base.answer import Answer
from pathlab.study.base.registry import AnswerColumn
from pathlab.study.comparison.references import ReferenceOverlay
from pathlab.table_columns import TableColumn

#: What is shown of each level besides the level itself.
COLUMNS = (
    AnswerColumn("n", "own.n"),
    AnswerColumn("own", "own.median", "bit/s"),
    AnswerColumn("95 % CI", "own.interval", "bit/s"),
    AnswerColumn("published", "reference_bits_per_s"),
    AnswerColumn("own / published", "ratio"),
    AnswerColumn("95 % CI", "ratio_interval"),
)


def render_overlays(name: str, answers: Sequence[Answer[ReferenceOverlay]], console: Console) -> None:
    """Print a table for each cell and column; where no plan sets the table's level, a line that says so."""
    console.print()
    if not answers:
        console.print(
            Text.assemble(
                (name, "bold"), ": no trial sets the level that this table varies; nothing to compare."
            )
        )
        return
    for answer in answers:
        _print_overlay(answer, console)
        for line in list_warnings([answer]):
            console.print(PrintedParagraph(line, "dim", mark="  "))
    console.print(
        PrintedParagraph("The ratio's interval includes half a step of the published figure.", "dim")
    )


def _print_overlay(answer: Answer[ReferenceOverlay], console: Console) -> None:
    result, cell = answer.result, shorten_levels(answer.streams or 0, answer.window_bytes)
    title = f"{result.reference}, {answer.quantity}, compared with {cell}: {name_condition(answer.condition)}"
    whole: Answer[Any] = answer
    rows = [
        (f"{row.level:g}", *(format_cell(item, replace(whole, result=row)) for item in COLUMNS))
        for row in result.rows
    ]
    print_answers((TableColumn(result.level_name), *COLUMNS), rows, title, console)
