"""CPU time against throughput at both ends, and against streams where streams x window stays the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.fits.cpu_cost import CpuCost
from pathlab.quantities import DisplayUnit
from pathlab.report.base import quantities as of
from pathlab.report.base.answer_tables import defer_answer_table
from pathlab.report.base.blocks import Block, Question
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import (
    Drawing,
    LazyBlock,
    LazySection,
    format_suffix,
    lazy_plot,
    lazy_text,
)
from pathlab.report.base.phrases import (
    format_ci,
    format_count,
    format_figure,
    format_range,
    format_reason,
    format_spread,
)
from pathlab.report.base.points import draw_clouds, draw_spreads, gather
from pathlab.report.base.quantities import Quantity, reaches_zero
from pathlab.report.base.shortfalls import find_shortfall
from pathlab.report.base.tables import build_table
from pathlab.report.flows.views import build_streams_axis
from pathlab.report.plots.model import Axis, Curve, Layer, Panel
from pathlab.study.base.answer import Spread
from pathlab.study.base.cells import Cell, MeasuredCondition, find_extremes
from pathlab.study.base.selection import LAB_FLAGS
from pathlab.study.flows.costs import CPU_PARTS
from pathlab.table_columns import list_table_columns
from pathlab.units import format_bytes, format_r_squared, format_rate

ENDS = ("sender", "receiver")
#: Stream counts that a total window needs for a figure.
LEAST_LEVELS = 3
#: Total windows drawn in the page for each path; others by name.
PRODUCTS_SHOWN = 2
COSTS_TITLE = "CPU by throughput"
LAB_NOTE = "CPU figures include the emulator, which shares these cores."


def plot_costs(inputs: ReportInputs, condition: MeasuredCondition) -> Drawing:
    """User, kernel and total CPU % of each end against throughput, with their lines."""
    answers = {answer.quantity: answer.result for answer in inputs.answers("cpu_cost", condition)}
    rates = [of.THROUGHPUT.take(cell.sample) for cell in condition.every_cell]
    unit = of.THROUGHPUT.choose_unit(np.concatenate(rates))
    near = reaches_zero(np.concatenate(rates))
    panels, sentences = [], []
    counted, apart = _split_parts(condition)
    for end in ENDS:
        layers: list[Layer] = []
        lines: list[Layer] = []
        for slot, (cell, names) in enumerate(CPU_PARTS.items()):
            axes = (of.THROUGHPUT, _percent_quantity(end, names))
            for cells, hollow in ((counted, False), (apart, True)):
                clouds = [gather(cell, slot, cells, axes, of.THROUGHPUT)] if cells else []
                drawn = draw_clouds(clouds, (unit.size, 1.0), inputs.points // 3)
                layers += [replace(layer, legend=False, hollow=hollow) for layer in drawn.layers]
            cpu_cost: CpuCost | None = answers.get(f"{end} {cell}")
            if cpu_cost is not None and cpu_cost.n and counted:
                cloud = gather(cell, slot, counted, axes, of.THROUGHPUT)
                lines.append(_draw_line(cell, slot, cpu_cost, (cloud.x[~np.isnan(cloud.y)], unit)))
                sentences.append(_describe_line(f"{end.capitalize()}, {cell}", cpu_cost))
        if layers:
            panels.append(
                Panel(
                    x=Axis(label=of.THROUGHPUT.label, unit=unit.unit, from_zero=near),
                    y=Axis(label="CPU", unit="% of a core", from_zero=True),
                    layers=(*layers, *lines),
                    title=end,
                )
            )
    if not sentences:
        sentences.append("No usable trial, so no fit.")
    if apart:
        count = sum(len(cell.sample) for cell in apart)
        sentences.append(f"Open markers: {count} lab-limited, not fitted.")
    if condition.key.medium == "lab":
        sentences.append(LAB_NOTE)
    return Drawing(
        sentences=tuple(sentences),
        panels=tuple(panels),
        empty="no CPU time was measured",
    )


def _split_parts(condition: MeasuredCondition) -> tuple[list[Cell], list[Cell]]:
    """The trials of every cell that lines are fitted to, host-limited ones too; and lab-limited ones."""
    counted: list[Cell] = []
    apart: list[Cell] = []
    for cell in condition.every_cell:
        sample = cell.sample
        theirs = np.logical_or.reduce([sample.table.flagged(flag) for flag in LAB_FLAGS])[sample.places]
        for cells, chosen in ((counted, ~theirs), (apart, theirs)):
            if chosen.any():
                some = sample.take(chosen)
                cells.append(
                    Cell(streams=cell.streams, window_bytes=cell.window_bytes, sample=some, complete=some)
                )
    return counted, apart


def plot_product(condition: MeasuredCondition, product_bytes: int) -> Drawing:
    """Kernel and user CPU % of both ends, and throughput, against streams at one streams × window."""
    cells = condition.by_total_window[product_bytes]
    axis = build_streams_axis([cell.streams for cell in cells])
    streams = np.array([float(cell.streams) for cell in cells])
    panels, sentences = [], []
    for end in ENDS:
        curves = []
        for slot, part_name in enumerate(("kernel", "user")):
            quantity = _percent_quantity(end, CPU_PARTS[part_name])
            spreads = [cell.measure(quantity.take) for cell in cells]
            if spreads[0].n or spreads[-1].n:
                curves.append(draw_spreads(part_name, streams, spreads, 1.0, slot))
                sentences.append(_describe_ends(f"{end.capitalize()}, {part_name}", cells, spreads))
        if curves:
            panels.append(
                Panel(
                    x=axis,
                    y=Axis(label="CPU", unit="% of a core", from_zero=True),
                    layers=tuple(curves),
                    title=end,
                )
            )
    unit = of.THROUGHPUT.choose_unit(np.concatenate([cell.sample.rates_bits_per_s for cell in cells]))
    spreads = [cell.throughput for cell in cells]
    rate = draw_spreads("throughput", streams, spreads, unit.size, 2)
    ends = find_extremes(cells, lambda cell: cell.throughput.median)
    low, high = (format_rate(cell.throughput.median) for cell in ends or (cells[0], cells[-1]))
    sentences.insert(0, f"Median throughput: {format_range(low, high)}.")
    panels.append(
        Panel(
            x=axis,
            y=Axis(label="Throughput", unit=unit.unit, from_zero=True),
            layers=(rate,),
            title="throughput",
        )
    )
    if condition.key.medium == "lab":
        sentences.append(LAB_NOTE)
    return Drawing(
        sentences=tuple(sentences),
        panels=tuple(panels),
    )


def _find_series(condition: MeasuredCondition) -> Mapping[int, tuple[Cell, ...]]:
    """Cells by total window where three or more numbers of streams share it; most first."""
    groups = condition.by_total_window.items()
    ordered = sorted(groups, key=lambda pair: (-len(pair[1]), pair[0]))
    return {total: cells for total, cells in ordered if len(cells) >= LEAST_LEVELS}


def _percent_quantity(end: str, names: tuple[str, ...]) -> Quantity:
    return Quantity(label="CPU", take=lambda sample: sample.measure_cpu_percent(end, names))


def _draw_line(cell: str, slot: int, cpu_cost: CpuCost, across: tuple[Floats, DisplayUnit]) -> Curve:
    """The line with intercept over the range of what was measured; nothing where it is undecided."""
    rates, unit = across
    ends = np.array([np.nanmin(rates), np.nanmax(rates)])
    values = cpu_cost.with_intercept.predict_percent(ends)
    return Curve(name=cell, x=ends / unit.size, y=values, slot=slot, markers=False)


def _describe_line(name: str, cpu_cost: CpuCost) -> str:
    line = cpu_cost.with_intercept
    if line.slope_percent_per_gbit_s is None:
        return f"{name}: undecided ({format_reason(line.undecided or cpu_cost.undecided)})."
    interval = format_ci(line.slope_interval_percent_per_gbit_s, format_figure)
    return (
        f"{name}: {format_figure(line.slope_percent_per_gbit_s)} % per Gbit/s ({interval}), "
        f"R² = {format_r_squared(line.r_squared_ratio)}."
    )


def _describe_ends(name: str, cells: tuple[Cell, ...], spreads: list[Spread]) -> str:
    def formatter(value: float | None) -> str:
        return f"{format_figure(value)} %"

    few, many = format_count(cells[0].streams, "stream"), format_count(cells[-1].streams, "stream")
    first, last = format_spread(spreads[0], formatter), format_spread(spreads[-1], formatter)
    return f"{name}: {first} with {few}, {last} with {many}."


def _build_products_table(condition: MeasuredCondition) -> Iterator[Block]:
    """CPU and throughput of every cell at equal streams × window."""
    rows = [
        (format_bytes(product), cell.name, str(len(cell.sample)), *_build_part_table(cell))
        for product, cells in _find_series(condition).items()
        for cell in cells
    ]
    columns = [f"{end} {name} %" for end in ENDS for name in ("kernel", "user")]
    yield build_table(
        f"cpu-products-{condition.number}",
        f"CPU at the same total window: {condition.name}",
        list_table_columns(("total window", "combination", "n", "throughput", *columns, "CPU-s/GB")),
        rows,
        note="Medians over trials; CPU % of the engine while it carries the throughput, one core is 100.",
    )


def _build_part_table(cell: Cell) -> tuple[str, ...]:
    percents = [
        format_figure(cell.measure(_percent_quantity(end, CPU_PARTS[name]).take).median)
        for end in ENDS
        for name in ("kernel", "user")
    ]
    rate = format_rate(cell.throughput.median)
    return rate, *percents, format_figure(cell.measure(lambda sample: sample.cpu_s_per_gb).median)


def _has_cpu(condition: MeasuredCondition) -> bool:
    return any(
        np.any(~np.isnan(sample.measure_cpu_percent(end, CPU_PARTS["total"])))
        for end in ENDS
        for sample in (condition.sample, condition.excluded)
    )


def _has_cells(condition: MeasuredCondition) -> bool:
    return _has_cpu(condition) and len({cell.name for cell in condition.every_cell}) > 1


def _list_cost_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    for condition in inputs.conditions:
        if _has_cells(condition):
            lacks = partial(find_shortfall, inputs, "cpu_cost", condition)
            yield lazy_plot(
                condition, "cpu-throughput", COSTS_TITLE, plot_costs, inputs, condition, lacks=lacks
            )
            yield defer_answer_table(inputs, "cpu_cost", condition)


def _find_costs_gap(inputs: ReportInputs) -> str | None:
    if not any(map(_has_cpu, inputs.conditions)):
        return "no CPU time of the engines was measured"
    if not any(map(_has_cells, inputs.conditions)):
        return "it needs several combinations, so that throughput varies"
    return None


def _list_product_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    for condition in inputs.conditions:
        products = _find_series(condition) if _has_cpu(condition) else {}
        for at, product in enumerate(products):
            size = format_bytes(product)
            yield lazy_plot(
                condition,
                "cpu-streams",
                f"CPU by number of streams at a total window of {size}",
                plot_product,
                condition,
                product,
                suffix=format_suffix(size),
                on_demand=at >= PRODUCTS_SHOWN,
            )
        if products:
            yield lazy_text(_build_products_table, condition)


def _choose_windows(inputs: ReportInputs) -> str | None:
    """Windows with which the three largest stream counts of a condition have the same total window."""
    for condition in inputs.conditions:
        counts = condition.stream_counts[-LEAST_LEVELS:]
        sizes = [window for window in condition.windows if window is not None]
        if len(counts) < LEAST_LEVELS or not sizes:
            continue
        total = sizes[0] * counts[-1]
        chosen = sorted({*sizes, *(total // count for count in counts if total % count == 0)})
        return f"factors.window=[{','.join(map(_write_size, chosen))}]"
    return None


def _write_size(size_bytes: int) -> str:
    """A size as campaign files have it."""
    return f'"{size_bytes}"' if size_bytes % 1024 else f'"{size_bytes // 1024}KiB"'


def _find_products_gap(inputs: ReportInputs) -> str | None:
    if any(_has_cpu(condition) and _find_series(condition) for condition in inputs.conditions):
        return None
    return f"it needs {LEAST_LEVELS} stream counts with the same total window"


COSTS = LazySection(
    key="cpu-cost",
    title=COSTS_TITLE,
    find_gap=_find_costs_gap,
    blocks=_list_cost_blocks,
    question=Question.COST,
    choose_setting=lambda _: "factors.streams=[1,2,4,8]",
)
PRODUCTS = LazySection(
    key="fixed-product",
    title="CPU by number of streams at the same total window",
    find_gap=_find_products_gap,
    blocks=_list_product_blocks,
    question=Question.COST,
    choose_setting=_choose_windows,
)
