"""Which trials count in medians and recommendations, and the shape in which tables hold flags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from pathlab.store.flags import Flag, Status
from pathlab.store.records import TrialRecord

#: Trials that say nothing at all: the lab was beyond what it emulates, or the file contradicts itself.
VOID_FLAGS = (Flag.LAB_LIMITED, Flag.TOTALS_DIFFER)
#: Trials that say nothing of their path: a host, the lab or another congestion control was measured instead,
#: or nobody knows which of two figures is right.
PATH_FLAGS = (Flag.HOST_LIMITED, Flag.LAB_LIMITED, Flag.CONGESTION_NOT_GRANTED, Flag.TOTALS_DIFFER)
#: Figures that only trials of messages, and of UDP flows, have; their host-limited trials are usable.
_OTHER_KINDS = ("messages_per_s", "round_trip_median_ns", "udp_sent_packets_per_s")
_FIGURES = (
    *("throughput_bits_per_s", "messages_per_s", "round_trip_median_ns"),
    *("loaded_rtt_median_ns", "unloaded_rtt_median_ns"),
)
USABLE = "usable"
USABLE_MEANING = "whether it counts in medians: complete, with a figure, and without a flag that excludes it"
SEPARATOR = ";"
#: Why a complete trial without a flag is not usable.
NO_FIGURE = "without a figure"


class _Judged(NamedTuple):
    """The columns that decide whether a trial is usable."""

    status: str
    flags: tuple[str, ...]
    streams: int
    throughput_bits_per_s: float | None
    messages_per_s: float | None
    round_trip_median_ns: float | None
    udp_sent_packets_per_s: float | None
    loaded_rtt_median_ns: float | None
    unloaded_rtt_median_ns: float | None


def is_usable(record: Any) -> bool:
    """Whether a trial (a ``TrialRecord``, or a row with its names) counts where its combination is described.

    It is complete, has a throughput (of probes alone an RTT, of messages their figures), got the window that
    it requested, and bears no flag by which medians leave it out.
    """
    return find_flaw(record) is None


def find_flaw(record: Any) -> str | None:
    """Why a trial is not usable: its status, the first flag that excludes it, or that it has no figure."""
    if record.status != Status.COMPLETE:
        return str(record.status)
    others = any(getattr(record, name) is not None for name in _OTHER_KINDS)
    for flag in (Flag.HOST_STALLED, *(VOID_FLAGS if others else PATH_FLAGS), Flag.WINDOW_SHORT):
        if flag in (record.flags or ()):
            return str(flag)
    needed = _FIGURES if others or record.streams == 0 else _FIGURES[:1]
    known = (getattr(record, name) for name in needed)
    return None if any(value is not None and value >= 0 for value in known) else NO_FIGURE


def list_usable(columns: Mapping[str, Sequence[Any]]) -> list[bool]:
    """``is_usable`` of many trials, by their columns."""
    rows = zip(*(columns[name] for name in _Judged._fields), strict=True)
    return [is_usable(_Judged._make(values)) for values in rows]


def serialize_flags(flags: Iterable[str]) -> str:
    """Flags as every table holds them: ``lab;window-short``, empty without any."""
    return SEPARATOR.join(flags)


def describe_record(record: TrialRecord) -> dict[str, Any]:
    """The columns of a trial as tables and JSON hold them: with flags as a text, and ``usable``."""
    return {**asdict(record), "flags": serialize_flags(record.flags), USABLE: is_usable(record)}


def parse_flags(text: str) -> tuple[str, ...]:
    """Flags of a text of ``serialize_flags``."""
    return tuple(flag for flag in text.split(SEPARATOR) if flag)
