"""The limit of each cell, the figures of RFC 6349, and the fairness of streams."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.verdicts.limits import Limit
from pathlab.quantities import drop_unit
from pathlab.report.base.answer_table import format_row
from pathlab.report.base.answer_tables import LONG_ROWS, format_note, list_answer_tables, name_rows
from pathlab.report.base.blocks import Block, Question
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import (
    Drawing,
    LazyBlock,
    LazyFold,
    LazySection,
    draw_panel,
    lazy_plot,
    lazy_text,
)
from pathlab.report.base.names import enumerate_cells, format_limit_name
from pathlab.report.base.phrases import choose_format, format_count, format_reason
from pathlab.report.base.tables import build_table
from pathlab.report.base.topic import Topic
from pathlab.report.flows.cell_tables import GRANTS, list_cell_table_blocks
from pathlab.report.flows.views import FAIRNESS, plot_view
from pathlab.report.paths import routes
from pathlab.report.plots.model import Axis, Bars, Layer
from pathlab.study.base.cells import MeasuredCondition
from pathlab.study.base.registry import ANALYSES
from pathlab.study.base.selection import LAB_FLAGS
from pathlab.study.flows.limits import CellLimit
from pathlab.table_columns import TableColumn

UNDECIDED = "undecided"
TITLE = "Limits of the throughput"
EVIDENCE_NOTE = (
    "Evidence: median of each figure that meets its threshold, and the number of trials that meet it; "
    "'pathlab analyze RESULTS --json' has every figure of every trial."
)


def plot_limits(inputs: ReportInputs, condition: MeasuredCondition) -> Drawing:
    """The number of windows with each limit, by number of streams; the legend names the combinations."""
    answers = inputs.answers("limits", condition)
    levels = sorted({answer.streams for answer in answers if answer.streams is not None})
    names = [str(limit) for limit in Limit] + [UNDECIDED]
    heights = {name: np.zeros(len(levels)) for name in names}
    cells: dict[str, list[tuple[int, int | None]]] = {name: [] for name in names}
    for answer in answers:
        if answer.streams is not None:
            name = str(answer.result.limit or UNDECIDED)
            heights[name][levels.index(answer.streams)] += 1
            cells[name].append((answer.streams, answer.window_bytes))
    layers: list[Layer] = []
    bottom = np.zeros(len(levels))
    x = np.arange(len(levels), dtype=np.float64)
    for slot, name in enumerate(names):
        if heights[name].any():
            named = f"{format_reason(name)}: {_enumerate(cells[name])}"
            layers.append(Bars(name=named, x=x, height=heights[name], slot=slot, bottom=bottom.copy()))
            bottom = bottom + heights[name]
    streams = Axis(label="Streams", ticks=tuple(x.tolist()), tick_labels=tuple(map(str, levels)))
    return draw_panel(streams, _count_windows(bottom), layers, _describe_limits(inputs, condition))


def _count_windows(heights: Floats) -> Axis:
    """The axis of whole windows."""
    most = int(heights.max(initial=1))
    ticks = range(0, most + 1, max(1, most // 5))
    return Axis(
        label="Number of windows",
        ticks=tuple(float(tick) for tick in ticks),
        tick_labels=tuple(str(tick) for tick in ticks),
        from_zero=True,
    )


def _describe_limits(inputs: ReportInputs, condition: MeasuredCondition) -> str:
    groups: dict[str, list[tuple[int, int | None]]] = {}
    answers = inputs.answers("limits", condition)
    for answer in answers:
        if answer.streams is not None:
            groups.setdefault(_name_limit(answer.result), []).append((answer.streams, answer.window_bytes))
    ordered = sorted(groups.items(), key=lambda pair: -len(pair[1]))
    sentences = [f"{format_count(sum(answer.result.classified for answer in answers), 'trial')}."]
    for name, cells in ordered:
        sentences.append(f"{name[0].upper()}{name[1:]}: {_enumerate(cells)}.")
    return " ".join(sentences)


def _name_limit(cell_limit: CellLimit) -> str:
    if cell_limit.limit is None:
        return UNDECIDED
    return format_limit_name(cell_limit.limit, at_requested_rate=cell_limit.at_requested_rate)


def _enumerate(cells: list[tuple[int, int | None]]) -> str:
    """The cells, or their number where they are many."""
    return enumerate_cells(cells) if len(cells) <= LONG_ROWS else f"{len(cells)} combinations"


def _build_evidence_table(inputs: ReportInputs, condition: MeasuredCondition) -> Iterator[Block]:
    """Every cell's limit and its evidence, as medians over its classified trials."""
    rows, entry = [], ANALYSES["limits"]
    answers = inputs.answers("limits", condition)
    for answer in answers:
        cell_limit: CellLimit = answer.result
        figures = [
            f"{_format_evidence(item.name, item.median)} ({item.met} of {item.known})"
            for item in cell_limit.evidence
            if item.met
        ]
        *shown, undecided = format_row(entry, answer)
        rows.append((*shown, "; ".join(figures) or "no figure meets its threshold", undecided))
    if rows:
        note = format_note(answers, conditions=(condition,))
        yield build_table(
            f"limits-table-{condition.number}",
            f"Limit of each combination: {condition.name}",
            name_rows((*entry.columns[:-1], TableColumn("evidence", left=True), entry.columns[-1])),
            rows,
            note=f"{EVIDENCE_NOTE} {note}" if note else EVIDENCE_NOTE,
        )


def _format_evidence(name: str, value: float) -> str:
    """A figure of evidence with its unit: ``busiest core 98.2 %``."""
    return f"{drop_unit(name).replace('_', ' ')} {choose_format(name)(value)}"


def _has_classified(condition: MeasuredCondition) -> bool:
    """Whether a trial there is not lab-limited: host-limited ones are classified as well."""
    if condition.cells:
        return True
    return any(
        not condition.excluded.table.flagged(flag)[condition.excluded.places].all() for flag in LAB_FLAGS
    )


def _list_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    for condition in filter(_has_classified, inputs.conditions):
        if len(condition.levels) > 1:
            yield lazy_plot(condition, "limits", TITLE, plot_limits, inputs, condition)
        evidence = lazy_text(_build_evidence_table, inputs, condition)
        yield LazyFold(title=f"Limits and evidence: {condition.name}", blocks=(evidence,))
    yield from list_answer_tables(inputs, "rfc6349")
    for condition in inputs.conditions:
        if sum(cell.streams > 1 for cell in condition.cells) > 1:
            yield lazy_plot(condition, FAIRNESS.key, FAIRNESS.title, plot_view, inputs, condition, FAIRNESS)
    if any(cell.streams > 1 for condition in inputs.conditions for cell in condition.cells):
        fairness = tuple(list_answer_tables(inputs, "fairness"))
        yield LazyFold(title=ANALYSES["fairness"].title, blocks=fairness)
    yield from list_cell_table_blocks(GRANTS, inputs.conditions)


def _find_gap(inputs: ReportInputs) -> str | None:
    return None if any(map(_has_classified, inputs.conditions)) else "no usable trial"


SECTION = LazySection(
    key="limits",
    title="Limits of the throughput, and fairness",
    find_gap=_find_gap,
    blocks=_list_blocks,
    question=Question.BOTTLENECK,
)
TOPIC = Topic(key="path", sections=(SECTION, routes.SECTION))
