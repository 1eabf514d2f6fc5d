"""What cells carried and what it cost: spreads per cell, CPU lines, fairness, RFC 6349."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, make_dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.rfc6349 import (
    Capacity,
    PathFigures,
    compute_rfc6349_capacity,
    measure_transfers,
)
from pathlab.analysis.fits.cpu_cost import CpuCost, fit_cpu_cost
from pathlab.study.base.answer import (
    Answer,
    Spread,
    make_answer,
    make_cell_answer,
    measure_bounded_spread,
    measure_rates,
    measure_spread,
)
from pathlab.study.base.links import MTU_BYTES, BottleneckLink, Traffic, find_bottleneck, read_traffic
from pathlab.study.base.selection import (
    NOT_MEASURED,
    VOID_FLAGS,
    ExclusionCount,
    Rules,
    Sample,
    select,
)
from pathlab.study.base.trials import TrialTable
from pathlab.study.measures import Measure, list_measures

NOTHING = measure_spread(np.empty(0))
#: Parts of an engine's CPU time, as the store names them.
CPU_PARTS = {"user": ("user",), "kernel": ("system",), "total": ("user", "system")}


if TYPE_CHECKING:

    class MeasuredFigures:
        """The fields of ``CellFigures`` that are measures: spreads over trials, or what ``of_cell`` gives."""

        def __getattr__(self, key: str) -> Any: ...

else:
    MeasuredFigures = make_dataclass(
        "MeasuredFigures",
        [(measure.cell_key, Any) for measure in list_measures("figures")],
        frozen=True,
        slots=True,
        kw_only=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFigures(MeasuredFigures):
    """The figures of one cell's trials: a field for each measure with that use, and all flags counted.

    A field is the spread of the measure over trials, losses (``loaded_loss``, ``unloaded_loss``, of datagrams
    ``udp_loss``) are pooled over all probes or datagrams of the cell. ``.._rtt_iqr_ns`` is the inter-quartile
    range of a trial's probes, ``.._rtt_pooled_mean_ns`` the mean over all answered probes.
    """

    flags: tuple[ExclusionCount, ...]


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

    ``ideal_s`` is the time that the data of the steady window take at the achievable rate, ``actual_s`` the
    time that they took; ``transfer_time_ratio``, actual / ideal, is 1 at best. ``efficiency_percent`` is what
    was not sent again, over the whole trial. ``buffer_delay_percent`` is the rise of the mean RTT.
    ``bottleneck`` says what the path's rate was taken from; without one all is undecided.
    """

    bottleneck: Bottleneck | None
    bottleneck_bits_per_s: float | None
    capacity: Capacity | None = None
    ideal_s: Spread = NOTHING
    actual_s: Spread = NOTHING
    transfer_time_ratio: Spread = NOTHING
    efficiency_percent: Spread = NOTHING
    buffer_delay_percent: Spread = NOTHING
    undecided: Undecided | None = None


def describe_cells(table: TrialTable) -> tuple[Answer[CellFigures], ...]:
    """The figures of every cell; host-limited trials are kept and counted among the warnings."""
    return tuple(
        make_cell_answer(part, (streams, window), describe_cell(part))
        for sample in select(table, Rules(flags=VOID_FLAGS))
        for streams, window, part in sample.by_cell()
    )


def fit_cpu_costs(table: TrialTable) -> tuple[Answer[CpuCost], ...]:
    """CPU lines of each end, user, kernel and total, over all cells of a condition.

    CPU % is that of carrying the throughput: ``Sample.measure_cpu_percent``. Host-limited trials are what the
    line is about and are kept. ``quantity``: ``sender user`` and so on.
    """
    answers = []
    for sample in select(table, Rules(flags=VOID_FLAGS)):
        for end in ("sender", "receiver"):
            for part, names in CPU_PARTS.items():
                percent = sample.measure_cpu_percent(end, names)
                usable = percent >= 0
                taken = sample.exclude(~usable, f"{end}_cpu: {NOT_MEASURED}")
                cpu_cost = fit_cpu_cost(taken.rates_bits_per_s, percent[usable])
                answers.append(make_answer(taken, cpu_cost, f"{end} {part}"))
    return tuple(answers)


def describe_fairness(table: TrialTable) -> tuple[Answer[FairnessFigures], ...]:
    """Jain's index of every cell with more than one stream."""
    answers = []
    for sample in select(table):
        for streams, window, part in sample.by_cell():
            if streams > 1:
                spread = measure_spread(part.get("fairness_jain"))
                figures = FairnessFigures(
                    jain_ratio=spread, undecided=None if spread.n else Undecided.NOT_MEASURED
                )
                answers.append(make_cell_answer(part, (streams, window), figures))
    return tuple(answers)


def evaluate_transfers(
    table: TrialTable, environment: Mapping[str, Any], capacities: Mapping[Any, float]
) -> tuple[Answer[TcpFigures], ...]:
    """RFC 6349 for every cell: against the lab's link, else against the capacity fitted to its condition.

    ``capacities`` are fitted rates of data, bit/s, by condition. Conditions without either are undecided.
    """
    answers = []
    for sample in select(table, Rules(windowed=True)):
        line = find_bottleneck(environment, sample)
        kind = Bottleneck.LAB if line is not None else None
        fitted = capacities.get(sample.condition)
        if line is None and fitted is not None:
            kind, line = Bottleneck.FITTED, _as_line(fitted, read_traffic(sample))
        for streams, window, part in sample.by_cell():
            answers.append(make_cell_answer(part, (streams, window), _measure_transfers(part, kind, line)))
    return tuple(answers)


def describe_cell(part: Sample) -> CellFigures:
    """The figures of these trials of one cell."""
    flags = tuple(ExclusionCount(reason=flag, trials=n) for flag, n in part.count_flags().items())
    figures = {measure.cell_key: _describe(measure, part) for measure in list_measures("figures")}
    return CellFigures(flags=flags, **figures)


def _describe(measure: Measure, part: Sample) -> Any:
    """The spread over trials, of rates with their levels; what a measure has instead of one."""
    if measure.of_cell is not None:
        return measure.of_cell(part)
    values = measure.read_combination(part)
    if measure.above is not None:
        return measure_bounded_spread(values, measure.above(part))
    return measure_rates(values) if measure.unit == "bit/s" else measure_spread(values)


def _as_line(data_bits_per_s: float, traffic: Traffic) -> BottleneckLink:
    """The line of usual packets that leaves so much for data."""
    ratio = BottleneckLink(rate_bits_per_s=1, mtu_bytes=MTU_BYTES, traffic=traffic).segment.payload_ratio
    return BottleneckLink(
        rate_bits_per_s=round(data_bits_per_s / ratio), mtu_bytes=MTU_BYTES, traffic=traffic
    )


def _measure_transfers(part: Sample, kind: Bottleneck | None, line: BottleneckLink | None) -> TcpFigures:
    idle = measure_spread(part.get("unloaded_rtt_median_ns")).median
    if line is None or idle is None or idle <= 0:
        return TcpFigures(
            bottleneck=kind,
            bottleneck_bits_per_s=line.rate_bits_per_s if line else None,
            undecided=Undecided.NOT_MEASURED if line is not None else Undecided.NO_CAPACITY,
        )
    path = PathFigures(bottleneck_bits_per_s=line.rate_bits_per_s, rtt_ns=idle, segment=line.segment)
    again, steady_s = part.get("retransmitted_bytes"), part.get("steady_ns") / 1e9
    transfers = measure_transfers(
        path,
        {
            "transfer_bytes": part.get("received_steady_bytes"),
            "transfer_s": steady_s,
            "sent_bytes": part.get("sent_total_bytes") + again,
            "retransmitted_bytes": again,
            "rtt_mean_ns": part.get("loaded_rtt_mean_ns"),
        },
    )
    ratio = measure_spread(transfers.transfer_time_ratio)
    return TcpFigures(
        bottleneck=kind,
        bottleneck_bits_per_s=line.rate_bits_per_s,
        capacity=compute_rfc6349_capacity(path),
        ideal_s=measure_spread(transfers.ideal_s),
        actual_s=measure_spread(np.where(np.isnan(transfers.transfer_time_ratio), np.nan, steady_s)),
        transfer_time_ratio=ratio,
        efficiency_percent=measure_spread(transfers.efficiency_percent),
        buffer_delay_percent=measure_spread(transfers.buffer_delay_percent),
        undecided=None if ratio.n else Undecided.NOT_MEASURED,
    )
