"""Throughput over streams and windows: the median of every cell, and the fitted response surface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.fits.surface import Surface
from pathlab.report.base import quantities as of
from pathlab.report.base.answer_tables import list_answer_tables
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
from pathlab.report.base.phrases import format_estimate, format_p_value
from pathlab.report.base.points import draw_clouds, draw_rule, gather_windows
from pathlab.report.base.quantities import choose_unit
from pathlab.report.base.tables import build_table
from pathlab.report.plots.model import Axis, Curve, Grid, Panel, Rule, Scale
from pathlab.report.plots.style import INK_SLOT
from pathlab.study.base.cells import Cell, MeasuredCondition, find_extremes
from pathlab.table_columns import list_table_columns
from pathlab.units import format_bytes, format_rate, format_ratio, format_time, format_window

#: Cells that make a surface: as many as it has parameters, and one.
LEAST_CELLS = 4
GRID = "Median throughput over streams and windows"
PRODUCTS = "Throughput against streams × window, and the response surface"
RESIDUALS = "Deviation from the model (%)"


def plot_grid(condition: MeasuredCondition) -> Drawing:
    """The median throughput of every cell as a grid: streams across, windows upwards."""
    medians = {cell: cell.throughput.median for cell in condition.cells}
    unit = choose_unit("bit/s", [value for value in medians.values() if value is not None])
    values = {cell: np.nan if value is None else value / unit.size for cell, value in medians.items()}
    extremes = find_extremes(condition.cells, medians.get)
    highest = (
        f"Highest median: {format_rate(medians[extremes[1]])} with {extremes[1].name}. " if extremes else ""
    )
    return Drawing(
        unit=unit.unit,
        sentences=(f"{highest}{_describe_products(condition)}".strip(),),
        panels=(_build_grid(condition, values, f"Throughput ({unit.unit})", unit.unit),),
    )


def plot_residuals(inputs: ReportInputs, condition: MeasuredCondition) -> Drawing:
    """How far every cell's mean is from the fitted surface, in percent of it."""
    surface = _find_surface(inputs, condition)
    ratios = {} if surface is None else condition.relate_residuals(surface)
    values = {cell: round(100 * ratio, 1) + 0.0 for cell, ratio in ratios.items()}  # no -0
    ends = find_extremes(values, lambda cell: abs(values[cell]))
    sentence = "No combination was fitted."
    if ends is not None:
        far = ends[1]
        sentence = f"Largest deviation: {values[far]:+.3g} % with {far.name}. {_describe_fit(surface)}"
    return Drawing(
        sentences=(sentence,),
        panels=(_build_grid(condition, values, "Residual (%)", "%", diverging=True),) if values else (),
        empty="the surface was not fitted",
    )


def plot_products(inputs: ReportInputs, condition: MeasuredCondition) -> Drawing:
    """Throughput against streams × usable window, with the fitted surface and its limits."""
    surface = _find_surface(inputs, condition)
    product = of.Quantity(
        label="Streams × window",
        take=lambda sample: sample.streams * sample.usable_window_bytes,
    )
    windows = [window for window in condition.windows if window is not None]
    clouds = gather_windows(inputs, condition, (product, of.THROUGHPUT), windows)
    unit = choose_unit("bit/s", np.concatenate([cloud.y for cloud in clouds]))
    drawn = draw_clouds(clouds, (1024.0, unit.size), inputs.points)
    fitted = _draw_fit(surface, unit.size)
    limits: list[Rule] = []
    if surface is not None:
        limits = draw_rule("fitted capacity", surface.capacity.value, surface.capacity.interval, unit.size)
    x = Axis(label="Streams × window", unit="KiB", scale=Scale.LOG2)
    y = Axis(label="Throughput", unit=unit.unit, from_zero=True)
    points = (replace(layer, legend=True) for layer in drawn.layers)
    return draw_panel(x, y, (*points, *fitted, *limits), _describe_fit(surface), drawn.words)


def _build_grid(
    condition: MeasuredCondition,
    values: Mapping[Cell, float],
    name: str,
    unit: str,
    *,
    diverging: bool = False,
) -> Panel:
    windows, levels = condition.windows, condition.stream_counts
    table = np.full((len(windows), len(levels)), np.nan)
    for cell, value in values.items():
        table[windows.index(cell.window_bytes), levels.index(cell.streams)] = value
    grid = Grid(
        name=name,
        x=tuple(str(level) for level in levels),
        y=tuple(format_window(window) for window in windows),
        values=table,
        unit=unit,
        diverging=diverging,
    )
    return Panel(x=_mark("Streams", grid.x), y=_mark("Window", grid.y), layers=(grid,))


def _mark(label: str, names: tuple[str, ...]) -> Axis:
    """An axis of a grid: its levels side by side."""
    return Axis(label=label, ticks=tuple(float(at) for at in range(len(names))), tick_labels=names)


def _draw_fit(surface: Surface | None, size: float) -> list[Curve]:
    """The surface at the cells, which lies on one line over streams × window."""
    if surface is None or surface.residuals is None:
        return []
    products = np.array([level[0] * level[1] for level in surface.residuals.cell_levels])
    fitted: Floats = np.array(surface.fitted_bits_per_s)
    order = np.argsort(products, kind="stable")
    return [
        Curve(
            name="fitted surface",
            x=products[order] / 1024,
            y=fitted[order] / size,
            slot=INK_SLOT,
            markers=False,
        )
    ]


def _find_surface(inputs: ReportInputs, condition: MeasuredCondition) -> Surface | None:
    answers = inputs.answers("surface", condition)
    return answers[0].result if answers else None


def _describe_fit(surface: Surface | None) -> str:
    if surface is None or surface.residuals is None:
        return "The surface was not fitted."
    text = (
        f"Model: T = min(N·W/RTT, C), smoothed. Capacity {format_estimate(surface.capacity, format_rate)}, "
        f"effective RTT {format_estimate(surface.effective_rtt, format_time)}. "
        f"Residuals {format_ratio(surface.rmse_ratio)}."
    )
    if surface.lack_of_fit_p is None:
        return text
    p = format_p_value(surface.lack_of_fit_p)
    if surface.lack_of_fit_p < 0.05:
        return f"{text} This model does not fit the measurements ({p})."
    return f"{text} The measurements do not contradict this model ({p})."


def _describe_products(condition: MeasuredCondition) -> str:
    """The largest ratio between combinations with the same total window."""
    largest = condition.find_largest_ratio()
    if largest is None:
        return ""
    ratio, where = largest[0], format_bytes(largest[1])
    return f"Combinations with the same total window differ by a factor of up to {ratio:.3g} (at {where})."


def _build_products_table(condition: MeasuredCondition) -> Iterator[Block]:
    """Each product of streams × window with the medians of the cells that make it."""
    rows = []
    for product, cells in condition.by_total_window.items():
        medians = [f"{cell.name}: {format_rate(cell.throughput.median)}" for cell in cells]
        rows.append((format_bytes(product), str(len(cells)), "; ".join(medians)))
    if rows:
        yield build_table(
            f"products-{condition.number}",
            f"Combinations with the same total window: {condition.name}",
            list_table_columns(("Total window", "combinations", "medians")),
            rows,
        )


def _is_grid(condition: MeasuredCondition) -> bool:
    products = {cell.streams * (cell.window_bytes or 0) for cell in condition.cells}
    varied = len(condition.stream_counts) > 1 and len(condition.windows) > 1 and len(products) > 1
    return varied and len(condition.cells) >= LEAST_CELLS


def _list_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    for condition in filter(_is_grid, inputs.conditions):
        yield lazy_plot(condition, "grid", GRID, plot_grid, condition)
        if any(window is not None for window in condition.windows):
            yield lazy_plot(condition, "surface", PRODUCTS, plot_products, inputs, condition)
            residuals = lazy_plot(
                condition, "surface-residuals", RESIDUALS, plot_residuals, inputs, condition
            )
            yield LazyFold(title=f"{RESIDUALS}: {condition.name}", blocks=(residuals,))
        products = lazy_text(_build_products_table, condition)
        yield LazyFold(title=f"Combinations with the same total window: {condition.name}", blocks=(products,))
    yield from list_answer_tables(inputs, "surface")


def _find_gap(inputs: ReportInputs) -> str | None:
    if any(map(_is_grid, inputs.conditions)):
        return None
    return "it needs several stream counts and several windows on a path (four combinations or more)"


SECTION = LazySection(
    key="surface",
    title="Response surface over streams and windows",
    find_gap=_find_gap,
    blocks=_list_blocks,
    question=Question.WHY,
    choose_setting=lambda _: 'factors.window=["64KiB","256KiB"]',
)
