"""Flent's data files: raw values of every version-4 series (``results`` is interpolated and not read)."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pathlab.store.flags import Flag, Phase
from pathlab.store.imported_trial import (
    UNKNOWN,
    Exported,
    ImportedTrial,
    Measurement,
    Row,
    build_interval,
    build_probe,
    parse_time,
    parse_utc,
    read_exported,
    to_ns,
)
from pathlab.store.json_fields import Fields, GivenFile
from pathlab.store.steady import RECEIVER_INTERVALS, SENDER_INTERVALS, measure_steady
from pathlab.store.totals import differ

TITLE = "Flent"
NEWEST_VERSION = 4
_PARTS = {"TCP upload": "forward", "TCP download": "reverse"}
_PING = "Ping"
_KEPT = (
    *("NAME", "TITLE", "NOTE", "TEST_PARAMETERS"),
    *("BATCH_NAME", "BATCH_UUID", "IP_VERSION", "DATA_FILENAME"),
)
#: What stamps in seconds since 1970 may be off by, rounded up.
STAMP_NS = 1000
#: A median over points that are interpolated, against bytes over time of a rate that varies.
SERIES_RATIO = 0.5
#: Columns that an export states better than the format.
_OWN_COLUMNS = ("streams", "warmup_ns", "duration_ns", "probe_method", "probe_stamps")
_BITS = {"Mbits/s": 1e6, "Kbits/s": 1e3, "Gbits/s": 1e9, "bits/s": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Load:
    """The streams of one direction: rows, rate per stream in bytes per s, and when they ran."""

    rows: list[dict[str, Any]]
    shares: list[int]
    begin_ns: int
    end_ns: int


def read_trials(given: GivenFile) -> list[ImportedTrial] | None:
    """One trial per direction of TCP that a file holds, or one of its probes; None where it is not Flent's.

    Raises StoreError.
    """
    whole = given.match("metadata", "x_values")
    if whole is None:
        return None
    version = whole.number("version") or 1
    if version > NEWEST_VERSION:
        whole.fail(f"version {version:g} of Flent's files is newer than {NEWEST_VERSION}, which is read")
    raw, meta = whole.sub("raw_values"), whole.sub("metadata")
    if not any(raw.items(series) for series in raw.names()):
        whole.fail("raw_values is empty; results are interpolated, so the file has no measured values")
    started = meta.text("T0") or meta.text("TIME")
    if started is None:
        whole.fail("metadata.T0 does not say when the test began")
    own = _read_own(meta)
    begin_s = _first_stamp(raw) if own is None else parse_time(started, given.name).timestamp()
    step_ns = to_ns(meta.number("STEP_SIZE") or 0.2)
    ping = _choose_ping(raw)
    probes = _read_probes(raw, ping, begin_s)
    result = {part: _read_load(whole, prefix, begin_s, step_ns, own) for prefix, part in _PARTS.items()}
    loads = {part: load for part, load in result.items() if load is not None}
    if not loads and not probes:
        whole.fail("it has neither TCP throughput nor pings; other series are not read")
    started_utc = parse_utc(started, given.name)
    test = _Test(whole=whole, meta=meta, step_ns=step_ns, loads=loads, ping=ping, probes=probes, own=own)
    return [test.describe(part, started_utc).build() for part in loads or ("probes",)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Own:
    """What PathLab's export states; windows as (begin, end) in ns since its start, empty where not known."""

    exported: Exported
    windows: dict[str, tuple[int, int]]

    def holds(self, name: str, at_ns: int) -> bool:
        """Whether a time is in a window; stamps since 1970 are true to some 0.2 us."""
        window = self.windows.get(name)
        return window is not None and window[0] - STAMP_NS <= at_ns < window[1] - STAMP_NS


@dataclass(frozen=True, slots=True, kw_only=True)
class _Test:
    """What all trials of a file share."""

    whole: Fields
    meta: Fields
    step_ns: int
    loads: dict[str, _Load]  # by part
    ping: str | None  # the series of pings that is read
    probes: list[Row]
    own: _Own | None

    def describe(self, part: str, started_utc: str) -> Measurement:
        """One direction, or the probes alone; Flent counts uploads where they are sent."""
        meta, load = self.meta, self.loads.get(part)
        local, remote = meta.text("LOCAL_HOST") or UNKNOWN, meta.text("HOST") or UNKNOWN
        length_s, length_ns = meta.number("LENGTH"), load.end_ns - load.begin_ns if load else 0
        by_sender = part == "forward" and self.own is None
        carried: dict[str, Any] = measure_steady(load.shares, length_ns) if load else {}
        notes = [*self._check_sum(part, carried.get("throughput_bits_per_s"))]
        flags = (Flag.TOTALS_DIFFER,) if notes else ()
        if by_sender:
            carried |= {"received_steady_bytes": None}
            flags = (Flag.SENDER_COUNTED, *flags)
        during, before = self._split_probes(load)
        return Measurement(
            program="flent",
            version=meta.text("FLENT_VERSION"),
            part=part,
            ends=(remote, local) if part == "reverse" else (local, remote),
            started_utc=started_utc,
            columns={
                "flags": flags,
                "streams": len(load.shares) if load else 0,
                "interval_ns": self.step_ns,
                "warmup_ns": 0,
                "duration_ns": to_ns(length_s) if length_s else length_ns,
                "probe_method": _name_method(self.ping) if self.probes else None,
                "probe_stamps": "user" if self.probes else None,
                **carried,
            },
            series={
                self._name_intervals(by_sender=by_sender): load.rows if load else [],
                "loaded_probes": during,
                "unloaded_probes": before,
            },
            settings={"direction": "both" if len(self.loads) > 1 else None, **_read_settings(meta)},
            details={
                "metadata": {key: meta.value[key] for key in _KEPT if key in meta},
                "ping_series": self.ping,
                "probes_after_the_load": len(self.probes) - len(during) - len(before),
            },
            notes=[*self.whole.notes, *notes],
            exported=None if self.own is None else self.own.exported,
            restored=_OWN_COLUMNS,
            keeps_lost=False,
        )

    def _name_intervals(self, *, by_sender: bool) -> str:
        stated = None if self.own is None else self.own.exported.intervals_of
        return stated or (SENDER_INTERVALS if by_sender else RECEIVER_INTERVALS)

    def _check_sum(self, part: str, rate_bits_per_s: float | None) -> Iterator[str]:
        """A contradiction between Flent's sum of the streams and the streams: a note.

        The sum is interpolated, and its first and last points are of some of the streams.
        """
        prefix = next((prefix for prefix, name in _PARTS.items() if name == part), None)
        values = self.whole.sub("results").value.get(f"{prefix} sum")
        if self.own is not None or prefix is None or not isinstance(values, list):
            return
        unit = self.meta.sub("SERIES_META").sub(f"{prefix} sum").text("UNITS") or "Mbits/s"
        known = [value for value in values if isinstance(value, (int, float)) and value > 0]
        if not known or unit not in _BITS:
            return
        stated = statistics.median(known) * _BITS[unit]
        if differ(stated, rate_bits_per_s, SERIES_RATIO):
            yield f"'{prefix} sum' is {stated:,.0f} bit/s, that of the streams {rate_bits_per_s:,.0f}"

    def _split_probes(self, load: _Load | None) -> tuple[list[Row], list[Row]]:
        """The probes during the load, and those before it."""
        own = self.own
        if own is not None:
            names = ("loaded", "unloaded")
            during, before = ([p for p in self.probes if own.holds(name, p["sent_ns"])] for name in names)
        else:
            begin_ns, end_ns = (load.begin_ns, load.end_ns) if load else (math.inf, math.inf)
            during = [p for p in self.probes if begin_ns <= p["sent_ns"] < end_ns]
            before = [p for p in self.probes if p["sent_ns"] < begin_ns]
        return during, before


def _read_settings(meta: Fields) -> dict[str, Any]:
    """The test's name and its parameters besides the number of streams: each test sends something else."""
    parameters = {
        name: value
        for name, value in meta.sub("TEST_PARAMETERS").value.items()
        if not name.endswith("_streams")
    }
    text = json.dumps(parameters, sort_keys=True) if parameters else None
    return {"test": meta.text("NAME"), "test_parameters": text}


def _read_own(meta: Fields) -> _Own | None:
    """What PathLab's export states, None where Flent itself wrote the file. Raises StoreError."""
    fields = meta.sub("PATHLAB")
    exported = read_exported(fields)
    if exported is None:
        return None
    windows: dict[str, tuple[int, int]] = {}
    for name, ends in fields.sub("windows_s").value.items():
        known = (
            isinstance(ends, list) and len(ends) == 2 and all(isinstance(end, (int, float)) for end in ends)
        )
        if not known or not 0 <= ends[0] <= ends[1] < 1e9:
            fields.fail(f"{fields.place}.windows_s.{name} is not a begin and an end in seconds")
        windows[name] = to_ns(ends[0]), to_ns(ends[1])
    return _Own(exported=exported, windows=windows)


def _first_stamp(raw: Fields) -> float:
    stamps = [t for series in raw.names() for p in raw.items(series) if (t := p.number("t")) is not None]
    if not stamps:
        raw.fail("raw_values has no point with a time 't'")
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
                point.fail(f"{point.place} goes back in time or carries less than nothing")
            phase = _name_phase(end_ns - length_ns // 2, own)
            before_ns, share = end_ns, share + (count if phase == Phase.STEADY else 0)
            rows.append(build_interval(index, stream, (end_ns - length_ns, end_ns), count, phase))
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
        return Phase.STEADY
    return Phase.WARMUP if middle_ns < window[0] else Phase.DRAIN


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
        build_probe(number, sequence, sent_ns, rtt_ns)
        for number, (sent_ns, rtt_ns, sequence) in enumerate(sorted(points, key=lambda point: point[0]))
    ]
