"""What cells carried and what it cost: spreads per cell, CPU lines, fairness, RFC 6349, messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from pathlab.analysis.cpu_cost import CpuCost, fit_cpu_cost
from pathlab.analysis.interval import Undecided
from pathlab.analysis.loss import Loss, pool_loss
from pathlab.analysis.message_cost import MessageCost, fit_message_cost
from pathlab.analysis.rfc6349 import Capacity, PathFigures, measure_capacity, measure_transfers
from pathlab.study.answer import Answer, Spread, make_cell_answer, measure_spread
from pathlab.study.lines import HEADER_BYTES, Line, find_line
from pathlab.study.selection import LAB_FLAGS, Rules, Sample, select
from pathlab.study.source import TrialTable

#: Parts of an engine's CPU time, as the store names them.
CPU_PARTS = {"user": ("user",), "kernel": ("system",), "total": ("user", "system")}


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFigures:
    """The spreads of one cell's trials; losses are pooled over its probes."""

    throughput_bits_per_s: Spread
    drtt_ns: Spread
    loaded_rtt_mean_ns: Spread
    unloaded_rtt_mean_ns: Spread
    loaded_variability_ratio: Spread
    window_effective_bytes: Spread
    retransmitted_segments: Spread
    cpu_s_per_gb: Spread
    loaded_loss: Loss
    unloaded_loss: Loss


@dataclass(frozen=True, slots=True, kw_only=True)
class FairnessFigures:
    """Jain's index over the streams of each trial: 1 is equal shares, 1 / streams all to one of them."""

    jain_ratio: Spread
    undecided: Undecided | None = None


class Bottleneck(StrEnum):
    """Where the rate of a bottleneck comes from. The values are stable and machine-readable."""

    LAB = "lab-link"
    FITTED = "fitted-capacity"


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpFigures:
    """RFC 6349 over the trials of one cell: bandwidth-delay product, and each metric's spread.

    ``transfer_time_ratio`` 1 is the best there is. ``efficiency_percent`` is what was not sent again, over
    the whole trial. ``buffer_delay_percent`` is the rise of the mean RTT. ``bottleneck`` says what the path's
    rate was taken from; without one all is undecided.
    """

    bottleneck: Bottleneck | None
    bottleneck_bits_per_s: float | None
    capacity: Capacity | None
    transfer_time_ratio: Spread
    efficiency_percent: Spread
    buffer_delay_percent: Spread
    undecided: Undecided | None = None


def describe_cells(table: TrialTable) -> tuple[Answer[CellFigures], ...]:
    """The figures of every cell; host-limited trials are kept and counted among the cautions."""
    return tuple(
        make_cell_answer(part, (streams, window), _describe_cell(part))
        for sample in select(table, Rules(flags=LAB_FLAGS))
        for streams, window, part in sample.by_cell()
    )


def fit_cpu_costs(table: TrialTable) -> tuple[Answer[CpuCost], ...]:
    """CPU lines of each end, user, kernel and total, over all cells of a condition.

    CPU % and throughput are means over the traffic of a trial, warm-up included, as is the engine's CPU time.
    Host-limited trials are what the line is about and are kept. ``quantity``: ``sender user`` and so on.
    """
    answers = []
    for sample in select(table, Rules(flags=LAB_FLAGS, needed=("received_total_bytes",))):
        span_s = (sample.get("warmup_ns") + sample.get("steady_ns")) / 1e9
        for end in ("sender", "receiver"):
            for part, names in CPU_PARTS.items():
                spent = sum((sample.get(f"{end}_cpu_{name}_s") for name in names), np.zeros(len(sample)))
                usable = (span_s > 0) & (spent >= 0)
                taken = sample.take(usable)
                rates = taken.get("received_total_bytes") * 8 / span_s[usable]
                found = fit_cpu_cost(rates, 100 * spent[usable] / span_s[usable])
                answers.append(
                    Answer(
                        condition=taken.condition, basis=taken.basis, result=found, quantity=f"{end} {part}"
                    )
                )
    return tuple(answers)


def describe_fairness(table: TrialTable) -> tuple[Answer[FairnessFigures], ...]:
    """Jain's index of every cell with more than one stream."""
    answers = []
    for sample in select(table):
        for streams, window, part in sample.by_cell():
            if streams > 1:
                spread = measure_spread(part.get("fairness_jain"))
                found = FairnessFigures(
                    jain_ratio=spread, undecided=None if spread.n else Undecided.NOT_MEASURED
                )
                answers.append(make_cell_answer(part, (streams, window), found))
    return tuple(answers)


def judge_tcp(
    table: TrialTable, environment: Mapping[str, Any], capacities: Mapping[Any, float]
) -> tuple[Answer[TcpFigures], ...]:
    """RFC 6349 for every cell: against the lab's link, else against the capacity fitted to its condition.

    ``capacities`` are fitted rates of data, bit/s, by condition. Conditions without either are undecided.
    """
    answers = []
    for sample in select(table):
        line = find_line(environment, *sample.condition.flow_ends)
        kind = Bottleneck.LAB if line is not None else None
        fitted = capacities.get(sample.condition)
        if line is None and fitted is not None:
            kind, line = Bottleneck.FITTED, _as_line(fitted)
        for streams, window, part in sample.by_cell():
            answers.append(make_cell_answer(part, (streams, window), _judge_cell(part, kind, line)))
    return tuple(answers)


def fit_message_costs(table: TrialTable) -> tuple[Answer[MessageCost], ...]:
    """The per-message and per-byte cost of each cell whose plan sets ``message_bytes``.

    The time of a message is its size over the rate. Conditions without message sizes give no answer.
    """
    answers = []
    for sample in select(table, Rules(apart="message_bytes")):
        sizes = _message_sizes(table, sample)
        usable = (sizes > 0) & (sample.rates_bits_per_s > 0)
        if not usable.any():
            continue
        taken = sample.take(usable)
        found = fit_message_cost(sizes[usable], sizes[usable] * 8e9 / taken.rates_bits_per_s)
        answers.append(Answer(condition=taken.condition, basis=taken.basis, result=found))
    return tuple(answers)


def _message_sizes(table: TrialTable, sample: Sample) -> np.ndarray:
    sizes = [table.conditions[place].get("message_bytes") for place in sample.places]
    return np.array([np.nan if size is None else float(size) for size in sizes])


def _describe_cell(part: Sample) -> CellFigures:
    return CellFigures(
        throughput_bits_per_s=measure_spread(part.rates_bits_per_s),
        drtt_ns=measure_spread(part.rise_ns),
        loaded_rtt_mean_ns=measure_spread(part.get("loaded_rtt_mean_ns")),
        unloaded_rtt_mean_ns=measure_spread(part.get("unloaded_rtt_mean_ns")),
        loaded_variability_ratio=measure_spread(part.variability_ratio),
        window_effective_bytes=measure_spread(part.get("window_effective_bytes")),
        retransmitted_segments=measure_spread(part.get("retransmitted_segments")),
        cpu_s_per_gb=measure_spread(part.cpu_s_per_gb),
        loaded_loss=pool_loss(part.get("loaded_sent"), part.get("loaded_received")),
        unloaded_loss=pool_loss(part.get("unloaded_sent"), part.get("unloaded_received")),
    )


def _as_line(data_bits_per_s: float, mtu_bytes: int = 1500) -> Line:
    return Line(
        rate_bits_per_s=round(data_bits_per_s * mtu_bytes / (mtu_bytes - HEADER_BYTES)), mtu_bytes=mtu_bytes
    )


def _judge_cell(part: Sample, kind: Bottleneck | None, line: Line | None) -> TcpFigures:
    idle = measure_spread(part.get("unloaded_rtt_median_ns")).median
    none = measure_spread(np.empty(0))
    if line is None or idle is None or idle <= 0:
        return TcpFigures(
            bottleneck=kind,
            bottleneck_bits_per_s=line.rate_bits_per_s if line else None,
            capacity=None,
            transfer_time_ratio=none,
            efficiency_percent=none,
            buffer_delay_percent=none,
            undecided=Undecided.NOT_MEASURED if line is not None else Undecided.NO_CAPACITY,
        )
    path = PathFigures(
        bottleneck_bits_per_s=line.rate_bits_per_s,
        rtt_ns=idle,
        mtu_bytes=line.mtu_bytes,
        header_bytes=HEADER_BYTES,
        link_bytes=0,
    )
    again = part.get("retransmitted_bytes")
    found = measure_transfers(
        path,
        {
            "transfer_bytes": part.get("received_steady_bytes"),
            "transfer_s": part.get("steady_ns") / 1e9,
            "sent_bytes": part.get("sent_total_bytes") + again,
            "retransmitted_bytes": again,
            "rtt_mean_ns": part.get("loaded_rtt_mean_ns"),
        },
    )
    ratio = measure_spread(found.transfer_time_ratio)
    return TcpFigures(
        bottleneck=kind,
        bottleneck_bits_per_s=line.rate_bits_per_s,
        capacity=measure_capacity(path),
        transfer_time_ratio=ratio,
        efficiency_percent=measure_spread(found.efficiency_percent),
        buffer_delay_percent=measure_spread(found.buffer_delay_percent),
        undecided=None if ratio.n else Undecided.NOT_MEASURED,
    )
