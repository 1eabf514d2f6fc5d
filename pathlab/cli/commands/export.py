"""Write stored results in another format."""

from __future__ import annotations

from pathlib import Path

import click

from pathlab.cli.declaration import RESULTS, declare, option
from pathlab.cli.deferred import DeferredImports
from pathlab.cli.values import WRITABLE_PATH
from pathlab.errors import UsageError
from pathlab.store.exporters import FORMAT_NAMES

with DeferredImports() as libraries:
    from pathlab.report.base.names import enumerate_numbers
    from pathlab.store.exporting import ExportFormat, load_format, select_trials
    from pathlab.store.results import Results


OTHER_END = {"sender_intervals": "receiver", "receiver_intervals": "sender"}


def export(
    results: Path,
    name: str,
    out: Path | None,
    trials: tuple[int, ...],
    *,
    with_series: bool,
    timestamps: bool,
) -> None:
    """Write RESULTS, a results folder or its results.db, in another format, and print where it went.

    What was not measured stays empty. docs/COLUMNS.md says what every column means. Trials without the series
    that a format needs are left out and counted on standard error. flent takes the receiver's intervals,
    iperf3 those of the end that it would run on; where that end kept none, those of the other end are taken
    and named.
    """
    if not timestamps and name != "openmetrics":
        raise UsageError("--no-timestamps is for --format openmetrics", hint="leave it out")
    libraries.load()
    chosen = load_format(name)
    with Results.open(results) as stored:
        target = out or stored.folder.parent / f"{stored.folder.resolve().name}{chosen.ending}"
        selection = select_trials(stored, trials, with_series=with_series, with_timestamps=timestamps)
        chosen.export(selection, target)
        left_out = chosen.list_left_out(selection)
        if left_out:
            count = f"{len(left_out)} of {len(selection.trials)} trials ({enumerate_numbers(left_out)})"
            click.echo(f"Left out: {count}, {_name_reason(chosen)}.", err=True)
        for kind, numbers in chosen.list_instead(selection).items():
            end, other = kind.removesuffix("_intervals"), OTHER_END[kind]
            count = f"{len(numbers)} of {len(selection.trials)} trials ({enumerate_numbers(numbers)})"
            click.echo(f"Intervals of the {end}: {count}, whose {other} kept none.", err=True)
    click.echo(str(target))


def _name_reason(chosen: ExportFormat) -> str:
    """Why trials are not in a file of this format."""
    if chosen.usable:
        return "which failed or bear a flag that excludes them"
    return f"which kept no {' or '.join((', '.join(chosen.needs[:-1]), chosen.needs[-1]))}"


command = declare(
    "export",
    export,
    RESULTS,
    option("--format", "name", type=click.Choice(FORMAT_NAMES), required=True, help="What to write."),
    option(
        "--out",
        type=WRITABLE_PATH,
        help="File (jsonl, hdr, openmetrics) or folder (the others) to make; default: next to the results.",
    ),
    option("--trial", "trials", type=int, multiple=True, help="Number of a trial; may be repeated."),
    option("--series/--no-series", "with_series", default=True, help="Series too (parquet, csv, jsonl)."),
    option(
        "--timestamps/--no-timestamps",
        default=True,
        help="openmetrics: each trial with its start, for Prometheus' backfill; without: the medians of "
        "each path and setting, for node_exporter (docs/MONITORING.md).",
    ),
)
