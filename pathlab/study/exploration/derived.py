"""Figures that follow from several columns of a trial, by the definitions that the analyses use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.rfc6349 import PathFigures, compute_rfc6349_capacity
from pathlab.study.links import find_bottleneck
from pathlab.study.message_latency import measure_cpu_per_message
from pathlab.study.message_loss import TAIL_RATIOS, measure_missing, read_round_trips_ns
from pathlab.study.selection import Sample, collect_sample


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedColumn:
    """A figure of each trial in ``unit``, that of the store; NaN where it was not measured."""

    name: str
    unit: str
    meaning: str
    read: Callable[[Sample], Floats]


def _measure_retransmitted(sample: Sample) -> Floats:
    sent, again = sample.get("sent_total_bytes"), sample.get("retransmitted_bytes")
    every = sent + again
    return np.where((every > 0) & (again >= 0), again / np.where(every > 0, every, 1), np.nan)


def _of_round_trips(name: str) -> DerivedColumn:
    shown = name.replace("_", ".")
    return DerivedColumn(
        name=f"round_trip_{name}_ns",
        unit="ns",
        meaning=f"{shown} of the round trips of all messages sent, those that never returned included",
        read=lambda sample: read_round_trips_ns(sample, name),
    )


#: Those that a trial's own columns give; a name of the store replaces its column.
DERIVED: tuple[DerivedColumn, ...] = (
    DerivedColumn(
        name="drtt_ns",
        unit="ns",
        meaning="RTT increase under load (dRTT): mean RTT of the loaded less that of the unloaded probes",
        read=lambda sample: sample.rise_ns,
    ),
    DerivedColumn(
        name="drtt_median_ns",
        unit="ns",
        meaning="RTT increase under load (dRTT): median RTT of the loaded less that of the unloaded probes",
        read=lambda sample: sample.rise_median_ns,
    ),
    DerivedColumn(
        name="loaded_loss_ratio",
        unit="ratio",
        meaning="loaded probes that were not answered in time, of those sent",
        read=lambda sample: sample.measure_loss("loaded"),
    ),
    DerivedColumn(
        name="unloaded_loss_ratio",
        unit="ratio",
        meaning="unloaded probes that were not answered in time, of those sent",
        read=lambda sample: sample.measure_loss("unloaded"),
    ),
    DerivedColumn(
        name="loaded_variability_ratio",
        unit="ratio",
        meaning="RV of the loaded probes: 1 - minimum / mean of their RTT",
        read=lambda sample: sample.measure_variability("loaded"),
    ),
    DerivedColumn(
        name="unloaded_variability_ratio",
        unit="ratio",
        meaning="RV of the unloaded probes: 1 - minimum / mean of their RTT",
        read=lambda sample: sample.measure_variability("unloaded"),
    ),
    DerivedColumn(
        name="retransmitted_ratio",
        unit="ratio",
        meaning="bytes retransmitted of all bytes sent, retransmissions included, whole trial",
        read=_measure_retransmitted,
    ),
    DerivedColumn(
        name="fairness_jain",
        unit="",
        meaning="Jain's index over the streams, 1 / streams to 1; none of a single stream",
        read=lambda sample: sample.fairness_ratio,
    ),
    DerivedColumn(
        name="cpu_s_per_gb",
        unit="s/GB",
        meaning="CPU time of both ends' engines per 10^9 bytes received, whole trial",
        read=lambda sample: sample.cpu_s_per_gb,
    ),
    DerivedColumn(
        name="sender_cpu_s_per_gb",
        unit="s/GB",
        meaning="CPU time of the sending engine per 10^9 bytes received, whole trial",
        read=lambda sample: sample.measure_cpu_cost("sender"),
    ),
    DerivedColumn(
        name="receiver_cpu_s_per_gb",
        unit="s/GB",
        meaning="CPU time of the receiving engine per 10^9 bytes received, whole trial",
        read=lambda sample: sample.measure_cpu_cost("receiver"),
    ),
    DerivedColumn(
        name="udp_loss_ratio",
        unit="ratio",
        meaning="UDP: datagrams lost of those sent in the steady window",
        read=lambda sample: sample.measure_datagram_loss(),
    ),
    DerivedColumn(
        name="messages_missing_ratio",
        unit="ratio",
        meaning="messages that never arrived, or never returned, of all messages",
        read=measure_missing,
    ),
    DerivedColumn(
        name="cpu_ns_per_message",
        unit="ns per message",
        meaning="CPU time of both ends per message of the steady window",
        read=lambda sample: (
            measure_cpu_per_message(sample)
            if np.isfinite(sample.get("sender_cpu_ns_per_message")).any()
            else np.full(len(sample), np.nan)
        ),
    ),
    *(_of_round_trips(name) for name in TAIL_RATIOS),
)
WINDOW_BDP = DerivedColumn(
    name="window_bdp_ratio",
    unit="",
    meaning="streams x effective window, of the bandwidth-delay product of the lab's narrowest link and the "
    "median RTT without load",
    read=lambda sample: sample.streams * sample.get("window_effective_bytes"),
)


def measure_window_shares(sample: Sample, environment: Mapping[str, Any]) -> Floats:
    """Windows in use over the bandwidth-delay product of each trial; NaN without a lab's link."""
    found = np.full(len(sample), np.nan)
    in_use, idle_ns = WINDOW_BDP.read(sample), sample.get("unloaded_rtt_median_ns")
    known = (in_use > 0) & (idle_ns > 0)
    conditions = np.array([id(sample.table.conditions[place]) for place in sample.places], dtype=np.int64)
    for condition in np.unique(conditions[known]):
        group = np.flatnonzero(known & (conditions == condition))
        part = collect_sample(sample.table, sample.places[group])
        line = find_bottleneck(environment, part)
        if line is None:
            continue
        path = PathFigures(bottleneck_bits_per_s=line.rate_bits_per_s, rtt_ns=1.0, segment=line.segment)
        product_bytes = compute_rfc6349_capacity(path).bdp_bytes * idle_ns[group]
        found[group] = in_use[group] / product_bytes
    return found
