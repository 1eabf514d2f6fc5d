"""The rows of a comparison: how each metric changed in each combination, with the verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.corrections import ALPHA_RATIO, holm_levels
from pathlab.analysis.estimators.interval import Interval, IntervalBuilder, Undecided
from pathlab.analysis.estimators.margins import MARGIN_RATIO
from pathlab.analysis.verdicts.two_samples import (
    METHOD,
    MINIMUM_TRIALS,
    GroupShift,
    compare_groups,
    compare_levels,
)
from pathlab.errors import UsageError
from pathlab.study.base.selection import ExclusionCount, Sample
from pathlab.study.base.trials import StudySource
from pathlab.study.comparison.circumstances import (
    ConditionDifference,
    MeasuredSpan,
    list_differences,
    measure_span,
)
from pathlab.study.comparison.groups import (
    CellSamples,
    ComparedCell,
    ComparedResults,
    Matching,
    group_combinations,
    share_settings,
)
from pathlab.study.comparison.metrics import ChosenMetrics, choose_metrics, find_noise, read_known
from pathlab.study.comparison.mismatch import check_ignored, check_shared, check_usable, find_settings
from pathlab.study.measures import LOSSLESS_COLUMN, METRICS, Measure

#: Why a row is undecided that has fewer trials than a verdict needs.
TOO_FEW_TRIALS = "too few trials"


#: What is compared where none is named.
DEFAULT_METRICS = ChosenMetrics()


class ChangeVerdict(StrEnum):
    """The verdict of one row, in the words that are printed."""

    BETTER = "better"
    WORSE = "worse"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRules:
    """What rows are held against. ``any_path``: hosts may have other names in each of the results.

    ``ignored``: settings, by the keys of the campaign file, that were changed on purpose: combinations are
    matched without them.
    ``metrics``, none: those that ``choose_metrics`` gives for what a combination carried; a round trip of a
    short path then has the margin ``RTT_MARGIN_NS``. ``flagged``: trials count whatever their flags.
    """

    metrics: tuple[str, ...] = ()
    margin_ratio: float = MARGIN_RATIO
    alpha_ratio: float = ALPHA_RATIO
    any_path: bool = False
    ignored: tuple[str, ...] = ()
    flagged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """One combination and metric: ``after`` over ``before``, with the interval that the verdict is read from.

    p-values are Holm-corrected over all rows, and so is the confidence of the interval: 1 less the level at
    which this row is tested. Where the difference is no larger than the noise floor, the interval is extended
    to no difference.

    ``change`` is that of the logarithms, whose ``ratio`` is shown; of a metric that may be 0 it is that of
    the values, with ``bound``, the difference that does not matter (None: not known). ``noise`` is what no
    change at all shows: a factor or a difference; ``None``: not known. ``margin_ratio`` is the share that
    does not matter; ``least_margin``: it is that of ``Measure.least_margin``, not that of the rules.
    """

    cell: ComparedCell
    metric: Measure
    label: str  # of the results that are compared with the first
    before_median: float | None
    after_median: float | None
    change: GroupShift
    p_value: float | None
    equivalence_p_value: float | None
    noise: float | None
    verdict: ChangeVerdict
    reason: str | None  # why it is undecided
    margin_ratio: float = MARGIN_RATIO
    least_margin: bool = False
    bound: float | None = None

    @property
    def is_ratio(self) -> bool:
        """Whether the change is a factor and not a difference."""
        return self.metric.bound is None

    @property
    def estimate(self) -> float | None:
        """The ratio, or the difference in the metric's unit."""
        return self.change.ratio if self.is_ratio else self.change.shift

    @property
    def interval(self) -> Interval:
        """The interval of the ratio or the difference."""
        return self.change.interval_ratio if self.is_ratio else self.change.interval


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsComparison:
    """Every row, and what could not be compared: combinations of one side alone, excluded trials.

    ``unusable`` are combinations that both sides measured, and one without a usable trial.
    """

    labels: tuple[str, ...]
    rules: ComparisonRules
    rows: tuple[ComparisonRow, ...]
    alone: tuple[tuple[str, ComparedCell], ...]
    unusable: tuple[tuple[str, ComparedCell], ...]  # label of the results that have no usable trial of it
    excluded: Mapping[str, tuple[ExclusionCount, ...]]  # by label
    flagged: Mapping[str, tuple[ExclusionCount, ...]]  # by label: counted in spite of a flag
    ignored_settings: tuple[str, ...]  # factors that not all results name
    unlike: tuple[
        ConditionDifference, ...
    ]  # what was not alike besides, in trials that were compared all the same
    spans: tuple[MeasuredSpan, ...]  # of the trials that each of the results has in common with another
    least_trials: int  # on each side, for a row to be decided

    def count(self, verdict: ChangeVerdict) -> int:
        """How many rows have this verdict."""
        return sum(row.verdict is verdict for row in self.rows)

    @property
    def provisional(self) -> bool:
        """Whether trials count that are excluded elsewhere."""
        return any(self.flagged.values())


def choose_most_changed(rows: Sequence[ComparisonRow], most: int) -> list[ComparisonRow]:
    """At most so many rows in their order: decided changes first, then the largest."""
    changed = (ChangeVerdict.WORSE, ChangeVerdict.BETTER)
    indices = sorted(
        range(len(rows)),
        key=lambda index: (rows[index].verdict not in changed, -abs(rows[index].change.shift or 0.0)),
    )
    return [rows[index] for index in sorted(indices[:most])]


def span_intervals(rows: Sequence[ComparisonRow]) -> tuple[float, float]:
    """From the lowest end of the rows' intervals to the highest. Raises ValueError where none is known."""
    low = min(row.interval.low for row in rows if row.interval.low is not None)
    return low, max(row.interval.high for row in rows if row.interval.high is not None)


def find_least_bound(rows: Sequence[ComparisonRow]) -> float | None:
    """The least difference, of any of these rows, that does not matter; None where none is known."""
    return min((row.bound for row in rows if row.bound is not None), default=None)


def find_least_margin_ratio(rows: Sequence[ComparisonRow]) -> float:
    """The least relative margin of these rows."""
    return min(row.margin_ratio for row in rows)


def compare_results(
    results: Sequence[tuple[str, StudySource]],
    rules: ComparisonRules | None = None,
    *,
    unchanged: StudySource | None = None,
) -> ResultsComparison:
    """Compare every results file with the first, combination by combination.

    ``unchanged`` is another run of the first without any change: how far the two differ is the noise floor
    then, which otherwise comes from the halves of each of the results. Raises UsageError for fewer than two,
    an unknown metric or setting, where one of them has no combination in common with the first, or several
    levels of an ignored setting in one combination; NotMeasurable where no trial, or no combination that both
    measured, is usable on both sides.

    Notes
    -----
    Trials of different results share no cycle, so that the groups know nothing of each other; within each,
    trials are in the order of measurement, whose serial correlation is allowed for: ``compare_groups``.
    Differences are one family of tests for Holm's correction, equivalences another; a row is tested at the
    smaller of its two levels, which its interval has too (``corrections.holm_levels``). A row is better or
    worse where its interval excludes no difference, equivalent where it lies within the margin.
    """
    rules = rules or ComparisonRules()
    _check(results, rules)
    labels, sources = [label for label, _ in results], [source for _, source in results]
    read = [ComparedResults(source) for source in (*sources, unchanged) if source is not None]
    shared, unnamed = share_settings(read)
    ignored = find_settings(rules.ignored, shared)
    matching = Matching(shared=shared, any_path=rules.any_path, ignored=ignored, flagged=rules.flagged)
    grouped = [group_combinations(item, matching) for item in read]
    named = list(zip(labels, grouped, strict=False))
    groups = [item.samples for _, item in named]
    again = None if unchanged is None else grouped[-1].samples
    check_usable(named)
    check_shared(labels, groups, again)
    for label, group in zip(labels, groups, strict=True):
        check_ignored(label, group, ignored)
    held = list(zip(labels[1:], groups[1:], strict=True))
    rows = [row for label, after in held for row in _align(label, (groups[0], after), again, rules)]
    if not rows:
        metrics = " or a ".join(rules.metrics or DEFAULT_METRICS.streams)
        raise UsageError(f"no trial of these results has a {metrics}", hint="name another --metric")
    return ResultsComparison(
        labels=tuple(labels),
        rules=rules,
        rows=decide_rows(rows, rules),
        alone=tuple(
            (labels[0] if item in grouped[0].measured else label, item)
            for label, after in named[1:]
            for item in sorted(grouped[0].measured ^ after.measured)
            if item in groups[0] or item in after.samples
        ),
        unusable=tuple(
            (side, item)
            for held in named[1:]
            for item in sorted(grouped[0].measured & held[1].measured)
            for side, trials in (named[0], held)
            if item not in trials.samples
        ),
        excluded={label: item.excluded for label, item in named},
        flagged={label: item.flagged for label, item in named},
        ignored_settings=unnamed,
        unlike=tuple(
            difference
            for label, results, group in zip(labels[1:], read[1:], groups[1:], strict=False)
            for difference in list_differences(label, (read[0], results), (groups[0], group), ignored)
        ),
        spans=tuple(_list_spans(labels, groups)),
        least_trials=MINIMUM_TRIALS,
    )


def _align(
    label: str, sides: tuple[CellSamples, CellSamples], again: CellSamples | None, rules: ComparisonRules
) -> list[ComparisonRow]:
    """A row, without a verdict, for each shared combination and metric that either side measured."""
    before, after = sides
    names = {
        cell: rules.metrics or _choose_metrics(before[cell]) for cell in sorted(before.keys() & after.keys())
    }
    wanted = {name for chosen in names.values() for name in chosen}
    noise = {name: find_noise(sides, again, METRICS[name]) for name in wanted}
    rows = [
        _compare(cell, METRICS[name], (before[cell], after[cell]), rules)
        for cell, chosen in names.items()
        for name in chosen
    ]
    return [replace(row, label=label, noise=noise[row.metric.name]) for row in rows if row is not None]


def _choose_metrics(sample: Sample) -> tuple[str, ...]:
    """What trials are compared in: those of searches in what each cycle found."""
    if LOSSLESS_COLUMN in sample.table.frame:
        return ("lossless-rate",)
    return choose_metrics([sample.condition], DEFAULT_METRICS)


def _list_spans(labels: Sequence[str], groups: Sequence[CellSamples]) -> Iterator[MeasuredSpan]:
    """When the trials of each of the results were measured that are compared, where they state it."""
    compared = {cell for after in groups[1:] for cell in groups[0].keys() & after.keys()}
    for label, group in zip(labels, groups, strict=True):
        span = measure_span(label, group, compared & group.keys())
        if span is not None:
            yield span


def _check(results: Sequence[tuple[str, StudySource]], rules: ComparisonRules) -> None:
    if len(results) < 2:
        raise UsageError("one results folder cannot be compared", hint="give two or more")
    for name in rules.metrics:
        if name not in METRICS:
            raise UsageError(f"'{name}' is not a metric", hint=f"known: {', '.join(METRICS)}")


def _compare(
    cell: ComparedCell,
    metric: Measure,
    sides: tuple[Sample, Sample],
    rules: ComparisonRules,
) -> ComparisonRow | None:
    """The row before correction, or None where neither side measured the metric."""
    before, after = (read_known(metric, side) for side in sides)
    if not before.size and not after.size:
        return None
    bound, margin_ratio = None, rules.margin_ratio
    if metric.bound is None:
        if not rules.metrics and metric.least_margin is not None:
            margin_ratio = max(margin_ratio, _find_share(metric.least_margin, before))
        change = compare_groups(
            before,
            after,
            margin_ratio=rules.margin_ratio,
            least_ratio=margin_ratio,
            alpha_ratio=rules.alpha_ratio,
        )
    else:
        bound = metric.bound(sides[0], rules.margin_ratio)
        change = _compare_differences(before, after, bound, rules.alpha_ratio)
    return ComparisonRow(
        cell=cell,
        metric=metric,
        label="",
        before_median=float(np.median(before)) if before.size else None,
        after_median=float(np.median(after)) if after.size else None,
        change=change,
        p_value=change.p_value,
        equivalence_p_value=change.equivalence_p_value,
        noise=None,
        verdict=ChangeVerdict.UNDECIDED,
        reason=None,
        margin_ratio=margin_ratio,
        least_margin=margin_ratio > rules.margin_ratio,
        bound=bound,
    )


def _find_share(least: float, values: Floats) -> float:
    """What share of the median of the values this is; 0 where there is none above 0."""
    median = float(np.median(values)) if values.size else 0.0
    return least / median if median > 0 else 0.0


def _compare_differences(
    before: Floats, after: Floats, bound: float | None, alpha_ratio: float
) -> GroupShift:
    """How far the values lie apart; undecided where nobody knows what does not matter."""
    if bound is not None:
        return compare_levels(before, after, margins=(-bound, bound), alpha_ratio=alpha_ratio)
    none = IntervalBuilder(n=before.size + after.size, method=METHOD).build_undecided(Undecided.NOT_MEASURED)
    reason = Undecided.NOT_MEASURED
    return GroupShift(first_n=before.size, second_n=after.size, shift=None, interval=none, undecided=reason)


def decide_rows(rows: Sequence[ComparisonRow], rules: ComparisonRules) -> tuple[ComparisonRow, ...]:
    """Every row with its interval and p-values at its own level, and the verdict that they allow."""
    levels = holm_levels(
        [row.change.p_value for row in rows],
        [row.change.equivalence_p_value for row in rows],
        alpha_ratio=rules.alpha_ratio,
    )
    return tuple(_classify(row, rules.alpha_ratio, level) for row, level in zip(rows, levels, strict=True))


def _classify(row: ComparisonRow, alpha_ratio: float, level: float) -> ComparisonRow:
    """The row at ``level``; its p-values are those to hold against ``alpha_ratio`` then."""
    p_value, same = row.change.p_value, row.change.equivalence_p_value
    row = replace(
        row,
        change=row.change.at(1 - level),
        p_value=None if p_value is None else min(1.0, p_value * alpha_ratio / level),
        equivalence_p_value=None if same is None else min(1.0, same * alpha_ratio / level),
    )
    effect = row.change.shift
    if row.change.undecided is not None or effect is None or p_value is None:
        few = row.change.undecided is Undecided.TOO_FEW_SAMPLES
        reason = row.change.undecided or Undecided.INCONCLUSIVE
        return replace(row, reason=TOO_FEW_TRIALS if few else str(reason))
    if same is not None and same < level:
        return replace(row, verdict=ChangeVerdict.EQUIVALENT)
    if p_value >= level:
        return replace(row, reason=str(Undecided.INCONCLUSIVE))
    noise = math.log(row.noise) if row.is_ratio and row.noise is not None else row.noise
    if noise is not None and abs(effect) <= noise:
        extended = replace(row.change, interval=row.change.interval.extend_to(0.0))
        return replace(row, change=extended, reason="within the noise floor")
    better = (effect > 0) == row.metric.higher_is_better
    return replace(row, verdict=ChangeVerdict.BETTER if better else ChangeVerdict.WORSE)
