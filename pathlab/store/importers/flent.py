"""Flent's data files: raw values of every version-4 series (``results`` is interpolated and left aside)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pathlab.store.importers.document import Fields
from pathlab.store.importers.measured import (
    SENDER_COUNTED,
    Ends,
    ImportedTrial,
    build_record,
    build_settings,
    build_table,
    measure_fairness,
    measure_probes,
    parse_utc,
    to_ns,
)

PROGRAM = "flent"
NEWEST_VERSION = 4
_PARTS = {"TCP upload": "forward", "TCP download": "reverse"}
_PING = "Ping"
_KEPT = (
    *("NAME", "TITLE", "NOTE", "TEST_PARAMETERS"),
    *("BATCH_NAME", "BATCH_UUID", "IP_VERSION", "DATA_FILENAME"),
)
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
    begin_s = _first_stamp(raw)
    step_ns = to_ns(meta.number("STEP_SIZE") or 0.2)
    loads = {
        part: load
        for prefix, part in _PARTS.items()
        if (load := _read_load(whole, prefix, begin_s, step_ns)) is not None
    }
    ping = _choose_ping(raw)
    probes = _read_probes(raw, ping, begin_s)
    if not loads and not probes:
        whole.refuse("neither TCP throughput nor pings are in it, and other series are not read")
    at = _Place(
        whole=whole, started_utc=parse_utc(started, name), step_ns=step_ns, both=len(loads) > 1, ping=ping
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
    during = [p for p in probes if load is not None and load.begin_ns <= p["sent_ns"] < load.end_ns]
    before = [p for p in probes if load is None or p["sent_ns"] < load.begin_ns]
    length_s = meta.number("LENGTH")
    columns = {} if load is None else _measure_load(load, part, during)
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
        **measure_probes(before, "unloaded", keeps_lost=False),
    )
    tables = {
        "sender_intervals" if part == "forward" else "receiver_intervals": build_table(
            load.rows if load else [], "intervals"
        ),
        "loaded_probes": build_table(during, "probes"),
        "unloaded_probes": build_table(before, "probes"),
    }
    return ImportedTrial(
        program=PROGRAM,
        program_version=version,
        part=part,
        record=record,
        settings=build_settings(record, direction="both" if at.both else None),
        series={kind: table for kind, table in tables.items() if table is not None},
        details={
            "metadata": {key: meta.value[key] for key in _KEPT if key in meta},
            "ping_series": at.ping,
            "probes_after_the_load": len(probes) - len(during) - len(before),
        },
    )


def _measure_load(load: _Load, part: str, during: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Columns of what was carried; uploads are counted where they are sent."""
    length_ns, upload = load.end_ns - load.begin_ns, part == "forward"
    return {
        "steady_ns": length_ns,
        "throughput_bits_per_s": load.total_bytes * 8e9 / length_ns if length_ns > 0 else None,
        "fairness_jain": measure_fairness(load.shares),
        "flags": (SENDER_COUNTED,) if upload else (),
        "received_steady_bytes": None if upload else load.total_bytes,
        **measure_probes(during, "loaded", keeps_lost=False),
    }


def _first_stamp(raw: Fields) -> float:
    stamps = [t for series in raw.names() for p in raw.items(series) if (t := p.number("t")) is not None]
    if not stamps:
        raw.refuse("raw_values has no point with a time 't'")
    return min(stamps)


def _read_load(whole: Fields, prefix: str, begin_s: float, step_ns: int) -> _Load | None:
    """Points with a value of every stream; those of ``ss``, which have none, are TCP's state and left out."""
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
            before_ns, share = end_ns, share + count
            rows.append(
                {
                    "index": index,
                    "phase": "steady",
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
    return _Load(
        rows=rows,
        shares=shares,
        begin_ns=min(row["start_ns"] for row in rows),
        end_ns=max(row["end_ns"] for row in rows),
    )


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
