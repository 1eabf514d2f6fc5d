"""Which series of a trial can be drawn over its time, what they are called, and what they are one of each of.

A course is named ``KIND.COLUMN``: a kind of series of the store and one of its numeric columns, or a figure
that follows from it (DERIVED).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pathlab.campaign.source_text import suggest_name
from pathlab.errors import UsageError
from pathlab.quantities import UNITS, DisplayUnit
from pathlab.store.series import check_kind
from pathlab.store.series_columns import NUMBER, SERIES_KINDS, WHOLE, find_series_kind
from pathlab.study.exploration.column_labels import find_label, find_shown_unit

#: Columns that say when a row was, by the first that a kind has: begin and end, end and length, one time.
SPANS = (("start_ns", "end_ns"), ("time_ns", "span_ns"), ("sent_ns", None))
#: Columns that say what a row is of.
KEYS = ("stream", "core", "worker", "interface", "handle", "kind", "name", "id", "local", "remote")
#: Numeric columns that place a row, and are no figure of it.
_PLACES = frozenset(
    {"index", "start_ns", "end_ns", "time_ns", "span_ns", "sent_ns", "intended_ns", "sequence"}
) | frozenset({*KEYS, "local_port", "remote_port"})
#: Figures that follow from a column: kind, name, the column that has to be there, label and unit.
RATE, RETRANSMISSIONS, BUSY, CWND = "rate", "retransmissions", "busy", "cwnd"
DERIVED: Mapping[str, Mapping[str, tuple[str, str, DisplayUnit]]] = {
    "intervals": {
        RATE: ("bytes", "Rate", UNITS["bit/s"].shown),
        RETRANSMISSIONS: ("total_retrans_segments", "Retransmissions per interval", UNITS["segments"].shown),
        CWND: ("snd_cwnd_segments", "Congestion window", UNITS["bytes"].find_axis_unit("kB")),
    },
    "cpu": {BUSY: ("idle_ratio", "Core busy", UNITS["ratio"].shown)},
}
#: What has no labels of its own elsewhere.
_LABELS: Mapping[str, str] = {
    "rtt_ns": "RTT",
    "rtt_us": "RTT, smoothed by TCP",
    "rttvar_us": "RTT, mean deviation by TCP",
    "min_rtt_us": "RTT, minimum of TCP",
    "snd_wnd_bytes": "Window that the peer allows",
    "pmtu_bytes": "Path MTU",
    "busy_time_us": "Busy since the start",
    "rwnd_limited_us": "Limited by the receiver's window since the start",
    "sndbuf_limited_us": "Limited by the send buffer since the start",
    "bytes_sent": "Bytes sent since the start",
    "bytes_acked": "Bytes acknowledged since the start",
    "bytes_retrans": "Bytes retransmitted since the start",
    "bytes_received": "Bytes received since the start",
    "delivered_segments": "Segments delivered since the start",
    "delivery_rate_app_limited": "Delivery rate limited by the application",
    "reordering_segments": "Reordering allowed for",
    "reord_seen_events": "Reordering seen since the start",
    "dsack_dups_segments": "Spurious retransmissions (D-SACK) since the start",
    "rcv_ooopack_segments": "Received out of order since the start",
    "rx_bytes": "Bytes received",
    "tx_bytes": "Bytes sent",
    "user_ratio": "User code",
    "system_ratio": "Kernel",
    "softirq_ratio": "Soft interrupts",
    "irq_ratio": "Hard interrupts",
    "steal_ratio": "Taken by the hypervisor",
    "unacked_segments": "Segments in flight",
    "delivery_rate_bytes_per_s": "Delivery rate",
    "snd_cwnd_segments": "Congestion window",
    "snd_cwnd_bytes": "Congestion window",
    "snd_ssthresh_segments": "Slow-start threshold",
    "snd_mss_bytes": "Segment size (MSS)",
    "total_retrans_segments": "Retransmitted segments since the start",
    "lost_segments": "Segments taken for lost",
    "rcv_space_bytes": "Receive window aimed at",
    "backlog_bytes": "Backlog",
    "qlen": "Packets waiting",
}
#: Kinds with a row for each counter of the kernel: a course has the counter's name as its column.
_COUNTERS = ("tcp", "udp")
_COUNTER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
#: What is of most use comes first.
_FIRST = (
    *(f"receiver_intervals.{RATE}", f"sender_intervals.{RATE}", "loaded_probes.rtt_ns"),
    *("loaded_probe_histograms.mean_ns", "unloaded_probes.rtt_ns", "sender_intervals.rtt_us"),
    *(f"sender_intervals.{CWND}", f"sender_intervals.{RETRANSMISSIONS}"),
    *(f"sender_cpu.{BUSY}", f"receiver_cpu.{BUSY}", "round_trips.mean_ns", "sender_qdiscs.backlog_bytes"),
)
#: Names of kinds for readers.
KIND_NAMES: Mapping[str, str] = {
    "intervals": "streams",
    "subflows": "subflows",
    "datagrams": "datagrams",
    "workers": "threads",
    "cpu": "cores",
    "nics": "interfaces",
    "softnet": "softnet",
    "tcp": "TCP counters",
    "udp": "UDP counters",
    "qdiscs": "queues",
    "loaded_probes": "probes under load",
    "unloaded_probes": "probes without load",
    "loaded_probe_histograms": "probes under load, by interval",
    "unloaded_probe_histograms": "probes without load, by interval",
    "round_trips": "round trips of messages",
}
#: Counts of a span or an interval: those of several streams add up.
_ADDITIVE = frozenset(
    {
        *(RATE, RETRANSMISSIONS, "bytes", "sent_bytes", "messages", "packets", "lost_packets", "sent"),
        *("refused", "received", "lost", "duplicate", "reordered"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseSeries:
    """One course: ``kind`` as it is stored, ``column`` of it, or of DERIVED.

    ``noun`` is what the lines are one of each of ("" for none); ``is_additive``: their sum means something.
    ``is_counter``: the column is the name of one of the kernel's counters.
    """

    kind: str
    column: str
    label: str
    group: str
    unit: DisplayUnit
    noun: str
    is_additive: bool
    is_counter: bool = False

    @property
    def name(self) -> str:
        """The course as ``KIND.COLUMN``."""
        return f"{self.kind}.{self.column}"


def list_courses(columns: Mapping[str, Iterable[str]]) -> tuple[CourseSeries, ...]:
    """The courses of the stored columns (or counters) of each kind, those of most use first."""
    listed = [
        series
        for kind, names in columns.items()
        if kind in SERIES_KINDS
        for series in (
            (_make_counter(kind, name) for name in names)
            if holds_counters(kind)
            else _list_kind(kind, frozenset(names))
        )
    ]
    ranks = {name: rank for rank, name in enumerate(_FIRST)}
    return tuple(
        sorted(listed, key=lambda item: ranks.get(item.name, len(ranks)))
    )  # others stay in their order


def parse_course(text: str) -> CourseSeries:
    """The course of that name. Raises UsageError where no series has such a column."""
    kind, _, column = text.partition(".")
    check_kind(kind)
    if holds_counters(kind) and _COUNTER_NAME.fullmatch(column):
        return _make_counter(kind, column)
    known = {item.column: item for item in _list_kind(kind, frozenset(find_series_kind(kind).columns))}
    if column not in known:
        raise UsageError(
            f"series '{kind}' has no course '{column}'{suggest_name(column, known)}",
            hint=f"name one of: {', '.join(known) or 'none'}",
        )
    return known[column]


def find_span(names: Iterable[str]) -> tuple[str, str | None] | None:
    """The columns that say when a row was; None: the series has no times."""
    there = frozenset(names)
    return next((span for span in SPANS if span[0] in there and (span[1] is None or span[1] in there)), None)


def holds_counters(kind: str) -> bool:
    """Whether the rows of a kind are of counters by name."""
    return _strip_end(kind) in _COUNTERS


def _strip_end(kind: str) -> str:
    return kind.removeprefix("sender_").removeprefix("receiver_")


def _name_group(kind: str) -> str:
    base = _strip_end(kind)
    end = kind.removesuffix(base).rstrip("_")
    name = KIND_NAMES.get(base, base.replace("_", " "))
    return f"{name[:1].upper()}{name[1:]}{f', {end}' if end else ''}"


def _make_counter(kind: str, name: str) -> CourseSeries:
    """A counter's increase in each span."""
    return CourseSeries(
        kind=kind,
        column=name,
        label=name,
        group=_name_group(kind),
        unit=UNITS["count"].shown,
        noun="",
        is_additive=True,
        is_counter=True,
    )


def _list_kind(kind: str, names: frozenset[str]) -> Iterator[CourseSeries]:
    if find_span(names) is None:
        return
    base = _strip_end(kind)
    nouns = [name for name in KEYS if name in names]
    described = find_series_kind(kind).columns
    noun = {"name": "counter", "handle": "queue"}.get(nouns[0], nouns[0]) if nouns else ""
    shown: dict[str, tuple[str, DisplayUnit]] = {
        name: (label, unit)
        for name, (needed, label, unit) in DERIVED.get(base, {}).items()
        if needed in names
    }
    for name, column in described.items():
        if name in names and name not in _PLACES and column.type in (WHOLE, NUMBER):
            shown[name] = _LABELS.get(name) or find_label(name), find_shown_unit(name, column.unit)
    for name, (label, unit) in shown.items():
        yield CourseSeries(
            kind=kind,
            column=name,
            label=label,
            group=_name_group(kind),
            unit=unit,
            noun=noun,
            is_additive=bool(nouns) and name in _ADDITIVE,
        )
