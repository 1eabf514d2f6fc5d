"""What batching of messages gains at each size, where it pays no more, and the delay that it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.margins import MARGIN_RATIO
from pathlab.analysis.verdicts.two_samples import MINIMUM_TRIALS
from pathlab.report.base.answer_table import format_value
from pathlab.report.base.answer_tables import format_note
from pathlab.report.base.blocks import Block, Bullets, Paragraph, Subheading
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import Drawing, LazyBlock, LazyPlot, draw_panel, lazy_text
from pathlab.report.base.phrases import (
    format_factor,
    format_in_brackets,
    format_reason,
)
from pathlab.report.base.tables import build_table
from pathlab.report.messages.message_curves import CurveGroup, MessageCurve, group_curves
from pathlab.report.plots.model import Axis, Curve, Layer, Rule, Scale
from pathlab.study.base.answer import Answer, Answers
from pathlab.study.messages.batching import BatchingGain, describe_sending
from pathlab.study.messages.combination_names import LONE
from pathlab.study.messages.message_rates import MESSAGE_SIZE
from pathlab.table_columns import list_table_columns
from pathlab.units import NOT_MEASURED, format_bytes, format_frequency, format_time

Gain = Answer[BatchingGain]
TITLE = "Gain of batching by message size"


def list_batching_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    """A sentence for each way of batching, the figure and the table of its gains; none without batching."""
    for group in _list_groups(inputs):
        yield lazy_text(_list_sentences, group)
        yield LazyPlot(
            name=f"batching-{group.number}",
            title=TITLE,
            condition=group.title,
            draw=partial(plot_gains, group),
        )
        yield lazy_text(_build_gains_table, group)


def _list_groups(inputs: ReportInputs) -> tuple[CurveGroup[Gain], ...]:
    """The answers by figure; where a way of batching has two baselines, the name says which."""
    answers: Answers[BatchingGain] = inputs.study.batching()
    curves = [
        MessageCurve(
            condition=answer.condition,
            streams=answer.streams or 0,
            window_bytes=answer.window_bytes,
            found=answer,
        )
        for answer in answers
    ]
    return tuple(
        replace(group, names=tuple(_name(group, name, curve.found) for _, name, curve in group))
        for group in group_curves(inputs.study, curves, MESSAGE_SIZE)
    )


def _name(group: CurveGroup[Gain], name: str, answer: Gain) -> str:
    if sum(curve.found.condition == answer.condition for curve in group.curves) < 2:
        return name
    return f"{'' if name == LONE else f'{name}, '}alongside {describe_sending(answer.result.baseline)}"


def plot_gains(group: CurveGroup[Gain]) -> Drawing:
    """Batched over unbatched messages per second against the size, and the margin below which it pays not."""
    layers: list[Layer] = []
    for slot, name, curve in group:
        gains = curve.found.result.gains
        rows = [(gain.size_bytes, gain.ratio, gain.interval.low, gain.interval.high) for gain in gains]
        x, y, low, high = np.array(rows, dtype=np.float64).reshape(-1, 4).T
        layers.append(Curve(name=name, x=x, y=y, low=low, high=high, slot=slot))
    layers.append(Rule(name=f"{MARGIN_RATIO * 100:g} % more", value=1 + MARGIN_RATIO, labelled=True))
    return draw_panel(
        Axis(label="Message", unit="bytes", scale=Scale.LOG2),
        Axis(label="Batched / unbatched messages per second", scale=Scale.LOG10),
        layers,
    )


def _list_sentences(group: CurveGroup[Gain]) -> Iterator[Block]:
    yield Subheading(text="Batching")
    yield Bullets(items=tuple(describe_gain(name, curve.found) for _, name, curve in group))
    gaps = tuple(_list_gaps(group))
    if gaps:
        yield Paragraph(text=" ".join(gaps))


def describe_gain(name: str, answer: Gain) -> str:
    """The largest gain, the sizes at which batching pays, and what delay it costs."""
    result = answer.result
    if result.largest is None or result.largest.ratio is None:
        return f"{name}: no cycle has a trial with and one without batching of the same size."
    best = result.largest
    gain = f"{format_factor(best.ratio)} × as many messages of {format_bytes(best.size_bytes)}"
    text = f"{name}: {gain}{format_in_brackets(best.interval, format_factor)}."
    return " ".join(filter(None, (text, _describe_limit(result), _describe_delay(result))))


def _list_gaps(group: CurveGroup[Gain]) -> Iterator[str]:
    """What is undecided or was not measured, each once, with the curves where it is not all of them."""
    reasons: dict[str, list[str]] = {}
    bounds: dict[str, list[str]] = {}
    for _, name, curve in group:
        result = curve.found.result
        undecided = result.limit.undecided if result.limit.level is None else None
        if undecided is not None and undecided is not Undecided.BEYOND_RANGE:
            needed = f", {MINIMUM_TRIALS} cycles needed" if undecided is Undecided.TOO_FEW_SAMPLES else ""
            reasons.setdefault(f"{format_reason(undecided)}{needed}", []).append(name)
        if not result.delays:
            bounds.setdefault(_format_bound(result.delay_bound_ns), []).append(name)
    for reason, names in reasons.items():
        yield f"From which size batching pays no more is undecided{_name_some(names, group)} ({reason})."
    for bound, names in bounds.items():
        yield f"The delay at an offered rate was not measured{_name_some(names, group)}{bound}."


def _name_some(names: Sequence[str], group: CurveGroup[Gain]) -> str:
    return "" if len(names) == len(group.curves) else f" with {'; '.join(names)}"


def _format_bound(bound_ns: int | None) -> str:
    return "" if bound_ns is None else f" (its setting: {format_time(bound_ns)} at most)"


def _describe_limit(gain: BatchingGain) -> str:
    limit, percent = gain.limit, f"{MARGIN_RATIO * 100:g} %"
    if limit.undecided is Undecided.BEYOND_RANGE:
        return "It pays at every size measured."
    if limit.level is None:
        return ""
    if limit.shown_to is None:
        return f"A gain of {percent} is not shown at {format_bytes(limit.level)}, the smallest size."
    text = f"It pays up to {format_bytes(limit.shown_to)}"
    if limit.gone_from == limit.level:
        return f"{text}, and no more from {format_bytes(limit.level)} on."
    text += f"; from {format_bytes(limit.level)} on a gain of {percent} is not shown"
    if limit.gone_from is None:
        return f"{text}, nor ruled out."
    return f"{text}, and from {format_bytes(limit.gone_from)} on it is ruled out."


def _describe_delay(gain: BatchingGain) -> str:
    if gain.delays:
        first = gain.delays[0]
        rate = first.offered_messages_per_s
        when = "one message at a time" if rate is None else f"at {format_frequency(rate)}"
        rise = f"{format_time(first.rise_ns)}{format_in_brackets(first.interval, format_time)}"
        bound = _format_bound(first.delay_bound_ns)
        return (
            f"It raises the median round trip of {format_bytes(first.size_bytes)} by {rise}, {when}{bound}."
        )
    if gain.collect_ns is None:
        return ""
    return f"At full speed a batch is complete in {format_time(gain.collect_ns)}."


def _build_gains_table(group: CurveGroup[Gain]) -> Iterator[Block]:
    rows = []
    for _, name, curve in group:
        delays = {item.size_bytes: item for item in curve.found.result.delays}
        for item in curve.found.result.gains:
            delay = delays.get(item.size_bytes)
            rise = NOT_MEASURED if delay is None else format_time(delay.rise_ns)
            if delay is not None and delay.interval.decided:
                rise += f" ({format_value(delay.interval, 'ns')})"
            gain, interval = format_factor(item.ratio), format_value(item.interval, "factor")
            size, collected = format_bytes(item.size_bytes), format_value(item.collect_ns, "ns")
            rows.append((name, size, str(item.pairs), gain, interval, collected, rise))
    yield build_table(
        f"batching-gains-{group.number}",
        f"{TITLE}: {group.title}",
        list_table_columns(("curve", "size", "pairs", "gain", "95 % CI", "time of a batch", "added delay")),
        rows,
        note=format_note([curve.found for curve in group.curves], None, group.conditions),
    )
