"""What results are compared in: the chosen metrics, trials' values of one, and the noise floor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.verdicts.two_samples import measure_halves_distance, split_halves
from pathlab.store.flags import Flag
from pathlab.study.base.selection import Sample
from pathlab.study.base.trials import Condition
from pathlab.study.comparison.groups import CellSamples
from pathlab.study.measures import Measure

#: From so many halves on, the noise floor is their 95th percentile; below, the largest.
MANY_HALVES = 20


def read_compared(metric: Measure, sample: Sample) -> Floats:
    """Trials' values of a metric; NaN: not measured, or of a trial that it is not compared of."""
    values = metric.read(sample)
    missed = sample.table.flagged(Flag.RATE_MISSED)[sample.places] if metric.kept else False
    return np.where(missed, np.nan, values)


def read_known(metric: Measure, sample: Sample) -> Floats:
    """The values that were measured, in the order of measurement."""
    values = read_compared(metric, sample)
    return values[~np.isnan(values)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenMetrics:
    """What is compared, of messages, of streams of bytes, and where all flows are of UDP."""

    messages: tuple[str, ...] = ("messages", "round-trip-p99", "cpu-message")
    streams: tuple[str, ...] = ("throughput", "loaded-rtt")
    datagrams: tuple[str, ...] = ("packets", "udp-loss")


def choose_metrics(conditions: Iterable[Condition], chosen: ChosenMetrics) -> tuple[str, ...]:
    """What is compared of trials of these conditions; an offered rate is the same on both sides."""
    every = set(conditions)
    if not any(item.is_of_messages for item in every):
        return chosen.datagrams if every and all(item.is_udp for item in every) else chosen.streams
    offered = any(item.get("message_rate_per_s") is not None for item in every)
    return tuple(name for name in chosen.messages if not (offered and name == "messages"))


def find_noise(samples: Sequence[CellSamples], again: CellSamples | None, metric: Measure) -> float | None:
    """How far results without any change differ, over all combinations; None: not known.

    From another run of the first results (``again``), else from the halves of both. A factor; of a metric
    that may be 0 a difference in its unit.
    """
    differ, halve = (
        (_differ, split_halves) if metric.bound is None else (_intervals_disjoint, measure_halves_distance)
    )
    if again is None:
        result = [halve(read_known(metric, sample)) for side in samples for sample in side.values()]
    else:
        result = [
            differ(read_known(metric, samples[0][cell]), read_known(metric, sample))
            for cell, sample in again.items()
            if cell in samples[0]
        ]
    return choose_floor(result)


def choose_floor(differences: Iterable[float | None]) -> float | None:
    """The noise floor from differences without any change: the largest, of many the 95th percentile."""
    known = [noise for noise in differences if noise is not None]
    if not known:
        return None
    return float(np.quantile(known, 0.95)) if len(known) >= MANY_HALVES else max(known)


def _differ(before: Floats, after: Floats) -> float | None:
    """By what factor, at least 1, two medians differ; None where one is not known or not above 0."""
    if not before.size or not after.size or min(before.min(), after.min()) <= 0:
        return None
    ratio = float(np.median(after)) / float(np.median(before))
    return max(ratio, 1 / ratio)


def _intervals_disjoint(before: Floats, after: Floats) -> float | None:
    """How far two medians lie apart."""
    return abs(float(np.median(after)) - float(np.median(before))) if before.size and after.size else None
