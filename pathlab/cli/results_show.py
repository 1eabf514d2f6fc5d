"""``pathlab results show``: a campaign's combinations and trials, some at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from pathlab.printed_table import PrintedParagraph, PrintedTable
from pathlab.report.base.names import format_utc
from pathlab.report.base.phrases import format_bounded_time
from pathlab.report.base.rate_findings import describe_rate_findings
from pathlab.report.base.rate_text import format_median
from pathlab.report.base.trial_flags import PROVISIONAL, PROVISIONAL_EXPLANATION
from pathlab.report.lossless.lossless_text import describe_lossless_rates
from pathlab.report.messages.message_table import choose_message_trials
from pathlab.store.capture_files import StoredCapture
from pathlab.store.flags import Flag
from pathlab.store.imported_trial import NOTES
from pathlab.store.overview import Counts, TrialLine, count_stored_trials, stream_lines
from pathlab.store.records import OriginRecord
from pathlab.store.results import Results
from pathlab.study.analyses import StudiedResults
from pathlab.study.base.answer import measure_rates, measure_spread
from pathlab.study.base.cells import Cell, MeasuredCondition
from pathlab.table_columns import TableColumn
from pathlab.units import (
    NOT_MEASURED,
    format_bytes,
    format_frequency,
    format_rate,
    format_ratio,
    format_time,
    format_volume,
    format_window,
)

COMBINATIONS = (
    TableColumn("Path", priority=2, left=True, constant="{}"),
    TableColumn("Combination", left=True),
    TableColumn("Settings", priority=3, wraps=True, constant="{}"),
    TableColumn("Complete", priority=4),
    TableColumn("Not complete", priority=5),
    TableColumn("n", priority=1),
    TableColumn("Throughput"),
    TableColumn("Messages", priority=1),
)
TRIALS = (
    TableColumn("Trial"),
    TableColumn("Cycle", priority=4),
    TableColumn("Streams"),
    TableColumn("Window"),
    TableColumn("Throughput"),
    TableColumn("Messages", priority=1),
    TableColumn("Round trip", priority=1),
    TableColumn("p99", priority=2),
    TableColumn("UDP loss", priority=1),
    TableColumn("Jitter", priority=3),
    TableColumn("Loaded RTT", priority=1),
    TableColumn("Path", priority=5, left=True, constant="{}"),
    TableColumn("Status", priority=2, wraps=True, constant="all {}"),
)

COUNT = [column.heading for column in COMBINATIONS].index("n")
#: Flags that change what a throughput means; they stand alongside the status.
SHOWN_FLAGS = (Flag.RATE_MISSED, Flag.SENDER_COUNTED, Flag.TOTAL_COMPUTED, Flag.TOTALS_DIFFER)
MESSAGES_NOTE = "For messages, host-limited trials are usable too."


def print_json_overview(results: Path) -> None:
    """Print the campaign, and counts of trials, as one JSON document."""
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
            "captures": [
                {**asdict(capture), "path": str(capture.path), "exists": capture.path.is_file()}
                for capture in stored.captures()
            ],
            "origins": [asdict(origin) for origin in stored.origins().values()],
            "size_bytes": stored.path.stat().st_size,
        }
    click.echo(json.dumps(document, indent=2))


def print_overview(results: Path, console: Console, *, limit: int | None, offset: int) -> None:
    """Print the campaign, at most ``limit`` combinations (None: all), and as many trials after ``offset``.

    Combinations are left out where trials are skipped.
    """
    with StudiedResults.open(results, hold=True) as stored:
        counts = count_stored_trials(stored)
        for line in _describe_campaign(stored, counts):
            console.print(PrintedParagraph(line))
        if offset == 0 and counts.trials:
            rates = describe_lossless_rates(stored)
            for text in (*rates, *describe_rate_findings(stored, stored.conditions())):
                console.print(PrintedParagraph(text, "bold"))
            if stored.conditions() or not rates:
                _print_combinations(stored.conditions(), limit, console)
        _print_trials(stored, counts, limit, offset, console)


def _describe_campaign(stored: Results, counts: Counts) -> Iterator[str]:
    campaign = stored.campaign
    yield f"{campaign.title} ({campaign.name})"
    yield (
        f"created {format_utc(campaign.created_utc)} by PathLab {campaign.program_version}; "
        f"format {stored.format_version}; {format_volume(stored.path.stat().st_size)}"
    )
    done = counts.planned - counts.unfinished
    statuses = ", ".join(f"{count:,} {status}" for status, count in counts.by_status.items())
    yield f"{done:,} of {counts.planned:,} planned rows have a result; trials: {statuses or 'none'}"


def _print_combinations(conditions: Sequence[MeasuredCondition], limit: int | None, console: Console) -> None:
    every = [(condition, cell) for condition in conditions for cell in condition.all_cells]
    shown = every[:limit]
    rows = [_format_combination(*item) for item in shown]
    console.print()
    PrintedTable(columns=COMBINATIONS, rows=rows).print_to(console)
    if len(shown) < len(every):
        console.print(f"Combinations 1 to {len(shown):,} of {len(every):,}; all: --limit 0.")
    note = (
        "Throughput: median of the n usable trials (complete, windows and congestion control as requested, "
        "not host-stalled, host-limited or lab-limited)."
    )
    if any(row[COUNT].endswith(PROVISIONAL) for row in rows):
        note = f"{note} {PROVISIONAL_EXPLANATION}"
    if any(condition.key.is_of_messages for condition in conditions):
        note = f"{note} {MESSAGES_NOTE}"
    console.print(PrintedParagraph(note))


def _print_trials(stored: Results, counts: Counts, limit: int | None, offset: int, console: Console) -> None:
    console.print()
    trials = counts.trials
    if offset >= trials:
        stored_text = f"No trial is left after --offset {offset}: {trials:,} are stored."
        console.print(stored_text if trials else "No trial is stored.")
        return
    rows: list[tuple[str, ...]] = []  # all of them: one table has one layout
    numbers = range(0)
    for lines in stream_lines(stored, limit=limit, offset=offset):
        first = numbers.start if rows else lines[0].trial_id
        numbers = range(first, lines[-1].trial_id + 1)
        rows += map(_format_trial, lines)
    PrintedTable(columns=TRIALS, rows=rows).print_to(console)
    shown = len(rows)
    for number, origin in stored.origins(numbers).items():
        version = f" {origin.program_version}" if origin.program_version else ""
        text = f"{number}: {origin.program}{version}, {origin.part} of {origin.file_name}"
        console.print(PrintedParagraph(f"trial {text} (SHA-256 begins with {origin.file_sha256[:12]})"))
        for note in _list_notes(origin):
            console.print(PrintedParagraph(f"trial {number}: note: {note}"))
    for capture in stored.captures(numbers):
        console.print(PrintedParagraph(_format_capture(capture)))
    if shown < trials:
        last = offset + shown
        following = f"next: --offset {last}; " if last < trials else ""
        console.print(f"Trials {offset + 1:,} to {last:,} of {trials:,}; {following}all: --limit 0.")


def _list_notes(origin: OriginRecord) -> list[str]:
    """What was left out of a file, or contradicts itself there; of any stored text, however it came there."""
    notes = origin.details.get(NOTES)
    return [str(note) for note in notes] if isinstance(notes, list) else []


def _format_capture(capture: StoredCapture) -> str:
    name = f"{capture.path.parent.name}/{capture.path.name}"
    dropped = f", {capture.dropped_packets:,} dropped" if capture.dropped_packets else ""
    gone = "" if capture.path.is_file() else "; the file was deleted"
    return f"trial {capture.trial_id}: capture {name}, {capture.packets or 0:,} packets{dropped}{gone}"


def _format_combination(condition: MeasuredCondition, cell: Cell) -> tuple[str, ...]:
    shown, provisional = cell.shown, cell.is_provisional
    if condition.key.is_of_messages:
        shown, provisional = choose_message_trials(cell)
    return (
        condition.path,
        cell.name,
        ", ".join(f"{name} {level}" for name, level in condition.settings.items()),
        f"{len(cell.complete):,}",
        f"{cell.failed:,}",
        f"{len(shown):,}{PROVISIONAL if provisional else ''}",
        format_median(measure_rates(shown.rates_bits_per_s)),
        format_frequency(measure_spread(shown.get("messages_per_s")).median),
    )


def _format_loss(line: TrialLine) -> str:
    """Lost of the datagrams sent."""
    sent, lost = line.udp_sent_packets, line.udp_lost_packets
    if not sent or lost is None:
        return NOT_MEASURED
    return f"{lost} of {sent} ({format_ratio(lost / sent)})"


def _format_trial(line: TrialLine) -> tuple[str, ...]:
    return (
        str(line.trial_id),
        str(line.cycle + 1),
        str(line.streams),
        format_window(line.window_requested_bytes),
        format_rate(line.throughput_bits_per_s),
        format_frequency(line.messages_per_s),
        format_time(line.round_trip_median_ns),
        format_time(line.round_trip_p99_ns),
        _format_loss(line),
        format_time(line.udp_jitter_ns),
        ""
        if line.messages_per_s is not None
        else format_bounded_time(line.loaded_rtt_median_ns, line.loaded_rtt_median_above_ns),
        f"{line.path_source} → {line.path_destination}",
        _format_status(line),
    )


def _format_status(line: TrialLine) -> str:
    if line.failure is not None:
        return f"{line.status}: {line.failure}"
    missing = f", {format_bytes(line.undelivered_bytes)} undelivered" if line.undelivered_bytes else ""
    flags = "".join(f", {flag}" for flag in SHOWN_FLAGS if flag in line.flags)
    return f"{line.status}{missing}{flags}"
