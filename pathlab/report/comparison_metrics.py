"""What two results are compared in: how a trial's value is read, and which way is good."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pathlab.report.summary import cpu_s_per_gbyte
from pathlab.store.records import TrialRecord
from pathlab.study.selection import measure_drtt
from pathlab.units import format_time

#: Of the margin: what a loss of probes or datagrams may differ by without mattering, half a point of 5 %.
LOSS_SHARE_RATIO = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """What is compared: its name, how a trial's value is read, and which way is good.

    What may be 0 or below has no ratio. Such a metric has ``bound``: from the trials before and the margin,
    the difference in its own unit that does not matter (None: not known); its rows are differences.
    """

    name: str
    title: str
    unit: str
    higher_is_better: bool
    read: Callable[[TrialRecord], float | None]
    bound: Callable[[Sequence[TrialRecord], float], float | None] | None = None


def _read_cpu(record: TrialRecord) -> float | None:
    """CPU seconds of both engines per 10^9 bytes; ``None`` unless both were measured."""
    sides = (
        cpu_s_per_gbyte(record.sender_cpu_user_s, record.sender_cpu_system_s, record.received_total_bytes),
        cpu_s_per_gbyte(
            record.receiver_cpu_user_s, record.receiver_cpu_system_s, record.received_total_bytes
        ),
    )
    return None if sides[0] is None or sides[1] is None else sides[0] + sides[1]


def _read_loss(record: TrialRecord) -> float | None:
    """Share of the probes under load that were lost; ``None`` where none was sent."""
    if not record.loaded_sent or record.loaded_received is None:
        return None
    return 1 - record.loaded_received / record.loaded_sent


def _read_datagram_loss(record: TrialRecord) -> float | None:
    """Share of UDP's datagrams that were lost; ``None`` where it was not measured."""
    if not record.udp_sent_packets or record.udp_lost_packets is None:
        return None
    return record.udp_lost_packets / record.udp_sent_packets


def _bound_loss(_before: Sequence[TrialRecord], margin_ratio: float) -> float:
    return margin_ratio * LOSS_SHARE_RATIO


def _bound_rise(before: Sequence[TrialRecord], margin_ratio: float) -> float | None:
    """The margin's share of the idle path's round trip, to which dRTT is added."""
    idle = [record.unloaded_rtt_mean_ns for record in before if record.unloaded_rtt_mean_ns is not None]
    return margin_ratio * float(np.median(idle)) if idle and np.median(idle) > 0 else None


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            name="throughput",
            title="throughput",
            unit="bit/s",
            higher_is_better=True,
            read=lambda record: record.throughput_bits_per_s,
        ),
        Metric(
            name="loaded-rtt",
            title="median RTT under load",
            unit="ns",
            higher_is_better=False,
            read=lambda record: record.loaded_rtt_median_ns,
        ),
        Metric(
            name="idle-rtt",
            title="median RTT of the idle path",
            unit="ns",
            higher_is_better=False,
            read=lambda record: record.unloaded_rtt_median_ns,
        ),
        Metric(name="cpu", title="CPU of both ends", unit="s/GB", higher_is_better=False, read=_read_cpu),
        Metric(
            name="drtt",
            title="dRTT",
            unit="ns",
            higher_is_better=False,
            read=measure_drtt,
            bound=_bound_rise,
        ),
        Metric(
            name="loss",
            title="loss under load",
            unit="ratio",
            higher_is_better=False,
            read=_read_loss,
            bound=_bound_loss,
        ),
        Metric(
            name="udp-loss",
            title="loss of UDP datagrams",
            unit="ratio",
            higher_is_better=False,
            read=_read_datagram_loss,
            bound=_bound_loss,
        ),
    )
}
_MEDIA = ("imported", "loopback-fallback", "lab")
#: What may differ between results without keeping them from being compared, and has to be said then.
FACTS: Mapping[str, Callable[[TrialRecord], str]] = {
    "steady window": lambda record: format_time(record.duration_ns),
    "warm-up": lambda record: format_time(record.warmup_ns),
    "measured over": lambda record: next((one for one in _MEDIA if one in record.flags), "hosts"),
    "probes": lambda record: record.probe_method or "none",
    "congestion control in use": lambda record: record.congestion_sender or "not read",
}
