"""Flent's data files: raw values of every version-4 series (``results`` is interpolated and left aside)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pathlab.store.flags import Flag
from pathlab.store.importers.document import Fields
from pathlab.store.importers.exported import Exported, read_exported, restore
from pathlab.store.importers.measured import (
    Ends,
    ImportedTrial,
    build_record,
    build_settings,
    build_table,
    measure_fairness,
    parse_seconds,
    parse_utc,
    to_ns,
)
from pathlab.store.records import TrialRecord
from pathlab.store.steady import measure_probes

PROGRAM = "flent"
NEWEST_VERSION = 4
_PARTS = {"TCP upload": "forward", "TCP download": "reverse"}
_PING = "Ping"
_KEPT = (
    *("NAME", "TITLE", "NOTE", "TEST_PARAMETERS"),
    *("BATCH_NAME", "BATCH_UUID", "IP_VERSION", "DATA_FILENAME"),
)
#: What stamps in seconds since 1970 may be off by, rounded up.
STAMP_NS = 1000
#: Columns that an export tells better than the format.
_OWN_COLUMNS = ("streams", "warmup_ns", "duration_ns", "probe_method", "probe_stamps")
_BITS = {"Mbits/s": 1e6, "Kbits/s": 1e3, "Gbits/s": 1e9, "bits/s": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Load:
    """The streams of one direction: rows, rate per stream in bytes per s, and when they ran."""

    rows: list[dict[str, Any]]
    shares: list[int]
    begin_ns: int
    end_ns: int

    @property
    def total_bytes(self) -> int:
        return sum(self.shares)


def is_output(value: Any) -> bool:
    """Whether a JSON value has the shape of a Flent file."""
    return isinstance(value, dict) and isinstance(value.get("metadata"), dict) and "x_values" in value


def import_flent(value: Any, name: str) -> list[ImportedTrial]:
    """One trial per direction of TCP that a file holds, or one of its probes. Raises StoreError."""
    whole = Fields(value, name)
    version = whole.number("version") or 1
    if version > NEWEST_VERSION:
        whole.refuse(f"version {version:g} of Flent's files is newer than {NEWEST_VERSION}, which is read")
    raw, meta = whole.sub("raw_values"), whole.sub("metadata")
    if not any(raw.items(series) for series in raw.names()):
        whole.refuse("raw_values is empty, and results alone are interpolated: nothing measured is in it")
    started = meta.text("T0") or meta.text("TIME")
    if started is None:
        whole.refuse("metadata.T0 does not say when the test began")
    exported = _read_own(meta)
    begin_s = _first_stamp(raw) if exported is None else parse_seconds(started, name)
    step_ns = to_ns(meta.number("STEP_SIZE") or 0.2)
    loads = {
        part: load
        for prefix, part in _PARTS.items()
        if (load := _read_load(whole, prefix, begin_s, step_ns, exported)) is not None
    }
    ping = _choose_ping(raw)
    probes = _read_probes(raw, ping, begin_s)
    if not loads and not probes:
        whole.refuse("neither TCP throughput nor pings are in it, and other series are not read")
    at = _Place(
        whole=whole,
        started_utc=parse_utc(started, name),
        step_ns=step_ns,
        both=len(loads) > 1,
        ping=ping,
        exported=exported,
    )
    if not loads:
        return [_build_trial(at, "probes", None, probes)]
    return [_build_trial(at, part, load, probes) for part, load in loads.items()]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """What all trials of a file share."""

    whole: Fields
    started_utc: str
    step_ns: int
    both: bool
    ping: str | None  # the series of pings that is read
    exported: _Own | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Own:
    """What PathLab's export told; windows as (begin, end) in ns since its start, empty where not known."""

    told: Exported
    windows: dict[str, tuple[int, int]]

    def holds(self, name: str, at_ns: int) -> bool:
        """Whether a time is in a window; stamps since 1970 are true to some 0.2 us."""
        window = self.windows.get(name)
        return window is not None and window[0] - STAMP_NS <= at_ns < window[1] - STAMP_NS


def _build_trial(
    at: _Place, part: str, load: _Load | None, probes: Sequence[dict[str, Any]]
) -> ImportedTrial:
    meta = at.whole.sub("metadata")
    version = meta.text("FLENT_VERSION")
    local, remote = meta.text("LOCAL_HOST") or "unknown", meta.text("HOST") or "unknown"
    ends = (
        Ends(source=remote, destination=local)
        if part == "reverse"
        else Ends(source=local, destination=remote)
    )
    own = at.exported
    if own is None:
        during = [p for p in probes if load is not None and load.begin_ns <= p["sent_ns"] < load.end_ns]
        before = [p for p in probes if load is None or p["sent_ns"] < load.begin_ns]
    else:
        during = [p for p in probes if own.holds("loaded", p["sent_ns"])]
        before = [p for p in probes if own.holds("unloaded", p["sent_ns"])]
    length_s = meta.number("LENGTH")
    counted_by_sender = part == "forward" and own is None
    columns = {} if load is None else _measure_load(load, counted_by_sender=counted_by_sender)
    record = build_record(
        ends,
        started_utc=at.started_utc,
        program=f"{PROGRAM} {version}" if version else PROGRAM,
        streams=0 if load is None else len(load.shares),
        interval_ns=at.step_ns,
        warmup_ns=0,
        duration_ns=to_ns(length_s) if length_s else 0 if load is None else load.end_ns - load.begin_ns,
        probe_method=_name_method(at.ping) if probes else None,
        probe_stamps="user" if probes else None,
        **columns,
        **measure_probes([row["rtt_ns"] for row in during], "loaded", keeps_lost=False),
        **measure_probes([row["rtt_ns"] for row in before], "unloaded", keeps_lost=False),
    )
    tables = {
        "sender_intervals" if counted_by_sender else "receiver_intervals": build_table(
            load.rows if load else [], "intervals"
        ),
        "loaded_probes": build_table(during, "probes"),
        "unloaded_probes": build_table(before, "probes"),
    }
    return ImportedTrial(
        program=PROGRAM,
        program_version=version,
        part=part if own is None else "forward",
        record=record if own is None else restore(record, own.told, *_OWN_COLUMNS),
        settings=_list_settings(at, record) if own is None else own.told.settings,
        series={kind: table for kind, table in tables.items() if table is not None},
        details={
            "metadata": {key: meta.value[key] for key in _KEPT if key in meta},
            "ping_series": at.ping,
            "probes_after_the_load": len(probes) - len(during) - len(before),
        },
    )


def _list_settings(at: _Place, record: TrialRecord) -> dict[str, Any]:
    """The test's name and its parameters besides the number of streams: each test sends something else."""
    meta = at.whole.sub("metadata")
    parameters = {
        name: value
        for name, value in meta.sub("TEST_PARAMETERS").value.items()
        if not name.endswith("_streams")
    }
    return build_settings(
        record,
        direction="both" if at.both else None,
        test=meta.text("NAME"),
        test_parameters=json.dumps(parameters, sort_keys=True) if parameters else None,
    )


def _measure_load(load: _Load, *, counted_by_sender: bool) -> dict[str, Any]:
    """Columns of what was carried; Flent counts uploads where they are sent."""
    length_ns = load.end_ns - load.begin_ns
    return {
        "steady_ns": length_ns,
        "throughput_bits_per_s": load.total_bytes * 8e9 / length_ns if length_ns > 0 else None,
        "fairness_jain": measure_fairness(load.shares),
        "flags": (Flag.SENDER_COUNTED,) if counted_by_sender else (),
        "received_steady_bytes": None if counted_by_sender else load.total_bytes,
    }


def _read_own(meta: Fields) -> _Own | None:
    """What PathLab's export told, None where Flent itself wrote the file. Raises StoreError."""
    fields = meta.sub("PATHLAB")
    told = read_exported(fields)
    if told is None:
        return None
    windows: dict[str, tuple[int, int]] = {}
    for name, ends in fields.sub("windows_s").value.items():
        known = (
            isinstance(ends, list) and len(ends) == 2 and all(isinstance(one, (int, float)) for one in ends)
        )
        if not known or not 0 <= ends[0] <= ends[1] < 1e9:
            fields.refuse(f"{fields.place}.windows_s.{name} is not a begin and an end in seconds")
        windows[name] = to_ns(ends[0]), to_ns(ends[1])
    return _Own(told=told, windows=windows)


def _first_stamp(raw: Fields) -> float:
    stamps = [t for series in raw.names() for p in raw.items(series) if (t := p.number("t")) is not None]
    if not stamps:
        raw.refuse("raw_values has no point with a time 't'")
    return min(stamps)


def _read_load(whole: Fields, prefix: str, begin_s: float, step_ns: int, own: _Own | None) -> _Load | None:
    """Points with a value of every stream; those of ``ss``, which have none, are TCP's state and left out.

    All of them are steady where Flent wrote the file; of an export those inside its steady window.
    """
    raw, meta = whole.sub("raw_values"), whole.sub("metadata").sub("SERIES_META")
    rows: list[dict[str, Any]] = []
    shares: list[int] = []
    names = [n for n in raw.names() if n.startswith(prefix) and n.partition("::")[0].split()[-1] not in _SUMS]
    for name in names:
        unit = meta.sub(name).text("UNITS") or "Mbits/s"
        if unit not in _BITS:
            continue
        stream, before_ns, share = len(shares), 0, 0
        for index, point in enumerate(p for p in raw.items(name) if p.number("val") is not None):
            end_ns = to_ns((point.number("t") or 0.0) - begin_s)
            length_ns = to_ns(point.number("dur") or 0.0) or (end_ns - before_ns if index else step_ns)
            count = round((point.number("val") or 0.0) * _BITS[unit] / 8 * length_ns / 1e9)
            if length_ns <= 0 or count < 0:
                point.refuse(f"{point.place} goes back in time or carries less than nothing")
            phase = _name_phase(end_ns - length_ns // 2, own)
            before_ns, share = end_ns, share + (count if phase == "steady" else 0)
            rows.append(
                {
                    "index": index,
                    "phase": phase,
                    "start_ns": end_ns - length_ns,
                    "end_ns": end_ns,
                    "stream": stream,
                    "bytes": count,
                }
            )
        if before_ns:
            shares.append(share)
    if not rows:
        return None
    rows.sort(key=lambda row: (row["index"], row["stream"]))
    known = None if own is None else own.windows.get("steady")
    return _Load(
        rows=rows,
        shares=shares,
        begin_ns=min(row["start_ns"] for row in rows) if known is None else known[0],
        end_ns=max(row["end_ns"] for row in rows) if known is None else known[1],
    )


def _name_phase(middle_ns: int, own: _Own | None) -> str:
    """The phase of an interval by its middle."""
    window = None if own is None else own.windows.get("steady")
    if window is None or window[0] <= middle_ns < window[1]:
        return "steady"
    return "warmup" if middle_ns < window[0] else "drain"


#: Last words of series that Flent computes from others.
_SUMS = {"sum", "avg", "totals", "fairness"}


def _choose_ping(raw: Fields) -> str | None:
    """ICMP's series, else the first: different kinds of probes are not mixed in one median."""
    names = [n for n in raw.names() if n.startswith(_PING) and n.split()[-1] not in _SUMS and raw.items(n)]
    return next((name for name in names if "ICMP" in name), names[0] if names else None)


def _name_method(series: str | None) -> str:
    return "icmp" if series and "ICMP" in series else "udp"


def _read_probes(raw: Fields, series: str | None, begin_s: float) -> list[dict[str, Any]]:
    """Every answered ping of the series; Flent does not keep those that were lost."""
    points = []
    for point in raw.items(series) if series else ():
        at_s, value_ms = point.number("t"), point.number("val")
        if at_s is not None and value_ms is not None and value_ms > 0:
            points.append((to_ns(at_s - begin_s), round(value_ms * 1e6), point.count("seq")))
    return [
        {
            "sequence": number if sequence is None else sequence,
            "intended_ns": None,
            "sent_ns": sent_ns,
            "rtt_ns": rtt_ns,
            "stamps": "user",
        }
        for number, (sent_ns, rtt_ns, sequence) in enumerate(sorted(points, key=lambda point: point[0]))
    ]
