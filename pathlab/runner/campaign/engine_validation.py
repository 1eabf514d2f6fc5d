"""Our engine against iperf3: both measure one path in turn, and their ratio is judged by its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pathlab.analysis.estimators.interval import Interval
from pathlab.analysis.estimators.serial import ordered_median_interval
from pathlab.store.flags import Status
from pathlab.store.records import TrialRecord

ENGINES = ("native", "iperf3")


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationPlan:
    """What is asked for. Times in ns."""

    source: str
    destination: str
    streams: tuple[int, ...]
    cycles: int
    warmup_ns: int
    duration_ns: int
    congestion: str | None
    lab: str | None  # a ready-made lab


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


def build_validation(plan: ValidationPlan) -> dict[str, Any]:
    """The campaign file, as a table, that interleaves both engines in a random order within each cycle."""
    data: dict[str, Any] = {
        "format": 1,
        "name": "validate",
        "title": f"native and iperf3 from {plan.source} to {plan.destination}",
        "seed": 1,
        "cycles": plan.cycles,
        "paths": [{"source": plan.source, "destination": plan.destination}],
        "factors": {
            "streams": list(plan.streams),
            "congestion": plan.congestion or "default",
            "engine": list(ENGINES),
        },
        "trial": {"warmup": f"{plan.warmup_ns}ns", "duration": f"{plan.duration_ns}ns"},
        "probes": {"interval": "20ms", "unloaded": 5},
    }
    if plan.lab is not None:
        data["lab"] = {"topology": plan.lab}
    return data


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
