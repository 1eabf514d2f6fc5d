"""The verdicts of `pathlab compare` for a view: results against results, or levels of a factor against one.

The same functions give them, on the trials that the view's filters leave.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pathlab.campaign.factors import FACTORS
from pathlab.errors import UsageError
from pathlab.study.base.selection import collect_sample
from pathlab.study.base.trials import StudySource, TrialTable
from pathlab.study.comparison.groups import list_trial_levels
from pathlab.study.comparison.levels import compare_levels_of
from pathlab.study.comparison.metrics import ChosenMetrics
from pathlab.study.comparison.rows import ComparisonRules, ResultsComparison, compare_results
from pathlab.study.exploration.explored_results import RESULTS, ExploredResults
from pathlab.study.exploration.filtering import select_rows
from pathlab.study.exploration.trial_source import TrialSource
from pathlab.study.exploration.view import View
from pathlab.study.exploration.view_text import show_level
from pathlab.study.measures import METRICS

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewComparison:
    """The verdicts of a view; ``unnamed``: labels of its measures that no metric compares."""

    found: ResultsComparison
    unnamed: tuple[str, ...]


class ChosenTrials(TrialSource):
    """Some of the trials of a source."""

    def __init__(self, source: StudySource, numbers: Collection[int]) -> None:
        super().__init__(source)
        self._numbers = numbers

    def trials(self) -> pd.DataFrame:
        """The chosen ones."""
        frame = super().trials()
        return frame[frame["trial_id"].isin(self._numbers)]


def compare_view(results: ExploredResults, view: View) -> ViewComparison:
    """Compare the levels of the view's colour with its baseline, in each of its measures that has a metric.

    Raises UsageError where there is nothing to compare: no baseline, another column than results or a setting
    of the plan, no measure with a metric, no combination with trials of both sides.
    """
    factor, baseline = view.colour, view.baseline
    if factor is None or baseline is None:
        raise UsageError("a comparison needs a baseline", hint="choose a colour and one of its levels")
    names_by_column = {measure.key: name for name, measure in METRICS.items()}
    metrics = {column: names_by_column[column] for column in view.y if column in names_by_column}
    if not metrics:
        labels = ", ".join(results.column(column).label for column in view.y)
        known = ", ".join(measure.title for measure in METRICS.values())
        raise UsageError(f"no verdict for {labels}", hint=f"compared are: {known}")
    rows = select_rows(results, view)
    names = tuple(dict.fromkeys(metrics.values()))
    if factor == RESULTS:
        sources = _compare_sources(results, rows, baseline, names)
    else:
        sources = _compare_levels(results, rows, factor, baseline, names)
    unnamed = [results.column(column).label for column in view.y if column not in metrics]
    return ViewComparison(found=sources, unnamed=tuple(unnamed))


def _list_numbers(results: ExploredResults, rows: NDArray[np.intp], label: str) -> list[int]:
    """The trials of one of the results among the rows."""
    source = [item.label for item in results.sources].index(label)
    own = rows[results.codes(RESULTS)[rows] == source]
    return [int(number) for number in results.numbers("trial")[own]]


def _compare_sources(
    results: ExploredResults, rows: NDArray[np.intp], baseline: str, metrics: tuple[str, ...]
) -> ResultsComparison:
    """Every one of the results that has chosen trials against the baseline."""
    chosen = {source.label: _list_numbers(results, rows, source.label) for source in results.sources}
    labels = [label for label, numbers in chosen.items() if numbers and label != baseline]
    if not chosen.get(baseline) or not labels:
        raise UsageError(
            "the filters leave trials of only one of the results", hint="lift the filter of results"
        )
    sides = [
        (label, ChosenTrials(results.study(label).study_source, chosen[label]))
        for label in (baseline, *labels)
    ]
    return compare_results(sides, ComparisonRules(metrics=metrics))


def _compare_levels(
    results: ExploredResults,
    rows: NDArray[np.intp],
    factor: str,
    baseline: str,
    metrics: tuple[str, ...],
) -> ResultsComparison:
    """The levels of a setting within one of the results against the baseline, in the pairs of each cycle."""
    label = results.column(factor).label
    if factor not in FACTORS:
        raise UsageError(
            f"no verdict by {label}", hint="compared are results, and levels of a factor of the campaign"
        )
    labels = [source.label for source in results.sources if _list_numbers(results, rows, source.label)]
    if len(labels) > 1:
        raise UsageError(
            f"no verdict by {label} over several results",
            hint="filter to one of the results, or colour by results",
        )
    codes = results.codes(factor)[rows]
    shown = np.array([show_level(item) for item in (*results.levels(factor), None)], dtype=object)
    first = rows[shown[codes] == baseline]  # -1: missing
    if not first.size:
        raise UsageError(
            f"the filters leave no trial with {label} {baseline}", hint="choose another baseline"
        )
    table = _choose_trials(results, rows, labels[0])
    (name,) = _list_numbers(results, first[:1], labels[0])
    index = np.flatnonzero(table.frame["trial_id"].to_numpy() == name)
    (level,) = list_trial_levels(collect_sample(table, index), factor)
    chosen = ChosenMetrics(messages=metrics, streams=metrics, datagrams=metrics)
    levels_of = compare_levels_of(table, factor, level, chosen)
    if levels_of is None:
        raise UsageError(
            f"no combination has trials of several levels of {label}", hint="lift filters, or measure them"
        )
    return levels_of.found


def _choose_trials(results: ExploredResults, rows: NDArray[np.intp], label: str) -> TrialTable:
    """The chosen trials of one of the results."""
    table = results.study(label).study_table()
    kept = table.frame["trial_id"].isin(_list_numbers(results, rows, label)).to_numpy()
    indices = np.flatnonzero(kept)
    frame = table.frame.iloc[indices].reset_index(drop=True)
    return TrialTable(frame, [table.conditions[index] for index in indices])
