"""Fan-out: messages per second of each sink and of all sinks, and their fairness, by number of sinks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from pathlab.reference.series import GBPS
from pathlab.report.base.answer_tables import build_answer_table, format_note
from pathlab.report.base.blocks import Block, Bullets, Subheading
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import Drawing, LazyBlock, LazyPlot, lazy_text
from pathlab.report.base.phrases import (
    format_count,
    format_factor,
    format_few_trials,
    format_figure,
    format_in_brackets,
    format_spread,
)
from pathlab.report.base.points import draw_spreads
from pathlab.report.messages.message_curves import CurveGroup, MessageCurve, group_curves
from pathlab.report.messages.size_text import list_usual
from pathlab.report.plots.model import Axis, Curve, Layer, Panel, Scale
from pathlab.study.analyses import Analyses
from pathlab.study.base.answer import Answer
from pathlab.study.base.registry import ANALYSES
from pathlab.study.base.selection import choose_evenly
from pathlab.study.comparison.references import find_published_fan_out
from pathlab.study.messages.fan_out import FanOut
from pathlab.units import format_frequency

#: Curves of which the report's answer has a sentence.
SENTENCES_MAX = 3
TITLE = "Messages per second by number of sinks"
Answers = tuple[Answer[FanOut], ...]


def list_fan_out_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    """The answer, the figure and the table of each path; none without several numbers of sinks."""
    for group in _list_groups(inputs.study):
        yield lazy_text(_list_sentences, group)
        yield LazyPlot(
            name=f"fan-out-{group.number}",
            title=TITLE,
            condition=group.title,
            draw=partial(plot_fan_out, group),
        )
        yield lazy_text(_build_table, group)


def _list_groups(study: Analyses) -> tuple[CurveGroup[Answers], ...]:
    """A curve for each condition and window, with its answers by number of sinks, ascending."""
    by_curve: dict[tuple[object, ...], list[Answer[FanOut]]] = {}
    for answer in study.fan_out():
        by_curve.setdefault((answer.condition, answer.window_bytes), []).append(answer)
    curves = [
        MessageCurve(
            condition=result[0].condition, streams=0, window_bytes=result[0].window_bytes, found=tuple(result)
        )
        for result in by_curve.values()
    ]
    return group_curves(study, curves)


def plot_fan_out(group: CurveGroup[Answers]) -> Drawing:
    """Each sink, all sinks, and Jain's index against the number of sinks."""
    each: list[Curve] = []
    total: list[Layer] = []
    fair: list[Layer] = []
    spreads = []
    for slot, name, curve in group:
        result = [answer.result for answer in curve.found]
        sinks = np.array([item.sinks for item in result], dtype=np.float64)
        each.append(draw_spreads(name, sinks, [item.sink_messages_per_s for item in result], 1.0, slot))
        total.append(draw_spreads(name, sinks, [item.total_messages_per_s for item in result], 1.0, slot))
        fair.append(draw_spreads(name, sinks, [item.jain_ratio for item in result], 1.0, slot))
        spreads += [item.total_messages_per_s for item in result]
        total += _draw_published(slot, curve)
    ticks = tuple(sorted({float(item) for curve in each for item in curve.x.tolist()}))
    labels = tuple(f"{tick:g}" for tick in ticks)
    axis = Axis(label="Sinks", scale=Scale.LOG2, ticks=ticks, tick_labels=labels)
    panels = [
        Panel(x=axis, y=Axis(label=label, unit=unit, scale=scale), layers=tuple(layers), title=title)
        for title, label, unit, scale, layers in (
            ("Each sink", "Messages", "1/s", Scale.LOG10, each),
            ("All sinks", "Messages", "1/s", Scale.LOG10, total),
            ("Fairness over sinks", "Jain's index", None, Scale.LINEAR, fair),
        )
    ]
    return Drawing(sentences=(format_few_trials(spreads),), panels=tuple(panels))


def _draw_published(slot: int, curve: MessageCurve[Answers]) -> list[Layer]:
    published = find_published_fan_out(curve.condition)
    if published is None:
        return []
    table, column = published
    sinks, rates = (np.array(table.columns[item]) for item in (table.level, column))
    size = curve.found[0].result.message_bytes
    name = f"Streams 2.0: {column.removesuffix('_gbps').replace('_', ' ')}"
    return [Curve(name=name, x=sinks, y=rates * GBPS / 8 / size, slot=slot, markers=False, faint=True)]


def _list_sentences(group: CurveGroup[Answers]) -> Iterator[Block]:
    yield Subheading(text="Fan-out")
    yield Bullets(items=tuple(f"{name}: {describe_fan_out(curve.found)}" for _, name, curve in group))


def list_fan_out_sentences(study: Analyses) -> Iterator[str]:
    """What several sinks receive, for some of the curves; nothing where the number was not varied."""
    groups = [item for group in _list_groups(study) for item in list_usual(group)]
    for name, curve in choose_evenly(groups, SENTENCES_MAX) if groups else ():
        yield f"{name}: {describe_fan_out(curve.found)}"


def describe_fan_out(answers: Answers) -> str:
    """What the most sinks receive alongside the fewest, and how evenly."""
    fewest, most = answers[0].result, answers[-1].result
    alone = format_spread(fewest.total_messages_per_s, format_frequency)
    total = format_spread(most.total_messages_per_s, format_frequency)
    text = f"{alone} with {format_count(fewest.sinks, 'sink')}; with {most.sinks} sinks {total} together"
    if most.total_ratio is not None and most.total_ratio_interval is not None:
        interval = format_in_brackets(most.total_ratio_interval, format_factor)
        text += f", {format_factor(most.total_ratio)} × as many{interval}"
    if most.jain_ratio.median is not None:
        text += f"; Jain's index {format_figure(most.jain_ratio.median)}"
    return f"{text}."


def _build_table(group: CurveGroup[Answers]) -> Iterator[Block]:
    entry = ANALYSES["fan_out"]
    answers = [answer for curve in group.curves for answer in curve.found]
    yield build_answer_table(
        f"fan-out-table-{group.number}",
        f"{entry.title}: {group.title}",
        "fan_out",
        answers,
        label="curve",
        labels=[name for _, name, curve in group for _ in curve.found],
        note=format_note(answers, entry, group.conditions),
    )
