"""Trials in the shape of ``iperf3 --json``, one file each, for the many programs that read it.

What was not measured is null where iperf3 has a number; readers that do arithmetic on it must look. Intervals
are those of the end that iperf3's client would be; where it kept none, of the other end (``intervals_of``).
"""

from __future__ import annotations

import itertools
import json
import operator
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pathlab._version import VERSION
from pathlab.store.exporting import ChosenTrial, ExportFormat, Selection, describe_trial, open_target
from pathlab.store.flags import Phase, Status
from pathlab.store.importers.iperf3 import TCP_BLOCK_BYTES
from pathlab.store.records import TrialRecord
from pathlab.store.steady import RECEIVER_INTERVALS, SENDER_INTERVALS

RETRANSMITS = "retransmits"
Node = dict[str, Any]
Interval = list[Mapping[str, Any]]  # rows of one interval, one per stream


def export_iperf3(selection: Selection, out: Path) -> None:
    """Fill the folder ``out`` with ``trial-N.json``, one per trial."""
    with open_target(out, folder=True) as folder:
        for trial in selection.trials:
            node = build_output(selection, trial)
            text = json.dumps(node, indent="\t", ensure_ascii=False, allow_nan=False)
            (folder / f"trial-{trial.trial_id}.json").write_text(text + "\n", encoding="utf-8")


def _sends(trial: ChosenTrial) -> bool:
    """Whether the end that iperf3's client would have been sent."""
    return trial.settings.get("direction") != "reverse"


def _name_own(trial: ChosenTrial) -> str:
    """The intervals that iperf3's client prints: its own."""
    return SENDER_INTERVALS if _sends(trial) else RECEIVER_INTERVALS


def _find_instead(selection: Selection, trial: ChosenTrial) -> str | None:
    """The other end's intervals where the client kept none; what a sender offers in UDP is not carried."""
    other = RECEIVER_INTERVALS if _sends(trial) else SENDER_INTERVALS
    if selection.read_intervals(trial, _name_own(trial)):
        return None
    return other if selection.find_carried(trial) == other else None


def build_output(selection: Selection, trial: ChosenTrial) -> Node:
    """One trial as the client of iperf3 would have printed it; warm-up intervals are ``omitted``."""
    record = trial.record
    sent = _count_retransmits(_list_intervals(selection, trial, SENDER_INTERVALS))
    received = _list_intervals(selection, trial, RECEIVER_INTERVALS)
    client_sends = _sends(trial)
    kind = _find_instead(selection, trial) or _name_own(trial)
    counted = sent if kind == SENDER_INTERVALS else received
    seen = [rows for rows in counted if rows[0]["phase"] != Phase.DRAIN]
    output: Node = {
        "start": _build_start(trial, client_sends=client_sends),
        "intervals": [_build_interval(rows, client_sends=client_sends) for rows in seen],
        "end": _build_end(record, _steady(sent), _steady(received), client_sends=client_sends),
        "pathlab": {**describe_trial(trial), "intervals_of": kind if counted else None},
    }
    if record.status != Status.COMPLETE:
        output["error"] = record.failure or record.status
    return output


def _build_start(trial: ChosenTrial, *, client_sends: bool) -> Node:
    record, started = trial.record, trial.started
    levels = trial.settings
    transport = str(levels.get("transport") or "tcp").upper()
    size = levels.get("write_bytes") or (TCP_BLOCK_BYTES if transport == "TCP" else record.datagram_bytes)
    target, pacing = levels.get("stream_target_bits_per_s"), levels.get("stream_pacing_bits_per_s")
    if transport == "UDP" and target is None and levels.get("pacing_bits_per_s"):
        target = levels["pacing_bits_per_s"] // max(record.streams, 1)  # iperf3's -b, of each stream
    if pacing is None and levels.get("pacing_bits_per_s"):
        pacing = levels["pacing_bits_per_s"] // max(record.streams, 1)
    requested_mss = levels.get("mss_bytes")
    return {
        "connected": [
            {
                "socket": stream,
                "local_host": record.source_address or record.path_source,
                "local_port": None,
                "remote_host": record.destination_address or record.path_destination,
                "remote_port": None,
            }
            for stream in range(record.streams)
        ],
        "version": f"pathlab {VERSION}",
        "system_info": f"{record.path_source} to {record.path_destination}",
        "timestamp": {
            "time": started.strftime("%a, %d %b %Y %H:%M:%S GMT"),
            "timesecs": int(started.timestamp()),
            "timemillisecs": int(started.timestamp() * 1000),
        },
        "connecting_to": {"host": record.destination_address or record.path_destination, "port": None},
        "cookie": None,
        **({"tcp_mss": requested_mss} if requested_mss else {"tcp_mss_default": record.mss_bytes}),
        "sock_bufsize": record.window_requested_bytes or 0,
        "sndbuf_actual": record.window_granted_sender_bytes if client_sends else None,
        "rcvbuf_actual": None if client_sends else record.window_granted_receiver_bytes,
        "test_start": {
            "protocol": transport,
            "num_streams": record.streams,
            "blksize": size,
            "omit": record.warmup_ns / 1e9,
            "duration": record.duration_ns / 1e9,
            "bytes": levels.get("transfer_bytes") or 0,
            "blocks": levels.get("transfer_blocks") or 0,
            "reverse": int(not client_sends),
            "bidir": 0,
            "tos": (levels.get("dscp") or 0) << 2 | (levels.get("ecn") or 0),
            "target_bitrate": target or 0,
            "fqrate": pacing or 0,
            "interval": record.interval_ns / 1e9,
        },
    }


def _list_intervals(selection: Selection, trial: ChosenTrial, kind: str) -> list[Interval]:
    rows = selection.read_intervals(trial, kind)
    return [list(group) for _, group in itertools.groupby(rows, key=operator.itemgetter("index"))]


def _count_retransmits(intervals: list[Interval]) -> list[Interval]:
    """The intervals with the retransmissions of each: the kernel's counter goes on over all of them."""
    before: dict[int, int] = {}
    counted = []
    for rows in intervals:
        interval: Interval = []
        for row in rows:
            total = row.get("total_retrans_segments")
            again = None if total is None else total - before.get(row["stream"], 0)
            before[row["stream"]] = before.get(row["stream"], 0) if total is None else total
            interval.append({**row, RETRANSMITS: again})
        counted.append(interval)
    return counted


def _steady(intervals: list[Interval]) -> list[Interval]:
    return [rows for rows in intervals if rows[0]["phase"] == Phase.STEADY]


def _build_interval(rows: Interval, *, client_sends: bool) -> Node:
    streams = [{**_build_stream(row), "sender": client_sends} for row in rows]
    return {"streams": streams, "sum": _sum_streams(streams)}


def _build_stream(row: Mapping[str, Any]) -> Node:
    start, end = row["start_ns"] / 1e9, row["end_ns"] / 1e9
    cwnd, mss = row.get("snd_cwnd_segments"), row.get("snd_mss_bytes")
    return {
        "socket": row["stream"],
        "start": start,
        "end": end,
        "seconds": end - start,
        "bytes": row["bytes"],
        "bits_per_second": row["bytes"] * 8 / (end - start) if end > start else None,
        RETRANSMITS: row.get(RETRANSMITS),
        "snd_cwnd": cwnd * mss if cwnd is not None and mss is not None else row.get("snd_cwnd_bytes"),
        "snd_wnd": row.get("snd_wnd_bytes"),
        "rtt": row.get("rtt_us"),
        "rttvar": row.get("rttvar_us"),
        "pmtu": row.get("pmtu_bytes"),
        "omitted": row["phase"] == Phase.WARMUP,
    }


def _sum_streams(streams: list[Node]) -> Node:
    first = streams[0]
    total = sum(stream["bytes"] for stream in streams)
    seconds = first["seconds"]
    return {
        **{key: first[key] for key in ("start", "end", "seconds", "omitted", "sender")},
        "bytes": total,
        "bits_per_second": total * 8 / seconds if seconds else None,
        RETRANSMITS: _sum_known(streams),
    }


def _build_end(
    record: TrialRecord, sent: list[Interval], received: list[Interval], *, client_sends: bool
) -> Node:
    """Totals of the steady window; the receiver's are what it counted, never what was sent."""
    length = record.steady_ns / 1e9 if record.steady_ns else None
    streams = []
    for stream in range(record.streams):
        ours, theirs = _stream_rows(sent, stream), _stream_rows(received, stream)
        side = {"socket": stream, "sender": client_sends}
        streams.append(
            {
                "sender": {
                    **side,
                    **_total(_sum_bytes(ours), _length(sent)),
                    RETRANSMITS: _sum_known(ours),
                    **_rtts(ours),
                },
                "receiver": {**side, **_total(_sum_bytes(theirs), length)},
            }
        )
    every = [row for rows in sent for row in rows]
    again = _sum_known(every)
    total, datagrams = _total(_sum_bytes(every), _length(sent)), _count_datagrams(record)
    udp = (
        {"sum": {**total, **datagrams, "sender": client_sends}} if datagrams else {}
    )  # as sent, in iperf3 too
    return {
        "streams": streams,
        "sum_sent": {
            **total,
            RETRANSMITS: record.retransmitted_steady_segments if again is None else again,
            "sender": client_sends,
        },
        "sum_received": {
            **_total(record.received_steady_bytes, length),
            **datagrams,
            "sender": client_sends,
        },
        **udp,
        "cpu_utilization_percent": _share_cpu(record, client_sends=client_sends),
        "sender_tcp_congestion": record.congestion_sender,
        "receiver_tcp_congestion": record.congestion_receiver,
    }


def _count_datagrams(record: TrialRecord) -> Node:
    """What the receiver says of UDP; nothing for other transports."""
    sent, lost, jitter_ns = record.udp_sent_packets, record.udp_lost_packets, record.udp_jitter_ns
    if sent is None or lost is None:
        return {}
    return {
        "packets": sent,
        "lost_packets": lost,
        "lost_percent": 100 * lost / sent if sent else None,
        "jitter_ms": None if jitter_ns is None else jitter_ns / 1e6,
    }


def _share_cpu(record: TrialRecord, *, client_sends: bool) -> Node:
    """CPU % of both engines while they carry the throughput, 100 being a core; None: not measured.

    Their CPU time is that of the whole trial, so that it is held against all bytes of it.
    """
    rate, carried = record.throughput_bits_per_s, record.received_total_bytes
    span_s = 8 * carried / rate if rate and carried else None
    ends = {
        "sender": (record.sender_cpu_user_s, record.sender_cpu_system_s),
        "receiver": (record.receiver_cpu_user_s, record.receiver_cpu_system_s),
    }
    node: Node = {}
    for side, end in zip(("host", "remote"), ends if client_sends else reversed(ends), strict=True):
        user, system = (
            None if spent is None or span_s is None else 100 * spent / span_s for spent in ends[end]
        )
        total = None if user is None or system is None else user + system
        node |= {f"{side}_total": total, f"{side}_user": user, f"{side}_system": system}
    return node


def _stream_rows(intervals: list[Interval], stream: int) -> Interval:
    return [row for rows in intervals for row in rows if row["stream"] == stream]


def _sum_bytes(rows: Interval) -> int | None:
    return sum(row["bytes"] for row in rows) if rows else None


def _sum_known(rows: Sequence[Mapping[str, Any]]) -> int | None:
    """The retransmissions of all of these; None where one of them has no count."""
    counts = [row.get(RETRANSMITS) for row in rows]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _length(intervals: list[Interval]) -> float | None:
    return (intervals[-1][0]["end_ns"] - intervals[0][0]["start_ns"]) / 1e9 if intervals else None


def _total(count_bytes: int | None, seconds: float | None) -> Node:
    rate = count_bytes * 8 / seconds if count_bytes is not None and seconds else None
    return {"start": 0, "end": seconds, "seconds": seconds, "bytes": count_bytes, "bits_per_second": rate}


def _rtts(rows: Interval) -> Node:
    seen = [row["rtt_us"] for row in rows if row.get("rtt_us") is not None]
    return {
        "max_rtt": max(seen, default=None),
        "min_rtt": min(seen, default=None),
        "mean_rtt": sum(seen) / len(seen) if seen else None,
    }


FORMAT = ExportFormat(export=export_iperf3, is_folder=True, ending="-iperf3", find_instead=_find_instead)
