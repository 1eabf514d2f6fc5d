"""``pathlab report RESULTS``: the report of stored results, in one form or several, or one figure of it."""

from __future__ import annotations

from pathlib import Path

import click

from pathlab.cli.console import TerminalConsole
from pathlab.cli.figures import write_single
from pathlab.report.formats.forms import FORMS, choose_forms, place_form
from pathlab.report.formats.terminal import render_summary
from pathlab.report.page.answer import answer_paths
from pathlab.report.report_builder import arrange_report, gather_material
from pathlab.report.sections.notices import list_notices
from pathlab.study.analyses import StudiedResults


def write_figure(results: Path, name: str, out: Path | None, style: Path | None) -> None:
    """Write one figure of the report, as ``write_single`` does."""
    with StudiedResults.open(results) as stored:
        write_single(stored, name, out, style)


def write_reports(results: Path, formats: tuple[str, ...], out: Path | None, *, quiet: bool) -> None:
    """Print the summary, write the report in the forms named (none: as ``out`` ends), print their paths."""
    with StudiedResults.open(results) as stored:
        _write_reports(stored, choose_forms(formats, out), out, quiet=quiet)


def _write_reports(stored: StudiedResults, forms: tuple[str, ...], out: Path | None, *, quiet: bool) -> None:
    console = TerminalConsole(quiet=quiet)
    places = {name: place_form(name, stored.path.parent, out, several=len(forms) > 1) for name in forms}
    material = gather_material(stored)
    render_summary(material.summary, answer_paths(material), list_notices(material.summary), console)
    report = arrange_report(material)
    console.print("\nReport:")
    for name, place in places.items():
        click.echo(str(FORMS[name].write(report, place)))
