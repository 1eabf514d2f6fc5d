"""``pathlab report RESULTS``."""

from __future__ import annotations

from pathlib import Path

import click

from pathlab.cli.commands.names import REPORT_FORMS
from pathlab.cli.commands.options import PATH
from pathlab.errors import UsageError


@click.command(name="report")
@click.argument("results", type=PATH)
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(REPORT_FORMS),
    help="Form of the report; may be repeated. Default: as --out ends, else html.",
)
@click.option(
    "--out", type=PATH, help="File to write; default: report.html (.pdf, .md, .json) beside the results."
)
@click.option(
    "--figure",
    metavar="NAME",
    help="Write this figure alone (.svg, .pdf, .png; .csv: its numbers); 'list' names them all.",
)
@click.option("--style", type=PATH, help="matplotlib style sheet that --figure is drawn with.")
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
    from pathlab.cli import report as action

    if figure is not None:
        action.write_figure(results, figure, out, style)
    else:
        action.write_reports(results, formats, out, quiet=quiet)
