"""Windows against streams: tables of all combinations, and pairs of equal streams × window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

import numpy as np

from pathlab.analysis.estimators.interval import CONFIDENCE_RATIO, Interval
from pathlab.analysis.estimators.margins import MARGIN_RATIO
from pathlab.analysis.verdicts.pairs import CostComparison, PairVerdict
from pathlab.report.base.answer_table import Row, format_cells
from pathlab.report.base.answer_tables import build_answer_table, format_note, list_caveats
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
from pathlab.report.base.phrases import (
    choose_format,
    format_ci,
    format_count,
    format_factor,
    format_figure,
    format_interval,
    format_range,
)
from pathlab.report.base.shortfalls import find_shortfall
from pathlab.report.base.tables import build_table
from pathlab.report.datagrams.datagram_answers import has_flows
from pathlab.report.flows.cell_tables import RATES, UDP, list_cell_table_blocks
from pathlab.report.plots.model import Axis, Curve, Layer, Rule
from pathlab.study.base.cells import MeasuredCondition
from pathlab.study.base.registry import ANALYSES
from pathlab.study.flows.throughput import StreamsVsWindows, find_largest_difference
from pathlab.study.measures import list_measures
from pathlab.table_columns import list_table_columns
from pathlab.units import NOT_MEASURED, format_ratio

#: Most pairs that are named along the axis; more are numbered as in the table.
NAMED_PAIRS = 8
PAIRS = "Throughput of more streams / larger windows at the same total window"
MARGIN = format_ratio(MARGIN_RATIO)


def plot_pairs(inputs: ReportInputs, condition: MeasuredCondition) -> Drawing:
    """The ratio of throughputs of every pair with its interval, by verdict; 1 is no difference."""
    result = [answer.result for answer in inputs.answers("streams_vs_windows", condition)]
    layers: list[Layer] = [
        Rule(name=f"no difference, ±{MARGIN}", value=1.0, low=1 / (1 + MARGIN_RATIO), high=1 + MARGIN_RATIO)
    ]
    numbers = np.arange(1.0, len(result) + 1)
    for slot, verdict in enumerate(PairVerdict):
        chosen = [at for at, item in enumerate(result) if item.comparison.verdict is verdict]
        if chosen:
            values = [_list_ratio(result[at]) for at in chosen]
            table = np.array(values, dtype=np.float64)
            layers.append(
                Curve(
                    name=str(verdict),
                    x=numbers[chosen],
                    y=table[:, 0],
                    low=table[:, 1],
                    high=table[:, 2],
                    slot=slot,
                    line=False,
                )
            )
    named = len(result) <= NAMED_PAIRS
    ticks = tuple(numbers.tolist()) if named else None
    names = tuple(format_cells(item.name) for item in result) if named else None
    label = "Pair" if named else "Pair (number in the table)"
    across = Axis(label=label, ticks=ticks, tick_labels=names)
    return draw_panel(across, Axis(label="Ratio of throughputs"), layers, _describe_pairs(result))


def _list_ratio(vs_windows: StreamsVsWindows) -> tuple[float, float, float]:
    interval = vs_windows.comparison.ratio_interval
    low, ratio, high = (
        np.nan if item is None else item
        for item in (interval.low, vs_windows.comparison.ratio, interval.high)
    )
    return ratio, low, high


def _describe_pairs(windowses: list[StreamsVsWindows]) -> str:
    counts = Counter(item.comparison.verdict for item in windowses)
    verdicts = [f"{item}: {counts[item]}" for item in PairVerdict if counts[item]]
    if len(verdicts) == 1:
        every = {1: "", 2: "both "}.get(len(windowses), "all ")
        verdicts = [f"{every}{windowses[0].comparison.verdict}"]
    count = format_count(len(windowses), "pair")
    text = f"{count} with the same total window (corrected for all): {'; '.join(verdicts)}."
    far = find_largest_difference(windowses)
    if far is not None:
        text += (
            f" The ratio farthest from 1 is {format_figure(far.comparison.ratio)} "
            f"({_describe_corrected(far.comparison.ratio_interval)}), {format_cells(far.name)}: "
            f"{far.comparison.words}."
        )
    return text


def _describe_corrected(interval: Interval) -> str:
    """The interval; where a given order raised its confidence for the number of pairs, that is said."""
    if interval.low is None or interval.high is None or interval.confidence_ratio <= CONFIDENCE_RATIO:
        return format_ci(interval, format_factor)
    ends = format_range(format_factor(interval.low), format_factor(interval.high))
    return f"Holm-corrected 95 % CI {ends}"


def _build_pairs_table(inputs: ReportInputs, condition: MeasuredCondition) -> Iterator[Block]:
    answers = inputs.answers("streams_vs_windows", condition)
    entry = ANALYSES["streams_vs_windows"]
    yield build_answer_table(
        f"streams-windows-table-{condition.number}",
        f"{entry.title}: {condition.name}",
        "streams_vs_windows",
        answers,
        label="pair",
        labels=[str(at) for at, _ in enumerate(answers, 1)],
        note=format_note(answers, entry, (condition,)),
    )


def _build_costs_table(inputs: ReportInputs, condition: MeasuredCondition) -> Iterator[Block]:
    answers = inputs.answers("streams_vs_windows", condition)
    measures = list_measures("pairs")
    rows: list[Row] = []
    for at, answer in enumerate(answers, 1):
        costs = {cost.name: cost for cost in answer.result.costs}
        cells = [_format_cost(costs[measure.key]) for measure in measures]
        rows.append((str(at), format_cells(answer.result.name), *cells))
    yield build_table(
        f"streams-windows-costs-{condition.number}",
        f"Costs of more streams and of larger windows: {condition.name}",
        list_table_columns(("pair", "streams : windows", *(measure.heading for measure in measures))),
        rows,
        note="Median of more streams : of larger windows; in brackets the Hodges–Lehmann shift within cycles "
        "and its 95 % CI, above 0 where more streams have more of it.",
    )


def _format_cost(cost: CostComparison) -> str:
    if not cost.pairs:
        return NOT_MEASURED
    formatter = choose_format(cost.name)
    shift = formatter(cost.shift.shift)
    return (
        f"{formatter(cost.streams_median)} : {formatter(cost.windows_median)} "
        f"({shift}; {format_interval(cost.shift.interval, formatter)})"
    )


def _has_pairs(condition: MeasuredCondition) -> bool:
    """Whether two cells share streams × window; UDP has none."""
    return not condition.key.is_udp and bool(condition.by_total_window)


def _list_combination_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    yield from list_cell_table_blocks(RATES, inputs.conditions)
    yield lazy_text(list_caveats, inputs.conditions)
    # Flows of UDP have a chapter of their own.
    flows = {answer.condition for answer in inputs.answers("datagrams")} if has_flows(inputs.study) else set()
    imported = [
        condition for condition in inputs.conditions if condition.key.is_udp and condition.key not in flows
    ]
    yield from list_cell_table_blocks(UDP, imported)


def _list_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    for condition in inputs.conditions:
        if _has_pairs(condition):
            lacks = partial(find_shortfall, inputs, "streams_vs_windows", condition)
            yield lazy_plot(condition, "streams-windows", PAIRS, plot_pairs, inputs, condition, lacks=lacks)
            both = (
                lazy_text(_build_pairs_table, inputs, condition, lacks=lacks),
                lazy_text(_build_costs_table, inputs, condition, lacks=lacks),
            )
            yield LazyFold(title=f"Each pair, and its costs: {condition.name}", blocks=both)


def _find_combinations_gap(inputs: ReportInputs) -> str | None:
    return None if inputs.conditions else "no trial was completed"


def _find_gap(inputs: ReportInputs) -> str | None:
    if any(map(_has_pairs, inputs.conditions)):
        return None
    return "it needs two combinations with the same total window"


COMBINATIONS = LazySection(
    key="combinations",
    title="All combinations",
    find_gap=_find_combinations_gap,
    blocks=_list_combination_blocks,
)
SECTION = LazySection(
    key="windows-vs-streams",
    title="Windows against streams",
    find_gap=_find_gap,
    blocks=_list_blocks,
    question=Question.WHY,
    choose_setting=lambda _: 'factors.window=["64KiB","256KiB"]',
)
