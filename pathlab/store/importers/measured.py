"""What an importer hands over: trials as the store keeps them, not yet in any plan."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from pathlab.analysis.estimators.fairness import jain_index
from pathlab.errors import StoreError
from pathlab.store.flags import Flag, Status
from pathlab.store.importers.document import NOTHING
from pathlab.store.records import TrialRecord
from pathlab.store.series_columns import SERIES

_EMPTY: Mapping[str, Any] = {item.name: None for item in dataclasses.fields(TrialRecord)}
_TYPES = {**SERIES["intervals"].columns, **SERIES["loaded_probes"].columns}
_FIRST = {
    "intervals": ("index", "phase", "start_ns", "end_ns", "stream", "bytes"),
    "probes": ("sequence", "intended_ns", "sent_ns", "rtt_ns", "stamps"),
}


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
class Ends:
    """Who sent to whom, as the file names them."""

    source: str
    destination: str


def build_record(ends: Ends, *, started_utc: str, program: str, **known: Any) -> TrialRecord:
    """A record of what is known; everything else was not measured."""
    flags = (Flag.IMPORTED, *known.pop("flags", ()))
    values = {
        **_EMPTY,
        "plan_row": 0,
        "attempt": 1,
        "cycle": 0,
        "status": Status.COMPLETE,
        "started_utc": started_utc,
        "path_source": ends.source,
        "path_destination": ends.destination,
        "engine_version": program,
        "flags": flags,
        **known,
    }
    return TrialRecord(**values)


def build_settings(record: TrialRecord, **others: Any) -> dict[str, Any]:
    """The plan row's settings: those of every native trial, its times, and others out of the ordinary.

    Every one of them is part of the trial's condition, so that different tests are never pooled.
    """
    return {
        "streams": record.streams,
        "window_bytes": record.window_requested_bytes,
        "congestion": record.congestion_requested or record.congestion_sender,
        **({"duration_ns": record.duration_ns} if record.duration_ns else {}),  # 0: ended by an amount
        "warmup_ns": record.warmup_ns,
        **{name: value for name, value in others.items() if value is not None},
    }


def split_tos(tos: int | None) -> dict[str, int | None]:
    """The settings in a type-of-service byte, where set: DSCP (RFC 2474) and ECN (RFC 3168)."""
    return {"dscp": (tos or 0) >> 2 or None, "ecn": (tos or 0) & 3 or None}


def spell_utc(seconds: float, name: str) -> str:
    """Seconds since 1970 as the store writes times. Raises StoreError for a time that no calendar has."""
    try:
        stamp = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise StoreError(f"'{name}': {seconds:g} s is no time of day", hint=NOTHING) from error
    return stamp.isoformat(timespec="milliseconds")


def parse_utc(text: str, name: str) -> str:
    """An ISO 8601 time, UTC where it does not say, as the store writes times. Raises StoreError."""
    return _parse_time(text, name).isoformat(timespec="milliseconds")


def parse_seconds(text: str, name: str) -> float:
    """An ISO 8601 time, UTC where it does not say, as seconds since 1970. Raises StoreError."""
    return _parse_time(text, name).timestamp()


def _parse_time(text: str, name: str) -> datetime.datetime:
    try:
        stamp = datetime.datetime.fromisoformat(text)
        aware = stamp if stamp.tzinfo else stamp.replace(tzinfo=datetime.UTC)
        return aware.astimezone(datetime.UTC)
    except (OverflowError, ValueError) as error:
        raise StoreError(f"'{name}': '{text[:40]}' is no time", hint=NOTHING) from error


def to_ns(seconds: float) -> int:
    """Seconds as integer nanoseconds."""
    return round(seconds * 1e9)


def build_table(rows: Sequence[Mapping[str, Any]], kind: str) -> pa.Table | None:
    """Rows as a series, ``kind`` being ``intervals`` or ``probes``; columns that no row has are left out."""
    if not rows:
        return None
    first = _FIRST[kind]
    others = sorted({name for row in rows for name, value in row.items() if value is not None} - set(first))
    return pa.table(
        {name: pa.array([row.get(name) for row in rows], _TYPES[name].type) for name in (*first, *others)}
    )


def measure_fairness(shares: Sequence[int | None]) -> float | None:
    """Jain's index, or None where a stream's share is not known."""
    if not shares or any(share is None or share < 0 for share in shares):
        return None
    return jain_index([share for share in shares if share is not None]).jain_ratio
