"""``pathlab export RESULTS``: stored results in the formats of other programs."""

from __future__ import annotations

from pathlib import Path

import click

from pathlab.errors import UsageError
from pathlab.store.exporters.formats import FORMATS
from pathlab.store.exporters.openmetrics import export_openmetrics
from pathlab.store.exporters.selection import select_trials
from pathlab.store.results import Results


@click.command(name="export")
@click.argument("results", type=click.Path(path_type=Path))
@click.option("--format", "name", type=click.Choice(list(FORMATS)), required=True, help="What to write.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
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

    What was not measured stays empty. docs/COLUMNS.md says what every column means.
    """
    chosen = FORMATS[name]
    if not timestamps and name != "openmetrics":
        raise UsageError("--no-timestamps is for --format openmetrics", hint="leave it out")
    with Results.open(results) as stored:
        target = out or stored.folder.parent / f"{stored.folder.resolve().name}{chosen.ending}"
        selection = select_trials(stored, trials, with_series=series)
        if name == "openmetrics":
            export_openmetrics(selection, target, timestamps=timestamps)
        else:
            chosen.export(selection, target)
    click.echo(str(target))
