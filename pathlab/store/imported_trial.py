"""What importers hand over: trials as the store keeps them, not yet in any plan."""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pyarrow as pa

from pathlab.errors import StoreError
from pathlab.store.flags import Flag, Phase, Status
from pathlab.store.json_fields import DAMAGED, Fields
from pathlab.store.records import TrialRecord
from pathlab.store.schema import column_types
from pathlab.store.series_columns import find_series_kind
from pathlab.store.steady import (
    RECEIVER_INTERVALS,
    SENDER_INTERVALS,
    STEADY_COLUMNS,
    find_stall_limit_ns,
    measure_probes,
)

Row = dict[str, Any]
UNKNOWN = "unknown"  # a host that the file does not name
TOS_MAX = 255
NOTES = "notes"  # among an origin's details: what was left out or computed, in words
_EMPTY: Mapping[str, Any] = dict.fromkeys(column_types(TrialRecord))
_FIRST = {
    "intervals": ("index", "phase", "start_ns", "end_ns", "stream", "bytes"),
    "probes": ("sequence", "intended_ns", "sent_ns", "rtt_ns", "stamps"),
}
#: Columns that say which row of a plan was measured, and how it ended: an import has a row of its own.
_OWN = {"plan_row", "attempt", "cycle", "status", "failed_stage", "failure", "flags", "engine_version"}
#: What is taken from an export of ours although the format has it: the path, since formats state it in the
#: direction of the data, and what intervals give again, rounded.
_RESTORED = ("path_source", "path_destination")
_RESTORED_EMPTY_TOO = (
    *("source_address", "destination_address"),
    *STEADY_COLUMNS,
)
#: The least and the greatest level of each setting that a file may state; the greatest is that of a campaign.
#: What is beyond was not measured: the program wrote something else there.
LEVEL_BOUNDS: Mapping[str, tuple[int, int]] = {
    "streams": (0, 4096),
    "window_bytes": (1, 2**30),
    "duration_ns": (0, 24 * 3600 * 10**9),
    "warmup_ns": (0, 3600 * 10**9),
    "transfer_bytes": (1, 2**60),
    "write_bytes": (1, 64 * 2**20),
    "mss_bytes": (1, 65_535),
    "dscp": (0, 63),
    "ecn": (0, 3),
    "stream_target_bits_per_s": (1, 10**12),
    "stream_pacing_bits_per_s": (1, 10**12),
    "transfer_blocks": (1, 2**60),
    "probe_interval_ns": (1, 24 * 3600 * 10**9),
    "probe_bytes": (1, 65_535),
    "stagger_ns": (0, 3600 * 10**9),
}
#: Columns of a trial with the bounds of a setting, and what stands for a value beyond them.
_BOUNDED_COLUMNS: Mapping[str, tuple[str, int | None]] = {
    "streams": ("streams", 1),
    "window_requested_bytes": ("window_bytes", None),
    "mss_bytes": ("mss_bytes", None),
    "duration_ns": ("duration_ns", 0),
    "warmup_ns": ("warmup_ns", 0),
}
_FLAG = re.compile(r"[a-z][a-z-]{0,39}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTrial:
    """One measurement of a file. ``record`` has no row and no cycle yet; ``part`` is unique in the file."""

    program: str
    program_version: str | None
    part: str
    record: TrialRecord
    settings: dict[str, Any]
    series: dict[str, pa.Table] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What an export of ours has alongside the format: settings of the plan row, flags, columns, the failure.

    ``intervals_of``: the series that its intervals are; None: as the format has them.
    """

    settings: dict[str, Any]
    flags: tuple[str, ...]
    columns: dict[str, Any]
    failure: dict[str, str | None]  # status, failed_stage, failure; empty for a complete trial
    intervals_of: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One measurement of a file, in columns of ``TrialRecord`` and rows of series.

    ``ends`` sent and received; ``settings`` are those out of the ordinary, None: not set. Each is part of
    the trial's combination, so that different tests are never pooled. ``restored`` names columns that our own
    export states better than the format.
    """

    program: str
    version: str | None = None
    tool: str | None = None  # as ``engine_version``, where it is not program and version
    part: str = "forward"
    ends: tuple[str, str]
    started_utc: str
    columns: Mapping[str, Any]
    series: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()  # what was left out or computed, in words
    exported: Exported | None = None
    restored: tuple[str, ...] = ()
    keeps_lost: bool = True  # False: only answered probes are in the file
    keeps_time: bool = False  # by its own timer a program counts and probes, whatever the path does

    def build(self) -> ImportedTrial:
        """The trial; what is not known was not measured."""
        notes = list(self.notes)
        known, settings = dict(self.columns), dict(self.settings)
        for column, (setting, instead) in _BOUNDED_COLUMNS.items():
            if column in known and not _is_within(setting, known[column], notes):
                known[column] = instead
        settings = {name: item for name, item in settings.items() if _is_within(name, item, notes)}
        for load in ("loaded", "unloaded"):
            probes = self.series.get(f"{load}_probes", ())
            rtts_ns, waits_ns = ([row.get(name) for row in probes] for name in ("rtt_ns", "waited_ns"))
            known |= measure_probes(rtts_ns, load, waits_ns=waits_ns, keeps_lost=self.keeps_lost)
        program = self.tool or (f"{self.program} {self.version}" if self.version else self.program)
        own = {
            "plan_row": 0,
            "attempt": 1,
            "cycle": 0,
            "started_utc": self.started_utc,
            "engine_version": program,
        }
        ends = dict(zip(("path_source", "path_destination"), self.ends, strict=True))
        stalled = (Flag.HOST_STALLED,) if self.keeps_time and self._is_stalled() else ()
        flags = (Flag.IMPORTED, *known.pop("flags", ()), *stalled)
        record = TrialRecord(**{**_EMPTY, "status": Status.COMPLETE, **own, **ends, "flags": flags, **known})
        return ImportedTrial(
            program=self.program,
            program_version=self.version,
            part=self.part if self.exported is None else "forward",
            record=record if self.exported is None else _restore(record, self.exported, self.restored),
            settings=_list_settings(record, settings) if self.exported is None else self.exported.settings,
            series={kind: build_imported_series(kind, rows) for kind, rows in self.series.items() if rows},
            details={**self.details, **({NOTES: [*dict.fromkeys(notes)]} if notes else {})},
        )

    def _is_stalled(self) -> bool:
        """Whether the program left out a time in which it should have counted or probed."""
        interval_ns, duration_ns = self.columns.get("interval_ns"), self.columns.get("duration_ns")
        spacing_ns = self.settings.get("probe_interval_ns")
        longest = [
            *(
                measure_gap(rows, interval_ns)
                for name, rows in self.series.items()
                if name.endswith("intervals") and interval_ns
            ),
            *(
                measure_probe_gap(rows, spacing_ns)
                for name, rows in self.series.items()
                if name.endswith("probes") and spacing_ns
            ),
        ]
        if not interval_ns:
            return False
        return max(longest, default=0) > find_stall_limit_ns(int(interval_ns), duration_ns)


def add_notes(trial: ImportedTrial, notes: Sequence[str]) -> ImportedTrial:
    """The trial with further notes, of its file."""
    if not notes:
        return trial
    known = [*notes, *trial.details.get(NOTES, ())]
    return dataclasses.replace(trial, details={**trial.details, NOTES: [*dict.fromkeys(known)]})


def _is_within(name: str, value: Any, notes: list[str]) -> bool:
    """Whether a level is within the bounds of its setting; adds a note where it is not."""
    low, high = LEVEL_BOUNDS.get(name, (None, None))
    if low is None or high is None or not isinstance(value, (int, float)) or low <= value <= high:
        return True
    notes.append(f"{name} {value} is outside {low} to {high} and was left out")
    return False


def _list_settings(record: TrialRecord, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of every native trial, its times, and others."""
    return {
        "streams": record.streams,
        "window_bytes": record.window_requested_bytes,
        "congestion": record.congestion_requested or record.congestion_sender,
        **({"duration_ns": record.duration_ns} if record.duration_ns else {}),  # 0: ended by an amount
        "warmup_ns": record.warmup_ns,
        **{name: value for name, value in settings.items() if value is not None},
    }


def measure_gap(rows: Sequence[Mapping[str, Any]], interval_ns: int) -> int:
    """The longest time between two intervals of a stream, or by which one is longer than ``interval_ns``.

    The last one, in which the end of the test is awaited, may be longer; so may the first one after the
    warm-up, where iperf3 begins its clock anew and leaves out a report.
    """
    streams: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        streams.setdefault(row["stream"], []).append(row)
    result = [0]
    for own in streams.values():
        crossed = False
        for before, after in pairwise(sorted(own, key=lambda row: int(row["index"]))):
            length_ns = before["end_ns"] - before["start_ns"]
            result += [after["start_ns"] - before["end_ns"], length_ns - (1 + crossed) * interval_ns]
            crossed = before["phase"] == Phase.WARMUP and after["phase"] == Phase.STEADY
    return max(result)


def measure_probe_gap(rows: Sequence[Mapping[str, Any]], spacing_ns: int) -> int:
    """By how much two probes that were sent one after the other are farther apart than ``spacing_ns``."""
    sent = sorted(row["sent_ns"] for row in rows if row.get("sent_ns") is not None)
    return max((after - before for before, after in pairwise(sent)), default=0) - spacing_ns


def build_imported_series(kind: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows as a series of that kind; columns that no row has are left out, save the first ones."""
    described = find_series_kind(kind)
    first = _FIRST[kind.rpartition("_")[2]]
    others = sorted({name for row in rows for name, value in row.items() if value is not None} - set(first))
    columns = {name: described.columns[name].type for name in (*first, *others)}
    return pa.Table.from_pylist(list(rows), schema=pa.schema(columns))


def build_interval(
    index: int, stream: int, times_ns: tuple[int, int], count_bytes: int, phase: str = Phase.STEADY
) -> Row:
    """A row of a series of intervals."""
    start_ns, end_ns = times_ns
    named = {"index": index, "phase": phase, "start_ns": start_ns, "end_ns": end_ns, "stream": stream}
    return {**named, "bytes": count_bytes}


def build_probe(number: int, sequence: int | None, sent_ns: int | None, rtt_ns: int | None) -> Row:
    """A row of a series of probes; without an RTT it was lost."""
    return {
        "sequence": number if sequence is None else sequence,
        "sent_ns": sent_ns,
        "rtt_ns": rtt_ns,
        "stamps": None if rtt_ns is None else "user",
    }


def split_tos(fields: Fields, key: str) -> dict[str, int | None]:
    """The settings in a type-of-service byte, where set: DSCP (RFC 2474) and ECN (RFC 3168).

    Of a number that is no byte the low 32 bits count, if they are one: iperf3 3.2 to 3.5 print 64 bits of
    which the upper ones are whatever was in memory. Any other is left out; both with a note.
    """
    tos = fields.whole(key) or 0
    if not 0 <= tos <= TOS_MAX:
        low = tos & 0xFFFFFFFF
        known = low <= TOS_MAX
        what = f"; its low byte {low} was read" if known else " and was left out"
        fields.notes.append(f"{key} {tos} is not a byte{what}")
        tos = low if known else 0
    return {"dscp": tos >> 2 or None, "ecn": tos & 3 or None}


def format_utc_seconds(seconds: float, name: str) -> str:
    """Seconds since 1970 as the store writes times. Raises StoreError for a time that no calendar has."""
    try:
        stamp = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise StoreError(f"'{name}': {seconds:g} s since 1970 is not a date", hint=DAMAGED) from error
    return stamp.isoformat(timespec="milliseconds")


def parse_time(text: str, name: str) -> datetime.datetime:
    """An ISO 8601 time, UTC where it does not say. Raises StoreError."""
    try:
        stamp = datetime.datetime.fromisoformat(text)
        aware = stamp if stamp.tzinfo else stamp.replace(tzinfo=datetime.UTC)
        return aware.astimezone(datetime.UTC)
    except (OverflowError, ValueError) as error:
        raise StoreError(f"'{name}': '{text[:40]}' is not a time", hint=DAMAGED) from error


def parse_utc(text: str, name: str) -> str:
    """An ISO 8601 time, UTC where it does not say, as the store writes times. Raises StoreError."""
    return parse_time(text, name).isoformat(timespec="milliseconds")


def to_ns(seconds: float) -> int:
    """Seconds as integer nanoseconds."""
    return round(seconds * 1e9)


def list_columns(record: TrialRecord) -> dict[str, Any]:
    """The measured columns of a record as an export keeps them."""
    named = dataclasses.asdict(record)
    return {name: value for name, value in named.items() if name not in _OWN and value is not None}


def read_exported(fields: Fields) -> Exported | None:
    """What PathLab's export adds to the format; None for other files. Raises StoreError for bad values."""
    if "settings" not in fields:
        return None
    settings = fields.sub("settings")
    for name, level in settings.value.items():
        if not isinstance(level, (str, int, float, bool, type(None))):
            settings.fail(f"{settings.place}.{name} is neither a text nor a number")
    marks = fields.value.get("flags")
    if not isinstance(marks, list) or not all(isinstance(m, str) and _FLAG.fullmatch(m) for m in marks):
        fields.fail(f"{fields.place}.flags is not a list of flags")
    kind = fields.text("intervals_of")
    if kind not in (None, SENDER_INTERVALS, RECEIVER_INTERVALS):
        fields.fail(f"{fields.place}.intervals_of is neither {SENDER_INTERVALS} nor {RECEIVER_INTERVALS}")
    failure = {name: fields.text(name) for name in ("status", "failed_stage", "failure")}
    return Exported(
        settings=dict(settings.value),
        flags=tuple(marks),
        columns=_read_columns(fields.sub("columns")),
        failure=failure if failure["status"] in (Status.FAILED, Status.INTERRUPTED) else {},
        intervals_of=kind,
    )


def _restore(record: TrialRecord, exported: Exported, names: tuple[str, ...]) -> TrialRecord:
    """The record with the columns that its file adds; values of the format itself stay, save some columns."""
    known = exported.columns
    missing = {name: value for name, value in known.items() if getattr(record, name) is None}
    named = {name: known[name] for name in (*_RESTORED, *names) if known.get(name) is not None}
    again = {name: known.get(name) for name in (_RESTORED_EMPTY_TOO if known else _RESTORED_EMPTY_TOO[:2])}
    flags = tuple(dict.fromkeys((*record.flags, *exported.flags)))
    return dataclasses.replace(record, **{**missing, **named, **again, **exported.failure, "flags": flags})


def _read_columns(fields: Fields) -> dict[str, Any]:
    reads = {int: fields.whole, float: fields.number, str: fields.text}
    types = {name: held.base for name, held in column_types(TrialRecord).items() if name not in _OWN}
    return {name: reads[types[name]](name) for name in fields.names() if types.get(name) in reads}
