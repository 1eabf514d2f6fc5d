"""``pathlab report RESULTS``: the report of stored results, in one form or several, or one figure of it."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from pathlab.cli.figures import write_single
from pathlab.errors import UsageError
from pathlab.report.page.answer import answer_paths
from pathlab.report.page.document import arrange_report, gather_material
from pathlab.report.page.forms import FORMS, choose_forms, place_form
from pathlab.report.page.notices import list_notices
from pathlab.report.page.terminal import render_summary
from pathlab.study.analyses import StudiedResults


@click.command(name="report")
@click.argument("results", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(list(FORMS)),
    help="Form of the report; may be repeated. Default: as --out ends, else html.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File to write; default: report.html (.pdf, .md, .json) beside the results.",
)
@click.option(
    "--figure",
    metavar="NAME",
    help="Write this figure alone (.svg, .pdf, .png; .csv: its numbers); 'list' names them all.",
)
@click.option(
    "--style", type=click.Path(path_type=Path), help="matplotlib style sheet that --figure is drawn with."
)
@click.option("--quiet", is_flag=True, help="Print the paths of what was written only.")
def command(
    results: Path,
    formats: tuple[str, ...],
    out: Path | None,
    figure: str | None,
    style: Path | None,
    quiet: bool,
) -> None:
    """Write the report of RESULTS, a results folder or its results.db, and print its path last."""
    if figure is None and style is not None:
        raise UsageError("--style is for a single figure", hint="give --figure NAME as well")
    if figure is not None and formats:
        raise UsageError("--figure takes its form from --out", hint="leave --format out: --out FILE.svg")
    with StudiedResults.open(results) as stored:
        if figure is not None:
            write_single(stored, figure, out, style)
            return
        _write_reports(stored, choose_forms(formats, out), out, quiet=quiet)


def _write_reports(stored: StudiedResults, forms: tuple[str, ...], out: Path | None, *, quiet: bool) -> None:
    console = Console(quiet=quiet, highlight=False)
    places = {name: place_form(name, stored.path.parent, out, several=len(forms) > 1) for name in forms}
    material = gather_material(stored)
    render_summary(material.summary, answer_paths(material), list_notices(material.summary), console)
    report = arrange_report(material)
    console.print("\nReport:")
    for name, place in places.items():
        click.echo(str(FORMS[name].write(report, place)))
