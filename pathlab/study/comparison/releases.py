"""Two builds or configurations in the same cycles, and what recording costs, for each combination."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from pathlab.analysis.estimators.interval import Interval
from pathlab.analysis.verdicts.two_samples import GroupShift
from pathlab.campaign.factor import Level
from pathlab.campaign.factors import CELL_KEYS, FACTORS_BY_KEY, find_default
from pathlab.errors import UsageError
from pathlab.study.base.answer import Answer
from pathlab.study.base.trials import TrialTable
from pathlab.study.comparison.levels import (
    BUILD,
    ComparedPart,
    LevelComparison,
    compare_levels_of,
)
from pathlab.study.comparison.metrics import ChosenMetrics
from pathlab.study.comparison.rows import ChangeVerdict, ComparisonRow

RECORDING, OFF = "recording", "off"
#: What recording costs is a share of these.
RATE_METRICS = ChosenMetrics(messages=("messages",), streams=("throughput",), datagrams=("throughput",))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRatio:
    """One metric of one combination: ``level`` of the compared factor over ``baseline``, in pairs of a cycle.

    ``interval``, ``p_value`` and the verdict are corrected for all rows (Holm). ``noise_ratio`` is that of
    the baseline to itself, None where it was not measured twice. ``noise_floor_ratio``, of all combinations,
    is the factor that a difference has to exceed. ``reason``: why the verdict is undecided.
    """

    metric: str
    unit: str
    baseline: str
    level: str
    pairs: int
    baseline_median: float | None
    level_median: float | None
    ratio: float | None
    interval: Interval
    p_value: float | None
    noise_ratio: float | None
    noise_interval: Interval | None
    noise_floor_ratio: float | None
    verdict: ChangeVerdict
    reason: str | None

    @property
    def name(self) -> str:
        """``against : this``."""
        return f"{self.level} : {self.baseline}"


class CostVerdict(StrEnum):
    """Whether recording was seen to cost something."""

    COSTS = "costs"
    NOT_SHOWN = "not shown"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingCost:
    """By which share of the rate without recording a level of it lowers the rate of one combination.

    ``rate`` is ``messages`` or ``throughput``, medians are in ``unit``. The interval is corrected for all
    rows (Holm); ``not shown``: it is not above 0 as a whole.
    """

    rate: str
    unit: str
    level: str
    pairs: int
    off_median: float | None
    level_median: float | None
    cost_ratio: float | None
    interval_ratio: Interval
    verdict: CostVerdict
    reason: str | None


def compare_releases(
    table: TrialTable, model: Mapping[str, Any], factor: str | None = None
) -> LevelComparison | None:
    """The levels of ``factor``, a key of the campaign file, against its first; None where it is not varied.

    By default the factor that the campaign names with ``compare``, else ``build``. ``model``: the campaign's.
    Raises UsageError for an unknown key.
    """
    key = factor or model.get("compare") or BUILD
    if key not in FACTORS_BY_KEY:
        raise UsageError(f"'{key}' is not a factor", hint="pathlab campaigns schema lists the factors")
    if key in CELL_KEYS:
        raise UsageError(
            f"'{key}' is compared by the analyses of streams and windows", hint="name another factor"
        )
    name = FACTORS_BY_KEY[key].name
    return compare_levels_of(table, name, _find_baseline(model, name))


def compare_recordings(table: TrialTable) -> LevelComparison | None:
    """The rates at each level of recording against those without it."""
    return compare_levels_of(table, RECORDING, OFF, RATE_METRICS)


def describe_releases(comparison: LevelComparison | None) -> tuple[Answer[ReleaseRatio], ...]:
    """An answer for each row, in the order of the combinations."""
    if comparison is None:
        return ()
    return tuple(
        _make_answer(
            comparison.parts[row.cell],
            _describe_ratio(row, comparison.baseline, comparison.again.get((row.cell, row.metric.name))),
        )
        for row in comparison.found.rows
    )


def describe_recordings(comparison: LevelComparison | None) -> tuple[Answer[RecordingCost], ...]:
    """An answer for each row, in the order of the combinations."""
    if comparison is None:
        return ()
    return tuple(
        _make_answer(comparison.parts[row.cell], _describe_cost(row)) for row in comparison.found.rows
    )


def _find_baseline(model: Mapping[str, Any], name: str) -> Level:
    """The level that the campaign gives first; the default where it gives none."""
    levels = (model.get("factors") or {}).get(name)
    first: Level = levels[0] if levels else find_default(name)
    return find_default(name) if name == BUILD else first


def _make_answer(part: ComparedPart, result: Any) -> Answer[Any]:
    window = part.cell.window_bytes
    return Answer(
        condition=part.condition,
        selection=part.sample.selection,
        result=result,
        streams=part.cell.streams,
        window_bytes=None if window < 0 else window,
        autotuned=window < 0,
    )


def _describe_ratio(row: ComparisonRow, baseline: str, again: GroupShift | None) -> ReleaseRatio:
    return ReleaseRatio(
        metric=row.metric.name,
        unit=row.metric.base_unit,
        baseline=baseline,
        level=row.label,
        pairs=row.change.first_n,
        baseline_median=row.before_median,
        level_median=row.after_median,
        ratio=row.estimate,
        interval=row.interval,
        p_value=row.p_value,
        noise_ratio=None if again is None else again.ratio,
        noise_interval=None if again is None else again.interval_ratio,
        noise_floor_ratio=row.noise,
        verdict=row.verdict,
        reason=row.reason,
    )


def _describe_cost(row: ComparisonRow) -> RecordingCost:
    ratio, verdict = row.interval, CostVerdict.UNDECIDED
    interval = ratio
    if ratio.low is not None and ratio.high is not None:
        interval = replace(ratio, low=1 - ratio.high, high=1 - ratio.low)
        verdict = CostVerdict.COSTS if ratio.high < 1 else CostVerdict.NOT_SHOWN
    return RecordingCost(
        rate=row.metric.name,
        unit=row.metric.base_unit,
        level=row.label,
        pairs=row.change.first_n,
        off_median=row.before_median,
        level_median=row.after_median,
        cost_ratio=None if row.estimate is None else 1 - row.estimate,
        interval_ratio=interval,
        verdict=verdict,
        reason=row.reason if verdict is CostVerdict.UNDECIDED else None,
    )
