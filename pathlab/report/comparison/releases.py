"""Builds or configurations against each other: sentences, a figure, tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from pathlab.agents.protocol import OTHER_BUILD
from pathlab.analysis.estimators.margins import MARGIN_RATIO
from pathlab.campaign.factors import FACTORS
from pathlab.report.base.blocks import Block, Paragraph
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import Drawing, LazyBlock, LazyPlot, LazySection, lazy_text
from pathlab.report.base.phrases import (
    format_count,
    format_factor,
    format_interval,
    format_reason,
)
from pathlab.report.base.summary import AnswerText
from pathlab.report.base.topic import Topic
from pathlab.report.comparison.comparison import DRAWN_ROWS, build_change_panel, build_change_table
from pathlab.report.comparison.comparison_changes import (
    capitalise_title,
    describe_no_verdict,
    format_noise,
    list_summaries,
)
from pathlab.report.comparison.comparison_names import CellNames, name_cells
from pathlab.report.comparison.comparison_table import (
    ChangeColumn,
    explain_verdicts,
    find_trials,
    group_rows,
    list_change_columns,
)
from pathlab.report.plots.model import Layer, Rule
from pathlab.study.analyses import Analyses
from pathlab.study.comparison.levels import AGAIN, BUILD, THIS, LevelComparison
from pathlab.study.comparison.rows import ComparisonRow, choose_most_changed
from pathlab.study.measures import METRICS
from pathlab.units import NOT_MEASURED, format_ratio

#: Builds in words, by level.
BUILDS = {THIS: "this one", AGAIN: "this one, again", OTHER_BUILD: "the other build"}
RULES = (
    "Change: against {baseline}, the median over pairs of trials of one cycle (Hodges-Lehmann). "
    "Intervals are corrected for {rows} (Holm). Better or worse: the interval does not "
    "contain 'no change', and the change exceeds the noise floor. Equivalent: the interval lies within "
    "±{margin}. A verdict needs {least} cycles."
)
NOISE = "Noise floor, the largest difference between two measurements of one build: {noises}."
NO_NOISE = 'Noise floor: not measured; add the level "again" to build.'


def _describe_noise(comparison: LevelComparison) -> str:
    """The noise floor of each metric; why there is none."""
    if not comparison.floors:
        return NO_NOISE
    texts = [
        f"{METRICS[name].title} {format_noise(noise, METRICS[name])}"
        for name, noise in comparison.floors.items()
    ]
    return NOISE.format(noises=", ".join(texts))


def _name_level(comparison: LevelComparison, level: str) -> str:
    """A level in words: ``the other build``, ``no_delay yes``."""
    return BUILDS[level] if comparison.factor == BUILD else f"{FACTORS[comparison.factor].key} {level}"


def name_comparison(comparison: LevelComparison, label: str) -> str:
    """What is compared with what: ``the other build against this one``."""
    return f"{_name_level(comparison, label)} against {_name_level(comparison, comparison.baseline)}"


def list_release_sentences(study: Analyses) -> Iterator[str]:
    """What changed from the first level to each other one; nothing where no level is compared."""
    releases = study.compare_releases()
    for label in releases.found.labels[1:] if releases is not None else ():
        assert releases is not None
        yield from _list_changes(releases, label)


def _begin(text: str) -> str:
    """A text as the beginning of a sentence; a factor's key stays as it is."""
    return text[0].upper() + text[1:] if text.startswith("the ") else text


def _list_changes(comparison: LevelComparison, label: str) -> Iterator[str]:
    """The sentences about one level, of which the first names it."""
    refusal = describe_no_verdict(comparison.found)
    for index, text in enumerate([refusal] if refusal else list_summaries(comparison.found, label)):
        head = f"{_begin(name_comparison(comparison, label))}: " if index == 0 else ""
        yield f"{head}{text}"


def _write_answer(comparison: LevelComparison) -> Iterator[Block]:
    """What changed, in sentences, and the noise floor."""
    if not comparison.found.rows:
        yield Paragraph(text="No usable trial of another build or level: nothing is compared.", lead=True)
    for label in comparison.found.labels[1:]:
        for index, text in enumerate(_list_changes(comparison, label)):
            yield Paragraph(text=text, lead=index == 0)
    yield Paragraph(text=_describe_noise(comparison))
    for counts in comparison.found.excluded.values():
        if counts:
            left = ", ".join(f"{count.trials} {format_reason(count.reason)}" for count in counts)
            yield Paragraph(text=f"Excluded trials: {left}.", note=True)


def _draw_changes(comparison: LevelComparison, label: str) -> Drawing:
    """A panel for each metric: ratios with their intervals, the margin, and the noise floor as a band."""
    rows, names = comparison.found, name_cells(comparison.found.rows)
    panels = []
    for group in group_rows(rows, label):
        shown = choose_most_changed(group, DRAWN_ROWS)
        panel = build_change_panel(shown, names)
        panels.append(replace(panel, layers=(*_draw_noise(group), *panel.layers)))
    hidden = max(map(len, group_rows(rows, label))) - DRAWN_ROWS
    return Drawing(
        sentences=(
            f"Points: changes; lines: confidence intervals; shaded: within ±{format_ratio(MARGIN_RATIO)}.",
            "Darker: the noise floor." if comparison.floors else "",
            f"The {DRAWN_ROWS} combinations that changed most are shown." if hidden > 0 else "",
        ),
        panels=tuple(panels),
    )


def _draw_noise(rows: Sequence[ComparisonRow]) -> Iterator[Layer]:
    noise = rows[0].noise
    if noise is not None:
        low, high = 100 * (1 / noise - 1), 100 * (noise - 1)
        yield Rule(name="noise floor", value=0.0, vertical=True, low=low, high=high)


def _build_changes_table(comparison: LevelComparison) -> Iterator[Block]:
    """For each level and metric every combination, with its verdict and the noise of the combination."""
    if not comparison.found.rows:
        return
    names = name_cells(comparison.found.rows)
    for label in comparison.found.labels[1:]:
        for rows in group_rows(comparison.found, label):
            title = f"{capitalise_title(rows[0].metric)}, {name_comparison(comparison, label)}"
            yield build_change_table(
                f"releases-{label}-{rows[0].metric.name}".replace(" ", "-"),
                ", ".join(filter(None, [title, *names.shared, find_trials(rows)])),
                _list_columns(comparison, rows, names),
            )
    text = RULES.format(
        baseline=_name_level(comparison, comparison.baseline),
        rows=format_count(len(comparison.found.rows), "row"),
        margin=format_ratio(MARGIN_RATIO),
        least=comparison.found.least_trials,
    )
    yield Paragraph(text=text, note=True)


def _list_columns(
    comparison: LevelComparison, rows: Sequence[ComparisonRow], names: CellNames
) -> list[ChangeColumn]:
    """The columns of one metric's table, with the noise of two runs of the same level."""
    known = {"Before": comparison.baseline, "After": rows[0].label}
    columns = [
        replace(column, heading=known.get(column.heading, column.heading))
        for column in list_change_columns(rows, comparison.found, names)
    ]
    again = [comparison.again.get((row.cell, row.metric.name)) for row in rows]
    if any(again):
        texts = tuple(
            NOT_MEASURED
            if item is None
            else f"{format_factor(item.ratio)} ({format_interval(item.interval_ratio, format_factor)})"
            for item in again
        )
        place = len(columns) - (columns[-1].heading == "Verdict")
        columns.insert(place, ChangeColumn(heading="Noise (again)", texts=texts))
    return explain_verdicts(columns, rows, "p (Holm)")


def _list_release_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    releases = inputs.study.compare_releases()
    if releases is None:
        return
    yield lazy_text(_write_answer, releases)
    for label in releases.found.labels[1:]:
        if any(row.interval.decided for row in releases.found.rows if row.label == label):
            yield LazyPlot(
                name=f"releases-{label}".replace(" ", "-"),
                title=f"Change of each combination: {name_comparison(releases, label)}",
                condition=", ".join(name_cells(releases.found.rows).shared),
                draw=partial(_draw_changes, releases, label),
            )
    yield lazy_text(_build_changes_table, releases)


def _find_releases_gap(inputs: ReportInputs) -> str | None:
    if inputs.study.compare_releases() is not None:
        return None
    return "it needs two builds of the engine, or two levels of the factor that compare names"


SECTION = LazySection(
    key="releases",
    title="Builds and configurations compared",
    find_gap=_find_releases_gap,
    blocks=_list_release_blocks,
    factors=("build",),
    of_messages=True,
)
TOPIC = Topic(
    key="releases",
    describe=lambda study: map(AnswerText, list_release_sentences(study)),
    sections=(SECTION,),
)
