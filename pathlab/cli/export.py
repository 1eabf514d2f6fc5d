"""``pathlab export RESULTS``: stored results in the formats of other programs."""

from __future__ import annotations

from pathlib import Path

import click

from pathlab.errors import UsageError
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
    """Write the trials (none named: all) in the format ``name``, and print where it went."""
    if not timestamps and name != "openmetrics":
        raise UsageError("--no-timestamps is for --format openmetrics", hint="leave it out")
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
