"""Own results compared with published series, as tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pathlab.report.answer_table import list_warnings, name_condition
from pathlab.study.answer import Answer
from pathlab.study.references import ReferenceOverlay, ReferenceRow
from pathlab.units import format_bytes, format_rate

NOTHING = "–"


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
        console.print(_build_table(answer))
        for line in list_warnings([answer]):
            console.print(f"  {line}", style="dim")
    console.print("The ratio's interval includes half a step of the published figure.", style="dim")


def _build_table(answer: Answer[ReferenceOverlay]) -> Table:
    found = answer.result
    window = "auto" if answer.window_bytes is None else format_bytes(answer.window_bytes)
    cell = f"{answer.streams} × {window}"
    title = f"{found.reference}, {answer.quantity}, compared with {cell}: {name_condition(answer.condition)}"
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for heading in (found.level_name, "n", "own", "interval", "published", "own / published", "interval"):
        table.add_column(heading, justify="right", overflow="fold")
    for row in found.rows:
        table.add_row(*describe_row(row))
    return table


def describe_row(row: ReferenceRow) -> tuple[str, ...]:
    """The cells of one level's row; a dash for what was not measured or not published."""
    own, shares = row.own, row.ratio_interval
    spread, limits = NOTHING, NOTHING
    if own is not None and own.interval.decided:
        spread = f"{format_rate(own.interval.low)} to {format_rate(own.interval.high)}"
    if shares.low is not None and shares.high is not None:
        limits = f"{shares.low:.3g} to {shares.high:.3g}"
    return (
        f"{row.level:g}",
        NOTHING if own is None else str(own.n),
        NOTHING if own is None else format_rate(own.median),
        spread,
        NOTHING if row.reference_bits_per_s is None else format_rate(row.reference_bits_per_s),
        NOTHING if row.ratio is None else f"{row.ratio:.3g}",
        limits,
    )
