"""The series of one trial as Arrow tables, from what engines and agents said. Missing pieces stay null.

Kinds and columns are those of pathlab/store/series_columns.py.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from pathlab.engines.base import Record, first
from pathlab.engines.settings import list_settings
from pathlab.engines.spec import TrialSpec
from pathlab.lab.verdict import LabSnapshot, LabVerdict
from pathlab.runner.trial.choreography import RouteReading, TrialData
from pathlab.store.series_columns import SERIES


def list_intervals(records: Sequence[Record]) -> list[Record]:
    """The interval records of an engine, in order."""
    return [record for record in records if record.get("type") == "interval"]


def list_probes(records: Sequence[Record]) -> list[Record]:
    """The probes that were sent; one that the kernel did not take says nothing of the path."""
    return [record for record in records if record.get("type") == "probe" and record["sent_ns"] is not None]


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
        "sender_tcp_info_raw": _raw_table(data.sender),
        "receiver_tcp_info_raw": _raw_table(data.receiver),
        "sender_workers": _worker_table(data.sender),
        "receiver_workers": _worker_table(data.receiver),
        "loaded_probes": _probe_table(data.loaded, base),
        "unloaded_probes": _probe_table(data.unloaded, base),
    }
    if spec is not None:
        ready = first(data.sender, "ready"), first(data.receiver, "ready")
        tables["settings"] = pa.Table.from_pylist(
            list_settings(spec, *ready), schema=SERIES["settings"].schema
        )
    if data.route is not None:
        tables["route"] = _route_table(data.route)
    if lab is not None:
        tables["lab"] = _lab_table(lab)
        tables["lab_links"] = _lab_links_table(data.lab)
    for side, samples, start in (
        ("sender", data.sender_counters, base),
        ("receiver", data.receiver_counters, first(data.receiver, "start")),
    ):
        if start is not None:
            tables |= {f"{side}_{kind}": table for kind, table in _counter_tables(samples, start).items()}
    return {kind: table for kind, table in tables.items() if table is not None and table.num_rows}


def _route_table(reading: RouteReading) -> pa.Table:
    hops = [
        {"hop": number, "address": address, "fingerprint": reading.route.fingerprint}
        for number, addresses in enumerate(reading.route.flows[0].hops, start=1)
        for address in addresses or (None,)
    ]
    return pa.Table.from_pylist(hops, schema=SERIES["route"].schema)


def _lab_table(lab: LabVerdict) -> pa.Table:
    row = {**asdict(lab), "reasons": list(lab.reasons)}
    return pa.Table.from_pylist([row], schema=SERIES["lab"].schema)


def _lab_links_table(snapshots: Sequence[LabSnapshot]) -> pa.Table:
    rows = [
        {"link": number, "direction": way, "name": name, "value": value - before[way][name]}
        for number, (before, after) in enumerate(zip(snapshots[0].links, snapshots[-1].links, strict=True))
        for way in ("forward", "reverse")
        for name, value in after[way].items()
        if isinstance(value, int) and isinstance(before[way].get(name), int)
    ]
    return pa.Table.from_pylist(rows, schema=SERIES["lab_links"].schema)


def _interval_table(records: Sequence[Record]) -> pa.Table | None:
    intervals = list_intervals(records)
    if not intervals:
        return None
    counts = [len(record["bytes"]) for record in intervals]
    columns: dict[str, Any] = {
        "index": np.repeat([record["index"] for record in intervals], counts),
        "phase": pa.array(np.repeat([record["phase"] for record in intervals], counts)).dictionary_encode(),
        "start_ns": np.repeat([record["start_ns"] for record in intervals], counts),
        "end_ns": np.repeat([record["end_ns"] for record in intervals], counts),
        "stream": np.concatenate([np.arange(count) for count in counts]),
        "bytes": [value for record in intervals for value in record["bytes"]],
    }
    if all("sent_bytes" in record for record in intervals):  # an end of both directions
        columns["sent_bytes"] = [value for record in intervals for value in record["sent_bytes"]]
    for name in intervals[0]["tcp_info"]:
        columns[name] = pa.array([v for record in intervals for v in record["tcp_info"][name]], pa.int64())
    return pa.table(columns)


def _raw_table(records: Sequence[Record]) -> pa.Table | None:
    """The kernel's structs of every stream, of each interval and of the result (index null)."""
    indexes: list[int | None] = []
    streams: list[int] = []
    structs: list[bytes] = []
    for record in records:
        raw = record.get("tcp_info_raw")
        if not raw or not raw["bytes"]:
            continue
        data, size = base64.b64decode(raw["base64"], validate=True), raw["bytes"]
        parts = [data[at : at + size] for at in range(0, len(data), size)]
        indexes += [record.get("index")] * len(parts)
        streams += range(len(parts))
        structs += parts
    columns = {
        "index": pa.array(indexes, pa.int64()),
        "stream": pa.array(streams, pa.int64()),
        "tcp_info": pa.array(structs, pa.binary()),
    }
    return pa.table(columns)


def _worker_table(records: Sequence[Record]) -> pa.Table | None:
    rows = [
        {
            "index": record["index"],
            "start_ns": record["start_ns"],
            "end_ns": record["end_ns"],
            "worker": number,
            "user_ns": worker["user_ns"],
            "system_ns": worker["system_ns"],
            "waiting_ns": worker.get("waiting_ns"),
            "wake_ups": worker["wake_ups"],
            "system_calls": worker["system_calls"],
        }
        for record in list_intervals(records)
        for number, worker in enumerate(record["workers"])
    ]
    return pa.Table.from_pylist(rows, schema=SERIES["workers"].schema) if rows else None


def _probe_table(records: Sequence[Record], base: Record | None) -> pa.Table | None:
    offset_ns = find_offset_ns(first(records, "start"), base)
    probes = sorted(list_probes(records), key=lambda probe: probe["sequence"])
    if not probes or offset_ns is None:
        return None
    return pa.table(
        {
            "sequence": [probe["sequence"] for probe in probes],
            "intended_ns": [probe["intended_ns"] + offset_ns for probe in probes],
            "sent_ns": [probe["sent_ns"] + offset_ns for probe in probes],
            "rtt_ns": pa.array([probe["rtt_ns"] for probe in probes], pa.int64()),
            "stamps": [probe["stamps"] for probe in probes],
        }
    )


def _counter_tables(samples: Sequence[Record], start: Record) -> dict[str, pa.Table]:
    """What the host counted, by part; times since ``start``, which the same host stamped."""

    def build(kind: str, rows: Iterable[tuple[Record, Record]]) -> pa.Table:
        origin_ns = start["monotonic_ns"]
        stamped = [
            {"time_ns": sample["time_ns"] - origin_ns, "span_ns": sample["span_ns"], **row}
            for sample, row in rows
        ]
        return pa.Table.from_pylist(stamped, schema=SERIES[kind].schema)

    return {
        "cpu": build("cpu", ((sample, core) for sample in samples for core in sample["cores"])),
        "nics": build("nics", _rows_of(samples, "nics")),
        "softnet": build(
            "softnet",
            ((sample, core) for sample in samples for core in (sample.get("softnet") or {}).get("cores", ())),
        ),
        "tcp": build("tcp", _tcp_rows(samples)),
        "qdiscs": build("qdiscs", _rows_of(samples, "qdiscs")),
    }


def _rows_of(samples: Sequence[Record], part: str) -> Iterable[tuple[Record, Record]]:
    return ((sample, row) for sample in samples for row in sample.get(part) or ())


def _tcp_rows(samples: Sequence[Record]) -> Iterable[tuple[Record, Record]]:
    """One row per counter that changed; a span that was not read has a null row, unless none was."""
    if all(sample.get("tcp") is None for sample in samples):
        return
    for sample in samples:
        counters = sample["tcp"]
        if counters is None:
            yield sample, {"name": None, "value": None}
        else:
            for name, value in counters.items():
                yield sample, {"name": name, "value": value}
