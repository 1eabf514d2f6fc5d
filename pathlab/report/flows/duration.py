"""Throughput against the duration of a trial: cells over durations, the trend and its bounds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from pathlab.analysis.estimators.margins import list_thresholds
from pathlab.analysis.estimators.trend import ChangeBound
from pathlab.report.base import quantities as of
from pathlab.report.base.answer_tables import build_answer_table, format_note
from pathlab.report.base.blocks import Block, Question
from pathlab.report.base.inputs import ReportInputs, find_first_number
from pathlab.report.base.lazy import Drawing, LazyBlock, LazyPlot, LazySection, draw_panel, lazy_text
from pathlab.report.base.phrases import (
    format_ci,
    format_few_trials,
    format_p_value,
    format_reason,
    format_spread,
)
from pathlab.report.base.points import draw_clouds, draw_spreads, gather
from pathlab.report.base.quantities import choose_unit
from pathlab.report.base.tables import build_table
from pathlab.report.plots.model import Axis, Layer, Scale
from pathlab.study.base.answer import Answer
from pathlab.study.base.cells import Cell, MeasuredCondition
from pathlab.study.base.registry import ANALYSES
from pathlab.table_columns import list_table_columns
from pathlab.units import format_rate, format_ratio, format_time, format_window

DURATION = of.Quantity(label="Duration", take=lambda sample: sample.get("duration_ns") / 1e9)
TITLE = "Throughput by trial duration"
#: Cells drawn in one figure.
MOST_CELLS = 7


Conditions = tuple[MeasuredCondition, ...]


def _list_groups(inputs: ReportInputs) -> list[Conditions]:
    """Conditions that differ in the duration alone, by duration; each has a usable trial."""
    groups: dict[Any, list[MeasuredCondition]] = {}
    for condition in inputs.conditions:
        if condition.cells:
            groups.setdefault(condition.key.without("duration_ns"), []).append(condition)
    return [
        tuple(sorted(conditions, key=_duration_s)) for conditions in groups.values() if len(conditions) > 1
    ]


def _duration_s(condition: MeasuredCondition) -> float:
    return float(condition.key.get("duration_ns")) / 1e9


def _find_answers(inputs: ReportInputs, conditions: Conditions) -> list[Answer[Any]]:
    """The answers on the cells of these conditions."""
    condition = conditions[0].key.without("duration_ns")
    return [answer for answer in inputs.answers("duration") if answer.condition == condition]


def _take_cell(conditions: Conditions, answer: Answer[Any]) -> list[Cell]:
    """One cell at every duration, by duration."""
    return [
        cell
        for condition in conditions
        for cell in condition.cells
        if (cell.streams, cell.window_bytes) == (answer.streams, answer.window_bytes)
    ]


def plot_durations(inputs: ReportInputs, conditions: Conditions) -> Drawing:
    """Throughput over the duration: trials as points, a line through each cell's medians with intervals."""
    answers = _find_answers(inputs, conditions)
    shown = [answer for answer in answers if answer.streams is not None][:MOST_CELLS]
    cells = [_take_cell(conditions, answer) for answer in shown]
    names = [f"{item.streams} × {format_window(item.window_bytes)}" for item in shown]
    clouds = [
        gather(name, slot, line, (DURATION, of.THROUGHPUT))
        for slot, (name, line) in enumerate(zip(names, cells, strict=True))
    ]
    unit = choose_unit("bit/s", np.concatenate([cloud.y for cloud in clouds]))
    drawn = draw_clouds(clouds, (1.0, unit.size), inputs.points)
    layers: list[Layer] = list(drawn.layers)
    spreads = []
    for slot, (name, line) in enumerate(zip(names, cells, strict=True)):
        result = [cell.throughput for cell in line]
        spreads += result
        x = np.array([float(DURATION.take(cell.sample)[0]) for cell in line])
        layers.append(draw_spreads(name, x, result, unit.size, slot))
    sentences = [_describe_change(name, answer.result) for name, answer in zip(names, shown, strict=True)]
    if len(answers) > len(shown):
        sentences.append(f"{len(answers) - len(shown)} more combinations are in the table only.")
    levels = sorted({float(DURATION.take(cell.sample)[0]) for line in cells for cell in line})
    axis = Axis(
        label="Duration of the steady window",
        unit="s",
        scale=Scale.LOG2,
        ticks=tuple(levels),
        tick_labels=tuple(f"{level:g}" for level in levels),
    )
    y = Axis(label="Throughput", unit=unit.unit, from_zero=True)
    return draw_panel(axis, y, layers, *sentences, format_few_trials(spreads), drawn.words)


def _describe_change(name: str, bound: ChangeBound) -> str:
    if bound.change_ratio is None:
        return f"{name}: change over durations undecided ({format_reason(bound.undecided)})."
    text = (
        f"{name}: throughput changes from the shortest to the longest by "
        f"{format_ratio(bound.change_ratio)} ({format_ci(bound.interval_ratio, format_ratio)})"
    )
    if bound.equivalent is None:
        return f"{text}; equivalence undecided."
    word = "equivalent within" if bound.equivalent else "not shown to be equivalent within"
    trend = bound.trend.p_value
    test = f"; trend {format_p_value(trend)} (Mann–Kendall)" if trend is not None else ""
    low, high = format_ratio(list_thresholds(bound.margin_ratio)[0] - 1), format_ratio(bound.margin_ratio)
    return f"{text}: {word} {low} to {high}{test}."


def _build_cells_table(inputs: ReportInputs, conditions: Conditions) -> Iterator[Block]:
    answers = _find_answers(inputs, conditions)
    where, number = conditions[0].name_without("duration"), find_first_number(conditions)
    rows = []
    for answer in answers:
        for cell in _take_cell(conditions, answer):
            spread = cell.throughput
            length = format_time(float(cell.sample.get("duration_ns")[0]))
            rows.append((cell.name, length, str(spread.n), format_spread(spread, format_rate)))
    yield build_table(
        f"durations-{number}",
        f"Throughput by duration: {where}",
        list_table_columns(("combination", "duration", "n", "throughput, median")),
        rows,
        note=format_note(answers, conditions=conditions),
    )
    entry = ANALYSES["duration"]
    yield build_answer_table(
        f"duration-table-{number}",
        f"{entry.title}: {where}",
        "duration",
        answers,
        note="Change: Theil–Sen over the logarithm of the duration, from the shortest to the longest.",
    )


def _list_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    for conditions in _list_groups(inputs):
        yield LazyPlot(
            name=f"duration-{find_first_number(conditions)}",
            title=TITLE,
            condition=conditions[0].title_without("duration"),
            draw=partial(plot_durations, inputs, conditions),
        )
        yield lazy_text(_build_cells_table, inputs, conditions)


def _find_gap(inputs: ReportInputs) -> str | None:
    return None if _list_groups(inputs) else "it needs trials of several durations on a path"


SECTION = LazySection(
    key="duration",
    title="Trial duration",
    find_gap=_find_gap,
    blocks=_list_blocks,
    question=Question.WHY,
    choose_setting=lambda _: 'factors.duration=["2s","4s","8s"]',
)
