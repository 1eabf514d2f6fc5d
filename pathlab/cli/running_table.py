"""Finished trials on a terminal: a line on each, and a table of the cells so far."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pathlab.campaign.factors import ALWAYS_GIVEN, format_levels
from pathlab.printed_table import GAP, PrintedTable
from pathlab.quantities import Format
from pathlab.report.base.names import shorten_levels
from pathlab.report.base.phrases import format_bounded_time, format_interval
from pathlab.report.trials.trial_notes import format_increase
from pathlab.store.flags import Flag, Status
from pathlab.store.records import TrialRecord
from pathlab.store.results import Results
from pathlab.study.flows.running_cell import CellTraffic, RunningCell
from pathlab.study.flows.streams import find_drtt_bound, measure_datagram_loss, measure_drtt
from pathlab.table_columns import ItemColumn, list_rows
from pathlab.units import format_frequency, format_rate, format_ratio, format_time

CELLS_SHOWN = 10
ADDRESSES = ("source_address", "destination_address", "control")


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
        cell = shorten_levels(record.streams, record.window_requested_bytes)
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
        loss = measure_datagram_loss(record)
        delay = f"loss {format_ratio(loss.loss_ratio if loss else None)}"
    marks = [flag for flag in record.flags if flag != Flag.LAB]
    return f"{what}  {rate:>12}{f'  {delay}' if delay else ''}  {', '.join(marks)}".rstrip()


@dataclass(frozen=True, eq=False)
class _Row:
    """A combination by its names, with its trials so far."""

    path: str
    combination: str
    others: str
    cell: RunningCell

    @property
    def count(self) -> str:
        """The trials counted, of all where some are not; provisional ones are said to be."""
        used, complete = self.cell.rate.n, len(self.cell.records)
        text = str(used) if used == complete else f"{used} of {complete}"
        return f"{text} provisional" if self.cell.is_provisional else text

    @property
    def format(self) -> Format:
        return format_frequency if self.cell.traffic is CellTraffic.MESSAGES else format_rate

    @property
    def interval(self) -> str:
        interval = self.cell.rate.interval
        is_shown = interval.decided and not self.cell.is_provisional
        return format_interval(interval, self.format) if is_shown else ""

    @property
    def loss(self) -> str:
        return format_ratio(self.cell.udp_loss_ratio) if self.cell.traffic is CellTraffic.UDP else ""

    @property
    def drtt(self) -> str:
        if self.cell.traffic is CellTraffic.MESSAGES:
            return ""
        return format_bounded_time(self.cell.drtt_ns.median, self.cell.drtt_ns.above_ns)

    def format_round_trip(self, quantile: str) -> str:
        """A quantile of round trips; empty without messages."""
        if self.cell.traffic is not CellTraffic.MESSAGES:
            return ""
        return format_time(self.cell.measure_round_trips(quantile).median)


RUNNING_COLUMNS: tuple[ItemColumn[_Row], ...] = (
    ItemColumn("path", priority=3, left=True, constant="{}", read=lambda row: row.path),
    ItemColumn("combination", left=True, wraps=True, read=lambda row: row.combination),
    ItemColumn("other levels", priority=4, left=True, constant="{}", read=lambda row: row.others),
    ItemColumn("n", priority=1, read=lambda row: row.count),
    ItemColumn("median", read=lambda row: row.format(row.cell.rate.median)),
    ItemColumn("95 % CI", priority=2, read=lambda row: row.interval),
    ItemColumn("loss", read=lambda row: row.loss),
    ItemColumn("dRTT", read=lambda row: row.drtt),
    ItemColumn("round trip", read=lambda row: row.format_round_trip("median")),
    ItemColumn("p99", read=lambda row: row.format_round_trip("p99")),
)


class RunningTable:
    """Throughput and dRTT per cell so far, of messages their rate and round trips: medians of usable trials.

    Of UDP flows also the loss. ``varied``: the factors that name a cell of messages.
    """

    def __init__(self, varied: Collection[str] = ()) -> None:
        self._varied = varied
        self._cells: dict[tuple[str, str, str, CellTraffic], RunningCell] = {}

    def add(self, record: TrialRecord, settings: Mapping[str, Any]) -> None:
        """Take a complete trial; its cell moves to the end."""
        control = ["control"] if settings.get("control") else []  # it belongs to no cell
        combination = shorten_levels(record.streams, record.window_requested_bytes)
        others = describe_levels(settings)
        traffic = CellTraffic.UDP if carries_datagrams(settings) else CellTraffic.STREAM
        if is_of_messages(settings):
            combination, others = describe_message_levels(settings, self._varied), ""
            traffic = CellTraffic.MESSAGES
        key = (
            f"{record.path_source} to {record.path_destination}",
            combination,
            " ".join([*filter(None, [others]), *control]),
            traffic,
        )
        known = self._cells.pop(key, RunningCell(traffic=traffic, records=[]))
        known.records.append(record)
        self._cells[key] = RunningCell(traffic=traffic, records=known.records)  # without figures yet

    def add_stored(self, folder: Path) -> None:
        with Results.open(folder) as results:
            settings = {row.row: row.settings for row in results.plan()}
            for record in results.records(status=Status.COMPLETE):
                self.add(record, settings[record.plan_row])

    def build(self) -> PrintedTable | None:
        """The cells measured last; None before the first."""
        last = list(self._cells.items())[-CELLS_SHOWN:]
        cells = [_Row(path, combination, others, cell) for (path, combination, others, _), cell in last]
        rows = list_rows(RUNNING_COLUMNS, cells)
        return PrintedTable(columns=RUNNING_COLUMNS, rows=rows, explains=False) if rows else None
