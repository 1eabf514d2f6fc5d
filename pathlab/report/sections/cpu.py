"""CPU time against throughput at both ends, and against streams where streams x window stays the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.fits.cpu_cost import CpuCost
from pathlab.report.answer_table import format_figure
from pathlab.report.blocks import Block, TableBlock
from pathlab.report.plots.model import Axis, Curve, Layer, Panel, Plot
from pathlab.report.sections import quantities as of
from pathlab.report.sections.clouds import draw_clouds, gather
from pathlab.report.sections.drafts import Chapter, Draft, PlotDraft, TextDraft
from pathlab.report.sections.ledgers import build_table, tell_answers
from pathlab.report.sections.phrases import say_count, say_interval, say_reason, say_spread
from pathlab.report.sections.places import Book, Part, Place
from pathlab.report.sections.quantities import Quantity, Scaled, reaches_zero
from pathlab.report.sections.views import build_streams_axis
from pathlab.study.answer import Spread, measure_spread
from pathlab.study.costs import CPU_PARTS
from pathlab.study.selection import LAB_FLAGS
from pathlab.units import format_bytes, format_r_squared, format_rate

ENDS = ("sender", "receiver")
#: Streams levels that make a series at one product.
LEAST_LEVELS = 3
#: Products drawn in the page for each path; further ones by name.
PRODUCTS_SHOWN = 2
COSTS_TITLE = "CPU time against throughput"
LAB_NOTE = "In a lab, whose emulators share the cores with the ends."


def plot_costs(book: Book, place: Place) -> Plot:
    """User, kernel and total CPU % of each end against throughput, with their lines."""
    answers = {answer.quantity: answer.result for answer in book.answers("cpu_cost", place)}
    rates = [of.THROUGHPUT.take(part.sample) for part in place.every_part]
    unit = of.THROUGHPUT.choose_unit(np.concatenate(rates))
    near = reaches_zero(np.concatenate(rates))
    panels, said = [], []
    counted, apart = _split_parts(place)
    for end in ENDS:
        layers: list[Layer] = []
        lines: list[Layer] = []
        for slot, (part, names) in enumerate(CPU_PARTS.items()):
            axes = (of.THROUGHPUT, _percent_quantity(end, names))
            for parts, hollow in ((counted, False), (apart, True)):
                clouds = [gather(part, slot, parts, axes, of.THROUGHPUT)] if parts else []
                drawn = draw_clouds(clouds, (unit.size, 1.0), book.points // 3)
                layers += [replace(layer, legend=False, hollow=hollow) for layer in drawn.layers]
            found: CpuCost | None = answers.get(f"{end} {part}")
            if found is not None and found.n and counted:
                cloud = gather(part, slot, counted, axes, of.THROUGHPUT)
                lines.append(_draw_line(part, slot, found, (cloud.x[~np.isnan(cloud.y)], unit)))
                said.append(_say_line(f"{end.capitalize()}, {part}", found))
        if layers:
            panels.append(
                Panel(
                    x=Axis(label=of.THROUGHPUT.label, unit=unit.unit, from_zero=near),
                    y=Axis(label="CPU", unit="% of a core", from_zero=True),
                    layers=(*layers, *lines),
                    title=end,
                )
            )
    if not said:
        said.append("No trial counts, so no line was fitted.")
    if apart:
        count = sum(len(part.sample) for part in apart)
        said.append(f"In no line: {count} × lab-limited (open marks).")
    if place.key.medium == "lab":
        said.append(LAB_NOTE)
    return Plot(
        name=f"cpu-throughput-{place.number}",
        title=COSTS_TITLE,
        condition=place.title,
        sentence=" ".join(said),
        panels=tuple(panels),
        shared_x=len(panels) > 1,
        empty=None if panels else "no CPU time was measured",
    )


def _split_parts(place: Place) -> tuple[list[Part], list[Part]]:
    """The trials of every cell that the lines are fitted to (host-limited ones are), and lab-limited ones."""
    counted: list[Part] = []
    apart: list[Part] = []
    for part in place.every_part:
        sample = part.sample
        theirs = np.logical_or.reduce([sample.table.flagged(flag) for flag in LAB_FLAGS])[sample.places]
        for parts, chosen in ((counted, ~theirs), (apart, theirs)):
            if chosen.any():
                some = sample.take(chosen)
                parts.append(Part(streams=part.streams, window_bytes=part.window_bytes, sample=some))
    return counted, apart


def plot_product(place: Place, product_bytes: int) -> Plot:
    """Kernel and user CPU % of both ends, and throughput, against streams at one streams × window."""
    parts = find_products(place)[product_bytes]
    axis = build_streams_axis([part.streams for part in parts])
    panels, said = [], []
    for end in ENDS:
        curves = []
        for slot, part_name in enumerate(("kernel", "user")):
            quantity = _percent_quantity(end, CPU_PARTS[part_name])
            curve, spreads = _draw_spreads(parts, quantity, (part_name, slot), 1.0)
            if spreads[0].n or spreads[-1].n:
                curves.append(curve)
                said.append(_say_ends(f"{end.capitalize()}, {part_name}", parts, spreads))
        if curves:
            panels.append(
                Panel(
                    x=axis,
                    y=Axis(label="CPU", unit="% of a core", from_zero=True),
                    layers=tuple(curves),
                    title=end,
                )
            )
    unit = of.THROUGHPUT.choose_unit(np.concatenate([part.sample.rates_bits_per_s for part in parts]))
    rate, spreads = _draw_spreads(parts, of.THROUGHPUT, ("throughput", 2), unit.size)
    rates = [one.median for one in spreads if one.median is not None]
    said.insert(0, f"Median throughput from {format_rate(min(rates))} to {format_rate(max(rates))}.")
    panels.append(
        Panel(
            x=axis,
            y=Axis(label="Throughput", unit=unit.unit, from_zero=True),
            layers=(rate,),
            title="throughput",
        )
    )
    if place.key.medium == "lab":
        said.append(LAB_NOTE)
    return Plot(
        name=name_product_figure(place, product_bytes),
        title=title_product_figure(product_bytes),
        condition=place.title,
        sentence=" ".join(said),
        panels=tuple(panels),
        shared_x=True,
    )


def name_product_figure(place: Place, product_bytes: int) -> str:
    """``cpu-streams-1-2MiB``."""
    return f"cpu-streams-{place.number}-{format_bytes(product_bytes).replace(' ', '').replace('.', '-')}"


def title_product_figure(product_bytes: int) -> str:
    """What the figure of one product shows."""
    return f"CPU time against streams at streams × window of {format_bytes(product_bytes)}"


def find_products(place: Place) -> Mapping[int, tuple[Part, ...]]:
    """Cells by streams × window asked for, where three or more numbers of streams share it; most first."""
    groups: dict[int, list[Part]] = {}
    for part in place.parts:
        if part.window_bytes is not None:
            groups.setdefault(part.streams * part.window_bytes, []).append(part)
    kept = [(product, parts) for product, parts in groups.items() if len(parts) >= LEAST_LEVELS]
    ordered = sorted(kept, key=lambda pair: (-len(pair[1]), pair[0]))
    return {product: tuple(sorted(parts, key=lambda part: part.streams)) for product, parts in ordered}


def _percent_quantity(end: str, names: tuple[str, ...]) -> Quantity:
    return Quantity(label="CPU", kind="plain", take=lambda sample: sample.measure_cpu_percent(end, names))


def _draw_line(part: str, slot: int, found: CpuCost, across: tuple[Floats, Scaled]) -> Curve:
    """The line with intercept over the range of what was measured; nothing where it is undecided."""
    rates, unit = across
    line = found.with_intercept
    known = rates[~np.isnan(rates)]
    ends = np.array([known.min(), known.max()])
    slope, offset = line.slope_percent_per_gbit_s, line.intercept_percent
    values = np.full(2, np.nan) if slope is None or offset is None else offset + slope * ends / 1e9
    return Curve(name=part, x=ends / unit.size, y=values, slot=slot, markers=False)


def _say_line(name: str, found: CpuCost) -> str:
    line = found.with_intercept
    if line.slope_percent_per_gbit_s is None:
        return f"{name}: undecided ({say_reason(line.undecided or found.undecided)})."
    interval = say_interval(line.slope_interval_percent_per_gbit_s, format_figure)
    return (
        f"{name}: {format_figure(line.slope_percent_per_gbit_s)} % per Gbit/s ({interval}), "
        f"R² = {format_r_squared(line.r_squared_ratio)}."
    )


def _draw_spreads(
    parts: tuple[Part, ...], quantity: Quantity, named: tuple[str, int], size: float
) -> tuple[Curve, list[Spread]]:
    """Medians of a quantity over streams with their intervals."""
    spreads = []
    for part in parts:
        values = quantity.take(part.sample)
        spreads.append(measure_spread(values))
    rows = [(one.median, one.interval.low, one.interval.high) for one in spreads]
    table = np.array([[np.nan if end is None else end / size for end in row] for row in rows])
    curve = Curve(
        name=named[0],
        x=np.array([float(part.streams) for part in parts]),
        y=table[:, 0],
        low=table[:, 1],
        high=table[:, 2],
        slot=named[1],
    )
    return curve, spreads


def _say_ends(name: str, parts: tuple[Part, ...], spreads: list[Spread]) -> str:
    def spell(value: float | None) -> str:
        return f"{format_figure(value)} %"

    few, many = say_count(parts[0].streams, "stream"), say_count(parts[-1].streams, "stream")
    return (
        f"{name}: {say_spread(spreads[0], spell)} with {few}, {say_spread(spreads[-1], spell)} with {many}."
    )


def _tell_products(place: Place) -> Iterator[Block]:
    """CPU and throughput of every cell at equal streams × window."""
    rows = [
        (format_bytes(product), part.name, str(len(part.sample)), *_tell_part(part))
        for product, parts in find_products(place).items()
        for part in parts
    ]
    columns = [f"{end} {name} %" for end in ENDS for name in ("kernel", "user")]
    yield TableBlock(
        name=f"cpu-products-{place.number}",
        title=f"CPU at equal streams × window: {place.name}",
        table=build_table(("product", "cell", "n", "throughput", *columns, "CPU-s/GB"), rows),
        note="Medians over trials; CPU % of the engine while it carries the throughput, one core is 100.",
    )


def _tell_part(part: Part) -> tuple[str, ...]:
    percents = [
        format_figure(measure_spread(part.sample.measure_cpu_percent(end, CPU_PARTS[name])).median)
        for end in ENDS
        for name in ("kernel", "user")
    ]
    rate = format_rate(measure_spread(part.sample.rates_bits_per_s).median)
    return rate, *percents, format_figure(measure_spread(part.sample.cpu_s_per_gb).median)


def _tell_costs(book: Book, place: Place) -> Iterator[Block]:
    yield from tell_answers("cpu_cost", book.answers("cpu_cost", place), place)


def _has_cpu(place: Place) -> bool:
    return any(
        np.any(~np.isnan(sample.measure_cpu_percent(end, CPU_PARTS["total"])))
        for end in ENDS
        for sample in (place.sample, place.aside)
    )


def _has_cells(place: Place) -> bool:
    return _has_cpu(place) and len({part.name for part in place.every_part}) > 1


def _outline_costs(book: Book) -> Iterator[Draft]:
    for place in book.places:
        if _has_cells(place):
            yield PlotDraft(
                name=f"cpu-throughput-{place.number}",
                title=COSTS_TITLE,
                condition=place.title,
                build=partial(plot_costs, book, place),
            )
            yield TextDraft(build=partial(_tell_costs, book, place))


def _find_costs_gap(book: Book) -> str | None:
    if not any(map(_has_cpu, book.places)):
        return "no CPU time of the engines was measured"
    if not any(map(_has_cells, book.places)):
        return "it needs several combinations of streams and window, so that throughput varies"
    return None


def _outline_products(book: Book) -> Iterator[Draft]:
    for place in book.places:
        products = find_products(place) if _has_cpu(place) else {}
        for at, product in enumerate(products):
            yield PlotDraft(
                name=name_product_figure(place, product),
                title=title_product_figure(product),
                condition=place.title,
                build=partial(plot_product, place, product),
                on_demand=at >= PRODUCTS_SHOWN,
            )
        if products:
            yield TextDraft(build=partial(_tell_products, place))


def _find_products_gap(book: Book) -> str | None:
    if any(_has_cpu(place) and find_products(place) for place in book.places):
        return None
    return f"no streams × window was measured with {LEAST_LEVELS} or more numbers of streams (and CPU time)"


COSTS = Chapter(key="cpu-cost", title=COSTS_TITLE, find_gap=_find_costs_gap, outline=_outline_costs)
PRODUCTS = Chapter(
    key="fixed-product",
    title="CPU time against streams at the same streams × window",
    find_gap=_find_products_gap,
    outline=_outline_products,
)
