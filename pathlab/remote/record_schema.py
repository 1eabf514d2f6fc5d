"""The schema of what hosts state: the records of engines, probers, technologies and agents, key by key.

Records of the engine are those of native/records.toml; the rest is the machine's form of agents/PROTOCOL.md
and agents/adapters/CONTRACT.md. Everything that reads a record relies on it: a required key is there, and
every known key has its type, its length and its range. Keys that are not listed are kept, within the bounds
of ``measure_value``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pathlab.remote.engine_records import (
    ENGINE_RECORDS,
    FURTHER,
    CommonError,
    FlowInterval,
    FlowPhase,
    FlowReady,
    FlowRoundTrips,
    FlowStart,
    IntervalDatagrams,
    LoadLoad,
    MessageTotals,
    PingRoundTrips,
    Raw,
    Reordering,
    RoundTrips,
    Subflow,
)
from pathlab.remote.field_types import (
    NAME_MAX_CHARACTERS,
    PORTS_END,
    STREAMS_MAX,
    RuleBuilder,
)
from pathlab.remote.record_rules import (
    Address,
    Each,
    Encoded,
    Number,
    ObjectRule,
    Stated,
    Text,
    Truth,
    ValueRule,
)

CORES_MAX = 4096
#: Flows of one prober, and the end of TTLs and of sizes of IP packets (agents/PROTOCOL.md).
PROBED_FLOWS_MAX, TTL_END, PACKET_END = 16, 256, 1 << 16
#: Of one answer of a capture's bytes (agents/PROTOCOL.md).
PIECE_MAX_BYTES = 256 * 1024

_COUNT, _SOME = Number(), Number(null=True)
_SIGNED = Number(least=-(1 << 63), null=True)
_FIGURE = Number(whole=False, null=True)
_NAME, _MAYBE_NAME = Text(NAME_MAX_CHARACTERS), Text(NAME_MAX_CHARACTERS, null=True)
_FLAG, _MAYBE_FLAG = Truth(), Truth(null=True)
_COUNTS = Each(_COUNT, per_stream=True)


def _find_histogram_fault(result: Mapping[str, Any], _stated: Stated) -> str | None:
    names = ("min", "max", "mean", "hdr")
    if result["count"] and any(result[name] is None for name in names):
        return "counts values, and does not describe them"
    return None


def _find_span_fault(result: Mapping[str, Any], _stated: Stated) -> str | None:
    return "ends before it begins" if result["end_ns"] < result["start_ns"] else None


def _find_stream_fault(result: Mapping[str, Any], stated: Stated) -> str | None:
    if stated.streams is not None and result["stream"] >= stated.streams:
        return f"is of stream {result['stream']}, of {stated.streams} streams"
    return _find_span_fault(result, stated) if "start_ns" in result else None


def _find_struct_fault(result: Mapping[str, Any], stated: Stated) -> str | None:
    data, size = result["base64"], result["bytes"]
    held = len(data) // 4 * 3 - data[-2:].count("=")
    wanted = None if stated.streams is None else size * stated.streams
    if wanted is not None and held != wanted:
        return f"has {held} bytes, not {size} of each of {stated.streams} streams"
    return None


def _find_datagram_fault(result: Mapping[str, Any], _stated: Stated) -> str | None:
    return "has 'received' without 'lost'" if "received" in result and "lost" not in result else None


def _find_bins_fault(result: Mapping[str, Any], _stated: Stated) -> str | None:
    for name, bins in result.items():
        if isinstance(bins, list) and any(
            len(item) != (2 if name.endswith("density") else 3) for item in bins
        ):
            return f"has bins of another length under '{name}'"
    return None


def _find_reply_fault(result: Mapping[str, Any], _stated: Stated) -> str | None:
    if (result["rtt_ns"] is None) is not (result["kind"] is None):
        return "has only a part of an answer"
    answered = result["rtt_ns"] is not None
    return "was answered, and not sent" if answered and result["unsent"] is not None else None


def _find_ready_fault(result: Mapping[str, Any], stated: Stated) -> str | None:
    streams = result["streams"]
    if stated.streams is not None and stated.streams != streams:
        return f"has {streams} streams, not {stated.streams}"
    stated.streams = streams
    if len(result.get("sockets", ())) not in (0, streams):
        return f"has {len(result['sockets'])} sockets for {streams} streams"
    return None


def _find_interval_fault(result: Mapping[str, Any], stated: Stated) -> str | None:
    counted = frozenset({"tcp_info"} & result.keys())
    if stated.keys.setdefault("interval", counted) != counted:
        return "has 'tcp_info', or lacks it, unlike the record before"
    return _find_span_fault(result, stated)


_BUILDER = RuleBuilder(
    FURTHER,
    {
        RoundTrips: _find_histogram_fault,
        Raw: _find_struct_fault,
        Subflow: _find_stream_fault,
        IntervalDatagrams: _find_datagram_fault,
        Reordering: _find_bins_fault,
        FlowPhase: _find_span_fault,
        FlowReady: _find_ready_fault,
        FlowInterval: _find_interval_fault,
        FlowRoundTrips: _find_stream_fault,
        PingRoundTrips: _find_span_fault,
        LoadLoad: _find_span_fault,
    },
)


def _build_interval() -> ObjectRule:
    """An interval's counters are the same each time, and none has the name of another column."""
    rule = _BUILDER.build_object(FlowInterval)
    counters = rule.optional["tcp_info"]
    assert isinstance(counters, ObjectRule)
    barred = ("index", "phase", "start_ns", "end_ns", "stream", "bytes", "sent_bytes", "messages")
    strict = dataclasses.replace(counters, alike="tcp_info", barred=barred)
    return dataclasses.replace(rule, optional={**rule.optional, "tcp_info": strict})


_COMMON: Mapping[str, ObjectRule] = {
    "hello": ObjectRule(optional={"program": _NAME, "version": _NAME}),
    "error": _BUILDER.build_object(CommonError),
}
_ENDED: Mapping[str, ValueRule] = {"complete": _FLAG, "reason": Text(null=True)}
_SPAN: Mapping[str, ValueRule] = {"start_ns": _COUNT, "end_ns": _COUNT}
_READY = _BUILDER.build_object(FlowReady).optional
_LISTENING = ObjectRule({"port": Number(end=PORTS_END)})
_SERVER_TIMES: Mapping[str, ValueRule] = {"user_ns": _SIGNED, "system_ns": _SIGNED}
_ASKED_STEADY = ObjectRule(
    {**_SPAN, "messages": _COUNTS}, {"user_ns": _SOME, "system_ns": _SOME}, also=_find_span_fault
)
_ADAPTER_SETTINGS: Mapping[str, ValueRule] = {
    "versions": Text(null=True),
    "settings": ObjectRule(null=True),
}

_ENGINE: Mapping[str, Mapping[str, ObjectRule]] = {
    program: {kind: _BUILDER.build_object(record) for kind, record in records.items()}
    for program, records in ENGINE_RECORDS.items()
}
#: The records of a program, by what it was started as and by type. Types that are not listed are not kept.
RECORDS: Mapping[str, Mapping[str, ObjectRule]] = {
    **_ENGINE,
    **{name: {**_ENGINE[name], "interval": _build_interval()} for name in ("send", "receive")},
    "discovery": {
        **_COMMON,
        "open": ObjectRule(
            {
                **{"method": _NAME, "privilege": _NAME, "address": Address(), "local_address": Address()},
                "source_ports": Each(Number(end=PORTS_END), most=PROBED_FLOWS_MAX),
                **{"kept_ports": _FLAG, "mtu_bytes": Number(1)},
            }
        ),
        "probe": ObjectRule(
            {
                **{"flow": Number(end=PROBED_FLOWS_MAX), "ttl": Number(1, TTL_END)},
                **{"size_bytes": Number(end=PACKET_END), "unsent": _MAYBE_NAME},
                **{"rtt_ns": _SOME, "stamps": _MAYBE_NAME, "kind": _MAYBE_NAME, "code": _SOME},
                **{"source": Address(null=True), "mtu_bytes": _SOME, "reply_ttl": _SOME},
                "reply_bytes": _SOME,
            },
            also=_find_reply_fault,
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
        "start": _BUILDER.build_object(FlowStart),
        "round_trips": _BUILDER.build_object(FlowRoundTrips),
        "result": ObjectRule(
            {
                **_ENDED,
                "messages": ObjectRule({"sent": _COUNTS}, _BUILDER.build_object(MessageTotals).optional),
                "phases": ObjectRule(further=_ASKED_STEADY),
            }
        ),
    },
    "answer": {
        **_COMMON,
        "listening": ObjectRule(
            {"port": Number(end=PORTS_END)},
            {**_ADAPTER_SETTINGS, "server_start_ns": _SOME, "sandbox": _MAYBE_FLAG, "priority": _SOME},
        ),
        "server_cpu": ObjectRule({"at_ns": _COUNT}, dict.fromkeys(("user_ns", "system_ns"), _SOME)),
        "result": ObjectRule(_ENDED, {**_SERVER_TIMES, "foreign_connections": _SOME}),
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
