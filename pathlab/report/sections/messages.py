"""Rates against the size of messages, and the cost of a message and of a byte."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pathlab.analysis.fits.message_cost import MessageCost
from pathlab.report.answer_table import format_row, list_headings
from pathlab.report.blocks import Block, Question
from pathlab.report.inputs import ReportInputs, find_first_number
from pathlab.report.phrases import format_few_trials, format_interval, format_reason
from pathlab.report.plots.model import Axis, Curve, Layer, Panel, Scale
from pathlab.report.sections.answer_tables import format_note
from pathlab.report.sections.lazy import Drawing, LazyBlock, LazyPlot, LazySection, lazy_text
from pathlab.report.sections.points import draw_rule, draw_spreads
from pathlab.report.sections.quantities import choose_unit
from pathlab.report.tables import build_table
from pathlab.study.answer import Answer
from pathlab.study.cells import MeasuredCondition
from pathlab.study.costs import MESSAGE_SIZE, measure_message_rates, select_messages
from pathlab.study.registry import ANALYSES
from pathlab.study.selection import Sample
from pathlab.study.trials import Condition
from pathlab.units import format_bytes, format_rate, format_time, format_window

CURVE_POINTS = 60
TITLE = "Throughput by message size"


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One cell at conditions that differ in the size of messages alone; ``lone``: they have no other.

    ``sample`` are the trials that its cost was fitted to, of all sizes.
    """

    conditions: tuple[MeasuredCondition, ...]
    sample: Sample
    answer: Answer[Any]
    lone: bool

    @property
    def key(self) -> str:
        """The end of the names of its figure and table: ``2``, ``2-8-64KiB`` where there are several."""
        number, answer = find_first_number(self.conditions), self.answer
        window = format_window(answer.window_bytes).replace(" ", "").replace(".", "-")
        return f"{number}" if self.lone else f"{number}-{answer.streams}-{window}"

    @property
    def title(self) -> str:
        """The condition of its figure."""
        return self.name(self.conditions[0].title_without("write"))

    def name(self, title: str) -> str:
        """The title of its conditions, with the cell where they have several."""
        cell = f"{self.answer.streams} × {format_window(self.answer.window_bytes)}"
        return title if self.lone else f"{cell}, {title}"


def _list_series(inputs: ReportInputs) -> list[Series]:
    """Every cell of the conditions that set a size of messages and that has a cost, decided or not."""
    groups: dict[Condition, list[MeasuredCondition]] = {}
    for condition in inputs.conditions:
        if condition.key.get(MESSAGE_SIZE) is not None:
            groups.setdefault(condition.key.without(MESSAGE_SIZE), []).append(condition)
    if not groups:
        return []
    answers = inputs.answers("message_cost")
    cells = Counter(answer.condition for answer in answers)
    chosen = zip(answers, select_messages(inputs.study.study_table()), strict=True)
    return [
        Series(
            conditions=tuple(groups[answer.condition]),
            sample=sample,
            answer=answer,
            lone=cells[answer.condition] == 1,
        )
        for answer, (_, _, sample) in chosen
    ]


def plot_messages(series: Series) -> Drawing:
    """Rate and messages per second against the size of messages on logarithmic axes, with the fit."""
    found: MessageCost = series.answer.result
    by_size = measure_message_rates(series.sample)
    sizes, spreads = np.array(list(by_size)), list(by_size.values())
    unit = choose_unit("bit/s", [spread.median or 0.0 for spread in spreads])
    rates = draw_spreads("median", sizes, spreads, unit.size)
    counts = draw_spreads("median", sizes, spreads, 8 * sizes)
    above: list[Layer] = [rates]
    below: list[Layer] = [counts]
    across = np.geomspace(sizes.min(), sizes.max(), CURVE_POINTS)
    fitted_ns = found.predict_time_ns(across)
    if fitted_ns is not None:
        above.append(_fit(across, 8e9 * across / fitted_ns / unit.size))
        below.append(_fit(across, 1e9 / fitted_ns))
    interval = found.half_size_interval_bytes
    above += draw_rule("half size", found.half_size_bytes, interval, 1.0, vertical=True)
    axis = Axis(label="Message", unit="bytes", scale=Scale.LOG2)
    return Drawing(
        sentences=(_describe_cost(found), format_few_trials(spreads, "size")),
        panels=(
            Panel(x=axis, y=Axis(label="Throughput", unit=unit.unit, scale=Scale.LOG10), layers=tuple(above)),
            Panel(x=axis, y=Axis(label="Messages", unit="1/s", scale=Scale.LOG10), layers=tuple(below)),
        ),
    )


def _fit(x: np.ndarray, y: np.ndarray) -> Curve:
    return Curve(name="a + m / r", x=x, y=y, slot=1, markers=False)


def _describe_cost(found: MessageCost) -> str:
    if found.message_ns is None:
        return f"Cost of a message: undecided ({format_reason(found.undecided)})."
    interval = format_interval(found.message_interval_ns, format_time)
    text = f"A message costs {format_time(found.message_ns)} ({interval})"
    if found.rate_bits_per_s is None:
        return f"{text}; the rate of its bytes is undecided."
    text += f"; rate of its bytes {format_rate(found.rate_bits_per_s)}"
    if found.half_size_bytes is None:
        return f"{text}; the half size is undecided."
    low = format_interval(found.half_size_interval_bytes, format_bytes)
    return f"{text}; half of that rate at {format_bytes(found.half_size_bytes)} ({low})."


def _tabulate_costs(series: Series) -> Iterator[Block]:
    entry = ANALYSES["message_cost"]
    yield build_table(
        f"message-cost-table-{series.key}",
        f"Cost of a message: {series.name(series.conditions[0].name_without('write'))}",
        list_headings(entry)[1:],
        [format_row(entry, series.answer)[1:]],
        note=format_note([series.answer], entry, series.conditions),
    )


def _outline(inputs: ReportInputs) -> Iterator[LazyBlock]:
    for series in _list_series(inputs):
        draw = partial(plot_messages, series)
        yield LazyPlot(name=f"messages-{series.key}", title=TITLE, condition=series.title, draw=draw)
        yield lazy_text(_tabulate_costs, series)


def _find_gap(inputs: ReportInputs) -> str | None:
    if _list_series(inputs):
        return None
    if any(condition.key.get(MESSAGE_SIZE) is not None for condition in inputs.conditions):
        return "no trial with a message size carried traffic"
    return "it needs trials with several message sizes"


SECTION = LazySection(
    key="message-size",
    title="Message size",
    find_gap=_find_gap,
    outline=_outline,
    question=Question.WHY,
    choose_setting=lambda _: 'factors.message=["256","1KiB","4KiB","16KiB"]',
)
