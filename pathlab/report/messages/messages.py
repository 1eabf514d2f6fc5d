"""Messages and writes by their size: how many a second and how much, and the cost of one and of a byte."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.fits.message_cost import MINIMUM_SIZES, MessageCost
from pathlab.report.base.answer_tables import build_answer_table, format_note
from pathlab.report.base.blocks import Block, Paragraph, Question
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import Drawing, LazyBlock, LazyFold, LazyPlot, LazySection, lazy_text
from pathlab.report.base.phrases import (
    format_few_trials,
)
from pathlab.report.base.points import draw_rule, draw_spreads
from pathlab.report.base.quantities import choose_unit
from pathlab.report.base.shortfalls import Shortfall
from pathlab.report.base.summary import AnswerText, group_answer
from pathlab.report.base.topic import Topic
from pathlab.report.messages.batching import list_batching_blocks
from pathlab.report.messages.fan_out import list_fan_out_blocks, list_fan_out_sentences
from pathlab.report.messages.message_table import build_messages_table
from pathlab.report.messages.published import build_published_table, draw_published
from pathlab.report.messages.size_text import (
    MESSAGE_CHAPTER,
    WRITE_CHAPTER,
    SizeChapter,
    SizeGroup,
    describe_cost,
    describe_fastest,
    describe_limited,
    describe_messages,
    list_size_groups,
)
from pathlab.report.plots.model import Axis, Curve, Layer, Panel, Scale
from pathlab.study.analyses import Analyses
from pathlab.study.base.answer import Answer
from pathlab.study.base.registry import ANALYSES
from pathlab.study.messages.message_rates import (
    MESSAGES,
    WRITE_SIZE,
    measure_counts,
)

CURVE_POINTS = 60
#: Sizes to measure where results have too few, as levels of a factor.
SIZES_SET = '["64","256","1KiB","4KiB","16KiB"]'
FIT_NAME = "a + m / r"


def plot_sizes(chapter: SizeChapter, group: SizeGroup) -> Drawing:
    """How many a second and their throughput against the size on logarithmic axes, published ones faint."""
    factor = chapter.factor
    counted = [measure_counts(curve.found.sample, factor) for curve in group.curves]
    rates = [8.0 * size * (item.median or 0.0) for spreads in counted for size, item in spreads.items()]
    unit = choose_unit("bit/s", rates)
    above: list[Layer] = []
    below: list[Layer] = []
    for (slot, name, curve), spreads in zip(group, counted, strict=True):
        sizes = np.array(list(spreads), dtype=np.float64)
        result = list(spreads.values())
        above.append(draw_spreads(name, sizes, result, 1.0, slot))
        below.append(draw_spreads(name, sizes, result, unit.size / (8 * sizes), slot))
        if len(group.curves) == 1:
            cost: MessageCost = curve.found.cost.result
            above += _draw_fit(cost, sizes)
            below += _draw_fit(cost, sizes, unit.size)
            interval = cost.half_size_interval_bytes
            below += draw_rule("half size", cost.half_size_bytes, interval, 1.0, vertical=True)
    if factor is MESSAGES:
        above += draw_published(group)
        below += draw_published(group, unit.size)
    axis = Axis(label=factor.noun.capitalize(), unit="bytes", scale=Scale.LOG2)
    every = [spread for spreads in counted for spread in spreads.values()]
    lone = [describe_cost(factor, group.curves[0].found.cost.result)] if len(group.curves) == 1 else []
    return Drawing(
        sentences=(*lone, format_few_trials(every, "size")),
        panels=(
            Panel(
                x=axis,
                y=Axis(label=f"{factor.noun.capitalize()}s", unit="1/s", scale=Scale.LOG10),
                layers=tuple(above),
            ),
            Panel(
                x=axis,
                y=Axis(label="Throughput", unit=unit.unit, scale=Scale.LOG10),
                layers=tuple(below),
            ),
        ),
    )


def _draw_fit(cost: MessageCost, sizes: Floats, bits: float | None = None) -> list[Layer]:
    """The fitted number per second; ``bits``: its throughput, in this unit."""
    across = np.geomspace(sizes.min(), sizes.max(), CURVE_POINTS)
    fitted_ns = cost.predict_time_ns(across)
    if fitted_ns is None:
        return []
    y = 1e9 / fitted_ns if bits is None else 8e9 * across / fitted_ns / bits
    return [Curve(name=FIT_NAME, x=across, y=y, slot=1, markers=False)]


def _describe_group(chapter: SizeChapter, group: SizeGroup) -> Iterator[Block]:
    if text := describe_fastest(chapter.factor, group):
        yield Paragraph(text=text)


def _find_shortfall(chapter: SizeChapter, group: SizeGroup) -> Shortfall | None:
    """Why the table of costs is not shown: no curve has the sizes for a fit."""
    reasons = {curve.found.cost.result.undecided for curve in group.curves}
    if reasons != {Undecided.TOO_FEW_LEVELS}:
        return None
    return Shortfall(
        title=ANALYSES[chapter.analysis].title,
        needs=f"{MINIMUM_SIZES} sizes",
        setting=f"factors.{chapter.factor.noun}={SIZES_SET}",
        path=group.name,
    )


def _build_costs_table(chapter: SizeChapter, group: SizeGroup) -> Iterator[Block]:
    entry = ANALYSES[chapter.analysis]
    answers: list[Answer[Any]] = [curve.found.cost for curve in group.curves]
    yield build_answer_table(
        f"{chapter.figure}-cost-{group.number}",
        f"{entry.title}: {group.title}",
        chapter.analysis,
        answers,
        label="curve",
        labels=[name for _, name, _ in group],
        replaces=entry.columns[0].heading,
        note=format_note(answers, entry, group.conditions),
    )


def _build_rates_table(inputs: ReportInputs, group: SizeGroup) -> Iterator[Block]:
    """Every size of every curve: rate, throughput, CPU time at both ends, what was lost."""
    entry = ANALYSES["message_rates"]
    names = []
    answers = []
    for _, name, curve in group:
        for answer in inputs.answers("message_rates"):
            own = (answer.condition, answer.streams, answer.window_bytes)
            if own == (curve.condition, curve.streams, curve.window_bytes):
                names.append(name)
                answers.append(answer)
    yield build_answer_table(
        f"message-rates-{group.number}",
        f"{entry.title}: {group.title}",
        "message_rates",
        answers,
        label="curve",
        labels=names,
        note=format_note(answers, entry, group.conditions),
    )


def list_size_blocks(inputs: ReportInputs, chapter: SizeChapter) -> Iterator[LazyPlot]:
    """The figure of each group."""
    for group in list_size_groups(inputs.study, chapter):
        yield LazyPlot(
            name=f"{chapter.figure}-{group.number}",
            title=chapter.title,
            condition=group.title,
            draw=partial(plot_sizes, chapter, group),
        )


def list_opening_blocks(inputs: ReportInputs) -> tuple[LazyPlot, ...]:
    """The figure of messages that the opening shows; none where none were measured."""
    return tuple(list_size_blocks(inputs, MESSAGE_CHAPTER))[:1]


def _list_size_figures(inputs: ReportInputs, chapter: SizeChapter) -> Iterator[LazyBlock]:
    """What each figure shows, the figure, and its tables, the long ones folded."""
    opening = {figure.name for figure in list_opening_blocks(inputs)}
    figures = list_size_blocks(inputs, chapter)
    for group, figure in zip(list_size_groups(inputs.study, chapter), figures, strict=True):
        if figure.name not in opening:
            yield lazy_text(_describe_group, chapter, group)
            yield figure
        yield lazy_text(_build_costs_table, chapter, group, lacks=partial(_find_shortfall, chapter, group))
        if chapter is MESSAGE_CHAPTER:
            for title, text in (
                ("Every size, CPU time per message", lazy_text(_build_rates_table, inputs, group)),
                ("Published figures", lazy_text(build_published_table, group)),
            ):
                yield LazyFold(title=f"{title}: {group.title}", blocks=(text,))


def _list_limited(inputs: ReportInputs) -> Iterator[Block]:
    for text in describe_limited(inputs.study):
        yield Paragraph(text=text)


def _list_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    yield from _list_size_figures(inputs, MESSAGE_CHAPTER)
    yield lazy_text(_list_limited, inputs)
    yield from list_batching_blocks(inputs)
    yield from list_fan_out_blocks(inputs)
    yield from _list_size_figures(inputs, WRITE_CHAPTER)


def _find_gap(inputs: ReportInputs) -> str | None:
    if any(list_size_groups(inputs.study, chapter) for chapter in (MESSAGE_CHAPTER, WRITE_CHAPTER)):
        return None
    if inputs.message_conditions or any(
        condition.key.get(WRITE_SIZE) is not None for condition in inputs.conditions
    ):
        return "no trial with a size of messages or writes carried as many as it could"
    return "it needs trials with several sizes of messages or writes"


def _choose_setting(inputs: ReportInputs) -> str | None:
    """Sizes; where messages have them, no offered rate; none where the lab limited trials without one."""
    if not inputs.message_conditions:
        return f"factors.message={SIZES_SET}"
    offered = all(
        condition.key.get("message_rate_per_s") is not None for condition in inputs.message_conditions
    )
    return 'factors.message_rate=["max"]' if offered else None


def _describe(study: Analyses) -> Iterator[AnswerText]:
    """What several sinks receive, then what carries most messages."""
    yield from map(AnswerText, list_fan_out_sentences(study))
    yield from group_answer(describe_messages(study))


SECTION = LazySection(
    key="message-size",
    title="Messages",
    find_gap=_find_gap,
    blocks=_list_blocks,
    question=Question.WHY,
    factors=("message_bytes", "write_bytes"),
    of_messages=True,
    asks=lambda settings: not settings.get("reply"),
    choose_setting=_choose_setting,
)
TOPIC = Topic(
    key="messages",
    describe=_describe,
    tables=build_messages_table,
    blocks=list_opening_blocks,
    sections=(SECTION,),
)
