"""Finished trials on a terminal: a line on each, and a table of the cells so far."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from pathlab.campaign.factors import ALWAYS_GIVEN, format_levels
from pathlab.printed_table import GAP, PrintedTable
from pathlab.quantities import Format
from pathlab.report.base.phrases import format_bounded_time, format_interval
from pathlab.report.trials.trial_notes import format_increase
from pathlab.store.flags import Flag, Status
from pathlab.store.records import TrialRecord
from pathlab.store.results import Results
from pathlab.study.base.answer import measure_bounded_records, measure_records
from pathlab.study.base.selection import LAB_FLAGS, PATH_FLAGS, PROVISIONAL_FLAGS, is_counted
from pathlab.study.flows.streams import find_drtt_bound, measure_drtt
from pathlab.table_columns import TableColumn
from pathlab.units import NOT_MEASURED, format_bytes, format_frequency, format_rate, format_ratio, format_time

CELLS_SHOWN = 10
#: What a row of the plan carries.
STREAM, MESSAGES, UDP = "stream", "messages", "udp"
RUNNING_COLUMNS = (
    TableColumn("path", priority=3, left=True, constant="{}"),
    TableColumn("combination", left=True, wraps=True),
    TableColumn("other levels", priority=4, left=True, constant="{}"),
    TableColumn("n", priority=1),
    TableColumn("median"),
    TableColumn("95 % CI", priority=2),
    TableColumn("loss"),
    TableColumn("dRTT"),
    TableColumn("round trip"),
    TableColumn("p99"),
)
ADDRESSES = ("source_address", "destination_address", "control")


def format_combination(streams: int, window_bytes: int | None) -> str:
    """``8 × 64 KiB``: streams and window as people say them."""
    return f"{streams} × {format_bytes(window_bytes) if window_bytes is not None else 'auto'}"


def describe_levels(settings: Mapping[str, Any]) -> str:
    """The other factors of a row, such as ``congestion=bbr dscp=8``, but for those left to the system."""
    others = {
        name: level
        for name, level in settings.items()
        if name not in (*ALWAYS_GIVEN[:2], *ADDRESSES) and level is not None
    }
    return " ".join(f"{key}={text}" for key, text in format_levels(others).items())


def is_of_messages(settings: Mapping[str, Any]) -> bool:
    """Whether a row of the plan carries messages rather than a stream of bytes."""
    return settings.get("message_bytes") is not None


def carries_datagrams(settings: Mapping[str, Any]) -> bool:
    """Whether a row of the plan carries datagrams, and no messages."""
    return settings.get("transport") == "udp" and not is_of_messages(settings)


def describe_message_levels(settings: Mapping[str, Any], varied: Collection[str]) -> str:
    """The varied factors of a row of messages, the size first: ``message=64 B batch=8 KiB``."""
    shown = {name: settings[name] for name in ("message_bytes", *settings) if name in varied}
    given = {name: level for name, level in shown.items() if level is not None and name not in ADDRESSES}
    return " ".join(f"{key}={text}" for key, text in format_levels(given).items())


def format_trial_line(record: TrialRecord, settings: Mapping[str, Any], varied: Collection[str] = ()) -> str:
    """One line on a finished trial; ``varied``: the factors that one of messages names."""
    path = f"{record.path_source} to {record.path_destination}"
    if is_of_messages(settings):
        what = GAP.join(filter(None, [path, describe_message_levels(settings, varied)]))
    else:
        cell = format_combination(record.streams, record.window_requested_bytes)
        others = describe_levels(settings) if len(settings) > len(ALWAYS_GIVEN) else ""
        what = f"{path}  {cell:>12}{'  ' if others else ''}{others}"
    if record.status != Status.COMPLETE:
        return f"{what}  {record.status}: {record.failure}"
    rate = format_rate(record.throughput_bits_per_s)
    delay = format_increase(measure_drtt(record), find_drtt_bound(record))
    if is_of_messages(settings):
        rate, delay = format_frequency(record.messages_per_s), ""
        if record.round_trip_median_ns is not None:
            median, p99 = format_time(record.round_trip_median_ns), format_time(record.round_trip_p99_ns)
            delay = f"round trip {median}, p99 {p99}"
    elif carries_datagrams(settings):
        delay = f"loss {_describe_loss([record])}"
    marks = [flag for flag in record.flags if flag != Flag.LAB]
    return f"{what}  {rate:>12}{f'  {delay}' if delay else ''}  {', '.join(marks)}".rstrip()


class RunningTable:
    """Throughput and dRTT per cell so far, of messages their rate and round trips: medians of usable trials.
    Of UDP flows also the loss; their host-limited trials are usable.

    Where none is usable, provisional ones are shown, and said to be. ``varied``: the factors that name a cell
    of messages.
    """

    def __init__(self, varied: Collection[str] = ()) -> None:
        self._varied = varied
        self._cells: dict[tuple[str, str, str, str], list[TrialRecord]] = {}

    def add(self, record: TrialRecord, settings: Mapping[str, Any]) -> None:
        """Take a complete trial; its cell moves to the end."""
        control = ["control"] if settings.get("control") else []  # it belongs to no cell
        combination = format_combination(record.streams, record.window_requested_bytes)
        others, kind = describe_levels(settings), UDP if carries_datagrams(settings) else STREAM
        if is_of_messages(settings):
            combination, others = describe_message_levels(settings, self._varied), ""
            kind = MESSAGES
        key = (
            f"{record.path_source} to {record.path_destination}",
            combination,
            " ".join([*filter(None, [others]), *control]),
            kind,
        )
        self._cells[key] = [*self._cells.pop(key, []), record]

    def add_stored(self, folder: Path) -> None:
        with Results.open(folder) as results:
            settings = {row.row: row.settings for row in results.plan()}
            for record in results.records(status=Status.COMPLETE):
                self.add(record, settings[record.plan_row])

    def build(self) -> PrintedTable | None:
        """The cells measured last; None before the first."""
        rows = []
        for key, records in list(self._cells.items())[-CELLS_SHOWN:]:
            *names, kind = key
            of_messages = kind == MESSAGES
            flags, least_flags = (PATH_FLAGS, PROVISIONAL_FLAGS) if kind == STREAM else (LAB_FLAGS, ())
            counted, mark = [record for record in records if is_counted(record, flags)], ""
            if not counted:
                counted = [record for record in records if is_counted(record, least_flags)]
                mark = " provisional" * bool(counted)
            formatter: Format = format_frequency if of_messages else format_rate
            column = "messages_per_s" if of_messages else "throughput_bits_per_s"
            rate = measure_records(getattr(record, column) for record in counted)
            bounds, interval = "", rate.interval
            if interval.decided and not mark:
                bounds = format_interval(interval, formatter)
            n = (str(rate.n) if rate.n == len(records) else f"{rate.n} of {len(records)}") + mark
            loss = _describe_loss(counted) if kind == UDP else ""
            delays = _describe_round_trips(counted) if of_messages else (_describe_drtt(counted), "", "")
            rows.append((*names, n, formatter(rate.median), bounds, loss, *delays))
        return PrintedTable(columns=RUNNING_COLUMNS, rows=rows, explains=False) if rows else None


def _describe_loss(records: Sequence[TrialRecord]) -> str:
    """Lost of the datagrams sent, over all of the trials that counted them."""
    counts = [(record.udp_lost_packets, record.udp_sent_packets) for record in records]
    known = [(lost, sent) for lost, sent in counts if lost is not None and sent]
    return (
        format_ratio(sum(lost for lost, _ in known) / sum(sent for _, sent in known))
        if known
        else NOT_MEASURED
    )


def _describe_drtt(records: Sequence[TrialRecord]) -> str:
    result = measure_bounded_records(records, measure_drtt, find_drtt_bound)
    return format_bounded_time(result.median, result.above_ns)


def _describe_round_trips(records: Sequence[TrialRecord]) -> tuple[str, str, str]:
    """No dRTT, and median and p99 of the trials that kept their offered rate."""
    kept = [record for record in records if Flag.RATE_MISSED not in record.flags]
    medians = measure_records(record.round_trip_median_ns for record in kept)
    p99 = measure_records(record.round_trip_p99_ns for record in kept)
    return "", format_time(medians.median), format_time(p99.median)
