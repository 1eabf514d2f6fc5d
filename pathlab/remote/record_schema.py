"""The schema of what hosts state: the records of engines, probers, technologies and agents, key by key.

It is the machine's form of native/PROTOCOL.md, agents/PROTOCOL.md and agents/adapters/CONTRACT.md. Everything
that reads a record relies on it: a required key is there, and every known key has its type, its length and
its range. Keys that are not listed are kept, within the bounds of ``measure_value``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pathlab.remote.record_rules import Each, Encoded, Number, ObjectRule, Stated, Text, Truth, ValueRule

STREAMS_MAX = 4096
CORES_MAX = 4096
PORTS_END = 1 << 16
STRUCT_MAX_BYTES = 4096
HISTOGRAM_MAX_BYTES = 1 << 20
#: Of one answer of a capture's bytes (agents/PROTOCOL.md).
PIECE_MAX_BYTES = 256 * 1024
#: Characters of a name.
_WORDS = 4096

_COUNT, _SOME = Number(), Number(null=True)
_SIGNED = Number(least=-(1 << 63), null=True)
_FIGURE = Number(whole=False, null=True)
_NAME, _MAYBE_NAME = Text(_WORDS), Text(_WORDS, null=True)
_FLAG, _MAYBE_FLAG = Truth(), Truth(null=True)
_PORT = Number(end=PORTS_END)
_MAYBE_PORT = Number(end=PORTS_END, null=True)
_STREAM = Number(end=STREAMS_MAX)
_COUNTS = Each(_COUNT, per_stream=True)
_SOME_COUNTS = Each(_SOME, per_stream=True)
_MAYBE_COUNTS = Each(_SOME, per_stream=True, null=True)

_QUANTILES = ObjectRule({}, dict.fromkeys(("median", "p99", "max"), _FIGURE), null=True)


def _find_histogram_fault(found: Mapping[str, Any], _stated: Stated) -> str | None:
    names = ("min", "max", "mean", "hdr")
    if found["count"] and any(found[name] is None for name in names):
        return "counts values, and does not describe them"
    return None


_ROUND_TRIPS = ObjectRule(
    {
        "count": _COUNT,
        **dict.fromkeys(("min", "max", "mean"), _FIGURE),
        "hdr": Encoded(HISTOGRAM_MAX_BYTES, null=True),
    },
    also=_find_histogram_fault,
)


def _find_span_fault(found: Mapping[str, Any], _stated: Stated) -> str | None:
    return "ends before it begins" if found["end_ns"] < found["start_ns"] else None


def _find_stream_fault(found: Mapping[str, Any], stated: Stated) -> str | None:
    if stated.streams is not None and found["stream"] >= stated.streams:
        return f"is of stream {found['stream']}, of {stated.streams} streams"
    return _find_span_fault(found, stated) if "start_ns" in found else None


def _find_struct_fault(found: Mapping[str, Any], stated: Stated) -> str | None:
    data, size = found["base64"], found["bytes"]
    held = len(data) // 4 * 3 - data[-2:].count("=")
    wanted = None if stated.streams is None else size * stated.streams
    if wanted is not None and held != wanted:
        return f"has {held} bytes, not {size} of each of {stated.streams} streams"
    return None


_SPAN: Mapping[str, ValueRule] = {"start_ns": _COUNT, "end_ns": _COUNT}
_WORKER = ObjectRule(
    {"user_ns": _COUNT, "system_ns": _COUNT},
    dict.fromkeys(("waiting_ns", "spun_ns", "wake_ups", "system_calls"), _SOME),
)
_WORKERS = Each(_WORKER, most=2 * STREAMS_MAX)
_TCP_INFO = ObjectRule(further=_SOME_COUNTS)
_RAW = ObjectRule(
    {"bytes": Number(end=STRUCT_MAX_BYTES), "base64": Encoded(STRUCT_MAX_BYTES * STREAMS_MAX)},
    null=True,
    also=_find_struct_fault,
)
_SUBFLOWS = Each(
    ObjectRule(
        {
            **{"stream": _STREAM, "id": _SOME, "local": _NAME, "local_port": _MAYBE_PORT},
            **{"remote": _NAME, "remote_port": _MAYBE_PORT},
        },
        further=_SOME,
        also=_find_stream_fault,
    ),
    most=16 * STREAMS_MAX,
    null=True,
)


def _find_datagram_fault(found: Mapping[str, Any], _stated: Stated) -> str | None:
    return "has 'received' without 'lost'" if "received" in found and "lost" not in found else None


_DATAGRAM_COUNTS: Mapping[str, ValueRule] = {
    **dict.fromkeys(("sent", "refused", "given_up", "received", "duplicate", "reordered"), _COUNTS),
    "lost": Each(_SIGNED, per_stream=True, null=True),
    "socket_dropped": _MAYBE_COUNTS,
    "peer_sent": _MAYBE_COUNTS,
    "jitter_ns": Each(_FIGURE, per_stream=True),
}
_INTERVAL_DATAGRAMS = ObjectRule(
    optional={**_DATAGRAM_COUNTS, "lost": Each(Number(least=-(1 << 63)), per_stream=True)},
    null=True,
    also=_find_datagram_fault,
)
_BINS = Each(Each(_COUNT, most=3))
_DENSITY = Each(Each(Number(least=-(1 << 63)), most=2))


def _find_bins_fault(found: Mapping[str, Any], _stated: Stated) -> str | None:
    for name, bins in found.items():
        if isinstance(bins, list) and any(len(one) != (2 if name.endswith("density") else 3) for one in bins):
            return f"has bins of another length under '{name}'"
    return None


_HISTOGRAMS = ObjectRule(
    optional={
        **dict.fromkeys(("reorder_density", "buffer_density"), _DENSITY),
        **dict.fromkeys(("displaced_beyond", "occupied_beyond"), _COUNT),
    },
    further=_BINS,
    null=True,
    also=_find_bins_fault,
)
_RESULT_DATAGRAMS = ObjectRule(
    optional={
        **dict.fromkeys(("sent", "refused", "given_up"), _COUNTS),
        "pacing_error_ns": _QUANTILES,
        "send_call_ns": _QUANTILES,
        "icmp_unreachable": _SOME,
        "confirmed": ObjectRule(further=Each(_SIGNED, per_stream=True, null=True), null=True),
        "host_lost": ObjectRule(optional={"socket": _SOME}, null=True),
        "foreign": _SOME,
        "unclassified": _SOME,
        "ecn": ObjectRule(further=_SOME, null=True),
        "histograms": _HISTOGRAMS,
    },
    null=True,
)
_MESSAGE_TOTALS: Mapping[str, ValueRule] = {
    **dict.fromkeys(("sent", "send_calls", "received", "missing", "out_of_order"), _SOME_COUNTS),
    **dict.fromkeys(("first_arrival_ns", "last_arrival_ns"), _SOME_COUNTS),
    "send_error_ns": _QUANTILES,
}
_RESULT_MESSAGES = ObjectRule(
    optional={
        **_MESSAGE_TOTALS,
        "round_trip_ns": ObjectRule(_ROUND_TRIPS.required, null=True, also=_find_histogram_fault),
    },
    null=True,
)

_SOCKET = ObjectRule(
    optional={
        **dict.fromkeys(("sndbuf_bytes", "rcvbuf_bytes", "mss_bytes", "max_pacing_bytes_per_s"), _SOME),
        "congestion": _MAYBE_NAME,
        "traffic_class": _SOME,
    }
)
_READY: Mapping[str, ValueRule] = {
    "rejected": _SOME,
    "workers": _SOME,
    "cores": Each(_SOME, most=2 * STREAMS_MAX),
    **dict.fromkeys(("transport", "direction", "congestion"), _MAYBE_NAME),
    **dict.fromkeys(("warmup_ns", "duration_ns", "bytes", "write_bytes", "read_bytes"), _SOME),
    **dict.fromkeys(("unsent_limited", "no_delay"), _MAYBE_FLAG),
    "transfer": ObjectRule(further=_MAYBE_NAME, null=True),
    "pacing": ObjectRule(
        optional={"requested_bits_per_s": _FIGURE, "stream_bits_per_s": _FIGURE, "by": _MAYBE_NAME},
        null=True,
    ),
    "window": ObjectRule(further=_SOME, null=True),
    "sockets": Each(_SOCKET, most=STREAMS_MAX),
    "messages": ObjectRule(
        optional={
            **dict.fromkeys(("bytes", "priority", "batch_bytes"), _SOME),
            **dict.fromkeys(("batch_min_delay_ns", "batch_max_delay_ns", "queue_bytes"), _SOME),
            **dict.fromkeys(("encoding", "carrier", "placement", "wait"), _MAYBE_NAME),
            **dict.fromkeys(("replies", "cork"), _MAYBE_FLAG),
            **dict.fromkeys(("offered_per_s", "clock_ns", "record_ns"), _FIGURE),
        },
        null=True,
    ),
    "datagrams": ObjectRule(
        optional={
            **dict.fromkeys(("bytes", "segments"), _SOME),
            **dict.fromkeys(("gso", "gro"), _MAYBE_FLAG),
            "pacing": _MAYBE_NAME,
            "offered_packets_per_s": _FIGURE,
        },
        null=True,
    ),
}


def _find_ready_fault(found: Mapping[str, Any], stated: Stated) -> str | None:
    streams = found["streams"]
    if stated.streams is not None and stated.streams != streams:
        return f"has {streams} streams, not {stated.streams}"
    stated.streams = streams
    if len(found.get("sockets", ())) not in (0, streams):
        return f"has {len(found['sockets'])} sockets for {streams} streams"
    return None


_START = ObjectRule({"monotonic_ns": _COUNT, "realtime_ns": _SOME})
_HELLO = ObjectRule(optional={"program": _NAME, "version": _NAME})
_ERROR = ObjectRule({"stage": _NAME, "text": Text()}, {"errno": _SIGNED, "errno_name": _MAYBE_NAME})
_COMMON: Mapping[str, ObjectRule] = {"hello": _HELLO, "error": _ERROR}
_ENDED: Mapping[str, ValueRule] = {"complete": _FLAG, "reason": Text(null=True)}
_LISTENING = ObjectRule({"port": _PORT})

_FLOW_PHASES = ObjectRule(
    optional=dict.fromkeys(
        ("warmup", "steady", "drain"),
        ObjectRule(
            {**_SPAN, "bytes": _COUNTS},
            {
                "sent_bytes": _COUNTS,
                "messages": _COUNTS,
                "datagrams": ObjectRule(optional=_DATAGRAM_COUNTS, null=True),
            },
            also=_find_span_fault,
        ),
    ),
    null=False,
)
_MESSAGE_ROUND_TRIPS = ObjectRule(
    {"phase": _NAME, "stream": _STREAM, **_SPAN, "round_trip_ns": _ROUND_TRIPS}, also=_find_stream_fault
)
_FLOW: Mapping[str, ObjectRule] = {
    **_COMMON,
    "listening": ObjectRule({"port": _MAYBE_PORT}),
    "ready": ObjectRule({"streams": Number(1, STREAMS_MAX + 1)}, _READY, also=_find_ready_fault),
    "start": _START,
    "interval": ObjectRule(
        {"index": _COUNT, "phase": _NAME, **_SPAN, "bytes": _COUNTS, "workers": _WORKERS},
        {
            "late_ns": _SOME,
            "sent_bytes": _COUNTS,
            "messages": _COUNTS,
            "datagrams": _INTERVAL_DATAGRAMS,
            "tcp_info": ObjectRule(
                further=_SOME_COUNTS,
                alike="tcp_info",
                barred=("index", "phase", "start_ns", "end_ns", "stream", "bytes", "sent_bytes", "messages"),
            ),
            "tcp_info_raw": _RAW,
            "subflows": _SUBFLOWS,
        },
        also=_find_span_fault,
    ),
    "round_trips": _MESSAGE_ROUND_TRIPS,
    "result": ObjectRule(
        {**_ENDED, "phases": _FLOW_PHASES, "total_bytes": _COUNTS, "workers": _WORKERS},
        {
            **dict.fromkeys(("confirmed_bytes", "undelivered_bytes"), _MAYBE_COUNTS),
            "effective_window_bytes": Each(_FIGURE, per_stream=True, null=True),
            "total_sent_bytes": _COUNTS,
            **dict.fromkeys(("rejected", "reset_streams"), _SOME),
            "transfer": ObjectRule(further=_MAYBE_NAME, null=True),
            "tcp_info": _TCP_INFO,
            "tcp_info_raw": _RAW,
            "subflows": _SUBFLOWS,
            "messages": _RESULT_MESSAGES,
            "datagrams": _RESULT_DATAGRAMS,
        },
    ),
}
_PING: Mapping[str, ObjectRule] = {
    **_COMMON,
    "start": ObjectRule(
        {**_START.required, "method": _NAME}, {"stamps": _MAYBE_NAME, "payload_bytes": _COUNT}
    ),
    "probe": ObjectRule(
        {
            **{"sequence": _COUNT, "intended_ns": _COUNT, "sent_ns": _SOME, "rtt_ns": _SOME},
            "stamps": _MAYBE_NAME,
        },
        {"held_ns": _SOME, "reordered": _FLAG},
    ),
    "late": ObjectRule(
        {
            **dict.fromkeys(("sequence", "intended_ns", "sent_ns", "rtt_ns"), _COUNT),
            "stamps": _MAYBE_NAME,
        }
    ),
    "overdue": ObjectRule(dict.fromkeys(("sequence", "sent_ns", "waited_ns"), _COUNT)),
    "round_trips": ObjectRule(
        {**_SPAN, **dict.fromkeys(("sent", "lost", "reordered"), _COUNT), "round_trip_ns": _ROUND_TRIPS},
        also=_find_span_fault,
    ),
    "result": ObjectRule(
        {**_ENDED, "sent": _COUNT, "received": _COUNT},
        {
            **dict.fromkeys(("duplicates", "late", "reordered", "send_errors"), _SOME),
            **dict.fromkeys(("timeout_ns", "ended_ns"), _COUNT),
            "send_error_ns": _QUANTILES,
        },
    ),
}
_LOAD: Mapping[str, ValueRule] = {
    **_SPAN,
    "cpu_ns": Each(_COUNT, most=CORES_MAX),
    "disk": ObjectRule(
        {"written_bytes": _COUNT, "read_bytes": _SOME}, {"syncs": _SOME, "sync_ns": _QUANTILES}, null=True
    ),
}
_SERVER_TIMES: Mapping[str, ValueRule] = {"user_ns": _SIGNED, "system_ns": _SIGNED}
_ASKED_STEADY = ObjectRule(
    {**_SPAN, "messages": _COUNTS}, {"user_ns": _SOME, "system_ns": _SOME}, also=_find_span_fault
)
_ADAPTER_SETTINGS: Mapping[str, ValueRule] = {
    "versions": Text(null=True),
    "settings": ObjectRule(null=True),
}

#: The records of a program, by what it was started as and by type. Types that are not listed are not kept.
RECORDS: Mapping[str, Mapping[str, ObjectRule]] = {
    "send": _FLOW,
    "receive": _FLOW,
    "ping": _PING,
    "echo": {**_COMMON, "listening": _LISTENING, "result": ObjectRule(_ENDED)},
    "load": {
        **_COMMON,
        "ready": ObjectRule(),
        "start": _START,
        "load": ObjectRule(_LOAD, also=_find_span_fault),
        "result": ObjectRule({**_ENDED, **_LOAD}, {"quiet": _MAYBE_FLAG, "quiet_after_ns": _SOME}),
    },
    "capture": {
        **_COMMON,
        "ready": ObjectRule(),
        "result": ObjectRule(
            {**_ENDED, "captured_packets": _COUNT, "dropped_packets": _COUNT, "file_bytes": _COUNT}
        ),
    },
    "calibrate": {
        **_COMMON,
        "clock": ObjectRule({"resolution_ns": _COUNT, "read_ns": _FIGURE}),
        "timer": ObjectRule({"late_ns": _QUANTILES}),
        "loopback": ObjectRule(
            {
                **{"streams": _COUNT, "transfer": _NAME, "congestion": _MAYBE_NAME},
                **{"bits_per_s": Number(whole=False), "tcp_info_read_ns": _FIGURE},
            }
        ),
        "result": ObjectRule({"complete": _FLAG}),
    },
    "discovery": {
        **_COMMON,
        "open": ObjectRule({"address": _NAME, "mtu_bytes": _SOME, "local_address": _MAYBE_NAME}),
        "probe": ObjectRule(
            {
                **{"flow": _COUNT, "ttl": _COUNT, "size_bytes": _COUNT, "unsent": _MAYBE_NAME},
                **{"rtt_ns": _SOME, "stamps": _MAYBE_NAME, "kind": _MAYBE_NAME, "code": _SOME},
                **{"source": _MAYBE_NAME, "mtu_bytes": _SOME, "reply_ttl": _SOME, "reply_bytes": _SOME},
            }
        ),
        "batch-end": ObjectRule({"late": _COUNT, "ambiguous": _COUNT}),
    },
    "peer": {
        **_COMMON,
        "peer": ObjectRule(),
        "listening": _LISTENING,
        "output": ObjectRule({"json": ObjectRule(), "ended_ns": _COUNT}),
        "result": ObjectRule(_ENDED),
    },
    "ask": {
        **_COMMON,
        "ready": ObjectRule(
            {"streams": Number(1, STREAMS_MAX + 1)},
            {
                "messages": _READY["messages"],
                "cores": _READY["cores"],
                "adapter": ObjectRule(optional={**_ADAPTER_SETTINGS, "hop_ns": _FIGURE}, null=True),
            },
            also=_find_ready_fault,
        ),
        "start": _START,
        "round_trips": _MESSAGE_ROUND_TRIPS,
        "result": ObjectRule(
            {
                **_ENDED,
                "messages": ObjectRule({"sent": _COUNTS}, _RESULT_MESSAGES.optional),
                "phases": ObjectRule(optional=dict.fromkeys(("warmup", "steady", "drain"), _ASKED_STEADY)),
            }
        ),
    },
    "answer": {
        **_COMMON,
        "listening": ObjectRule(
            {"port": _PORT},
            {**_ADAPTER_SETTINGS, "server_start_ns": _SOME, "sandbox": _MAYBE_FLAG, "priority": _SOME},
        ),
        "server_cpu": ObjectRule({"at_ns": _COUNT}, dict.fromkeys(("user_ns", "system_ns"), _SOME)),
        "result": ObjectRule(_ENDED, _SERVER_TIMES),
    },
    "technologies": {
        **_COMMON,
        "technologies": ObjectRule(
            {
                "technologies": ObjectRule(
                    further=ObjectRule(
                        {
                            "missing": Each(
                                ObjectRule({"what": _NAME}, {"debian": _MAYBE_NAME, "pip": _MAYBE_NAME}),
                                most=1000,
                            ),
                            "sandbox": _MAYBE_FLAG,
                            "versions": Text(null=True),
                        }
                    )
                )
            }
        ),
    },
}

_CORE = ObjectRule(
    {"core": Number(end=CORES_MAX)},
    {f"{part}_ratio": _FIGURE for part in ("user", "system", "softirq", "irq", "steal", "idle")},
)
_NIC_COUNTS = ("rx_bytes", "rx_packets", "rx_errors", "rx_dropped")
_SENT_COUNTS = ("tx_bytes", "tx_packets", "tx_errors", "tx_dropped")
#: A counters sample.
SAMPLE = ObjectRule(
    {"time_ns": _COUNT, "span_ns": _COUNT, "cores": Each(_CORE, most=CORES_MAX)},
    {
        "nics": Each(
            ObjectRule({"interface": _NAME, **dict.fromkeys((*_NIC_COUNTS, *_SENT_COUNTS), _SOME)}),
            most=4096,
            null=True,
        ),
        "nic_drops": Each(ObjectRule({"interface": _NAME}, further=_SOME), most=4096, null=True),
        "softnet": ObjectRule(
            optional={
                "cores": Each(
                    ObjectRule({"core": Number(end=CORES_MAX, null=True)}, further=_SOME), most=CORES_MAX
                )
            },
            further=_SOME,
            null=True,
        ),
        "tcp": ObjectRule(further=_SOME, null=True),
        "udp": ObjectRule(further=_SOME, null=True),
        "qdiscs": Each(
            ObjectRule(
                {"interface": _NAME, **dict.fromkeys(("handle", "parent", "kind"), _MAYBE_NAME)},
                further=_SOME,
            ),
            most=4096,
            null=True,
        ),
        "stopped": Each(_NAME, most=4096, null=True),
    },
)

_TRIPLE = ObjectRule(dict.fromkeys(("min_bytes", "default_bytes", "max_bytes"), _COUNT), null=True)
_NAMES = Each(_NAME, most=4096, null=True)
_FACTS = ObjectRule(
    optional={
        "unread": ObjectRule(further=Each(Text(), most=4096)),
        "kernel": ObjectRule(further=_MAYBE_NAME, null=True),
        "release": ObjectRule(further=_MAYBE_NAME, null=True),
        "interpreter": ObjectRule(further=_MAYBE_NAME, null=True),
        "cpu": ObjectRule(optional={"model": _MAYBE_NAME}, further=_SOME, null=True),
        "memory": ObjectRule(further=_SOME, null=True),
        "tcp": ObjectRule(
            optional={
                **dict.fromkeys(("congestion_default", "default_qdisc"), _MAYBE_NAME),
                **dict.fromkeys(
                    ("congestion_available", "congestion_allowed", "congestion_settable"), _NAMES
                ),
            },
            further=_SIGNED,
            null=True,
        ),
        "buffers": ObjectRule(optional={"tcp_rmem": _TRIPLE, "tcp_wmem": _TRIPLE}, further=_SOME, null=True),
        "clock": ObjectRule(optional={"current": _MAYBE_NAME, "available": _NAMES}, null=True),
        "frequency": ObjectRule(
            optional={"governors": _NAMES, "drivers": _NAMES}, further=_MAYBE_FLAG, null=True
        ),
        "virtualisation": ObjectRule(
            optional={"virtual_machine": _MAYBE_FLAG}, further=_MAYBE_NAME, null=True
        ),
        "echo": ObjectRule(optional={"permitted": _MAYBE_FLAG}, further=_SIGNED, null=True),
        "capabilities": ObjectRule(optional={"user": _COUNT}, further=_MAYBE_FLAG, null=True),
        "load": ObjectRule(further=_FIGURE, null=True),
        "nics": ObjectRule(
            further=ObjectRule(
                optional={
                    **dict.fromkeys(("mtu_bytes", "speed_bits_per_s"), _SOME),
                    **dict.fromkeys(("receive_queues", "transmit_queues"), _SOME),
                    **dict.fromkeys(("duplex", "state", "driver"), _MAYBE_NAME),
                    "offloads": ObjectRule(further=_MAYBE_FLAG, null=True),
                }
            ),
            null=True,
        ),
        "bonds": ObjectRule(
            further=ObjectRule(
                {
                    "mode": _NAME,
                    "members": ObjectRule(
                        further=ObjectRule(
                            {"state": _MAYBE_NAME, "speed_bits_per_s": _SOME},
                            {"duplex": _MAYBE_NAME, "failures": _SOME, "aggregator": _SOME},
                        )
                    ),
                },
                {
                    **dict.fromkeys(
                        ("hash_policy", "state", "active_member", "partner_mac", "address"), _MAYBE_NAME
                    ),
                    "active_aggregator": _SOME,
                },
            ),
            null=True,
        ),
    }
)
_STARTED = ObjectRule(
    {"job": _COUNT, "pid": _COUNT, "limits": ObjectRule(further=_FIGURE)}, {"engine_sha256": _MAYBE_NAME}
)
#: The results of requests, by operation; of those that are not listed nothing is read.
ANSWERS: Mapping[str, ObjectRule] = {
    "facts": _FACTS,
    "activity": ObjectRule(
        {
            "cores": _COUNT,
            **dict.fromkeys(("busy_ratio", "steal_ratio", "waiting_ratio"), _FIGURE),
            "busiest": ObjectRule({"name": _NAME, "pid": _COUNT, "cores": Number(whole=False)}, null=True),
        }
    ),
    "host.lock": ObjectRule(
        optional={"held": _FLAG, "owner": ObjectRule(further=_MAYBE_NAME, null=True), "reason": _MAYBE_NAME}
    ),
    **dict.fromkeys(
        (
            *("engine.start", "discovery.start", "peer.start"),
            *("adapter.start", "adapter.check", "capture.start"),
        ),
        _STARTED,
    ),
    "capture.read": ObjectRule({"size_bytes": _COUNT, "base64": Encoded(PIECE_MAX_BYTES)}),
    "counters.start": ObjectRule(
        {"watch": _COUNT, "interval_ns": Number(1), "monotonic_ns": _COUNT},
        {"absent": ObjectRule(further=Text())},
    ),
    "records.hold": ObjectRule(optional={"held": _COUNT}),
    "ping": ObjectRule(
        {"monotonic_ns": _COUNT, "realtime_ns": _SIGNED}, {"read_bytes": _COUNT, "written_bytes": _COUNT}
    ),
}
