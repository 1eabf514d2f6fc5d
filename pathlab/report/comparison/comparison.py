"""A comparison of results as a report: a sentence and a figure, then the tables, then the rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pathlab._version import VERSION
from pathlab.quantities import DisplayUnit, resolve_unit
from pathlab.report.base.blocks import (
    Block,
    Bullets,
    Fold,
    Paragraph,
    Report,
    Section,
    Subheading,
    TableBlock,
)
from pathlab.report.base.tables import build_table
from pathlab.report.comparison.comparison_changes import (
    POINTS,
    capitalise_title,
    count_rows,
    describe_no_verdict,
    format_change,
    list_comparison_warnings,
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
from pathlab.report.comparison.comparison_text import list_notes
from pathlab.report.comparison.comparison_times import warn_of_times
from pathlab.report.plots.model import Axis, Curve, Layer, Panel, Plot, Points, Rule
from pathlab.report.plots.style import INK_SLOT
from pathlab.study.comparison.rows import (
    ChangeVerdict,
    ComparisonRow,
    ResultsComparison,
    choose_most_changed,
    find_least_bound,
    find_least_margin_ratio,
)
from pathlab.study.measures import Measure
from pathlab.units import format_ratio

#: Most combinations of a figure; of more, those that changed most.
DRAWN_ROWS = 40
#: The figures, one for each unit of a change; that of another unit has the name of its metric.
FIGURES = {"%": "changes", "ms": "changes-delay", POINTS: "changes-loss"}
SLOTS = {
    ChangeVerdict.WORSE: 1,
    ChangeVerdict.BETTER: 2,
    ChangeVerdict.EQUIVALENT: 0,
    ChangeVerdict.UNDECIDED: INK_SLOT,
}


def build_comparison(comparison: ResultsComparison) -> Report:
    """The report of a comparison: the answer on its first page, how it was reached folded below."""
    names = name_cells(comparison.rows)
    folded = Fold(title="Rules, noise floor, and what was not compared", blocks=(_list_notes(comparison),))
    return Report(
        title=f"{', '.join(comparison.labels[1:])} against {comparison.labels[0]}",
        facts=(
            "Comparison of results",
            *names.shared,
            count_rows(comparison),
            f"margin ±{format_ratio(comparison.rules.margin_ratio)}",
            f"PathLab {VERSION}",
        ),
        footer=f"Written by PathLab {VERSION}",
        notices=(),
        recommendations=(),
        opening=Section(key="answer", title="What changed", blocks=tuple(_list_answer(comparison, names))),
        sections=(Section(key="method", title="How was it compared?", blocks=(folded,)),),
    )


def _list_notes(comparison: ResultsComparison) -> Bullets:
    return Bullets(items=tuple(list_notes(comparison)))


def _list_answer(comparison: ResultsComparison, names: CellNames) -> Iterator[Block]:
    """For each of the results: sentences, figure, and a table for each metric."""
    refusal = describe_no_verdict(comparison)
    if refusal:
        yield Paragraph(text=refusal, lead=True)
    for number, label in enumerate(comparison.labels[1:], start=1):
        if len(comparison.labels) > 2:
            yield Subheading(text=f"{label} against {comparison.labels[0]}")
        for index, text in enumerate(() if refusal else list_summaries(comparison, label)):
            yield Paragraph(text=text, lead=index == 0)
        if not refusal and (warning := warn_of_times(comparison, label)):
            yield Paragraph(text=warning)
        for warning in list_comparison_warnings(comparison) if number == 1 else ():
            yield Paragraph(text=warning)
        groups = group_rows(comparison, label)
        shown = [rows for rows in groups if _has_interval(rows)]
        for unit in dict.fromkeys((*FIGURES, *(_find_unit(rows[0].metric).unit for rows in shown))):
            drawn = [rows for rows in shown if _find_unit(rows[0].metric).unit == unit]
            if drawn:
                name = FIGURES.get(unit, f"changes-{drawn[0][0].metric.name}")
                yield _draw(drawn, f"{name}-{number}", comparison, names)
        for rows in groups:
            yield _build_table(rows, f"rows-{rows[0].metric.name}-{number}", comparison, names)


def _has_interval(rows: Sequence[ComparisonRow]) -> bool:
    return any(row.interval.decided for row in rows)


def _draw(
    groups: Sequence[Sequence[ComparisonRow]], name: str, comparison: ResultsComparison, names: CellNames
) -> Plot:
    """The change of each combination with its interval, a panel for each metric; the margin is shaded."""
    confidence = format_ratio(1 - comparison.rules.alpha_ratio)
    sentences = [f"Points: changes; lines: {confidence} confidence intervals; shaded: within the margin."]
    hidden = max(map(len, groups)) - DRAWN_ROWS
    if hidden > 0:
        sentences.append(
            f"Shown: the {DRAWN_ROWS} combinations that changed most; {hidden} more are in the table."
        )
    return Plot(
        name=name,
        title=f"Change of {groups[0][0].metric.title if len(groups) == 1 else 'each combination'}",
        condition=f"{groups[0][0].label} against {comparison.labels[0]}",
        sentence=" ".join(sentences),
        panels=tuple(build_change_panel(choose_most_changed(rows, DRAWN_ROWS), names) for rows in groups),
        shared_x=True,
    )


def build_change_panel(rows: Sequence[ComparisonRow], names: CellNames) -> Panel:
    """The change of each row with its interval, and the margin of equivalence."""
    metric = rows[0].metric
    texts = tuple(names.format(row.cell) for row in rows)
    return Panel(
        x=Axis(label="Change", unit=_find_unit(metric).unit),
        y=Axis(label="Combination", ticks=_find_heights(rows), tick_labels=texts, rows=True),
        layers=tuple(_list_layers(rows, names)),
        title=capitalise_title(metric),
    )


def _find_heights(rows: Sequence[ComparisonRow]) -> tuple[float, ...]:
    """Where each row is drawn, the first at the top."""
    return tuple(float(len(rows) - place) for place in range(len(rows)))


def _list_layers(rows: Sequence[ComparisonRow], names: CellNames) -> Iterator[Layer]:
    """The margin, and for each verdict the intervals and the points on them."""
    low, high = _find_margin(rows)
    yield Rule(name="no change", value=0.0, vertical=True, low=low, high=high)
    for verdict, slot in SLOTS.items():
        known = [
            (row, height)
            for row, height in zip(rows, _find_heights(rows), strict=True)
            if row.verdict is verdict and row.estimate is not None
        ]
        if not known:
            continue
        ends = [
            [_scale(end, row.metric) for end in (row.interval.low, row.interval.high)] for row, _ in known
        ]
        along = np.array([[*pair, np.nan] for pair in ends], dtype=np.float64).ravel()
        up = np.repeat(np.array([height for _, height in known]), 3)
        yield Curve(
            name=f"{verdict}, interval", x=along, y=up, slot=slot, markers=False, legend=False, solid=True
        )
        yield Points(
            name=str(verdict),
            x=np.array([_scale(row.estimate, row.metric) for row, _ in known], dtype=np.float64),
            y=np.array([height for _, height in known]),
            slot=slot,
            hover=tuple(_describe_point(row, names) for row, _ in known),
            hollow=verdict is ChangeVerdict.UNDECIDED,
        )


def _find_margin(rows: Sequence[ComparisonRow]) -> tuple[float | None, float | None]:
    """The margin as it is drawn; of several the least one, None where it is not known."""
    metric = rows[0].metric
    if metric.bound is None:
        margin_ratio = find_least_margin_ratio(rows)
        return _scale(1 / (1 + margin_ratio), metric), _scale(1 + margin_ratio, metric)
    bound = find_least_bound(rows)
    return (None, None) if bound is None else (_scale(-bound, metric), _scale(bound, metric))


def _find_unit(metric: Measure) -> DisplayUnit:
    """The unit in which a change is drawn."""
    unit = resolve_unit("ratio" if metric.bound is None else metric.unit)
    return unit.shown if metric.bound is None else unit.difference or unit.shown


def _scale(value: float | None, metric: Measure) -> float:
    """A ratio as a change, or a difference, in its drawn unit; NaN for None."""
    if value is None:
        return np.nan
    return (value - (metric.bound is None)) / _find_unit(metric).size


def _describe_point(row: ComparisonRow, names: CellNames) -> str:
    change, interval = format_change(row)
    return f"{names.format(row.cell)}: {change} ({interval})"


def _build_table(
    rows: Sequence[ComparisonRow], name: str, comparison: ResultsComparison, names: CellNames
) -> TableBlock:
    """Every combination of one metric; alongside the verdict its p-value and why it is undecided."""
    columns = list_change_columns(rows, comparison, names)
    title = ", ".join(filter(None, [capitalise_title(rows[0].metric), find_trials(rows)]))
    return build_change_table(name, title, explain_verdicts(columns, rows, "p"))


def build_change_table(name: str, title: str, columns: Sequence[ChangeColumn]) -> TableBlock:
    """The table of a metric for pages."""
    headed = [column.name_unit("{} ({})") for column in columns]
    return build_table(name, title, headed, zip(*(column.texts for column in columns), strict=True))
