"""Levels of one factor against its first, cycle by cycle: releases, configurations, costs of recording."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.paired_samples import compare_paired
from pathlab.analysis.verdicts.two_samples import MINIMUM_TRIALS, GroupShift
from pathlab.campaign.factor import Level
from pathlab.campaign.factors import format_level
from pathlab.study.base.selection import COMPARISON_FLAGS, Rules, Sample, select, select_everywhere
from pathlab.study.base.trials import Condition, TrialTable
from pathlab.study.comparison.groups import COMPARED, STREAMS, WINDOW, ComparedCell, list_trial_levels
from pathlab.study.comparison.metrics import ChosenMetrics, choose_floor, choose_metrics, read_compared
from pathlab.study.comparison.rows import (
    ChangeVerdict,
    ComparisonRow,
    ComparisonRules,
    ResultsComparison,
    decide_rows,
)
from pathlab.study.measures import METRICS, Measure

BUILD = "build"
#: Builds that are one program: the one that others are held against, and the one that shows the noise floor.
THIS, AGAIN = "this", "again"
LEVEL_METRICS = ChosenMetrics(streams=("throughput", "cpu"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPart:
    """The trials of one cell, all levels of the factor together, and the cell as a comparison names it."""

    condition: Condition
    sample: Sample
    cell: ComparedCell


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelComparison:
    """Each level of a factor against ``baseline``.

    ``found`` has a row for each cell, metric and level, whose label is the level. ``parts`` are the trials of
    each cell. ``again``: what no change at all shows in a cell and metric, by the name of the metric;
    ``floors``: the noise floor of a metric over all cells, a factor.
    """

    factor: str
    baseline: str
    found: ResultsComparison
    parts: Mapping[ComparedCell, ComparedPart]
    again: Mapping[tuple[ComparedCell, str], GroupShift]
    floors: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSides:
    """A row without a verdict, and the values of the baseline and of the other level by cycle."""

    row: ComparisonRow
    before: Floats
    after: Floats

    def test(self, drawn_tests: int) -> ComparisonRow:
        """The row with its tests; ``drawn_tests``: as ``compare_paired``."""
        if self.row.change.undecided is Undecided.NOT_MEASURED:
            return self.row
        change = compare_paired(self.before, self.after, drawn_tests=drawn_tests)
        return replace(
            self.row,
            change=change,
            p_value=change.p_value,
            equivalence_p_value=change.equivalence_p_value,
        )


def compare_levels_of(
    table: TrialTable,
    factor: str,
    baseline: Level,
    metrics: ChosenMetrics | None = None,
    *,
    family: Callable[[ComparisonRow], Hashable] = lambda _row: None,
) -> LevelComparison | None:
    """Compare every level of a factor with ``baseline`` by the pairs of each cycle; None where there is none.

    Of the streams or the window requested, cells are those of the other one.

    Where the plan has the builds ``this`` and ``again``, their ratio is the noise floor; other factors are
    then compared with ``this`` build alone.

    Notes
    -----
    Each row: ``compare_paired``, by the draw of the order in each cycle where the plan drew it. Differences
    and equivalences of all rows of a ``family``, by default of all rows, are corrected by Holm, and a
    difference within the noise floor is none: ``rows.decide_rows``.
    """
    chosen = metrics or LEVEL_METRICS
    rules = ComparisonRules(metrics=(*chosen.messages, *chosen.streams))
    parts = {part.cell: part for part in _list_parts(table, factor)}
    compared: list[ComparedSides] = []
    again: dict[tuple[ComparedCell, str], GroupShift] = {}
    for part in parts.values():
        compared += _compare_part(part, _split(part.sample, factor, baseline), chosen, again)
    if not compared and not again:
        return None
    floors = dict(_find_floors(again))
    compared = [
        replace(item, row=replace(item.row, noise=floors.get(item.row.metric.name))) for item in compared
    ]
    decided = _decide_families(compared, rules, family, order_drawn=table.order_drawn)
    shown = format_level(factor, baseline)
    return LevelComparison(
        factor=factor,
        baseline=shown,
        found=ResultsComparison(
            labels=(shown, *dict.fromkeys(row.label for row in decided)),
            rules=rules,
            rows=decided,
            alone=(),
            unusable=(),
            excluded={shown: select_everywhere(table, _choose_rules(factor))[1].excluded},
            flagged={},
            ignored_settings=(),
            unlike=(),
            spans=(),
            least_trials=MINIMUM_TRIALS,
        ),
        parts=parts,
        again=again,
        floors=floors,
    )


def _compare_part(
    part: ComparedPart,
    sides: Mapping[str, np.ndarray],
    chosen: ChosenMetrics,
    again: dict[tuple[ComparedCell, str], GroupShift],
) -> Iterator[ComparedSides]:
    """Values and row, without a verdict, of each metric and level; what no change shows goes to ``again``."""
    for name in choose_metrics([part.sample.table.conditions[index] for index in part.sample.places], chosen):
        metric = METRICS[name]
        values = {side: _by_cycle(part.sample, metric, mask) for side, mask in sides.items()}
        if AGAIN in values:
            noise = compare_paired(values[THIS], values[AGAIN])
            if noise.first_n:
                again[part.cell, name] = noise
        for side, after in values.items():
            if side not in (THIS, AGAIN) and _is_measured(sides[THIS], values[THIS], after):
                row = _build_row(part.cell, metric, (side, values[THIS], after))
                yield ComparedSides(row=row, before=values[THIS], after=after)


def _decide_families(
    compared: Sequence[ComparedSides],
    rules: ComparisonRules,
    family: Callable[[ComparisonRow], Hashable],
    *,
    order_drawn: bool,
) -> tuple[ComparisonRow, ...]:
    """The rows in their order, each decided among those of its family."""
    families: dict[Hashable, list[int]] = {}
    for index, item in enumerate(compared):
        families.setdefault(family(item.row), []).append(index)
    decided: dict[int, ComparisonRow] = {}
    for places in families.values():
        tests = len(places) if order_drawn else 0
        rows = [compared[index].test(tests) for index in places]
        decided |= zip(places, decide_rows(rows, rules), strict=True)
    return tuple(decided[index] for index in range(len(compared)))


def _is_measured(first: np.ndarray, before: Floats, after: Floats) -> bool:
    """Whether there are trials of the first level, and one side at least measured the metric."""
    return bool(first.any()) and not np.isnan([before, after]).all()


def _choose_rules(factor: str) -> Rules:
    """Trials that a host limited are taken: its limit may be the difference."""
    return Rules(flags=COMPARISON_FLAGS, as_requested=True, needed=(), apart=(factor, BUILD), messages=True)


def _find_floors(again: Mapping[tuple[ComparedCell, str], GroupShift]) -> Iterator[tuple[str, float]]:
    """The noise floor of each metric that was measured twice."""
    for name in dict.fromkeys(name for _, name in again):
        shifts = [noise.shift for (_, other), noise in again.items() if other == name]
        floor = choose_floor(math.exp(abs(shift)) for shift in shifts if shift is not None)
        if floor is not None:
            yield name, floor


def _list_parts(table: TrialTable, factor: str) -> Iterator[ComparedPart]:
    """Every cell with trials of several levels of the factor, or of this build and the same again."""
    apart = (factor, BUILD)
    for sample in select(table, _choose_rules(factor)):
        for streams, window, part in _split_cells(sample, factor):
            levels = set(zip(*(list_trial_levels(part, name) for name in apart), strict=True))
            if len(levels) > 1:
                yield ComparedPart(
                    condition=sample.condition,
                    sample=part,
                    cell=_name_cell(sample.condition, streams, window),
                )


def _split_cells(sample: Sample, factor: str) -> Iterator[tuple[int, int | None, Sample]]:
    """The trials of each cell without the factor: streams and window, COMPARED for the factor."""
    if factor == STREAMS:
        yield from ((COMPARED, window, part) for window, part in sample.by_window())
    elif factor == WINDOW:
        for streams in np.unique(sample.streams):
            yield int(streams), COMPARED, sample.take(sample.streams == streams)
    else:
        yield from sample.by_cell()


def _name_cell(condition: Condition, streams: int, window_bytes: int | None) -> ComparedCell:
    settings = condition.without("congestion").settings
    return ComparedCell(
        source=condition.path_source,
        destination=condition.path_destination,
        streams=streams,
        window_bytes=-1 if window_bytes is None else window_bytes,
        congestion=condition.get("congestion") or "",
        settings=tuple((name, str(level)) for name, level in settings),
    )


def _split(sample: Sample, factor: str, baseline: Level) -> dict[str, np.ndarray]:
    """Which trials are those of the baseline (THIS), of the same build once more, and of each other level."""
    known = list_trial_levels(sample, factor)
    levels = np.array([str(level) for level in known], dtype=object)
    builds = np.array([build or THIS for build in list_trial_levels(sample, BUILD)], dtype=object)
    own = np.full(len(sample), True) if factor == BUILD else builds == THIS
    first = levels == str(baseline)
    sides = {THIS: first & own, AGAIN: (builds == AGAIN) & (first | (factor == BUILD))}
    given = {str(level): level for level in known}
    for text, level in sorted(given.items(), key=_rank):
        if text != str(baseline) and not (factor == BUILD and text == AGAIN):
            sides[format_level(factor, level)] = (levels == text) & own
    return {name: mask for name, mask in sides.items() if name == THIS or mask.any()}


def _rank(named: tuple[str, Any]) -> tuple[bool, float, str]:
    """Numbers in their order, then texts."""
    text, level = named
    number = isinstance(level, (int, float))
    return not number, float(level) if number else 0.0, text


def _by_cycle(sample: Sample, metric: Measure, mask: np.ndarray) -> Floats:
    """One value for each cycle of the sample, NaN where these trials have none, the mean of several."""
    result = sample.average_cycles(np.where(mask, read_compared(metric, sample), np.nan))
    return np.array([result.get(int(cycle), np.nan) for cycle in np.unique(sample.cycles)])


def _build_row(cell: ComparedCell, metric: Measure, side: tuple[str, Floats, Floats]) -> ComparisonRow:
    """A row without a verdict, from the values of the baseline and of one other level by cycle.

    A side that no trial measured, or in which all missed their rate, leaves no pair: not measured.
    """
    label, before, after = side
    both = ~np.isnan(before + after)
    change = compare_paired(before, after)
    if not both.any():
        change = replace(change, undecided=Undecided.NOT_MEASURED)
    return ComparisonRow(
        cell=cell,
        metric=metric,
        label=label,
        before_median=float(np.median(before[both])) if both.any() else None,
        after_median=float(np.median(after[both])) if both.any() else None,
        change=change,
        p_value=change.p_value,
        equivalence_p_value=change.equivalence_p_value,
        noise=None,
        verdict=ChangeVerdict.UNDECIDED,
        reason=None,
    )
