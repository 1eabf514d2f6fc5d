"""Throughput over streams and windows: what every cell carried, and the response surface's fit to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.fits.surface import Surface
from pathlab.report.answer_table import format_figure
from pathlab.report.blocks import Block, TableBlock
from pathlab.report.plots.model import Axis, Curve, Grid, Panel, Plot, Rule, Scale
from pathlab.report.sections import quantities as of
from pathlab.report.sections.clouds import INK_SLOT, draw_clouds, gather
from pathlab.report.sections.drafts import Chapter, Draft, FoldDraft, PlotDraft, TextDraft
from pathlab.report.sections.ledgers import build_table, outline_answers
from pathlab.report.sections.phrases import say_estimate
from pathlab.report.sections.places import Book, Part, Place, spell_window
from pathlab.report.sections.quantities import choose_unit
from pathlab.study.answer import measure_spread
from pathlab.units import format_bytes, format_rate, format_ratio, format_time

#: Cells that make a surface: as many as it has parameters, and one.
LEAST_CELLS = 4
GRID = "Median throughput over streams and windows"
PRODUCTS = "Throughput against streams × window, and the response surface"
RESIDUALS = "Cells' means less the fitted surface (%)"


def plot_grid(place: Place) -> Plot:
    """The median throughput of every cell as a grid: streams across, windows upwards."""
    medians = {part: measure_spread(part.sample.rates_bits_per_s).median for part in place.parts}
    unit = choose_unit("rate", [value for value in medians.values() if value is not None])
    values = {part: np.nan if value is None else value / unit.size for part, value in medians.items()}
    best = max(place.parts, key=lambda part: medians[part] or 0.0)
    products = _say_products(place, medians)
    return Plot(
        name=f"grid-{place.number}",
        title=f"{GRID} ({unit.unit})",
        condition=place.title,
        sentence=f"The most, {format_rate(medians[best])}, with {best.name}. {products}".strip(),
        panels=(_build_grid(place, values, f"Throughput ({unit.unit})", unit.unit),),
    )


def plot_residuals(book: Book, place: Place) -> Plot:
    """How far every cell's mean is from the fitted surface, in percent of it."""
    found = _find_surface(book, place)
    ratios: dict[tuple[float, float], float] = {}
    if found is not None and found.residuals is not None:
        levels = [(float(streams), float(window)) for streams, window in found.residuals.cell_levels]
        ratios = dict(zip(levels, map(float, found.residuals.cell_ratio), strict=True))
    values = {}
    for part in place.parts:
        window = part.sample.usable_window_bytes
        level = (float(part.streams), float(window[0]) if window.size else np.nan)
        values[part] = round(100 * ratios.get(level, np.nan), 1) + 0.0  # no -0
    known = {part: value for part, value in values.items() if not np.isnan(value)}
    sentence = "No cell was fitted."
    if known:
        far = max(known, key=lambda part: abs(known[part]))
        sentence = f"The cell farthest from the surface is {far.name}: {known[far]:+.3g} %. {_say_fit(found)}"
    return Plot(
        name=f"surface-residuals-{place.number}",
        title=RESIDUALS,
        condition=place.title,
        sentence=sentence,
        panels=(_build_grid(place, values, "Residual (%)", "%"),) if known else (),
        empty=None if known else "the surface was not fitted",
    )


def plot_products(book: Book, place: Place) -> Plot:
    """Throughput against streams × usable window, with the fitted surface and its limits."""
    found = _find_surface(book, place)
    product = of.Quantity(
        label="Streams × window",
        kind="plain",
        take=lambda sample: sample.streams * sample.usable_window_bytes,
    )
    windows = [window for window in place.windows if window is not None]
    clouds = [
        gather(
            f"window {spell_window(one)}", book.material.slot(one), place.along(one), (product, of.THROUGHPUT)
        )
        for one in windows
    ]
    unit = choose_unit("rate", np.concatenate([cloud.y for cloud in clouds]))
    drawn = draw_clouds(clouds, (1024.0, unit.size), book.points)
    fitted = _draw_fit(found, unit.size)
    limits = []
    if found is not None and found.capacity.value is not None:
        ends = found.capacity.interval.low, found.capacity.interval.high
        low, high = (None if end is None else end / unit.size for end in ends)
        limits.append(
            Rule(name="fitted capacity", value=found.capacity.value / unit.size, low=low, high=high)
        )
    return Plot(
        name=f"surface-{place.number}",
        title=PRODUCTS,
        condition=place.title,
        sentence=" ".join(part for part in (_say_fit(found), drawn.words) if part),
        panels=(
            Panel(
                x=Axis(label="Streams × window", unit="KiB", scale=Scale.LOG2),
                y=Axis(label="Throughput", unit=unit.unit, from_zero=True),
                layers=(*(replace(layer, legend=True) for layer in drawn.layers), *fitted, *limits),
            ),
        ),
    )


def _build_grid(place: Place, values: Mapping[Part, float], name: str, unit: str) -> Panel:
    windows, levels = place.windows, place.levels
    table = np.full((len(windows), len(levels)), np.nan)
    for part, value in values.items():
        table[windows.index(part.window_bytes), levels.index(part.streams)] = value
    grid = Grid(
        name=name,
        x=tuple(str(level) for level in levels),
        y=tuple(spell_window(window) for window in windows),
        values=table,
        unit=unit,
    )
    return Panel(x=_mark("Streams", grid.x), y=_mark("Window", grid.y), layers=(grid,))


def _mark(label: str, names: tuple[str, ...]) -> Axis:
    """An axis of a grid: its levels side by side."""
    return Axis(label=label, ticks=tuple(float(at) for at in range(len(names))), tick_labels=names)


def _draw_fit(found: Surface | None, size: float) -> list[Curve]:
    """The surface at the cells, which lies on one line over streams × window."""
    if found is None or found.residuals is None:
        return []
    products = np.array([level[0] * level[1] for level in found.residuals.cell_levels])
    fitted: Floats = np.array(found.fitted_bits_per_s)
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


def _find_surface(book: Book, place: Place) -> Surface | None:
    answers = book.answers("surface", place)
    return answers[0].result if answers else None


def _say_fit(found: Surface | None) -> str:
    if found is None or found.residuals is None:
        return "The surface was not fitted."
    text = (
        f"T = min(N·W/RTT, C) in its smooth form: capacity {say_estimate(found.capacity, format_rate)}, "
        f"effective RTT {say_estimate(found.effective_rtt, format_time)}; "
        f"residuals of {format_ratio(found.rmse_ratio)}."
    )
    if found.lack_of_fit_p is None:
        return text
    word = "disobeys" if found.lack_of_fit_p < 0.05 else "is not shown to disobey"
    return f"{text} The path {word} it (lack of fit p = {format_figure(found.lack_of_fit_p)})."


def _group_products(place: Place) -> dict[int, list[Part]]:
    """Cells by streams × window asked for, where at least two share it."""
    groups: dict[int, list[Part]] = {}
    for part in place.parts:
        if part.window_bytes is not None:
            groups.setdefault(part.streams * part.window_bytes, []).append(part)
    return {product: parts for product, parts in sorted(groups.items()) if len(parts) > 1}


def _say_products(place: Place, medians: Mapping[Part, float | None]) -> str:
    """Where equal products differ most."""
    worst: tuple[float, int] | None = None
    for product, parts in _group_products(place).items():
        rates = [rate for part in parts if (rate := medians[part])]
        if len(rates) > 1 and (worst is None or max(rates) / min(rates) > worst[0]):
            worst = max(rates) / min(rates), product
    if worst is None:
        return ""
    where = format_bytes(worst[1])
    return f"Cells of equal streams × window differ by a factor of at most {worst[0]:.3g} (at {where})."


def _tell_products(place: Place) -> Iterator[Block]:
    """Each product of streams × window with the medians of the cells that make it."""
    rows = []
    for product, parts in _group_products(place).items():
        told = [
            f"{part.name}: {format_rate(measure_spread(part.sample.rates_bits_per_s).median)}"
            for part in sorted(parts, key=lambda one: one.streams)
        ]
        rows.append((format_bytes(product), str(len(parts)), "; ".join(told)))
    if rows:
        yield TableBlock(
            name=f"products-{place.number}",
            title=f"Cells of equal streams × window: {place.name}",
            table=build_table(("Streams × window", "cells", "medians"), rows),
        )


def _is_grid(place: Place) -> bool:
    products = {part.streams * (part.window_bytes or 0) for part in place.parts}
    varied = len(place.levels) > 1 and len(place.windows) > 1 and len(products) > 1
    return varied and len(place.parts) >= LEAST_CELLS


def _outline(book: Book) -> Iterator[Draft]:
    for place in filter(_is_grid, book.places):
        name, grid = f"grid-{place.number}", partial(plot_grid, place)
        yield PlotDraft(name=name, title=GRID, condition=place.title, build=grid)
        fitted = (("surface", PRODUCTS, plot_products), ("surface-residuals", RESIDUALS, plot_residuals))
        for key, title, plot in fitted if any(window is not None for window in place.windows) else ():
            name, build = f"{key}-{place.number}", partial(plot, book, place)
            yield PlotDraft(name=name, title=title, condition=place.title, build=build)
        drafts = (TextDraft(build=partial(_tell_products, place)),)
        yield FoldDraft(title=f"Cells of equal streams × window: {place.name}", drafts=drafts)
    yield from outline_answers(book, "surface")


def _find_gap(book: Book) -> str | None:
    if any(map(_is_grid, book.places)):
        return None
    return "it needs several numbers of streams and several windows on a path (four cells or more)"


CHAPTER = Chapter(
    key="surface", title="Response surface over streams and windows", find_gap=_find_gap, outline=_outline
)
