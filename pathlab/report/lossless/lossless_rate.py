"""The highest UDP rate with little loss: the answer, loss over the rate, and where packets were lost."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from pathlab.analysis.planning.loss_search import RateVerdict
from pathlab.report.base.blocks import Block, Bullets, Paragraph
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import Drawing, LazyBlock, LazyPlot, LazySection, lazy_text
from pathlab.report.base.phrases import format_interval
from pathlab.report.base.quantities import choose_unit
from pathlab.report.base.tables import build_table
from pathlab.report.base.topic import Topic
from pathlab.report.datagrams.datagram_answers import is_search
from pathlab.report.lossless.lossless_text import (
    EXPLANATION,
    VERDICTS,
    answer_lossless_rates,
    build_lossless_rates_table,
    describe_excluded,
    describe_lossless_rates,
    list_rate_columns,
)
from pathlab.report.plots.model import Axis, Curve, Layer, Panel, Points, Rule, Scale
from pathlab.study.base.answer import Answer
from pathlab.study.lossless.lossless_rate import LosslessRate, TriedRate
from pathlab.table_columns import ItemColumn, list_rows, list_table_columns
from pathlab.units import format_rate, format_ratio

PERCENT = 100
#: Panels of one figure; more combinations have figures of their own.
PANELS_MAX = 4
#: The lower end of an interval that holds 0, on an axis of logarithms: this share of its upper end.
LEAST_SHARE = 0.01
ANSWER_COLUMNS: tuple[ItemColumn[LosslessRate], ...] = (
    ItemColumn("Combination", left=True, read=lambda item: item.name),
    ItemColumn("Highest rate", stays=True, read=lambda item: format_rate(item.below_bits_per_s)),
    ItemColumn("Too much at", read=lambda item: format_rate(item.above_bits_per_s)),
    ItemColumn("95 % CI", read=lambda item: format_interval(item.interval, format_rate)),
    ItemColumn("Cycles", read=lambda item: f"{item.finished} of {item.searches}"),
    ItemColumn("Found", read=lambda item: str(item.found)),
)


def list_opening_rates(inputs: ReportInputs) -> Iterator[LazyPlot]:
    """The figure of the first combinations, at first sight."""
    if is_search(inputs.study):
        yield from list(_list_figure_blocks(inputs))[:1]


def _list_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    answers = inputs.study.lossless_rate()
    yield lazy_text(_write_answers, inputs)
    yield from _list_figure_blocks(inputs)
    for number, answer in enumerate(answers, 1):
        yield lazy_text(_build_rates_table, answer, number)
    yield lazy_text(_explain)


def _list_figure_blocks(inputs: ReportInputs) -> Iterator[LazyPlot]:
    answers = [answer for answer in inputs.study.lossless_rate() if answer.result.rates]
    for start in range(0, len(answers), PANELS_MAX):
        shown = answers[start : start + PANELS_MAX]
        yield LazyPlot(
            name=f"lossless-rate-{start // PANELS_MAX + 1}",
            title="Loss at each rate tried",
            condition=shown[0].result.name if len(shown) == 1 else "",
            draw=partial(_draw, shown),
        )


def _write_answers(inputs: ReportInputs) -> Iterator[Block]:
    answers = inputs.study.lossless_rate()
    texts = describe_lossless_rates(inputs.study)
    yield Paragraph(text=texts[0], lead=True)
    if len(texts) > 1:
        yield Bullets(items=texts[1:])
        yield build_table(
            "lossless-rates",
            f"Highest rate with a loss of at most {format_ratio(answers[0].result.limit_ratio)}",
            ANSWER_COLUMNS,
            list_rows(ANSWER_COLUMNS, (answer.result for answer in answers)),
        )


def _draw(answers: list[Answer[LosslessRate]]) -> Drawing:
    """A panel for each combination: loss with its interval over the rate, the limit, the confirmed rates."""
    unit = choose_unit(
        "bit/s", np.array([rate.rate_bits_per_s for item in answers for rate in item.result.rates])
    )
    x = Axis(label="Offered payload rate", unit=unit.unit, scale=Scale.LOG10)
    y = Axis(label="Loss", unit="%", scale=Scale.LOG10)
    panels = tuple(
        Panel(
            x=x,
            y=y,
            layers=tuple(_list_layers(answer.result, unit.size)),
            title=answer.result.name if len(answers) > 1 else None,
        )
        for answer in answers
    )
    return Drawing(
        sentences=(
            "Full markers: the loss with its confidence interval.",
            "Open markers: no packet was lost; they are at the upper end of the interval.",
            "Shaded: between the highest rate confirmed below the limit and the lowest one above it.",
        ),
        panels=panels,
    )


def _list_layers(result: LosslessRate, size: float) -> Iterator[Layer]:
    below, above = result.below_bits_per_s, result.above_bits_per_s
    if below is not None and above is not None:
        middle = (below + above) / 2 / size
        yield Rule(name="confirmed rates", value=middle, vertical=True, low=below / size, high=above / size)
    name = f"limit {format_ratio(result.limit_ratio)}"
    yield Rule(name=name, value=PERCENT * result.limit_ratio, labelled=True)
    for slot, verdict in enumerate((*RateVerdict, None)):
        own = [rate for rate in result.rates if rate.verdict == verdict and rate.loss_ratio is not None]
        lost, free = [rate for rate in own if rate.lost], [rate for rate in own if not rate.lost]
        label = "not decided" if verdict is None else VERDICTS[verdict]
        if lost:
            yield _draw_lost(label, lost, size, slot)
        if free:
            yield _draw_free(label, free, size, slot, legend=not lost)


def _draw_lost(label: str, rates: list[TriedRate], size: float, slot: int) -> Curve:
    loss = np.array([rate.loss_ratio or 0.0 for rate in rates])
    ends = [
        (rate.interval_ratio.low, rate.interval_ratio.high) for rate in rates
    ]  # None: too few trials for an interval
    low = np.array([np.nan if item is None else item for item, _ in ends])
    high = np.array([np.nan if item is None else item for _, item in ends])
    return Curve(
        name=label,
        x=np.array([rate.rate_bits_per_s / size for rate in rates]),
        y=PERCENT * loss,
        slot=slot,
        low=PERCENT * np.where(low > 0, low, np.where(np.isnan(low), np.nan, loss * LEAST_SHARE)),
        high=PERCENT * high,
        line=False,
        filled=True,
    )


def _draw_free(label: str, rates: list[TriedRate], size: float, slot: int, *, legend: bool) -> Points:
    """At the upper end of the interval, as 0 has no place on the axis; three packets where there is none."""
    upper = [
        rate.interval_ratio.high if rate.interval_ratio.high is not None else min(1.0, 3 / rate.sent)
        for rate in rates
    ]
    return Points(
        name=label,
        x=np.array([rate.rate_bits_per_s / size for rate in rates]),
        y=PERCENT * np.array(upper),
        slot=slot,
        hollow=True,
        legend=legend,
        hover=tuple(
            f"none of {rate.sent:,} packets lost, {format_rate(rate.rate_bits_per_s)}" for rate in rates
        ),
    )


def _build_rates_table(answer: Answer[LosslessRate], number: int) -> Iterator[Block]:
    result = answer.result
    columns = list_rate_columns(result.searches)
    yield build_table(
        f"lossless-rates-{number}",
        f"Rates tried: {result.name}",
        columns,
        list_rows(columns, result.rates),
        note=describe_excluded(answer) or None,
    )
    if result.searches > 1:
        yield build_table(
            f"lossless-cycles-{number}",
            f"Search of each cycle: {result.name}",
            list_table_columns(("Cycle", "Trials", "Answer"), words=("Answer",), stay=True),
            [(str(cycle.cycle + 1), str(cycle.trials), cycle.text) for cycle in result.cycles],
        )


def _explain() -> Iterator[Block]:
    yield Paragraph(text=EXPLANATION, note=True)


def _find_gap(inputs: ReportInputs) -> str | None:
    return (
        None
        if is_search(inputs.study) and inputs.study.lossless_rate()
        else "it needs a campaign with the table [search]"
    )


SECTION = LazySection(
    key="lossless-rate",
    title="Highest UDP rate with little loss",
    find_gap=_find_gap,
    blocks=_list_blocks,
    factors=("pacing_bits_per_s",),
    asks=lambda _: False,
    of_messages=True,
)
TOPIC = Topic(
    key="lossless_rate",
    describe=answer_lossless_rates,
    tables=build_lossless_rates_table,
    blocks=list_opening_rates,
    sections=(SECTION,),
)
