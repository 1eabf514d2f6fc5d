"""Windows against streams: the table of the source for every path, and pairs of equal streams x window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pathlab.analysis.estimators.interval import Interval
from pathlab.analysis.verdicts.equivalence import MARGIN_RATIO
from pathlab.analysis.verdicts.pairs import CostComparison, PairVerdict
from pathlab.report.answer_table import (
    Row,
    format_factor,
    format_figure,
    format_interval,
    format_row,
    list_headings,
)
from pathlab.report.blocks import Block, TableBlock
from pathlab.report.inputs import ReportInputs
from pathlab.report.plots.model import Axis, Curve, Layer, Panel, Rule
from pathlab.report.sections import quantities as of
from pathlab.report.sections.answer_tables import LONG_ROWS, build_table, note_doubts
from pathlab.report.sections.datagrams import outline_datagrams
from pathlab.report.sections.grants import outline_grants
from pathlab.report.sections.lazy import (
    Drawing,
    LazyBlock,
    LazyFold,
    LazySection,
    lazy_plot,
    lazy_text,
)
from pathlab.report.sections.phrases import say_count, say_interval, say_range
from pathlab.study.answer import Answer, measure_spread
from pathlab.study.cells import Cell, MeasuredCondition
from pathlab.study.registry import ANALYSES
from pathlab.study.selection import Sample, name_exclusions
from pathlab.study.throughput import StreamsVsWindows
from pathlab.units import NOT_MEASURED, format_rate, format_ratio, format_time, format_window

#: Pairs of so many are named along the axis; more of them by their number in the table.
NAMED_PAIRS = 8
PAIRS = "Throughput of more streams / of larger windows, at equal streams × window"
MARGIN = format_ratio(MARGIN_RATIO)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of the table of cells: what it is called, what it means, how a cell fills it."""

    label: str
    meaning: str
    fill: Callable[[Cell], str]


def _pool_mean(sample: Sample, probes: str) -> float | None:
    """The mean over all answered probes of a cell, ns: trials' means, weighted by their answered probes."""
    means, counts = sample.get(f"{probes}_rtt_mean_ns"), sample.get(f"{probes}_received")
    known = ~np.isnan(means) & (counts > 0)
    return float(np.average(means[known], weights=counts[known])) if known.any() else None


def _find_least(sample: Sample, probes: str) -> float | None:
    """The least RTT of any probe of a cell, ns."""
    values = sample.get(f"{probes}_rtt_min_ns")
    return float(np.nanmin(values)) if np.any(~np.isnan(values)) else None


def _spell_iqr(cell: Cell) -> str:
    found = measure_spread(cell.sample.rates_bits_per_s)
    if found.q1 is None or found.q3 is None or found.n < 2:  # one trial has no spread
        return NOT_MEASURED
    return format_rate(found.q3 - found.q1)


def _spell_loss(cell: Cell, probes: str) -> str:
    sent, received = cell.sample.get(f"{probes}_sent"), cell.sample.get(f"{probes}_received")
    known = (sent >= received) & (received >= 0)
    total = sent[known].sum()
    return format_ratio(1 - received[known].sum() / total) if total else NOT_MEASURED


def _spell_median(quantity: of.Quantity) -> Callable[[Cell], str]:
    return lambda cell: quantity.spell(measure_spread(quantity.take(cell.sample)).median)


def _spell_rate_interval(cell: Cell) -> str:
    return format_interval(measure_spread(cell.sample.rates_bits_per_s).interval, format_rate)


COLUMNS = (
    Column(label="Window", meaning="asked for, per stream", fill=lambda p: format_window(p.window_bytes)),
    Column(label="Streams", meaning="TCP connections of a trial", fill=lambda p: str(p.streams)),
    Column(label="n", meaning="trials that count", fill=lambda p: str(len(p.sample))),
    Column(label="Throughput", meaning="median of the aggregate", fill=_spell_median(of.THROUGHPUT)),
    Column(label="95 % interval", meaning="of that median, distribution-free", fill=_spell_rate_interval),
    Column(label="IQR", meaning="inter-quartile range of the aggregate over trials", fill=_spell_iqr),
    Column(
        label="RTT loaded, min",
        meaning="least probe under load",
        fill=lambda p: format_time(_find_least(p.sample, "loaded")),
    ),
    Column(
        label="avg",
        meaning="mean of all probes under load",
        fill=lambda p: format_time(_pool_mean(p.sample, "loaded")),
    ),
    Column(
        label="RTT unloaded, min",
        meaning="least probe without load",
        fill=lambda p: format_time(_find_least(p.sample, "unloaded")),
    ),
    Column(
        label="avg",
        meaning="mean of all probes without load",
        fill=lambda p: format_time(_pool_mean(p.sample, "unloaded")),
    ),
    Column(
        label="dRTT avg",
        meaning="loaded less unloaded average, median over trials",
        fill=_spell_median(of.RISE_MEAN),
    ),
    Column(label="dRTT median", meaning="the same of the medians", fill=_spell_median(of.RISE_MEDIAN)),
    Column(label="Loss loaded", meaning="of all probes under load", fill=lambda p: _spell_loss(p, "loaded")),
    Column(label="unloaded", meaning="of all probes without load", fill=lambda p: _spell_loss(p, "unloaded")),
    Column(
        label="RV loaded",
        meaning="1 - min / mean of RTTs, median over trials",
        fill=_spell_median(of.RV_LOADED),
    ),
    Column(label="unloaded", meaning="the same without load", fill=_spell_median(of.RV_UNLOADED)),
)


N_COLUMN, INTERVAL_COLUMN = 2, 4


def _list_rows(condition: MeasuredCondition) -> Iterator[Row]:
    """A row for each cell; one of which no trial counts shows what was seen, and why it does not count."""
    counted = {(cell.streams, cell.window_bytes): cell for cell in condition.cells}
    others = {(cell.streams, cell.window_bytes): cell for cell in condition.every_cell}
    for levels in condition.levels:
        cell = counted.get(levels)
        if cell is not None:
            yield tuple(column.fill(cell) for column in COLUMNS)
            continue
        seen = others[levels]
        counts = Counter(name_exclusions(seen.sample).tolist())
        why = ", ".join(f"{count} × {reason}" for reason, count in counts.items())
        told = [column.fill(seen) for column in COLUMNS]
        told[N_COLUMN] = f"0 ({why})"
        told[INTERVAL_COLUMN] = NOT_MEASURED
        yield tuple(told)


def _build_block(conditions: Sequence[MeasuredCondition], title: str, suffix: str) -> TableBlock:
    """The table of these conditions; the first column names them where they are several."""
    rows = [
        (condition.name, *row) if len(conditions) > 1 else row
        for condition in conditions
        for row in _list_rows(condition)
    ]
    labels, meanings = [one.label for one in COLUMNS], [one.meaning for one in COLUMNS]
    if len(conditions) > 1:
        labels, meanings = ["path", *labels], ["source, destination and setting", *meanings]
    answers = [Answer(condition=one.key, selection=one.sample.selection, result=None) for one in conditions]
    return TableBlock(
        name=f"windows-streams{suffix}",
        title=title,
        table=build_table(labels, rows, meanings),
        note=note_doubts(answers),
    )


def _tell_cells(conditions: Sequence[MeasuredCondition], suffix: str) -> Iterator[Block]:
    where = f": {conditions[0].name}" if len(conditions) == 1 else ""
    yield _build_block(conditions, f"Windows and streams{where}", suffix)


def _outline_cells(inputs: ReportInputs) -> Iterator[LazyBlock]:
    """One table where it stays short, else one for each condition, long ones on demand."""
    if sum(len(condition.levels) for condition in inputs.conditions) <= LONG_ROWS:
        yield lazy_text(_tell_cells, inputs.conditions, "")
        return
    for condition in inputs.conditions:
        table = lazy_text(_tell_cells, (condition,), f"-{condition.number}")
        rows = len(condition.levels)
        title = f"Windows and streams: {condition.name} ({rows} rows)"
        yield LazyFold(title=title, blocks=(table,)) if rows > LONG_ROWS else table


def name_pair(found: StreamsVsWindows) -> str:
    """``8 × 64 KiB : 2 × 256 KiB``."""
    many = f"{found.many_streams} × {format_window(found.many_window_bytes)}"
    return f"{many} : {found.large_streams} × {format_window(found.large_window_bytes)}"


def plot_pairs(inputs: ReportInputs, condition: MeasuredCondition) -> Drawing:
    """The ratio of throughputs of every pair with its interval, by verdict; 1 is no difference."""
    found = [answer.result for answer in inputs.answers("streams_vs_windows", condition)]
    layers: list[Layer] = [
        Rule(name=f"no difference, ±{MARGIN}", value=1.0, low=1 / (1 + MARGIN_RATIO), high=1 + MARGIN_RATIO)
    ]
    numbers = np.arange(1.0, len(found) + 1)
    for slot, verdict in enumerate(PairVerdict):
        chosen = [at for at, one in enumerate(found) if one.comparison.verdict is verdict]
        if chosen:
            values = [_list_ratio(found[at]) for at in chosen]
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
    named = len(found) <= NAMED_PAIRS
    ticks = tuple(numbers.tolist()) if named else None
    names = tuple(name_pair(one) for one in found) if named else None
    return Drawing(
        said=(_say_pairs(found),),
        panels=(
            Panel(
                x=Axis(
                    label="Pair" if named else "Pair, as numbered in the table",
                    ticks=ticks,
                    tick_labels=names,
                ),
                y=Axis(label="Ratio of throughputs"),
                layers=tuple(layers),
            ),
        ),
    )


def _list_ratio(found: StreamsVsWindows) -> tuple[float, float, float]:
    interval = found.comparison.ratio_interval
    low, ratio, high = (
        np.nan if one is None else one for one in (interval.low, found.comparison.ratio, interval.high)
    )
    return ratio, low, high


def _say_pairs(found: list[StreamsVsWindows]) -> str:
    counts = Counter(str(one.comparison.verdict) for one in found)
    told = "; ".join(f"{name}: {counts[name]}" for name in map(str, PairVerdict) if counts[name])
    count = say_count(len(found), "pair")
    text = f"{count} of equal streams × window, corrected for all of them (Holm): {told}."
    known = [one for one in found if one.comparison.ratio]
    if known:
        far = max(known, key=lambda one: abs(np.log(one.comparison.ratio or 1.0)))
        text += (
            f" The ratio farthest from 1 is {format_figure(far.comparison.ratio)} "
            f"({_say_corrected(far.comparison.ratio_interval)}), {name_pair(far)}: "
            f"{far.comparison.words}."
        )
    return text


def _say_corrected(interval: Interval) -> str:
    """The interval whose confidence Holm's correction raised for the number of pairs."""
    if interval.low is None or interval.high is None:
        return say_interval(interval, format_factor)
    ends = say_range(format_factor(interval.low), format_factor(interval.high))
    return f"Holm-corrected 95 % interval {ends}"


def _tell_pairs(inputs: ReportInputs, condition: MeasuredCondition) -> Iterator[Block]:
    answers = inputs.answers("streams_vs_windows", condition)
    entry = ANALYSES["streams_vs_windows"]
    rows = [(str(at), *format_row(entry, answer)) for at, answer in enumerate(answers, 1)]
    yield TableBlock(
        name=f"streams-windows-table-{condition.number}",
        title=f"{entry.title}: {condition.name}",
        table=build_table(("pair", *list_headings(entry)), rows),
        note=note_doubts(answers),
    )


COST_SPELL: dict[str, tuple[str, Callable[[float | None], str]]] = {
    "drtt_ns": ("dRTT", format_time),
    "loaded_loss_ratio": ("loss", format_ratio),
    "loaded_variability_ratio": ("RV", format_ratio),
    "cpu_s_per_gb": ("CPU-s/GB", format_figure),
    "fairness_jain": ("Jain", format_figure),
}


def _tell_costs(inputs: ReportInputs, condition: MeasuredCondition) -> Iterator[Block]:
    answers = inputs.answers("streams_vs_windows", condition)
    rows: list[Row] = []
    for at, answer in enumerate(answers, 1):
        costs = {cost.name: cost for cost in answer.result.costs}
        cells = [_spell_cost(costs[name], spell) for name, (_, spell) in COST_SPELL.items()]
        rows.append((str(at), name_pair(answer.result), *cells))
    yield TableBlock(
        name=f"streams-windows-costs-{condition.number}",
        title=f"What more streams cost against larger windows: {condition.name}",
        table=build_table(("pair", "streams : windows", *(label for label, _ in COST_SPELL.values())), rows),
        note="Median of more streams : of larger windows; in brackets the Hodges–Lehmann shift within cycles "
        "and its 95 % interval, above 0 where more streams have more of it.",
    )


def _spell_cost(cost: CostComparison, spell: Callable[[float | None], str]) -> str:
    if not cost.pairs:
        return NOT_MEASURED
    shift = spell(cost.shift.shift)
    return (
        f"{spell(cost.streams_median)} : {spell(cost.windows_median)} "
        f"({shift}; {format_interval(cost.shift.interval, spell)})"
    )


def _has_pairs(condition: MeasuredCondition) -> bool:
    """Whether two cells share streams × window; UDP has none."""
    if condition.key.is_udp:
        return False
    products = [cell.streams * cell.window_bytes for cell in condition.cells if cell.window_bytes is not None]
    return len(products) > len(set(products))


def _outline(inputs: ReportInputs) -> Iterator[LazyBlock]:
    yield from _outline_cells(inputs)
    yield from outline_datagrams(inputs)
    for condition in inputs.conditions:
        if _has_pairs(condition):
            yield lazy_plot(condition, "streams-windows", PAIRS, plot_pairs, inputs, condition)
            both = (
                lazy_text(_tell_pairs, inputs, condition),
                lazy_text(_tell_costs, inputs, condition),
            )
            yield LazyFold(title=f"Each pair, and its costs: {condition.name}", blocks=both)
    yield from outline_grants(inputs)


def _find_gap(inputs: ReportInputs) -> str | None:
    return None if inputs.conditions else "no trial was completed"


SECTION = LazySection(
    key="windows-vs-streams", title="Windows against streams", find_gap=_find_gap, outline=_outline
)
