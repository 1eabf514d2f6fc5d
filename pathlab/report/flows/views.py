"""Everything against the number of streams, for each window: throughput, loss, dRTT, RTT IQR and RV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.loss import Loss
from pathlab.quantities import DisplayUnit
from pathlab.report.base import quantities as of
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import Drawing, LazyBlock, lazy_plot
from pathlab.report.base.phrases import (
    format_ci,
    format_range,
    format_spread,
    join_words,
)
from pathlab.report.base.points import Drawn, draw_clouds, draw_excluded, draw_spreads, gather
from pathlab.report.base.quantities import Quantity
from pathlab.report.plots.model import Axis, Curve, Layer, Panel, Rule, Scale
from pathlab.report.plots.style import INK_SLOT
from pathlab.study.base.answer import Spread
from pathlab.study.base.cells import Cell, MeasuredCondition, find_extremes
from pathlab.study.base.selection import Sample, name_exclusions
from pathlab.units import format_ratio, format_window

#: Points of different windows are drawn side by side, so that equal values do not hide each other.
SHIFT_RATIO = 0.006
SHIFT_FACTOR = 1.012


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantityView:
    """A figure over streams: its name, its subject, and a panel for each quantity."""

    key: str
    title: str
    quantities: tuple[Quantity, ...]


VIEWS = tuple(
    QuantityView(key=f"{key}-streams", title=f"{title} by number of streams", quantities=quantities)
    for key, title, quantities in (
        ("throughput", "Throughput", (of.THROUGHPUT,)),
        ("loss", "Probe loss", (of.LOSS_LOADED, of.LOSS_UNLOADED)),
        ("drtt", "RTT increase under load (dRTT)", (of.RISE_MEAN, of.RISE_MEDIAN)),
        ("iqr", "RTT inter-quartile range", (of.IQR_LOADED, of.IQR_UNLOADED)),
        ("variability", "Rate variability (RV)", (of.RV_LOADED, of.RV_UNLOADED)),
    )
)
FAIRNESS = QuantityView(
    key="fairness", title="Fairness over streams (Jain's index)", quantities=(of.FAIRNESS,)
)


def list_view_blocks(
    condition: MeasuredCondition, inputs: ReportInputs, views: Sequence[QuantityView]
) -> Iterator[LazyBlock]:
    """The figures over streams of one condition."""
    for view in views:
        yield lazy_plot(condition, view.key, view.title, plot_view, inputs, condition, view)


def plot_view(inputs: ReportInputs, condition: MeasuredCondition, view: QuantityView) -> Drawing:
    """One figure over streams: trials as points, each window's medians with their intervals."""
    panels: list[Panel] = []
    sentences: list[str] = []
    choices: list[str] = []
    for quantity in view.quantities:
        panel, words, choice = _draw_panel(inputs, condition, view, quantity)
        if panel is not None:
            panels.append(panel)
        sentences.append(words)
        choices += [choice] if choice else []
    sentences += choices[:1]
    sentence = " ".join(dict.fromkeys(word for word in sentences if word)) if panels else ""
    return Drawing(
        sentences=(sentence,),
        panels=tuple(panels),
        empty=f"{join_words([item.label for item in view.quantities])}: not measured here",
    )


def build_streams_axis(levels: Sequence[int]) -> Axis:
    """The axis of streams, marked at the measured levels; logarithmic where they are powers of two."""
    powers = len(levels) > 3 and all(level & (level - 1) == 0 for level in levels)
    return Axis(
        label="Streams",
        scale=Scale.LOG2 if powers else Scale.LINEAR,
        ticks=tuple(float(level) for level in levels),
        tick_labels=tuple(str(level) for level in levels),
    )


def place_streams(streams: Floats, axis: Axis, position: int, count: int) -> Floats:
    """Positions of streams for one of ``count`` windows: a little alongside their level."""
    step = position - (count - 1) / 2
    moved: Floats = streams + SHIFT_RATIO * max(axis.ticks or (1.0,)) * step
    if axis.scale is Scale.LOG2:
        moved = streams * SHIFT_FACTOR**step
    return moved


def _draw_panel(
    inputs: ReportInputs, condition: MeasuredCondition, view: QuantityView, quantity: Quantity
) -> tuple[Panel | None, str, str]:
    """The panel of one quantity (None where it was not measured), its sentence, and the choice of trials."""
    values = [quantity.take(cell.sample) for cell in condition.cells]
    known = [value[~np.isnan(value)] for value in values]
    excluded = quantity.take(condition.excluded)
    if not any(item.size for item in known) and not np.any(~np.isnan(excluded)):
        return None, f"{quantity.label}: not measured.", ""
    unit = quantity.choose_unit(np.concatenate([*values, excluded]))
    axis = build_streams_axis(
        sorted({*condition.stream_counts, *condition.excluded.streams.astype(int).tolist()})
    )
    spreads = {cell: cell.measure(quantity.take) for cell in condition.cells}
    probes = "loaded" if quantity is of.LOSS_LOADED else "unloaded"
    pooled = quantity in (of.LOSS_LOADED, of.LOSS_UNLOADED)  # the loss over all probes, no median
    losses = {cell: cell.sample.pool_loss(probes) for cell in condition.cells if pooled}
    layers, drawn = _draw_windows(inputs, condition, quantity, (axis, unit))
    for window in condition.windows:
        position = condition.every_window.index(window)
        cells = condition.along(window)
        streams = np.array([float(cell.streams) for cell in cells])
        x = place_streams(streams, axis, position, len(condition.every_window))
        name, slot = f"window {format_window(window)}", inputs.slot(window)
        middles = [losses.get(cell, spreads[cell]) for cell in cells]
        layers.append(draw_spreads(name, x, middles, unit.size, slot))
    layers += _draw_link_settings(condition, quantity, unit)
    sentences = _describe_extremes(spreads, quantity)
    if losses:
        sentences = _describe_losses(condition.sample.pool_loss(probes), losses, quantity.label)
    if not any(item.size for item in known):
        sentences = _describe_excluded(condition, quantity)
    several = len(view.quantities) > 1
    panel = Panel(
        x=axis,
        y=Axis(label=quantity.short if several else quantity.label, unit=unit.unit or None, from_zero=True),
        layers=tuple(layers),
        title=quantity.label if several else None,
    )
    return panel, " ".join(cell for cell in (sentences, drawn.marked) if cell), drawn.choice


def _draw_windows(
    inputs: ReportInputs, condition: MeasuredCondition, quantity: Quantity, axes: tuple[Axis, DisplayUnit]
) -> tuple[list[Layer], Drawn]:
    """The layers of every window's trials, used and excluded; and the used ones as drawn."""
    axis, unit = axes
    clouds = []
    for window in condition.windows:
        position = condition.every_window.index(window)

        def shift(sample: Sample, at: int = position) -> Floats:
            return place_streams(sample.streams, axis, at, len(condition.every_window))

        across = Quantity(label="Streams", take=shift)
        name = f"window {format_window(window)}"
        slot = inputs.slot(window)
        clouds.append(gather(name, slot, condition.along(window), (across, quantity)))
    drawn = draw_clouds(clouds, (1.0, unit.size), inputs.points)
    beside = Quantity(label="Streams", take=partial(_shift_windows, condition, axis))
    return [*drawn.layers, *draw_excluded(inputs, condition, (beside, quantity), unit.size)], drawn


def _shift_windows(condition: MeasuredCondition, axis: Axis, sample: Sample) -> Floats:
    """Positions of trials of any window: a little alongside their number of streams."""
    windows, across = sample.window_bytes, np.full(len(sample), np.nan)
    for position, window in enumerate(condition.every_window):
        inside = np.isnan(windows) if window is None else windows == window
        shifted = place_streams(sample.streams[inside], axis, position, len(condition.every_window))
        across[inside] = shifted
    return across


def _draw_link_settings(condition: MeasuredCondition, quantity: Quantity, unit: DisplayUnit) -> list[Layer]:
    """Settings of the lab's link: its rate for data, the delay of a full queue; the least fairness."""
    if quantity is of.THROUGHPUT and condition.bottleneck is not None:
        rate = condition.bottleneck.data_bits_per_s
        return [Rule(name="link rate minus headers", value=rate / unit.size)]
    if quantity is of.FAIRNESS:
        least = {cell.streams: cell.fairness_min_ratio for cell in condition.every_cell if cell.streams > 1}
        x, y = np.array(sorted(least.items()), dtype=np.float64).reshape(-1, 2).T
        return [Curve(name="all to one stream", x=x, y=y, slot=INK_SLOT, markers=False)]
    if quantity in (of.RISE_MEAN, of.RISE_MEDIAN):
        link = condition.direct_link
        if link is not None and link.full_queue_ns is not None:
            return [Rule(name="delay of a full queue", value=link.full_queue_ns / unit.size)]
    return []


def _describe_extremes(spreads: Mapping[Cell, Spread], quantity: Quantity) -> str:
    """Highest and lowest median with their intervals."""
    ends = find_extremes(spreads, lambda cell: spreads[cell].median)
    if ends is None:
        return f"{quantity.label}: not measured."
    least, most = ends
    text = (
        f"{quantity.label}: highest median {format_spread(spreads[most], quantity.format)} with {most.name}"
    )
    if least is not most:
        text += f"; lowest {format_spread(spreads[least], quantity.format)} with {least.name}"
    return f"{text}."


def _describe_excluded(condition: MeasuredCondition, quantity: Quantity) -> str:
    """The range of the excluded trials where none is usable, and the reasons."""
    excluded = condition.measure_excluded(quantity.take)
    reasons = join_words(sorted({str(reason) for reason in name_exclusions(condition.excluded)}))
    least, most = quantity.format(excluded.least), quantity.format(excluded.most)
    ends = most if least == most else format_range(least, most)
    return f"{quantity.label}: {ends}; all trials were {reasons}; no median is given."


def _describe_losses(whole: Loss, losses: Mapping[Cell, Loss], label: str) -> str:
    """All probes together, and the cell that lost most."""
    if not whole.sent:
        return f"{label}: no probes were sent."
    text = f"{label}: {whole.lost} of {whole.sent} probes lost{_format_bounds(whole)}"
    ends = find_extremes(losses, lambda cell: losses[cell].loss_ratio)
    if ends is not None and losses[ends[1]].lost and len(losses) > 1:
        worst, most = ends[1], losses[ends[1]]
        text += f"; most with {worst.name}: {format_ratio(most.loss_ratio)}{_format_bounds(most)}"
    return f"{text}."


def _format_bounds(loss: Loss) -> str:
    """The interval in brackets; nothing where trials are too few for one."""
    return f" ({format_ci(loss.interval_ratio, format_ratio)})" if loss.interval_ratio.decided else ""
