"""The series of one trial as Arrow tables, from what engines and agents said. Missing pieces stay null.

Kinds and columns are those of pathlab/store/series_columns.py.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from pathlab.engines.base import Record, first
from pathlab.engines.settings import list_settings
from pathlab.engines.spec import TrialSpec
from pathlab.lab.verdict import LabSnapshot, LabVerdict
from pathlab.runner.trial.bond_record import BondReading, count_members
from pathlab.runner.trial.choreography import RouteReading, TrialData
from pathlab.runner.trial.datagram_series import build_datagram_table, build_histogram_table
from pathlab.runner.trial.flow_records import find_ready, list_intervals
from pathlab.runner.trial.message_record import list_end_workers
from pathlab.runner.trial.probing import LOST_RTTS, find_longest_rtt_ns
from pathlab.runner.trial.round_trips import build_histogram_columns
from pathlab.store.arrays import build_array, convert_rows
from pathlab.store.series_columns import SERIES

#: What is measured of a probe; other programs' files have more.
_PROBE_COLUMNS = ("sequence", "intended_ns", "sent_ns", "rtt_ns", "stamps", "waited_ns")


def list_probes(records: Sequence[Record], longest_ns: float = 0) -> list[Record]:
    """The probes that were sent, with their late answers; one that the kernel did not take says nothing.

    ``waited_ns``: how long one without an answer was waited for, where that is too short to take it for lost,
    ``longest_ns`` being the longest round trip that is known.
    """
    sent = [record for record in records if record.get("type") == "probe" and record["sent_ns"] is not None]
    late = {record["sequence"]: record for record in records if record.get("type") == "late"}
    ended_ns = (first(records, "result") or {}).get("ended_ns")
    return [_add_outcome(probe, late.get(probe["sequence"]), ended_ns, longest_ns) for probe in sent]


def _add_outcome(probe: Record, late: Record | None, ended_ns: int | None, longest_ns: float) -> Record:
    if probe["rtt_ns"] is not None or late is not None:
        answer = probe if late is None else late
        return {**probe, **{name: answer[name] for name in ("rtt_ns", "stamps")}}
    waited_ns = None if ended_ns is None else ended_ns - probe["sent_ns"]
    return {**probe, "waited_ns": find_open_wait_ns(waited_ns, longest_ns)}


def find_open_wait_ns(waited_ns: int | None, longest_ns: float) -> int | None:
    """The wait for a missing answer where it was too short to take the probe for lost; else None."""
    return waited_ns if waited_ns is not None and waited_ns < LOST_RTTS * longest_ns else None


def find_offset_ns(start: Record | None, base: Record | None) -> int | None:
    """What to add to times since ``start`` for times since ``base``; both on one host's clock."""
    if start is None or base is None:
        return None
    return int(start["monotonic_ns"] - base["monotonic_ns"])


def build_series(
    data: TrialData, lab: LabVerdict | None = None, spec: TrialSpec | None = None
) -> dict[str, pa.Table]:
    """The trial's series as Arrow tables by kind; empty ones are left out.

    Without ``spec`` there is no series of settings.
    """
    base = first(data.sender, "start")
    tables: dict[str, pa.Table | None] = {
        "sender_intervals": _interval_table(data.sender),
        "receiver_intervals": _interval_table(data.receiver),
        "sender_subflows": _subflow_table(data.sender),
        "receiver_subflows": _subflow_table(data.receiver),
        "sender_tcp_info_raw": _raw_table(data.sender),
        "receiver_tcp_info_raw": _raw_table(data.receiver),
        "sender_workers": _worker_table(data.sender, "sender"),
        "receiver_workers": _worker_table(data.receiver, "receiver"),
        "sender_datagrams": build_datagram_table(data.sender),
        "receiver_datagrams": build_datagram_table(data.receiver),
        "datagram_histograms": build_histogram_table(data.receiver),
        "round_trips": _round_trips_table(data.sender),
    }
    probes_base = first(data.prober_end, "start")
    longest_ns = find_longest_rtt_ns([*data.loaded, *data.unloaded], data.sender)
    for load, records in (("loaded", data.loaded), ("unloaded", data.unloaded)):
        offset_ns = find_offset_ns(first(records, "start"), probes_base)
        if offset_ns is not None:
            build = _build_probes, _build_probe_histograms
            for kind, item in zip((f"{load}_probes", f"{load}_probe_histograms"), build, strict=True):
                tables[kind] = item(kind, records, offset_ns, longest_ns)
    if spec is not None:
        ready = first(data.sender, "ready"), first(data.receiver, "ready")
        tables["settings"] = _build("settings", _list_settings(spec, data, *ready))
        if data.bond is not None:
            tables["members"] = _build("members", _list_members(spec, data, data.bond))
    if data.route is not None:
        tables["route"] = _route_table(data.route)
    if lab is not None:
        tables["lab"] = _build("lab", [{**asdict(lab), "reasons": list(lab.reasons)}])
        tables["lab_links"] = _lab_links_table(data.lab)
    for side, samples, start in (
        ("sender", data.sender_counters, base),
        ("receiver", data.receiver_counters, first(data.receiver, "start")),
    ):
        if start is not None:
            tables |= {f"{side}_{kind}": table for kind, table in _counter_tables(samples, start).items()}
    return {kind: table for kind, table in tables.items() if table is not None and table.num_rows}


def _list_settings(
    spec: TrialSpec, data: TrialData, sender: Record | None, receiver: Record | None
) -> list[Record]:
    """The settings of both ends; those of the links as they were read at the hosts."""
    lines = list_settings(spec, sender, receiver)
    if data.bond is None:
        return [*lines]
    ends = {"sender": spec.flow_path.source, "receiver": spec.flow_path.destination}
    read = data.bond.stated
    return [
        {**line, **{end: read[name][host] for end, host in ends.items() if host in read.get(name, ())}}
        for line in lines
        if (name := str(line["name"]))
    ]


def _list_members(spec: TrialSpec, data: TrialData, bond: BondReading) -> Iterable[Record]:
    path = spec.flow_path
    yield from count_members(bond, "sender", path.source, data.sender, data.sender_counters)
    yield from count_members(bond, "receiver", path.destination, data.receiver, data.receiver_counters)


def _build(kind: str, rows: Iterable[Record]) -> pa.Table:
    """Rows as a series of the stored columns; a column that a row does not have is null there."""
    return convert_rows(list(rows), SERIES[kind].schema)


def _route_table(reading: RouteReading) -> pa.Table:
    hops = [
        {"hop": number, "address": address, "fingerprint": reading.route.fingerprint}
        for number, addresses in enumerate(reading.route.flows[0].hops, start=1)
        for address in addresses or (None,)
    ]
    return _build("route", hops)


def _lab_links_table(snapshots: Sequence[LabSnapshot]) -> pa.Table:
    rows = [
        {"link": number, "direction": way, "name": name, "value": value - before[way][name]}
        for number, (before, after) in enumerate(zip(snapshots[0].links, snapshots[-1].links, strict=True))
        for way in ("forward", "reverse")
        for name, value in after[way].items()
        if isinstance(value, int) and isinstance(before[way].get(name), int)
    ]
    return _build("lab_links", rows)


def _interval_table(records: Sequence[Record]) -> pa.Table | None:
    intervals = list_intervals(records)
    if not intervals:
        return None
    counts = [len(record["bytes"]) for record in intervals]
    columns: dict[str, list[Any]] = {
        name: [record[name] for record, count in zip(intervals, counts, strict=True) for _ in range(count)]
        for name in ("index", "phase", "start_ns", "end_ns")
    }
    columns["stream"] = [stream for count in counts for stream in range(count)]
    columns["bytes"] = [value for record in intervals for value in record["bytes"]]
    if all("sent_bytes" in record for record in intervals):  # an end of both directions
        columns["sent_bytes"] = [value for record in intervals for value in record["sent_bytes"]]
    if all("messages" in record for record in intervals):
        columns["messages"] = [value for record in intervals for value in record["messages"]]
    for name in intervals[0].get("tcp_info", ()):
        columns[name] = [value for record in intervals for value in record["tcp_info"][name]]
    arrays = {
        name: build_array(values, pa.int64()) for name, values in columns.items() if name != "phase"
    } | {"phase": build_array(columns["phase"], pa.string()).dictionary_encode()}
    return pa.Table.from_arrays([arrays[name] for name in columns], names=list(columns))


def _subflow_table(records: Sequence[Record]) -> pa.Table:
    """The open subflows of MPTCP at the end of each interval."""
    return _build(
        "subflows",
        (
            {**subflow, **{name: record[name] for name in ("index", "start_ns", "end_ns")}}
            for record in list_intervals(records)
            for subflow in record.get("subflows") or ()
        ),
    )


def _raw_table(records: Sequence[Record]) -> pa.Table | None:
    """The kernel's structs of every stream, of each interval and of the result (index null)."""
    structs: list[tuple[int | None, int, bytes]] = []
    for record in records:
        raw = record.get("tcp_info_raw")
        if raw and raw["bytes"]:
            data, size = base64.b64decode(raw["base64"], validate=True), raw["bytes"]
            starts = range(0, len(data), size)
            structs += [(record.get("index"), n, data[at : at + size]) for n, at in enumerate(starts)]
    schema = SERIES["tcp_info_raw"].schema
    rows = [dict(zip(schema.names, struct, strict=True)) for struct in structs]
    return convert_rows(rows, schema) if rows else None


def _worker_table(records: Sequence[Record], role: str) -> pa.Table:
    ready = find_ready(records)
    rows = (
        {
            **worker,
            "worker": number,
            "index": record["index"],
            "start_ns": record["start_ns"],
            "end_ns": record["end_ns"],
        }
        for record in list_intervals(records)
        for number, worker in enumerate(list_end_workers(ready, record, role) or ())
    )
    return _build("workers", rows)


def _round_trips_table(records: Sequence[Record]) -> pa.Table:
    return _build(
        "round_trips",
        (
            {**record, **build_histogram_columns(record["round_trip_ns"])}
            for record in records
            if record["type"] == "round_trips"
        ),
    )


def _build_probes(kind: str, records: Sequence[Record], offset_ns: int, longest_ns: float) -> pa.Table:
    probes = sorted(list_probes(records, longest_ns), key=lambda probe: probe["sequence"])
    stamps = ("intended_ns", "sent_ns")
    table = _build(
        kind, ({**probe, **{name: probe[name] + offset_ns for name in stamps}} for probe in probes)
    )
    return table.select([*_PROBE_COLUMNS])


def _build_probe_histograms(
    kind: str, records: Sequence[Record], offset_ns: int, longest_ns: float
) -> pa.Table:
    late = [record for record in records if record.get("type") == "late"]
    ended_ns = (first(records, "result") or {}).get("ended_ns")
    rows = []
    for record in records:
        if record["type"] != "round_trips":
            continue
        span = range(record["start_ns"], record["end_ns"])
        answered = [answer["rtt_ns"] for answer in late if answer["intended_ns"] in span]
        lost = record["lost"] - len(answered)
        waited_ns = None if ended_ns is None or not lost else ended_ns - record["end_ns"]
        rows.append(
            {
                **record,
                **build_histogram_columns(record["round_trip_ns"], answered),
                **{"lost": lost, "waited_ns": find_open_wait_ns(waited_ns, longest_ns)},
                **{name: record[name] + offset_ns for name in ("start_ns", "end_ns")},
            }
        )
    return _build(kind, rows)


def _counter_tables(samples: Sequence[Record], start: Record) -> dict[str, pa.Table]:
    """What the host counted, by part; times since ``start``, which the same host stamped."""
    rows: dict[str, Iterable[tuple[Record, Record]]] = {
        "cpu": ((sample, core) for sample in samples for core in sample["cores"]),
        "softnet": (
            (sample, core) for sample in samples for core in (sample.get("softnet") or {}).get("cores", ())
        ),
        "tcp": _protocol_rows(samples, "tcp"),
        "udp": _protocol_rows(samples, "udp"),
        "nics": ((sample, row) for sample in samples for row in _nic_rows(sample)),
        "qdiscs": ((sample, row) for sample in samples for row in sample.get("qdiscs") or ()),
    }
    origin_ns = start["monotonic_ns"]
    return {
        kind: _build(
            kind,
            (
                {"time_ns": sample["time_ns"] - origin_ns, "span_ns": sample["span_ns"], **row}
                for sample, row in pairs
            ),
        )
        for kind, pairs in rows.items()
    }


def _protocol_rows(samples: Sequence[Record], part: str) -> Iterable[tuple[Record, Record]]:
    """One row per counter that changed; a span that was not read has a null row, unless none was."""
    if all(sample.get(part) is None for sample in samples):
        return
    for sample in samples:
        counters = sample.get(part)
        if counters is None:
            yield sample, {"name": None, "value": None}
        else:
            for name, value in counters.items():
                yield sample, {"name": name, "value": value}


def _nic_rows(sample: Record) -> Iterable[Record]:
    """The counters of each interface, with the reasons of its drops where the host states them."""
    drops = {row["interface"]: row for row in sample.get("nic_drops") or ()}
    return ({**row, **drops.get(row["interface"], {})} for row in sample.get("nics") or ())
