"""What ``pathlab inspect`` prints and writes of an inspection."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from pathlab.cli.console import TerminalConsole
from pathlab.errors import UsageError
from pathlab.printed_table import PrintedParagraph, PrintedTable
from pathlab.report.captures.inspection import CONNECTION_COLUMNS, build_inspection
from pathlab.report.captures.inspection_figures import plot_connection
from pathlab.report.captures.inspection_text import (
    CHECK_COLUMNS,
    describe_capture,
    list_connection_facts,
    list_left_out,
)
from pathlab.report.formats.forms import FORMS, choose_forms, place_form
from pathlab.report.plots.printed import write_figure
from pathlab.study.captures.inspection import InspectedCapture, Inspection
from pathlab.table_columns import list_rows

STEM = "inspection"


def show_inspection(
    found: Inspection, formats: Sequence[str], out: Path | None, figure: Path | None, *, quiet: bool
) -> None:
    """Print the inspection, write it in the forms named, and draw its first figure into ``figure``."""
    forms = choose_forms(formats, out) if formats or out is not None else ()
    places = {name: _place(name, out, several=len(forms) > 1) for name in forms}
    _print_inspection(found, TerminalConsole(quiet=quiet))
    drawn = figure is not None and _draw(found, figure)
    if drawn:
        click.echo(str(figure))
    if places:
        report = build_inspection(found)
        for name, place in places.items():
            click.echo(str(FORMS[name].write(report, place)))
    if figure is not None and not drawn:
        raise UsageError(
            f"'{figure}' was not written: there is no TCP connection to draw", hint="leave --figure out"
        )


def _place(name: str, out: Path | None, *, several: bool) -> Path:
    """As of a report, but named ``inspection`` where a folder, or nothing, is named."""
    if out is None or out.is_dir():
        return (out or Path()) / f"{STEM}{FORMS[name].ending}"
    return place_form(name, Path(), out, several=several)


def _draw(found: Inspection, figure: Path) -> bool:
    """Draw the first connection; False: there is none."""
    chosen = next((capture.chosen for capture in found.captures if capture.chosen is not None), None)
    if chosen is not None:
        write_figure(next(plot_connection(chosen, "", "")), figure)
    return chosen is not None


def _print_inspection(found: Inspection, console: Console) -> None:
    for number, capture in enumerate(found.captures):
        if number:
            console.print()
        _print_capture(capture, console)
    if found.checks:
        console.print()
        rows = list_rows(CHECK_COLUMNS, found.checks)
        title = "Sender's capture against the engine's counters"
        PrintedTable(columns=CHECK_COLUMNS, rows=rows, title=title).print_to(console)


def _print_capture(capture: InspectedCapture, console: Console) -> None:
    name = f"{capture.end.capitalize()}'s end" if capture.end else capture.facts.path.name
    console.print(PrintedParagraph(f"{name}: {describe_capture(capture)}", "bold"))
    if capture.chosen is not None:
        console.print(PrintedParagraph(f"Flow {capture.chosen.flow.number}: {capture.chosen.name}"))
        facts = list(list_connection_facts(capture.chosen))
        width = max(len(label) for label, _ in facts)
        for label, text in facts:
            console.print(PrintedParagraph(text, mark=f"  {label:<{width}}  "))
    if len(capture.connections) > 1:
        console.print()
        PrintedTable(
            columns=CONNECTION_COLUMNS,
            rows=list_rows(CONNECTION_COLUMNS, capture.connections),
            title="TCP connections",
            elsewhere="--format json",
        ).print_to(console)
        for sentence in list_left_out(capture):
            console.print(PrintedParagraph(sentence, "dim"))
    for notice in capture.notices:
        console.print(PrintedParagraph(notice.text, "bold yellow", mark="! "))
