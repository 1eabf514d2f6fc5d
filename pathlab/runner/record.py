"""From what engines and agents said to one trial record and its series. Missing pieces stay None."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from pathlab.analysis.fairness import jain_index
from pathlab.analysis.latency import answered_rtts
from pathlab.analysis.limits import is_core_busy, is_host_limited
from pathlab.analysis.quantiles import quartiles
from pathlab.analysis.throughput import aggregate_throughput, effective_window
from pathlab.runner.trial import TrialData, TrialSpec, first
from pathlab.store.records import TrialRecord

Record = Mapping[str, Any]

#: Excess over what the lab's link can carry from which a window has counted a backlog (behind a filled hole).
OVER_LINE_RATIO = 1.005
#: IPv4 and TCP headers with timestamps, in front of each segment's data.
HEADER_BYTES = 52


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a trial ended: ``complete``, or ``failed`` or ``interrupted`` with stage and reason."""

    status: str
    attempt: int
    started: datetime
    stage: str | None = None
    reason: str | None = None
    lab_rate_bits_per_s: int | None = None
    lab_mtu_bytes: int | None = None
    standing_flags: tuple[str, ...] = ()  # of the whole run: lab, loopback-fallback


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What a limit is judged by: bit/s received, and the RTT of an empty path."""

    throughput: float | None
    idle_rtt_ns: float | None


def build_record(spec: TrialSpec, data: TrialData, outcome: Outcome) -> TrialRecord:
    """One row for the store."""
    steady = _phase(data.receiver, "steady")
    sent, received = first(data.sender, "result"), first(data.receiver, "result")
    flow = _flow(steady)
    loaded, unloaded = _rtts(_steady_probes(data)), _rtts(_probes(data.unloaded))
    sender_ready = first(data.sender, "ready")
    probing = first(data.loaded, "start") or first(data.unloaded, "start")
    last_info = _last_tcp_info(data.sender)
    throughput = flow["throughput_bits_per_s"]
    effective = None
    if throughput is not None and loaded["mean_ns"]:
        effective = effective_window(throughput, spec.streams, loaded["mean_ns"])
    granted_sender = _least(sender_ready, "sndbuf_bytes")
    granted_receiver = _least(first(data.receiver, "ready"), "rcvbuf_bytes")
    busiest = (
        _busiest_core(spec, data.sender_counters, first(data.sender, "start")),
        _busiest_core(spec, data.receiver_counters, first(data.receiver, "start")),
    )
    flags = [*outcome.standing_flags]
    flags += _window_flags(spec, granted_sender, granted_receiver)
    flags += _congestion_flags(spec, data)
    rates = Rates(throughput=throughput, idle_rtt_ns=unloaded["median_ns"])
    flags += _limit_flags(spec, rates, busiest, outcome)
    return TrialRecord(
        plan_row=spec.row,
        attempt=outcome.attempt,
        status=outcome.status,
        failed_stage=outcome.stage,
        failure=outcome.reason,
        started_utc=outcome.started.isoformat(timespec="milliseconds"),
        cycle=spec.cycle,
        path_source=spec.path.source,
        path_destination=spec.path.destination,
        source_address=spec.path.source_address,
        destination_address=spec.path.destination_address,
        streams=spec.streams,
        window_asked_bytes=spec.window_bytes,
        window_granted_sender_bytes=granted_sender,
        window_granted_receiver_bytes=granted_receiver,
        window_effective_bytes=effective,
        window_in_flight_max_bytes=_most_in_flight(data.sender),
        congestion_asked=spec.congestion,
        congestion_sender=_text(sender_ready, "congestion"),
        congestion_receiver=_text(first(data.receiver, "ready"), "congestion"),
        mss_bytes=_least(sender_ready, "mss_bytes"),
        interval_ns=spec.interval_ns,
        warmup_ns=spec.warmup_ns,
        duration_ns=spec.duration_ns,
        steady_ns=flow["steady_ns"],
        received_steady_bytes=flow["received_bytes"],
        received_total_bytes=sum(received["total_bytes"]) if received else None,
        sent_total_bytes=sum(sent["total_bytes"]) if sent else None,
        retransmitted_bytes=_total(last_info, "bytes_retrans"),
        retransmitted_segments=_total(last_info, "total_retrans_segments"),
        throughput_bits_per_s=throughput,
        fairness_jain=flow["jain"],
        probe_method=_text(probing, "method"),
        probe_stamps=_text(probing, "stamps"),
        **{f"loaded_{key}": value for key, value in _rtt_columns(loaded).items()},
        **{f"unloaded_{key}": value for key, value in _rtt_columns(unloaded).items()},
        sender_cpu_user_s=_cpu_s(sent, "user_ns"),
        sender_cpu_system_s=_cpu_s(sent, "system_ns"),
        receiver_cpu_user_s=_cpu_s(received, "user_ns"),
        receiver_cpu_system_s=_cpu_s(received, "system_ns"),
        sender_busiest_core_ratio=busiest[0],
        receiver_busiest_core_ratio=busiest[1],
        engine_version=_text(first(data.sender, "hello") or first(data.receiver, "hello"), "version"),
        rejected_connections=received["rejected"] if received else None,
        flags=tuple(flags),
    )


def _phase(records: Sequence[Record], name: str) -> Record | None:
    """A phase of a result; of a trial that ended early, only what its result states."""
    result = first(records, "result")
    return result["phases"].get(name) if result else None


def _flow(steady: Record | None) -> dict[str, Any]:
    if not steady or steady["end_ns"] <= steady["start_ns"]:
        return {"steady_ns": None, "received_bytes": None, "throughput_bits_per_s": None, "jain": None}
    length_ns = steady["end_ns"] - steady["start_ns"]
    return {
        "steady_ns": length_ns,
        "received_bytes": sum(steady["bytes"]),
        "throughput_bits_per_s": aggregate_throughput(steady["bytes"], length_ns).bits_per_s,
        "jain": jain_index(steady["bytes"]).jain_ratio,
    }


def _probes(records: Sequence[Record]) -> list[Record]:
    """The probes that were sent; one that the kernel did not take says nothing of the path."""
    return [record for record in records if record.get("type") == "probe" and record["sent_ns"] is not None]


def _offset_ns(start: Record | None, base: Record | None) -> int | None:
    """What to add to times since ``start`` for times since ``base``; both on one host's clock."""
    if start is None or base is None:
        return None
    return int(start["monotonic_ns"] - base["monotonic_ns"])


def _steady_probes(data: TrialData) -> list[Record]:
    """Loaded probes that left inside the sender's steady window."""
    offset_ns = _offset_ns(first(data.loaded, "start"), first(data.sender, "start"))
    steady = _phase(data.sender, "steady")
    if offset_ns is None or steady is None:
        return []
    begin, end = steady["start_ns"], steady["end_ns"]
    return [probe for probe in _probes(data.loaded) if begin <= probe["sent_ns"] + offset_ns < end]


def _rtts(probes: Sequence[Record]) -> dict[str, Any]:
    answered = answered_rtts([np.nan if p["rtt_ns"] is None else p["rtt_ns"] for p in probes])
    spread = quartiles(answered)
    some = answered.size > 0
    return {
        "sent": len(probes) or None,
        "received": int(answered.size) if probes else None,
        "min_ns": float(answered.min()) if some else None,
        "mean_ns": float(answered.mean()) if some else None,
        "median_ns": spread.median,
        "iqr_ns": spread.iqr,
    }


def _rtt_columns(rtts: Mapping[str, Any]) -> dict[str, Any]:
    return {key if key in ("sent", "received") else f"rtt_{key}": value for key, value in rtts.items()}


def _least(ready: Record | None, key: str) -> int | None:
    """The smallest value over a flow's sockets: what the worst-off stream was granted."""
    values = [socket[key] for socket in (ready or {}).get("sockets", ()) if socket.get(key) is not None]
    return min(values) if values else None


def _text(record: Record | None, key: str) -> str | None:
    value = (record or {}).get(key)
    return str(value) if value else None


def _intervals(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record.get("type") == "interval"]


def _last_tcp_info(records: Sequence[Record]) -> Record:
    """The final TCP_INFO of a result, else of the last interval seen."""
    result = first(records, "result")
    if result and result.get("tcp_info"):
        final: Record = result["tcp_info"]
        return final
    intervals = _intervals(records)
    return intervals[-1]["tcp_info"] if intervals else {}


def _total(info: Record, key: str) -> int | None:
    values = [value for value in info.get(key, ()) if value is not None]
    return sum(values) if values else None


def _most_in_flight(records: Sequence[Record]) -> int | None:
    most = None
    for record in _intervals(records):
        info = record["tcp_info"]
        for unacked, mss in zip(info["unacked_segments"], info["snd_mss_bytes"], strict=True):
            if unacked is not None and mss is not None:
                most = max(most or 0, unacked * mss)
    return most


def _cpu_s(result: Record | None, key: str) -> float | None:
    return sum(worker[key] for worker in result["workers"]) / 1e9 if result else None


def _busiest_core(spec: TrialSpec, samples: Sequence[Record], start: Record | None) -> float | None:
    """Mean busy share of the busiest core, over the samples taken wholly inside the steady window."""
    if start is None:
        return None
    begin_ns = start["monotonic_ns"] + spec.warmup_ns
    end_ns = begin_ns + spec.duration_ns
    busy: dict[int, list[float]] = {}
    for sample in samples:
        if begin_ns <= sample["time_ns"] - sample["span_ns"] and sample["time_ns"] <= end_ns:
            for core in sample["cores"]:
                if core["idle_ratio"] is not None:
                    busy.setdefault(core["core"], []).append(1.0 - core["idle_ratio"])
    return max((float(np.mean(values)) for values in busy.values()), default=None)


def _window_flags(spec: TrialSpec, sender_bytes: int | None, receiver_bytes: int | None) -> list[str]:
    """``window-short`` where the kernel granted less than was asked; Linux reports twice what it grants."""
    asked = spec.window_bytes
    if asked is None:
        return []
    granted = [value // 2 for value in (sender_bytes, receiver_bytes) if value is not None]
    return ["window-short"] if any(value < asked for value in granted) else []


def _congestion_flags(spec: TrialSpec, data: TrialData) -> list[str]:
    """``congestion-not-granted`` where another congestion control was at work than the one asked for."""
    at_work = {_text(first(records, "ready"), "congestion") for records in (data.sender, data.receiver)} - {
        None
    }
    return ["congestion-not-granted"] if spec.congestion is not None and at_work - {spec.congestion} else []


def _limit_flags(
    spec: TrialSpec, rates: Rates, busiest: tuple[float | None, float | None], outcome: Outcome
) -> list[str]:
    """What stands in the way of reading the rate as the path's."""
    line, windows = _line_rate(outcome), None
    if spec.window_bytes is not None and rates.idle_rtt_ns:
        windows = spec.streams * spec.window_bytes * 8e9 / rates.idle_rtt_ns
    flags = []
    if rates.throughput is not None and line is not None and rates.throughput > line * OVER_LINE_RATIO:
        flags.append("over-line-rate")
    if is_core_busy(busiest):
        flags.append("busy-core")
    if is_host_limited(rates.throughput, busiest, (line, windows)):
        flags.append("host-limited")
    return flags


def _line_rate(outcome: Outcome) -> float | None:
    """What the lab's link leaves for data, bit/s."""
    rate, mtu = outcome.lab_rate_bits_per_s, outcome.lab_mtu_bytes
    return rate * (mtu - HEADER_BYTES) / mtu if rate and mtu else None


def build_series(data: TrialData) -> dict[str, pa.Table]:
    """The trial's series as Arrow tables by kind, as records.py names them; empty ones are left out."""
    base = first(data.sender, "start")
    tables = {
        "sender_intervals": _interval_table(data.sender),
        "receiver_intervals": _interval_table(data.receiver),
        "sender_workers": _worker_table(data.sender),
        "receiver_workers": _worker_table(data.receiver),
        "loaded_probes": _probe_table(data.loaded, base),
        "unloaded_probes": _probe_table(data.unloaded, base),
        "sender_cpu": _cpu_table(data.sender_counters, base),
        "receiver_cpu": _cpu_table(data.receiver_counters, first(data.receiver, "start")),
    }
    return {kind: table for kind, table in tables.items() if table is not None and table.num_rows}


def _interval_table(records: Sequence[Record]) -> pa.Table | None:
    intervals = _intervals(records)
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
    for name in intervals[0]["tcp_info"]:
        columns[name] = pa.array([v for record in intervals for v in record["tcp_info"][name]], pa.int64())
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
        }
        for record in _intervals(records)
        for number, worker in enumerate(record["workers"])
    ]
    return pa.Table.from_pylist(rows) if rows else None


def _probe_table(records: Sequence[Record], base: Record | None) -> pa.Table | None:
    offset_ns = _offset_ns(first(records, "start"), base)
    probes = sorted(_probes(records), key=lambda probe: probe["sequence"])
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


def _cpu_table(samples: Sequence[Record], start: Record | None) -> pa.Table | None:
    """Per-core shares; times since ``start``, which the same host stamped."""
    if not samples or start is None:
        return None
    rows = [
        {"time_ns": sample["time_ns"] - start["monotonic_ns"], "span_ns": sample["span_ns"], **core}
        for sample in samples
        for core in sample["cores"]
    ]
    return pa.Table.from_pylist(rows)
