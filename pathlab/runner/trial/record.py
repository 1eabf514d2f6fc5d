"""From the records of engines and agents to one trial record. Missing pieces stay None."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa

from pathlab.analysis.estimators.payload import OVER_LINE_RATIO
from pathlab.analysis.estimators.throughput import effective_window
from pathlab.analysis.verdicts.host_limits import HostLoad, is_core_busy, is_host_limited
from pathlab.campaign.budget import PROBE_SHARE_MAX_RATIO, find_probe_share
from pathlab.campaign.native_option import read_least
from pathlab.engines.base import Record, first, load_engine
from pathlab.engines.settings import find_refused, list_settings
from pathlab.engines.spec import BOTH, TrialSpec
from pathlab.lab.verdict import LabVerdict
from pathlab.runner.trial.adapter_record import describe_adapter, is_hop_long
from pathlab.runner.trial.choreography import TrialData
from pathlab.runner.trial.control_traffic import SHARE_MAX_RATIO
from pathlab.runner.trial.datagram_record import (
    UDP,
    is_datagram_rate_missed,
    is_loss_of_host,
    is_udp_flow,
    measure_datagrams,
)
from pathlab.runner.trial.failover import measure_failover
from pathlab.runner.trial.flow_records import EndPhase, find_phase, find_ready, find_result, list_intervals
from pathlab.runner.trial.host_load import measure_host_load
from pathlab.runner.trial.message_record import is_rate_missed, list_end_workers, measure_messages
from pathlab.runner.trial.retransmission_record import measure_retransmissions
from pathlab.runner.trial.stalls import find_stall
from pathlab.runner.trial.steady_rates import is_window_uneven, sum_rates_per_s
from pathlab.runner.trial.trial_captures import describe_captures
from pathlab.store.flags import Flag, Phase, Status
from pathlab.store.interval_histograms import measure_probe_histograms
from pathlab.store.records import TrialRecord
from pathlab.store.steady import (
    STEADY_COLUMNS,
    measure_probes,
    measure_steady,
    select_inside,
    select_steady,
)
from pathlab.study.base.links import BottleneckLink, Traffic

#: The placement of messages with a path between the ends.
HOST = "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a trial ended: ``complete``, or ``failed`` or ``interrupted`` with stage and reason."""

    status: str
    attempt: int
    started: datetime
    stage: str | None = None
    reason: str | None = None
    host: str | None = None  # that a failure names
    lab_rate_bits_per_s: int | None = None
    lab_mtu_bytes: int | None = None
    host_ceiling_bits_per_s: float | None = None  # the lower loopback rate of the two hosts
    run_flags: tuple[str, ...] = ()  # of the whole run: lab, loopback-fallback
    lab: LabVerdict | None = None  # None: no lab, or no traffic that it carried to the end


def build_record(
    spec: TrialSpec, data: TrialData, outcome: Outcome, tables: Mapping[str, pa.Table]
) -> TrialRecord:
    """One row for the store; ``tables`` are the series of the same trial."""
    flow = _measure_flow(_find_counted(data))
    sender_ready, receiver_ready = (first(end, "ready") or {} for end in (data.sender, data.receiver))
    probing = first(data.loaded, "start") or first(data.unloaded, "start")
    probes = _measure_probes(tables, find_phase(data.prober_end, Phase.STEADY))
    throughput, loaded_ns = flow["throughput_bits_per_s"], probes["loaded_rtt_mean_ns"]
    effective, segment_bytes = None, read_least("mss_bytes")(sender_ready)
    if throughput is not None and loaded_ns and not is_udp_flow(spec):
        effective = effective_window(throughput, spec.cell.streams, loaded_ns)
        if effective < (segment_bytes or 0):  # the probes did not wait where the data did
            effective = None
    hosts = measure_host_load(spec, tables, "sender"), measure_host_load(spec, tables, "receiver")
    reverse = _measure_flow(find_phase(data.sender, Phase.STEADY) if spec.cell.direction == BOTH else None)
    record = TrialRecord(
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
        window_granted_sender_bytes=read_least("sndbuf_bytes")(sender_ready),
        window_granted_receiver_bytes=read_least("rcvbuf_bytes")(receiver_ready),
        window_effective_bytes=effective,
        congestion_requested=spec.cell.congestion,
        mss_bytes=segment_bytes,
        interval_ns=load_engine(spec.cell.engine).find_interval_ns(spec),
        warmup_ns=spec.cell.warmup_ns,
        duration_ns=spec.cell.duration_ns if spec.cell.transfer_bytes is None else 0,
        **flow,
        **_count_traffic(spec, data),
        **measure_retransmissions(data),
        probe_method=_text(probing, "method"),
        probe_stamps=_text(probing, "stamps"),
        probe_timeout_ns=_find_timeout_ns(data),
        probe_share_ratio=_measure_probe_share(spec, data, outcome.lab_rate_bits_per_s or throughput),
        control_bits_per_s=data.control_bits_per_s,
        **probes,
        **_describe_end("sender", data.sender, hosts[0]),
        **_describe_end("receiver", data.receiver, hosts[1]),
        engine_version=_text(first(data.sender, "hello") or first(data.receiver, "hello"), "version"),
        engine_sha256=data.engine_sha256,
        received_reverse_steady_bytes=reverse["received_steady_bytes"],
        throughput_reverse_bits_per_s=reverse["throughput_bits_per_s"],
        **measure_messages(spec, data),
        **measure_datagrams(spec, data, tables),
        **describe_adapter(data),
        **describe_captures(data.captures),
        **(data.background.figures if data.background is not None else {}),
        **(measure_failover(data.bond.failure, data.sender, data.receiver) if data.bond else {}),
    )
    return replace(record, flags=tuple(_find_flags(spec, data, outcome, record, hosts)))


def _count_traffic(spec: TrialSpec, data: TrialData) -> dict[str, Any]:
    """The columns of bytes and connections over the whole trial."""
    sent, received = first(data.sender, "result"), first(data.receiver, "result")
    return {
        "window_in_flight_max_bytes": _most_in_flight(data.sender),
        "received_total_bytes": _count_received(sent, received),
        "sent_total_bytes": _sent_bytes(sent),
        "undelivered_bytes": _undelivered_bytes(spec, sent, received),
        # Of unauthenticated peers; the accepting end alone states them.
        "rejected_connections": _sum_known(end.get("rejected") for end in (received, sent) if end),
    }


def _find_counted(data: TrialData) -> EndPhase | None:
    """The steady window of the end that counts: the receiver, or the sender where the other is by hand."""
    if data.by_hand != "receiver":
        return find_phase(data.receiver, Phase.STEADY)
    sent = find_phase(data.sender, Phase.STEADY)
    return None if sent is None else {**sent, "bytes": sent.get("sent_bytes", sent["bytes"])}


def _count_received(sent: Record | None, received: Record | None) -> int | None:
    """Bytes that the receiver counted in the whole trial, else those that it confirmed to the sender."""
    if received is not None:
        return _sum_known(received.get("total_bytes", ()))
    confirmed = (sent or {}).get("confirmed_bytes") or (None,)
    return None if None in confirmed else _sum_known(confirmed)


def _describe_end(end: str, records: Sequence[Record], load: HostLoad) -> dict[str, Any]:
    """The columns of the ``sender`` or the ``receiver``: its congestion control and its CPU."""
    result, ready = find_result(records), find_ready(records)
    workers = list_end_workers(ready, result, end) if result else None
    return {
        f"congestion_{end}": _text(ready, "congestion"),
        f"{end}_cpu_user_s": _sum_cpu_s(workers, "user_ns"),
        f"{end}_cpu_system_s": _sum_cpu_s(workers, "system_ns"),
        f"{end}_busiest_core_ratio": load.busiest_core_ratio,
    }


def _find_flags(
    spec: TrialSpec,
    data: TrialData,
    outcome: Outcome,
    record: TrialRecord,
    hosts: tuple[HostLoad, HostLoad],
) -> Iterator[str]:
    """Flags of the run, lab, route, settings and limits."""
    ready = first(data.sender, "ready"), first(data.receiver, "ready")
    refused = find_refused(list_settings(spec, *ready))
    yield from outcome.run_flags
    if data.by_hand is not None:
        yield Flag.FAR_END_BY_HAND
    if data.by_hand == "receiver":
        yield Flag.SENDER_COUNTED
    if outcome.status == Status.COMPLETE and find_stall(spec, data) is not None:
        yield Flag.HOST_STALLED
    if outcome.lab is not None and not outcome.lab.trusted and spec.cell.placement == HOST:
        yield Flag.LAB_LIMITED
    if data.route is not None and data.route.changed:
        yield Flag.ROUTE_CHANGED
    if data.bond is not None and data.bond.changed:
        yield Flag.BOND_CHANGED
    windows = zip(
        spec.windows_bytes,
        (record.window_granted_sender_bytes, record.window_granted_receiver_bytes),
        strict=True,
    )
    if any(want is not None and got is not None and got // 2 < want for want, got in windows):
        yield Flag.WINDOW_SHORT  # Linux reports twice what it grants
    used = {record.congestion_sender, record.congestion_receiver} - {None, spec.cell.congestion}
    if spec.cell.congestion is not None and used:
        yield Flag.CONGESTION_NOT_GRANTED
    yield from refused
    yield from _find_limits(spec, outcome, record, hosts, _find_bounds(spec, outcome, ready[0], refused))
    rate = outcome.lab_rate_bits_per_s or record.throughput_bits_per_s
    if record.control_bits_per_s is not None and rate and record.control_bits_per_s > SHARE_MAX_RATIO * rate:
        yield Flag.CONTROL_TRAFFIC
    if record.probe_share_ratio is not None and record.probe_share_ratio > PROBE_SHARE_MAX_RATIO:
        yield Flag.PROBE_SHARE
    if any(end.is_incomplete for end in data.captures.values()):
        yield Flag.CAPTURE_INCOMPLETE
    if is_hop_long(record):
        yield Flag.ADAPTER_HOP
    if record.foreign_connections:
        yield Flag.FOREIGN_CONNECTIONS
    if is_rate_missed(spec, data) or is_datagram_rate_missed(spec, data):
        yield Flag.RATE_MISSED
    if record.duration_ns and is_window_uneven(find_phase(data.receiver, Phase.STEADY), record.duration_ns):
        yield Flag.UNEVEN_WINDOWS
    if outcome.status == Status.COMPLETE and record.undelivered_bytes and spec.cell.transport != UDP:
        yield Flag.UNDELIVERED_DATA  # lost datagrams are messages_missing


def _find_limits(
    spec: TrialSpec,
    outcome: Outcome,
    record: TrialRecord,
    hosts: tuple[HostLoad, HostLoad],
    bounds: tuple[float | None, float | None],
) -> Iterator[str]:
    """What keeps the rate from being the path's; ``bounds``: the link's data rate, the requested rate.

    Messages that stay on one host show nothing but that host, and a thread that polls is always busy
    (docs/decisions/2026-11-22-message-flags.md).
    """
    cell, rate = spec.cell, record.throughput_bits_per_s
    idle_ns, windows = record.unloaded_rtt_median_ns, None
    line, requested = bounds
    window_bytes = cell.message_bytes if cell.reply and not cell.message_rate_per_s else cell.window_bytes
    if window_bytes is not None and idle_ns and not is_udp_flow(spec):
        windows = cell.streams * window_bytes * 8e9 / idle_ns
    if rate is not None and line is not None and rate > line * OVER_LINE_RATIO:
        yield Flag.OVER_LINE_RATE
    polls, local = cell.wait == "poll", cell.placement != HOST
    if (
        not polls
        and not (local and not requested)
        and is_core_busy(load.busiest_core_ratio for load in hosts)
    ):
        yield Flag.BUSY_CORE
    known = [HostLoad(waiting_ratio=load.waiting_ratio) for load in hosts] if polls else hosts
    bounds_bits_per_s = (line, windows, requested)
    ceiling = outcome.host_ceiling_bits_per_s
    loses = is_loss_of_host(record.udp_lost_host_packets, record.udp_sent_packets)
    if loses or (not local and is_host_limited(rate, known, bounds_bits_per_s, ceiling)):
        yield Flag.HOST_LIMITED


def _find_bounds(
    spec: TrialSpec, outcome: Outcome, sender_ready: Record | None, refused: Sequence[str]
) -> tuple[float | None, float | None]:
    """What the lab's link leaves for data, by the segments of the sender's sockets, and the requested rate.

    Both in bit/s. The rate is the one that the sender states, else the one of the trial, else that of the
    messages. No link carries what stays on one host.
    """
    ready, cell = sender_ready or {}, spec.cell
    offered = (cell.message_rate_per_s or 0) * (cell.message_bytes or 0) * 8
    paced = (ready.get("pacing") or {}).get("requested_bits_per_s") or spec.rate_bits_per_s
    requested = paced or offered or None
    if not outcome.lab_rate_bits_per_s or not outcome.lab_mtu_bytes or cell.placement != HOST:
        return None, requested
    traffic = Traffic.of(
        [spec.path.destination_address],
        [socket.get("mss_bytes") for socket in ready.get("sockets", ())],
        transport=None if Flag.TRANSPORT_NOT_GRANTED in refused else spec.cell.transport,
        datagram_bytes=[(ready.get("datagrams") or {}).get("bytes")],
    )
    link = BottleneckLink(
        rate_bits_per_s=outcome.lab_rate_bits_per_s, mtu_bytes=outcome.lab_mtu_bytes, traffic=traffic
    )
    return link.data_bits_per_s, requested


def _measure_probes(tables: Mapping[str, pa.Table], steady: Record | None) -> dict[str, Any]:
    """The columns of loaded probes, those in the sender's steady window, and of unloaded ones."""
    window = (steady["start_ns"], steady["end_ns"]) if steady else (0, 0)
    columns: dict[str, Any] = {}
    for load in ("loaded", "unloaded"):
        probes, intervals = tables.get(f"{load}_probes"), tables.get(f"{load}_probe_histograms")
        if intervals is not None:
            inside = select_inside(intervals, window) if load == "loaded" else intervals
            columns |= measure_probe_histograms(inside, load)
        else:
            if probes is not None and load == "loaded":
                probes = select_steady(probes, window)
            columns |= _measure_probe_list(probes, load)
    return columns


def _measure_probe_share(spec: TrialSpec, data: TrialData, rate_bits_per_s: float | None) -> float | None:
    """What the loaded probes take of the path, of its rate; None without any, or on one host."""
    start = first(data.loaded, "start")
    if start is None or "payload_bytes" not in start or not rate_bits_per_s or spec.path.one_host:
        return None
    ipv6 = ":" in spec.path.destination_address
    return find_probe_share(spec.probes, rate_bits_per_s, payload_bytes=start["payload_bytes"], ipv6=ipv6)


def _find_timeout_ns(data: TrialData) -> int | None:
    """The longer of the last time-outs of the loaded and the unloaded probes."""
    ended = [first(records, "result") or {} for records in (data.loaded, data.unloaded)]
    return max((item["timeout_ns"] for item in ended if "timeout_ns" in item), default=None)


def _measure_probe_list(probes: pa.Table | None, load: str) -> dict[str, Any]:
    if probes is None:
        return measure_probes([], load)
    rtts_ns, waits_ns = (probes[name].to_pylist() for name in ("rtt_ns", "waited_ns"))
    return measure_probes(rtts_ns, load, waits_ns=waits_ns)


def _measure_flow(steady: EndPhase | None) -> dict[str, Any]:
    """The columns of the steady window."""
    if not steady or steady["end_ns"] <= steady["start_ns"]:
        return dict.fromkeys(STEADY_COLUMNS)
    rate_bytes_per_s = sum_rates_per_s(steady, "bytes")
    return {
        **measure_steady(steady["bytes"], steady["end_ns"] - steady["start_ns"]),
        "throughput_bits_per_s": None if rate_bytes_per_s is None else 8 * rate_bytes_per_s,
    }


def _sent_bytes(result: Record | None) -> int | None:
    """What the counted direction sent; an end that also receives states it apart."""
    if not result:
        return None
    return sum(result.get("total_sent_bytes") or result["total_bytes"])


def _undelivered_bytes(spec: TrialSpec, sent: Record | None, received: Record | None) -> int | None:
    """What either end sent and the other has not received.

    None where an end did not state its bytes, or the engine does not wait for what is under way, and of UDP
    flows, whose lost datagrams are ``udp_lost_packets``.
    """
    if is_udp_flow(spec) or not sent or not received:
        return None
    if not load_engine(spec.cell.engine).capabilities.confirms_delivery:
        return None
    missing: int = (_sent_bytes(sent) or 0) - sum(received["total_bytes"])
    if spec.cell.direction == BOTH:
        missing += (_sent_bytes(received) or 0) - sum(sent["total_bytes"])
    return missing


def _text(record: Record | None, key: str) -> str | None:
    value = (record or {}).get(key)
    return str(value) if value else None


def _sum_known(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _most_in_flight(records: Sequence[Record]) -> int | None:
    most = None
    for record in list_intervals(records):
        info = record.get("tcp_info", {})
        for unacked, mss in zip(info.get("unacked_segments", ()), info.get("snd_mss_bytes", ()), strict=True):
            if unacked is not None and mss is not None:
                most = max(most or 0, unacked * mss)
    return most


def _sum_cpu_s(workers: Sequence[Record] | None, key: str) -> float | None:
    return None if workers is None else sum(worker[key] for worker in workers) / 1e9
