"""``pathlab export RESULTS``."""

from __future__ import annotations

import click

from pathlab.cli.commands.checks import check_place, check_stored
from pathlab.cli.commands.declaration import PATH, RESULTS, declare, option
from pathlab.cli.commands.names import EXPORT_FORMATS

command = declare(
    "export",
    "export.export",
    """Write RESULTS, a results folder or its results.db, in another format, and print where it went.

    What was not measured stays empty. docs/COLUMNS.md says what every column means. Trials without the series
    that a format needs are left out and counted on standard error. flent takes the receiver's intervals,
    iperf3 those of the end that it would run on; where that end kept none, those of the other end are taken
    and named.
    """,
    RESULTS,
    option("--format", "name", type=click.Choice(EXPORT_FORMATS), required=True, help="What to write."),
    option(
        "--out",
        type=PATH,
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
    checks=(check_stored, check_place("--out")),
)
