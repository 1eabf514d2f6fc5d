"""The noise floor of a comparison: how far results without any change differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pathlab.analysis.verdicts.two_samples import measure_halves_distance, split_halves
from pathlab.report.comparison_groups import Groups
from pathlab.report.comparison_metrics import Metric
from pathlab.report.source import StoredTrial

#: From so many halves on, the noise floor is their 95th percentile; below, the largest.
MANY_HALVES = 20


def read_values(trials: Sequence[StoredTrial], metric: Metric) -> list[float]:
    """The metric of each trial that has it, in the order of measurement."""
    values = [metric.read(trial.record) for trial in trials]
    return [value for value in values if value is not None]


def find_noise(groups: Sequence[Groups], again: Groups | None, metric: Metric) -> float | None:
    """What no change looks like, over all conditions: the first results run again, else halves of both.

    A factor; of a metric that may be 0 a difference in its unit.
    """
    differ, halve = (_differ, split_halves) if metric.bound is None else (_lie_apart, _halve)
    if again is None:
        found = [halve(read_values(trials, metric)) for group in groups for trials in group.values()]
    else:
        found = [
            differ(read_values(groups[0][condition], metric), read_values(trials, metric))
            for condition, trials in again.items()
            if condition in groups[0]
        ]
    halves = [ratio for ratio in found if ratio is not None]
    if not halves:
        return None
    return float(np.quantile(halves, 0.95)) if len(halves) >= MANY_HALVES else max(halves)


def _differ(before: Sequence[float], after: Sequence[float]) -> float | None:
    """By what factor, at least 1, two medians differ; None where one is not known or not above 0."""
    if not before or not after or min(*before, *after) <= 0:
        return None
    ratio = float(np.median(after)) / float(np.median(before))
    return max(ratio, 1 / ratio)


def _lie_apart(before: Sequence[float], after: Sequence[float]) -> float | None:
    """How far two medians lie apart."""
    return abs(float(np.median(after)) - float(np.median(before))) if before and after else None


def _halve(values: Sequence[float]) -> float | None:
    """How far the medians of the first half and of the second lie apart; None for fewer than 4."""
    return measure_halves_distance(np.array(values)) if len(values) >= 4 else None
