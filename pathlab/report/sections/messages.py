"""Messages and writes by their size: how many a second and how much, and the cost of one and of a byte."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.fits.message_cost import MessageCost
from pathlab.report.answer_table import format_row, list_headings
from pathlab.report.blocks import Block, Paragraph, Question
from pathlab.report.inputs import ReportInputs
from pathlab.report.message_curves import MessageCurve, group_curves
from pathlab.report.phrases import (
    format_factor,
    format_few_trials,
    format_interval,
    format_reason,
    format_spread,
)
from pathlab.report.plots.model import Axis, Curve, Layer, Panel, Scale
from pathlab.report.sections.answer_tables import format_note
from pathlab.report.sections.batching import outline_batching
from pathlab.report.sections.fan_out import outline_fan_out
from pathlab.report.sections.lazy import Drawing, LazyBlock, LazyFold, LazyPlot, LazySection, lazy_text
from pathlab.report.sections.points import draw_rule, draw_spreads
from pathlab.report.sections.published import SizeGroup, SizeTrials, draw_published, tabulate_published
from pathlab.report.sections.quantities import choose_unit
from pathlab.report.tables import build_table
from pathlab.study.answer import Answer, Spread
from pathlab.study.message_rates import (
    MESSAGES,
    WRITE_SIZE,
    WRITES,
    FastestCurve,
    SizeFactor,
    find_fastest,
    measure_counts,
    select_sizes,
)
from pathlab.study.registry import ANALYSES
from pathlab.units import NOT_MEASURED, format_bytes, format_frequency, format_rate, format_time

CURVE_POINTS = 60
#: Runs of sizes with one fastest curve that a sentence names; of more it names the first and the last.
RUNS_NAMED = 3
FIT_NAME = "a + m / r"


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeChapter:
    """How the report shows one factor: its analysis of costs, the title, and the start of figures' names."""

    factor: SizeFactor
    analysis: str
    title: str
    figure: str


MESSAGE_CHAPTER = SizeChapter(
    factor=MESSAGES,
    analysis="message_cost",
    title="Message rate and throughput by message size",
    figure="messages",
)
WRITE_CHAPTER = SizeChapter(
    factor=WRITES, analysis="write_cost", title="Throughput by write size", figure="writes"
)


def list_size_groups(inputs: ReportInputs, chapter: SizeChapter) -> tuple[SizeGroup, ...]:
    """Every cell with its cost, decided or not, by figure."""
    factor = chapter.factor
    every = (*inputs.message_conditions, *inputs.conditions)
    if all(one.key.get(factor.setting) is None for one in every):
        return ()
    answers = inputs.answers(chapter.analysis)
    curves = [
        MessageCurve(
            condition=part.condition,
            streams=streams,
            window_bytes=window,
            found=SizeTrials(sample=part, cost=answer),
        )
        for answer, (streams, window, part) in zip(
            answers, select_sizes(inputs.study.study_table(), factor), strict=True
        )
    ]
    return group_curves(inputs, curves, factor.setting)


def plot_sizes(chapter: SizeChapter, group: SizeGroup) -> Drawing:
    """How many a second and their throughput against the size on logarithmic axes, published ones faint."""
    factor = chapter.factor
    counted = [measure_counts(curve.found.sample, factor) for curve in group.curves]
    rates = [8.0 * size * (one.median or 0.0) for spreads in counted for size, one in spreads.items()]
    unit = choose_unit("bit/s", rates)
    above: list[Layer] = []
    below: list[Layer] = []
    for (slot, name, curve), spreads in zip(group, counted, strict=True):
        sizes = np.array(list(spreads), dtype=np.float64)
        found = list(spreads.values())
        above.append(draw_spreads(name, sizes, found, 1.0, slot))
        below.append(draw_spreads(name, sizes, found, unit.size / (8 * sizes), slot))
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
    lone = [_describe_cost(factor, group.curves[0].found.cost.result)] if len(group.curves) == 1 else []
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


def _describe_cost(factor: SizeFactor, found: MessageCost) -> str:
    if found.message_ns is None:
        return f"Cost of a {factor.noun}: undecided ({format_reason(found.undecided)})."
    interval = format_interval(found.message_interval_ns, format_time)
    text = f"A {factor.noun} costs {format_time(found.message_ns)} ({interval})"
    if found.rate_bits_per_s is None:
        return f"{text}; the rate of its bytes is undecided."
    text += f"; rate of its bytes {format_rate(found.rate_bits_per_s)}"
    if found.half_size_bytes is None:
        return f"{text}; the half size is undecided."
    low = format_interval(found.half_size_interval_bytes, format_bytes)
    return f"{text}; half of that rate at {format_bytes(found.half_size_bytes)} ({low})."


def describe_fastest(factor: SizeFactor, group: SizeGroup) -> str:
    """Which curve carries most at which sizes, with numbers: the answer in one sentence for each range."""
    counted = {name: measure_counts(curve.found.sample, factor) for _, name, curve in group}
    fastest = find_fastest(counted)
    if len(counted) == 1:
        (spreads,) = counted.values()
        ends = dict.fromkeys((fastest[0].size_bytes, fastest[-1].size_bytes))
        return f"Carried per second: {'; '.join(_describe_rate(size, spreads[size]) for size in ends)}."
    runs = [list(run) for _, run in groupby(fastest, key=lambda one: one.name)]
    shown = runs if len(runs) <= RUNS_NAMED else [runs[0][:1], runs[-1][-1:]]
    return " ".join(_describe_run(factor, run, counted) for run in shown)


def _describe_run(
    factor: SizeFactor, run: Sequence[FastestCurve], counted: Mapping[str, Mapping[int, Spread]]
) -> str:
    """The sizes at which one curve carries most, and by how much at the smallest of them."""
    first, last = run[0], format_bytes(run[-1].size_bytes)
    size = format_bytes(first.size_bytes)
    where = f"At {size}" if last == size else f"From {size} to {last}"
    text = f"{where}, {first.name} carries most {factor.noun}s: "
    text += _describe_rate(first.size_bytes, counted[first.name][first.size_bytes])
    if first.ratio is not None:
        text += f", {format_factor(first.ratio)} × as many as {first.next_name}"
        text += "" if first.apart else " (not shown to differ)"
    return f"{text}."


def _describe_rate(size: int, spread: Spread) -> str:
    """``1.2 M/s of 64 B (95 % CI 1.1–1.3 M/s), 614 Mbit/s``."""
    if spread.median is None:
        return f"{NOT_MEASURED} of {format_bytes(size)}"
    rate, whole = format_frequency(spread.median), format_spread(spread, format_frequency)
    text = f"{rate} of {format_bytes(size)}{whole.removeprefix(rate)}"
    return f"{text}, {format_rate(8 * size * spread.median)}"


def describe_messages(inputs: ReportInputs) -> tuple[str, ...]:
    """What carries most messages in each figure; none where none were measured."""
    groups = list_size_groups(inputs, MESSAGE_CHAPTER)
    named = [f"{group.name}: " if len(groups) > 1 else "" for group in groups]
    return tuple(
        f"{name}{describe_fastest(MESSAGES, group)}" for name, group in zip(named, groups, strict=True)
    )


def _describe_group(chapter: SizeChapter, group: SizeGroup) -> Iterator[Block]:
    yield Paragraph(text=describe_fastest(chapter.factor, group))


def _tabulate_costs(chapter: SizeChapter, group: SizeGroup) -> Iterator[Block]:
    entry = ANALYSES[chapter.analysis]
    answers: list[Answer[Any]] = [curve.found.cost for curve in group.curves]
    yield build_table(
        f"{chapter.figure}-cost-{group.number}",
        f"{entry.title}: {group.title}",
        ("curve", *list_headings(entry)[1:]),
        [(name, *format_row(entry, curve.found.cost)[1:]) for _, name, curve in group],
        note=format_note(answers, entry, group.conditions),
    )


def _tabulate_rates(inputs: ReportInputs, group: SizeGroup) -> Iterator[Block]:
    """Every size of every curve: rate, throughput, CPU time at both ends, what was lost."""
    entry = ANALYSES["message_rates"]
    rows = []
    answers = []
    for _, name, curve in group:
        for answer in inputs.answers("message_rates"):
            own = (answer.condition, answer.streams, answer.window_bytes)
            if own == (curve.condition, curve.streams, curve.window_bytes):
                rows.append((name, *format_row(entry, answer)))
                answers.append(answer)
    yield build_table(
        f"message-rates-{group.number}",
        f"{entry.title}: {group.title}",
        ("curve", *list_headings(entry)),
        rows,
        note=format_note(answers, entry, group.conditions),
    )


def outline_size_figures(inputs: ReportInputs, chapter: SizeChapter) -> Iterator[LazyPlot]:
    """The figure of each group."""
    for group in list_size_groups(inputs, chapter):
        yield LazyPlot(
            name=f"{chapter.figure}-{group.number}",
            title=chapter.title,
            condition=group.title,
            draw=partial(plot_sizes, chapter, group),
        )


def outline_opening(inputs: ReportInputs) -> tuple[LazyPlot, ...]:
    """The figure of messages that the opening shows; none where none were measured."""
    return tuple(outline_size_figures(inputs, MESSAGE_CHAPTER))[:1]


def _outline_sizes(inputs: ReportInputs, chapter: SizeChapter) -> Iterator[LazyBlock]:
    """What each figure shows, the figure, and its tables, the long ones folded."""
    opening = {figure.name for figure in outline_opening(inputs)}
    figures = outline_size_figures(inputs, chapter)
    for group, figure in zip(list_size_groups(inputs, chapter), figures, strict=True):
        if figure.name not in opening:
            yield lazy_text(_describe_group, chapter, group)
            yield figure
        yield lazy_text(_tabulate_costs, chapter, group)
        if chapter is MESSAGE_CHAPTER:
            for title, text in (
                ("Every size, CPU time per message", lazy_text(_tabulate_rates, inputs, group)),
                ("Published figures", lazy_text(tabulate_published, group)),
            ):
                yield LazyFold(title=f"{title}: {group.title}", blocks=(text,))


def _outline(inputs: ReportInputs) -> Iterator[LazyBlock]:
    yield from _outline_sizes(inputs, MESSAGE_CHAPTER)
    yield from outline_batching(inputs)
    yield from outline_fan_out(inputs)
    yield from _outline_sizes(inputs, WRITE_CHAPTER)


def _find_gap(inputs: ReportInputs) -> str | None:
    if any(list_size_groups(inputs, chapter) for chapter in (MESSAGE_CHAPTER, WRITE_CHAPTER)):
        return None
    if inputs.message_conditions or any(one.key.get(WRITE_SIZE) is not None for one in inputs.conditions):
        return "no trial with a size of messages or writes carried as many as it could"
    return "it needs trials with several sizes of messages or writes"


SECTION = LazySection(
    key="message-size",
    title="Messages",
    find_gap=_find_gap,
    outline=_outline,
    question=Question.WHY,
    of_messages=True,
    choose_setting=lambda _: 'factors.message=["64","256","1KiB","4KiB","16KiB"]',
)
