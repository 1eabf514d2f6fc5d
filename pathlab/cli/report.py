"""``pathlab report RESULTS``: the report of stored results, in one form or several, or one figure of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import click
from rich.console import Console

from pathlab.cli.console import TerminalConsole
from pathlab.cli.figures import place_figure, write_single
from pathlab.errors import UsageError
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.formats.forms import FORMS, RESULTS_FORMS, choose_forms, load_libraries, place_form
from pathlab.report.formats.terminal import render_summary
from pathlab.report.plots.figure_look import read_look
from pathlab.report.report_builder import arrange_report, gather_inputs
from pathlab.report.runs.notices import list_notices
from pathlab.report.topics import summarise_topics
from pathlab.store.location import locate_database
from pathlab.study.analyses import StudiedResults


def write_report(
    results: tuple[Path, ...],
    formats: tuple[str, ...],
    out: Path | None,
    *,
    figure: str | None,
    style: Path | None,
    size: str | None,
    title: str | None,
    labels: tuple[str, ...],
    quiet: bool,
) -> None:
    """Write the report in the forms named (none: as ``out`` ends), or one figure, and print their paths.

    Of several results only the forms that hold whole results.
    """
    chosen = {"--style": style, "--size": size, "--title": title, "--label": labels or None}
    for option, given in chosen.items():
        if figure is None and given is not None:
            raise UsageError(f"{option} is for a single figure", hint="give --figure NAME as well")
    if figure is not None and formats:
        out = place_figure(figure, formats, out)
    if figure is not None:
        with StudiedResults.open(results[0], hold=True) as stored:
            write_single(stored, figure, out, style, read_look(size, title, labels))
        return
    if drawn := [form for form in formats if form not in (*FORMS, *RESULTS_FORMS)]:
        raise UsageError(f"--format {drawn[0]} is for a single figure", hint="give --figure NAME as well")
    forms = choose_forms(formats, out)
    folder = locate_database(results[0]).parent
    places = {name: place_form(name, folder, out, several=len(forms) > 1) for name in forms}
    load_libraries(forms)
    console = TerminalConsole(quiet=quiet)
    for number, path in enumerate(_write_forms(results, places, console)):
        if number == 0:
            console.print("Report:")
        click.echo(str(path))


def _write_forms(results: tuple[Path, ...], places: Mapping[str, Path], console: Console) -> Iterator[Path]:
    """Write each form, and print the summary where a report is among them; their paths, in their order."""
    if all(name in RESULTS_FORMS for name in places):
        for name, place in places.items():
            yield RESULTS_FORMS[name].write(results, place)
        return
    with StudiedResults.open(results[0], hold=True) as stored:
        inputs = gather_inputs(stored)
        print_summary(inputs, console)
        report = arrange_report(inputs)
        for name, place in places.items():
            if name in FORMS:
                yield FORMS[name].write(report, place)
            else:
                yield RESULTS_FORMS[name].write(results, place)


def close_run(folder: Path, console: Console | None) -> Path:
    """Write the HTML report of a run and print its summary where there is a console; the report's path."""
    with StudiedResults.open(folder) as results:
        inputs = gather_inputs(results)
        if console is not None:
            console.print()
            print_summary(inputs, console)
        return FORMS["html"].write(arrange_report(inputs), place_form("html", folder, None, several=False))


def print_summary(inputs: ReportInputs, console: Console) -> None:
    """Print the answers, tables and warnings of results."""
    render_summary(summarise_topics(inputs.study), list_notices(inputs.study), console)
