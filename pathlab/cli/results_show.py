"""``pathlab results show``: a campaign's combinations and trials, some at a time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from pathlab.escaping import escape_line
from pathlab.report.names import format_utc
from pathlab.store.overview import Counts, TrialLine, count_stored_trials, stream_lines
from pathlab.store.results import Results
from pathlab.study.analyses import StudiedResults
from pathlab.study.answer import measure_spread
from pathlab.study.cells import Cell, MeasuredCondition
from pathlab.units import (
    NOT_MEASURED,
    format_bytes,
    format_rate,
    format_ratio,
    format_time,
    format_volume,
    format_window,
)

COMBINATION_HEADINGS = ("Path", "Complete", "Not complete", "n", "Throughput", "Combination")
TRIAL_HEADINGS = ("Trial", "Cycle", "Streams", "Window", "Throughput", "Loaded RTT", "Path", "Status")
UDP_HEADINGS = ("UDP loss", "Jitter")  # after the throughput, where a trial sent datagrams
LEFT = ("Combination", "Path", "Status")
GAP = "  "


class Columns:
    """Rows printed under headings as they come, aligned by the widest cell so far."""

    def __init__(self, headings: Sequence[str]) -> None:
        self._left = [heading in LEFT for heading in headings]
        self._headings = headings
        self._widths = [len(heading) for heading in headings]
        self._begun = False

    def print_rows(self, rows: Sequence[Sequence[str]]) -> None:
        cells = [[escape_line(cell) for cell in row] for row in rows]
        columns = zip(self._headings, *cells, strict=True)
        self._widths = [
            max(width, *map(len, column)) for width, column in zip(self._widths, columns, strict=True)
        ]
        for row in cells if self._begun else (self._headings, *cells):
            click.echo(self._align(row))
        self._begun = True

    def _align(self, row: Sequence[str]) -> str:
        cells = zip(row, self._widths, self._left, strict=True)
        return GAP.join(
            cell.ljust(width) if left else cell.rjust(width) for cell, width, left in cells
        ).rstrip()


def show(results: Path, limit: int, offset: int, *, as_json: bool) -> None:
    """Print what the results hold: as JSON, or some combinations and trials (``limit`` 0: all) as tables."""
    if as_json:
        _print_json(results)
    else:
        print_overview(results, limit=limit or None, offset=offset)


def _print_json(results: Path) -> None:
    with Results.open(results) as stored:
        counts = count_stored_trials(stored)
        document = {
            "path": str(stored.path),
            "format_version": stored.format_version,
            "campaign": {
                key: getattr(stored.campaign, key)
                for key in ("name", "title", "digest", "created_utc", "program_version")
            },
            "planned": counts.planned,
            "unfinished": counts.unfinished,
            "trials": dict(counts.by_status),
            "origins": [asdict(origin) for origin in stored.origins().values()],
            "size_bytes": stored.path.stat().st_size,
        }
    click.echo(json.dumps(document, indent=2))


def print_overview(results: Path, *, limit: int | None, offset: int) -> None:
    """Print the campaign, at most ``limit`` combinations (None: all), and as many trials after ``offset``.

    Combinations are left out where trials are skipped.
    """
    with StudiedResults.open(results) as stored:
        counts = count_stored_trials(stored)
        _print_head(stored, counts)
        if offset == 0 and counts.trials:
            _print_combinations(stored.conditions(), limit)
        _print_trials(stored, counts, limit, offset)


def _print_head(stored: Results, counts: Counts) -> None:
    campaign = stored.campaign
    click.echo(escape_line(f"{campaign.title} ({campaign.name})"))
    click.echo(
        f"created {format_utc(campaign.created_utc)} by PathLab {campaign.program_version}; "
        f"format {stored.format_version}; {format_volume(stored.path.stat().st_size)}"
    )
    done = counts.planned - counts.unfinished
    statuses = ", ".join(f"{count:,} {status}" for status, count in counts.by_status.items())
    click.echo(f"{done:,} of {counts.planned:,} planned rows have a result; trials: {statuses or 'none'}")


def _print_combinations(conditions: Sequence[MeasuredCondition], limit: int | None) -> None:
    every = [(condition, cell) for condition in conditions for cell in condition.all_cells]
    shown = every[:limit]
    click.echo()
    Columns(COMBINATION_HEADINGS).print_rows([_format_combination(*one) for one in shown])
    if len(shown) < len(every):
        click.echo(f"Combinations 1 to {len(shown):,} of {len(every):,}; all: --limit 0.")
    click.echo(
        "Throughput: median of the n usable trials (complete, windows and congestion control as requested, "
        "neither host-limited nor lab-limited)."
    )


def _print_trials(stored: Results, counts: Counts, limit: int | None, offset: int) -> None:
    click.echo()
    trials = counts.trials
    if offset >= trials:
        stored_text = f"No trial is left after --offset {offset}: {trials:,} are stored."
        click.echo(stored_text if trials else "No trial is stored.")
        return
    headings = (*TRIAL_HEADINGS[:5], *(UDP_HEADINGS if counts.udp else ()), *TRIAL_HEADINGS[5:])
    columns, shown, numbers = Columns(headings), 0, range(0)
    for lines in stream_lines(stored, limit=limit, offset=offset):
        columns.print_rows([_format_trial(line, udp=counts.udp) for line in lines])
        first = numbers.start if shown else lines[0].trial_id
        numbers, shown = range(first, lines[-1].trial_id + 1), shown + len(lines)
    for number, origin in stored.origins(numbers).items():
        version = f" {origin.program_version}" if origin.program_version else ""
        text = f"{number}: {origin.program}{version}, {origin.part} of {origin.file_name}"
        click.echo(escape_line(f"trial {text} (SHA-256 {origin.file_sha256[:12]}…)"))
    if shown < trials:
        last = offset + shown
        following = f"next: --offset {last}; " if last < trials else ""
        click.echo(f"Trials {offset + 1:,} to {last:,} of {trials:,}; {following}all: --limit 0.")


def _format_combination(condition: MeasuredCondition, cell: Cell) -> tuple[str, ...]:
    return (
        condition.path,
        f"{len(cell.complete):,}",
        f"{cell.failed:,}",
        f"{len(cell.sample):,}",
        format_rate(measure_spread(cell.sample.rates_bits_per_s).median),
        # the longest text, which may run over the end of a narrow terminal's line
        f"{cell.name} {', '.join(f'{name} {level}' for name, level in condition.settings.items())}".rstrip(),
    )


def _format_loss(line: TrialLine) -> str:
    """Lost of the datagrams sent."""
    sent, lost = line.udp_sent_packets, line.udp_lost_packets
    if not sent or lost is None:
        return NOT_MEASURED
    return f"{lost} of {sent} ({format_ratio(lost / sent)})"


def _format_trial(line: TrialLine, *, udp: bool) -> tuple[str, ...]:
    return (
        str(line.trial_id),
        str(line.cycle + 1),
        str(line.streams),
        format_window(line.window_requested_bytes),
        format_rate(line.throughput_bits_per_s),
        *((_format_loss(line), format_time(line.udp_jitter_ns)) if udp else ()),
        format_time(line.loaded_rtt_median_ns),
        f"{line.path_source} → {line.path_destination}",
        _format_status(line),
    )


def _format_status(line: TrialLine) -> str:
    if line.failure is not None:
        return f"{line.status}: {line.failure}"
    missing = f", {format_bytes(line.undelivered_bytes)} undelivered" if line.undelivered_bytes else ""
    return f"{line.status}{missing}"
