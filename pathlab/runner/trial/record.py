"""From what engines and agents said to one trial record. Missing pieces stay None."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from pathlab.analysis.estimators.fairness import jain_index
from pathlab.analysis.estimators.latency import answered_rtts
from pathlab.analysis.estimators.payload import OVER_LINE_RATIO, find_ip_version, full_segment, payload_rate
from pathlab.analysis.estimators.quantiles import quartiles
from pathlab.analysis.estimators.throughput import aggregate_throughput, effective_window
from pathlab.analysis.verdicts.host_limits import HostLoad, is_core_busy, is_host_limited
from pathlab.engines.base import first, load_engine
from pathlab.engines.settings import find_refused, list_settings
from pathlab.engines.spec import BOTH, TrialSpec
from pathlab.lab.verdict import LabVerdict
from pathlab.runner.trial.choreography import TrialData
from pathlab.runner.trial.host_load import measure_host_load
from pathlab.runner.trial.series import Record, find_offset_ns, list_intervals, list_probes
from pathlab.store.flags import Flag, Status
from pathlab.store.records import TrialRecord
from pathlab.study.links import MPTCP


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
    host_ceiling_bits_per_s: float | None = None  # the lower loopback rate of the two hosts
    run_flags: tuple[str, ...] = ()  # of the whole run: lab, loopback-fallback
    lab: LabVerdict | None = None  # None: no lab, or no traffic that it carried to the end


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What a limit is judged by: bit/s received, and the RTT of an empty path."""

    throughput: float | None
    idle_rtt_ns: float | None
    requested: float | None  # that the sender was told to keep
    hosts: tuple[HostLoad, HostLoad]  # of sender and receiver


def build_record(spec: TrialSpec, data: TrialData, outcome: Outcome) -> TrialRecord:
    """One row for the store."""
    steady = _phase(data.receiver, "steady")
    sent, received = first(data.sender, "result"), first(data.receiver, "result")
    flow = _flow(steady)
    loaded, unloaded = _rtts(_steady_probes(data)), _rtts(list_probes(data.unloaded))
    sender_ready = first(data.sender, "ready")
    probing = first(data.loaded, "start") or first(data.unloaded, "start")
    last_info = _last_tcp_info(data.sender)
    throughput = flow["throughput_bits_per_s"]
    effective = None
    if throughput is not None and loaded["mean_ns"]:
        effective = effective_window(throughput, spec.cell.streams, loaded["mean_ns"])
    granted_sender = _least(sender_ready, "sndbuf_bytes")
    granted_receiver = _least(first(data.receiver, "ready"), "rcvbuf_bytes")
    hosts = (
        measure_host_load(spec, data.sender_counters, data.sender),
        measure_host_load(spec, data.receiver_counters, data.receiver),
    )
    rates = Rates(
        throughput=throughput,
        idle_rtt_ns=unloaded["median_ns"],
        requested=_requested_rate(spec, sender_ready),
        hosts=hosts,
    )
    undelivered = _undelivered_bytes(spec, sent, received)
    flags = _find_flags(spec, data, outcome, rates, (granted_sender, granted_receiver))
    if outcome.status == Status.COMPLETE and undelivered:
        flags.append(Flag.UNDELIVERED_DATA)
    back = _flow(_phase(data.sender, "steady") if spec.cell.direction == BOTH else None)
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
        streams=spec.cell.streams,
        window_requested_bytes=spec.cell.window_bytes,
        window_granted_sender_bytes=granted_sender,
        window_granted_receiver_bytes=granted_receiver,
        window_effective_bytes=effective,
        window_in_flight_max_bytes=_most_in_flight(data.sender),
        congestion_requested=spec.cell.congestion,
        congestion_sender=_text(sender_ready, "congestion"),
        congestion_receiver=_text(first(data.receiver, "ready"), "congestion"),
        mss_bytes=_least(sender_ready, "mss_bytes"),
        interval_ns=load_engine(spec.cell.engine).find_interval_ns(spec),
        warmup_ns=spec.cell.warmup_ns,
        duration_ns=spec.cell.duration_ns,
        steady_ns=flow["steady_ns"],
        received_steady_bytes=flow["received_bytes"],
        received_total_bytes=sum(received["total_bytes"]) if received else None,
        sent_total_bytes=_sent_bytes(sent),
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
        sender_busiest_core_ratio=hosts[0].busiest_core_ratio,
        receiver_busiest_core_ratio=hosts[1].busiest_core_ratio,
        engine_version=_text(first(data.sender, "hello") or first(data.receiver, "hello"), "version"),
        rejected_connections=_rejected(received, sent),
        flags=tuple(flags),
        received_reverse_steady_bytes=back["received_bytes"],
        throughput_reverse_bits_per_s=back["throughput_bits_per_s"],
        retransmitted_steady_segments=_count_steady_retransmits(data.sender),
        undelivered_bytes=undelivered,
    )


def _find_flags(
    spec: TrialSpec, data: TrialData, outcome: Outcome, rates: Rates, granted: tuple[int | None, int | None]
) -> list[str]:
    """Flags of the run, lab, route, settings and limits; ``granted``: the windows of sender and receiver."""
    flags = [*outcome.run_flags]
    if outcome.lab is not None and not outcome.lab.trusted:
        flags.append(Flag.LAB_LIMITED)
    if data.route is not None and data.route.changed:
        flags.append(Flag.ROUTE_CHANGED)
    flags += _window_flags(spec, *granted)
    flags += _congestion_flags(spec, data)
    flags += find_refused(list_settings(spec, first(data.sender, "ready"), first(data.receiver, "ready")))
    mptcp = spec.cell.transport == MPTCP and Flag.TRANSPORT_NOT_GRANTED not in flags
    line = _line_rate(spec, data, outcome, mptcp=mptcp)
    return flags + _limit_flags(spec, rates, line, outcome.host_ceiling_bits_per_s)


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


def _steady_probes(data: TrialData) -> list[Record]:
    """Loaded probes that left inside the sender's steady window."""
    offset_ns = find_offset_ns(first(data.loaded, "start"), first(data.sender, "start"))
    steady = _phase(data.sender, "steady")
    if offset_ns is None or steady is None:
        return []
    begin, end = steady["start_ns"], steady["end_ns"]
    return [probe for probe in list_probes(data.loaded) if begin <= probe["sent_ns"] + offset_ns < end]


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


def _rejected(*results: Record | None) -> int | None:
    """Strangers at the accepting end, which alone states them."""
    stated = [result["rejected"] for result in results if result and result.get("rejected") is not None]
    return sum(stated) if stated else None


def _sent_bytes(result: Record | None) -> int | None:
    """What the counted direction sent; an end that also receives states it apart."""
    if not result:
        return None
    return sum(result.get("total_sent_bytes") or result["total_bytes"])


def _undelivered_bytes(spec: TrialSpec, sent: Record | None, received: Record | None) -> int | None:
    """What either end sent and the other has not received.

    None where an end did not state its bytes, or the engine does not wait for what is under way.
    """
    if not sent or not received or not load_engine(spec.cell.engine).capabilities.confirms_delivery:
        return None
    missing: int = (_sent_bytes(sent) or 0) - sum(received["total_bytes"])
    if spec.cell.direction == BOTH:
        missing += (_sent_bytes(received) or 0) - sum(sent["total_bytes"])
    return missing


def _text(record: Record | None, key: str) -> str | None:
    value = (record or {}).get(key)
    return str(value) if value else None


def _last_tcp_info(records: Sequence[Record]) -> Record:
    """The final TCP_INFO of a result, else of the last interval seen."""
    result = first(records, "result")
    if result and result.get("tcp_info"):
        final: Record = result["tcp_info"]
        return final
    intervals = list_intervals(records)
    return intervals[-1]["tcp_info"] if intervals else {}


def _total(info: Record, key: str) -> int | None:
    values = [value for value in info.get(key, ()) if value is not None]
    return sum(values) if values else None


def _count_steady_retransmits(records: Sequence[Record]) -> int | None:
    """Segments sent again in the steady window: its last reading less the one before it, over all streams."""
    intervals = list_intervals(records)
    steady = [place for place, record in enumerate(intervals) if record["phase"] == "steady"]
    if not steady:
        return None
    readings = [record["tcp_info"].get("total_retrans_segments") or () for record in intervals]
    last = readings[steady[-1]]
    before = readings[steady[0] - 1] if steady[0] else [0] * len(last)
    if not last or len(before) != len(last) or None in (*last, *before):
        return None
    return int(sum(last)) - int(sum(before))


def _most_in_flight(records: Sequence[Record]) -> int | None:
    most = None
    for record in list_intervals(records):
        info = record["tcp_info"]
        for unacked, mss in zip(info["unacked_segments"], info["snd_mss_bytes"], strict=True):
            if unacked is not None and mss is not None:
                most = max(most or 0, unacked * mss)
    return most


def _cpu_s(result: Record | None, key: str) -> float | None:
    return sum(worker[key] for worker in result["workers"]) / 1e9 if result else None


def _requested_rate(spec: TrialSpec, sender_ready: Record | None) -> float | None:
    """The rate that the sender says it was told to keep, else the one that the trial asks for."""
    told = (sender_ready.get("pacing") or {}).get("requested_bits_per_s") if sender_ready else None
    return told or spec.rate_bits_per_s


def _window_flags(spec: TrialSpec, sender_bytes: int | None, receiver_bytes: int | None) -> list[str]:
    """``window-short`` where the kernel granted less than was asked; Linux reports twice what it grants."""
    ends = zip(spec.windows_bytes, (sender_bytes, receiver_bytes), strict=True)
    short = [
        requested
        for requested, got in ends
        if requested is not None and got is not None and got // 2 < requested
    ]
    return [Flag.WINDOW_SHORT] if short else []


def _congestion_flags(spec: TrialSpec, data: TrialData) -> list[str]:
    """``congestion-not-granted`` where an end used another congestion control than the requested one."""
    used = {_text(first(records, "ready"), "congestion") for records in (data.sender, data.receiver)}
    requested = spec.cell.congestion
    return [Flag.CONGESTION_NOT_GRANTED] if requested is not None and used - {None, requested} else []


def _limit_flags(spec: TrialSpec, rates: Rates, line: float | None, ceiling: float | None) -> list[str]:
    """What stands in the way of reading the rate as the path's: the link's payload rate, the host's own."""
    windows = None
    if spec.cell.window_bytes is not None and rates.idle_rtt_ns:
        windows = spec.cell.streams * spec.cell.window_bytes * 8e9 / rates.idle_rtt_ns
    flags: list[str] = []
    if rates.throughput is not None and line is not None and rates.throughput > line * OVER_LINE_RATIO:
        flags.append(Flag.OVER_LINE_RATE)
    if is_core_busy(load.busiest_core_ratio for load in rates.hosts):
        flags.append(Flag.BUSY_CORE)
    if is_host_limited(rates.throughput, rates.hosts, (line, windows, rates.requested), ceiling):
        flags.append(Flag.HOST_LIMITED)
    return flags


def _line_rate(spec: TrialSpec, data: TrialData, outcome: Outcome, *, mptcp: bool) -> float | None:
    """What the lab's link leaves for data in the segments that the sender's sockets state, bit/s."""
    rate, mtu = outcome.lab_rate_bits_per_s, outcome.lab_mtu_bytes
    if not rate or not mtu:
        return None
    sockets = (first(data.sender, "ready") or {}).get("sockets", ())
    segment = full_segment(
        mtu,
        mss_bytes=max((one["mss_bytes"] for one in sockets if one.get("mss_bytes")), default=None),
        ip_version=find_ip_version(spec.path.destination_address),
        mptcp=mptcp,
    )
    return payload_rate(rate, segment)
