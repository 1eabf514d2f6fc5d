"""``pathlab report RESULTS``: the report of stored results, in one form or several, or one figure of it."""

from __future__ import annotations

from pathlib import Path

import click

from pathlab.cli.console import TerminalConsole
from pathlab.cli.figures import write_single
from pathlab.errors import UsageError
from pathlab.report.formats.forms import FORMS, choose_forms, place_form
from pathlab.report.formats.terminal import render_summary
from pathlab.report.report_builder import arrange_report, gather_inputs
from pathlab.report.sections.notices import list_notices
from pathlab.study.analyses import StudiedResults


def write_report(
    results: Path,
    formats: tuple[str, ...],
    out: Path | None,
    *,
    figure: str | None,
    style: Path | None,
    quiet: bool,
) -> None:
    """Write the report in the forms named (none: as ``out`` ends), or one figure, and print their paths."""
    if figure is None and style is not None:
        raise UsageError("--style is for a single figure", hint="give --figure NAME as well")
    if figure is not None and formats:
        raise UsageError("--figure takes its form from --out", hint="leave --format out: --out FILE.svg")
    with StudiedResults.open(results) as stored:
        if figure is not None:
            write_single(stored, figure, out, style)
        else:
            _write_forms(stored, choose_forms(formats, out), out, quiet=quiet)


def _write_forms(stored: StudiedResults, forms: tuple[str, ...], out: Path | None, *, quiet: bool) -> None:
    console = TerminalConsole(quiet=quiet)
    places = {name: place_form(name, stored.path.parent, out, several=len(forms) > 1) for name in forms}
    inputs = gather_inputs(stored)
    render_summary(inputs.summary, inputs.study.recommend(), list_notices(inputs.summary), console)
    report = arrange_report(inputs)
    console.print("\nReport:")
    for name, place in places.items():
        click.echo(str(FORMS[name].write(report, place)))
