"""The throughput of two engines that measured one path in turn: the ratio of each cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pathlab.analysis.estimators.interval import Interval
from pathlab.analysis.estimators.serial import ordered_median_interval
from pathlab.store.records import TrialRecord
from pathlab.study.base.selection import COMPARISON_FLAGS, is_counted


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRatio:
    """Throughput of the first engine by that of the second at one number of streams.

    ``ratio`` is the median over the cycles in which both measured, ``pairs`` their number; medians in bit/s.
    """

    streams: int
    pairs: int
    first_bits_per_s: float | None
    second_bits_per_s: float | None
    ratio: float | None
    interval: Interval


def compare_engines(
    records: Sequence[TrialRecord], engines: Sequence[str], *, pair: tuple[str, str]
) -> tuple[EngineRatio, ...]:
    """The ratio of the ``pair``'s engines at each number of streams, from trials and the engine of each.

    Pairs are those of a cycle. Trials that a host limited are taken: the engines' cost may be what limits.
    Trials of another engine, and those with round trips, whose throughput is that of requests and replies in
    turn, are left out.
    """
    result: dict[int, dict[str, dict[int, float]]] = {}
    for record, engine in zip(records, engines, strict=True):
        by_engine = result.setdefault(record.streams, {name: {} for name in pair})
        rate = None if record.round_trips is not None else record.throughput_bits_per_s
        if rate and engine in pair and is_counted(record, COMPARISON_FLAGS):
            by_engine[engine][record.cycle] = rate
    return tuple(_compare(streams, *(result[streams][name] for name in pair)) for streams in sorted(result))


def _compare(streams: int, first: Mapping[int, float], second: Mapping[int, float]) -> EngineRatio:
    both = sorted(first.keys() & second.keys())
    ratios = np.array([first[cycle] / second[cycle] for cycle in both], dtype=np.float64)
    return EngineRatio(
        streams=streams,
        pairs=int(ratios.size),
        first_bits_per_s=_median([first[cycle] for cycle in both]),
        second_bits_per_s=_median([second[cycle] for cycle in both]),
        ratio=_median(ratios.tolist()),
        interval=ordered_median_interval(ratios),
    )


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if len(values) else None
