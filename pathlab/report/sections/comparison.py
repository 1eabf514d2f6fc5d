"""A comparison of results as a report: the verdicts first, then each change with its interval, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pathlab._version import VERSION
from pathlab.report.blocks import Block, Bullets, Paragraph, Report, Section, TableBlock
from pathlab.report.plots.model import Axis, Curve, Layer, Panel, Plot, Rule
from pathlab.report.sections.comparison_text import (
    count_verdicts,
    format_change,
    format_compared,
    format_metric,
    format_result_cell,
    format_trials,
    format_verdict,
    list_notes,
)
from pathlab.report.tables import build_table
from pathlab.study.comparison.metrics import METRICS, ComparedMetric
from pathlab.study.comparison.rows import ChangeVerdict, ComparisonRow, ResultsComparison, find_least_bound
from pathlab.units import NOT_MEASURED, format_ratio

#: Most rows that are named on the axis of a figure; more are numbered as in the table.
NAMED_ROWS = 6
#: Rows of one verdict that are described in words at the top.
ROWS_IN_WORDS = 8
#: In what a difference is drawn, by the metric's unit: its name and its size.
DRAWN_UNITS = {"ns": ("ms", 1e6), "ratio": ("%", 0.01)}
HEADINGS = ("Row", "Combination", "Before", "After", "Change", "95 % CI", "p", "Trials", "Verdict")


def build_comparison(found: ResultsComparison) -> Report:
    """The report of a comparison; one chapter for each of the results that are compared with the first."""
    several = len({(row.cell.source, row.cell.destination) for row in found.rows}) > 1
    sections = tuple(
        _build_section(number, label, found, with_path=several)
        for number, label in enumerate(found.labels[1:], start=1)
    )
    return Report(
        title=f"{', '.join(found.labels[1:])} against {found.labels[0]}",
        facts=(
            "Comparison of results",
            f"{len(found.rows)} rows",
            f"margin ±{format_ratio(found.rules.margin_ratio)}",
            f"PathLab {VERSION}",
        ),
        footer=f"Written by PathLab {VERSION}",
        notices=(),
        recommendations=(),
        opening=_build_opening(found),
        sections=sections,
    )


def _build_opening(found: ResultsComparison) -> Section:
    blocks: list[Block] = [Paragraph(text=count_verdicts(found), lead=True)]
    several = len(found.labels) > 2
    for change in (ChangeVerdict.WORSE, ChangeVerdict.BETTER):
        rows = [row for row in found.rows if row.verdict is change]
        if rows:
            texts = [
                _describe_row(row, found.rules.margin_ratio, several=several) for row in rows[:ROWS_IN_WORDS]
            ]
            if len(rows) > ROWS_IN_WORDS:
                texts.append(f"{len(rows) - ROWS_IN_WORDS} more are in the tables below.")
            blocks += [Paragraph(text=f"{str(change).capitalize()}:"), Bullets(items=tuple(texts))]
    blocks.append(Paragraph(text="How verdicts were reached:"))
    blocks.append(Bullets(items=tuple(list_notes(found))))
    return Section(key="answer", title="What changed", blocks=tuple(blocks))


def _describe_row(row: ComparisonRow, margin_ratio: float, *, several: bool) -> str:
    """One row as a sentence."""
    change, interval = format_change(row, margin_ratio)
    before, after = (format_metric(value, row.metric) for value in (row.before_median, row.after_median))
    kind = "ratio" if row.is_ratio else "difference"
    where = f"{row.label}, " * several + format_result_cell(row.cell)
    return f"{where}: {row.metric.title} {before} before, {after} after ({kind} {change}; {interval})."


def _build_section(number: int, label: str, found: ResultsComparison, *, with_path: bool) -> Section:
    blocks: list[Block] = []
    for name in found.rules.metrics:
        rows = [row for row in found.rows if row.label == label and row.metric.name == name]
        if rows:
            metric = METRICS[name]
            blocks.append(_draw(rows, metric, f"{name}-{number}", found, with_path=with_path))
            blocks.append(
                _tabulate(
                    rows, metric, f"rows-{name}-{number}", found.rules.margin_ratio, with_path=with_path
                )
            )
    return Section(key=f"against-{number}", title=f"{label} against {found.labels[0]}", blocks=tuple(blocks))


def _draw(
    rows: Sequence[ComparisonRow],
    metric: ComparedMetric,
    name: str,
    found: ResultsComparison,
    *,
    with_path: bool,
) -> Plot:
    """The change of every row with its interval; differences within the margin are shaded."""
    ratio = metric.bound is None
    unit, size = ("", 1.0) if ratio else DRAWN_UNITS.get(metric.unit, (metric.unit, 1.0))
    measured = "after / before" if ratio else "after minus before"
    title = f"{_start_sentence(metric.title)}: {measured}"
    condition = f"{rows[0].label} against {found.labels[0]}"
    layers = tuple(_list_layers(rows, found, size, ratio=ratio))
    if all(isinstance(layer, Rule) for layer in layers):
        reason = "no row has a change to draw: " + ", ".join(
            sorted({row.reason for row in rows if row.reason})
        )
        return Plot(name=name, title=title, condition=condition, sentence="", empty=reason)
    ticks = tuple(float(place) for place in range(1, len(rows) + 1))
    named = len(rows) <= NAMED_ROWS
    labels = tuple(
        format_result_cell(row.cell, with_path=with_path) if named else str(place)
        for place, row in enumerate(rows, start=1)
    )
    label = "Combination" if named else "Row, as numbered in the table"
    upwards = Axis(label=measured.capitalize(), unit=unit or None)
    panel = Panel(x=Axis(label=label, ticks=ticks, tick_labels=labels), y=upwards, layers=layers)
    return Plot(
        name=name, title=title, condition=condition, sentence=_describe_figure(rows, found), panels=(panel,)
    )


def _start_sentence(title: str) -> str:
    """A metric's title with a capital, unless it is a symbol such as dRTT."""
    return title if title[1:2].isupper() else title[0].upper() + title[1:]


def _list_layers(
    rows: Sequence[ComparisonRow], found: ResultsComparison, size: float, *, ratio: bool
) -> Iterator[Layer]:
    margin = found.rules.margin_ratio
    bound = find_least_bound(rows)
    if ratio:
        yield Rule(name="no change", value=1.0, low=1 / (1 + margin), high=1 + margin)
    elif bound is not None:
        yield Rule(name="no change", value=0.0, low=-bound / size, high=bound / size)
    for slot, change in enumerate(ChangeVerdict):
        chosen = [(place, row) for place, row in enumerate(rows, start=1) if row.verdict is change]
        known = [(place, *ends) for place, row in chosen if (ends := _read_ends(row)) is not None]
        if known:
            x, y, low, high = (np.array(column, dtype=np.float64) for column in zip(*known, strict=True))
            yield Curve(
                name=str(change),
                x=x,
                y=y / size,
                low=low / size,
                high=high / size,
                slot=slot,
                line=False,
            )


def _read_ends(row: ComparisonRow) -> tuple[float, float, float] | None:
    """The change and the ends of its interval, NaN where that is undecided."""
    if row.estimate is None:
        return None
    low, high = (np.nan if end is None else end for end in (row.interval.low, row.interval.high))
    return row.estimate, low, high


def _describe_figure(rows: Sequence[ComparisonRow], found: ResultsComparison) -> str:
    """What the figure shows, by its numbers."""
    counts = [(change, sum(row.verdict is change for row in rows)) for change in ChangeVerdict]
    verdicts = ", ".join(f"{count} {change}" for change, count in counts if count)
    first = rows[0]
    noise = ""
    if first.noise is not None:
        size = format_ratio(first.noise - 1) if first.is_ratio else format_metric(first.noise, first.metric)
        noise = f" Results without any change differ by ±{size}."
    return f"{verdicts}, Holm-corrected over all {len(found.rows)} rows; shaded: within the margin.{noise}"


def _tabulate(
    rows: Sequence[ComparisonRow], metric: ComparedMetric, name: str, margin_ratio: float, *, with_path: bool
) -> TableBlock:
    texts = (
        (
            str(place),
            format_result_cell(row.cell, with_path=with_path),
            *format_compared(row, margin_ratio),
            NOT_MEASURED if row.p_value is None else f"{row.p_value:.2g}",
            format_trials(row),
            format_verdict(row),
        )
        for place, row in enumerate(rows, start=1)
    )
    words = ("Combination", "Verdict")
    return build_table(name, f"Every row of {metric.title}", HEADINGS, texts, words=words)
