"""``pathlab report RESULTS``: write the HTML report of stored results."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from pathlab.report.findings import findings
from pathlab.report.html import write_report
from pathlab.report.summary import summarise
from pathlab.report.text import render_summary
from pathlab.store.results import Results

REPORT_NAME = "report.html"


@click.command(name="report")
@click.argument("results", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), help="File to write; default: report.html beside the results."
)
@click.option("--quiet", is_flag=True, help="Print the report's path only.")
def command(results: Path, out: Path | None, quiet: bool) -> None:
    """Write the report of RESULTS, a results folder or its results.db, and print its path last."""
    console = Console(quiet=quiet, highlight=False)
    with Results.open(results) as stored:
        summary = summarise(stored)
        render_summary(summary, findings(summary), console)
        folder = results if results.is_dir() else results.parent
        report = write_report(stored, out or folder / REPORT_NAME)
    console.print("\nReport:")
    click.echo(str(report))
