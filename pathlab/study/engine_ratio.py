"""The throughput of two engines that measured one path in turn: the ratio of each cycle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pathlab.analysis.estimators.interval import Interval
from pathlab.analysis.estimators.serial import ordered_median_interval
from pathlab.store.flags import Status
from pathlab.store.records import TrialRecord

ENGINES = ("native", "iperf3")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRatio:
    """Throughput of our engine by that of iperf3 at one number of streams.

    ``ratio`` is the median over the cycles in which both measured, ``pairs`` their number; medians in bit/s.
    """

    streams: int
    pairs: int
    native_bits_per_s: float | None
    iperf3_bits_per_s: float | None
    ratio: float | None
    interval: Interval


def compare_engines(
    records: Sequence[TrialRecord], engines: Sequence[str], *, cycles: int
) -> tuple[EngineRatio, ...]:
    """The ratio at each number of streams, from trials and the engine of each; pairs are those of a cycle."""
    found: dict[int, dict[str, dict[int, float]]] = {}
    for record, engine in zip(records, engines, strict=True):
        by_engine = found.setdefault(record.streams, {name: {} for name in ENGINES})
        if record.status == Status.COMPLETE and record.throughput_bits_per_s:
            by_engine[engine][record.cycle] = record.throughput_bits_per_s
    return tuple(_compare(streams, found[streams], cycles) for streams in sorted(found))


def _compare(streams: int, rates: dict[str, dict[int, float]], cycles: int) -> EngineRatio:
    native, iperf3 = (rates[name] for name in ENGINES)
    both = [cycle for cycle in range(cycles) if cycle in native and cycle in iperf3]
    ratios = np.array([native[cycle] / iperf3[cycle] for cycle in both], dtype=np.float64)
    return EngineRatio(
        streams=streams,
        pairs=int(ratios.size),
        native_bits_per_s=_median([native[cycle] for cycle in both]),
        iperf3_bits_per_s=_median([iperf3[cycle] for cycle in both]),
        ratio=_median(ratios.tolist()),
        interval=ordered_median_interval(ratios),
    )


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if len(values) else None
