"""``pathlab export RESULTS``."""

from __future__ import annotations

from pathlib import Path

import click

from pathlab.cli.commands.names import EXPORT_FORMATS
from pathlab.cli.commands.options import PATH
from pathlab.errors import UsageError


@click.command(name="export")
@click.argument("results", type=PATH)
@click.option("--format", "name", type=click.Choice(EXPORT_FORMATS), required=True, help="What to write.")
@click.option(
    "--out",
    type=PATH,
    help="File (jsonl, hdr, openmetrics) or folder (the others) to make; default: beside the results.",
)
@click.option("--trial", "trials", type=int, multiple=True, help="Number of a trial; may be repeated.")
@click.option(
    "--series/--no-series", default=True, show_default=True, help="Series too (parquet, csv, jsonl)."
)
@click.option(
    "--timestamps/--no-timestamps",
    default=True,
    show_default=True,
    help="openmetrics: when each trial began. Prometheus' backfill wants them, node_exporter refuses them.",
)
def command(
    results: Path, name: str, out: Path | None, trials: tuple[int, ...], series: bool, timestamps: bool
) -> None:
    """Write RESULTS, a results folder or its results.db, in another format, and print where it went.

    What was not measured stays empty. docs/COLUMNS.md says what every column means. Trials without the series
    that a format is made of are left out and counted on standard error.
    """
    if not timestamps and name != "openmetrics":
        raise UsageError("--no-timestamps is for --format openmetrics", hint="leave it out")
    from pathlab.cli import export as action

    action.export(results, name, out, trials, with_series=series, timestamps=timestamps)
