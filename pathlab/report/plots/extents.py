"""Range and ticks of the axes of a panel: the same in print and in the browser."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from pathlab.report.plots.model import (
    Area,
    Axis,
    Bars,
    Curve,
    Grid,
    Layer,
    Numbers,
    Panel,
    Plot,
    Points,
    Rule,
    Scale,
    Span,
)

MARGIN_RATIO = 0.05  # of the axis beyond the outermost value
LABEL_LETTERS, LETTER_RATIO = 14, 0.008  # of a tick's label in one line; of the axis, for half a letter
LABEL_ROOM_RATIO = 0.19  # of the axis above a line that carries its name
ROW_LETTERS = 28  # of the name of a row in one line
LABELS_APART_RATIO = 0.035  # of the axis: nearer ones would touch
FEWEST_BARS = 6  # that a panel has room for, so that a single bar is not as wide as the panel
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """From where to where an axis reaches, in its own unit; ``low`` is below ``high``."""

    low: float
    high: float


def measure_extents(plot: Plot) -> list[tuple[Extent, Extent]]:
    """The extents of x and y of each panel of a prepared plot; the same x everywhere where it is shared."""
    across = [_values(panel, vertical=True) for panel in plot.panels]
    if plot.shared_x:
        across = [np.concatenate(across)] * len(plot.panels)
    layers = [layer for panel in plot.panels for layer in panel.layers]
    letters = count_letters(
        text for layer in layers if isinstance(layer, Curve) for text in layer.texts or ()
    )
    return [
        (
            _limit(panel.x, _reach(panel.x, values, bool(_find_grid(panel)), letters)),
            _limit(
                panel.y,
                _make_room(_reach(panel.y, _values(panel, vertical=False), bool(_find_grid(panel))), panel),
            ),
        )
        for panel, values in zip(plot.panels, across, strict=True)
    ]


def _limit(axis: Axis, extent: Extent) -> Extent:
    """The extent with the limits that were chosen for the axis, as far as they leave any room."""
    low = extent.low if axis.low is None else axis.low
    high = extent.high if axis.high is None else axis.high
    if low < high:
        return Extent(low=low, high=high)
    stretch = 10.0 if axis.scale is not Scale.LINEAR else None
    if axis.low is not None and axis.high is None:
        return Extent(low=low, high=low * stretch if stretch else low + (abs(low) or 1.0))
    if axis.high is not None and axis.low is None:
        return Extent(low=high / stretch if stretch else high - (abs(high) or 1.0), high=high)
    return extent


def mark_axis(axis: Axis, extent: Extent) -> tuple[list[float], list[str]] | None:
    """Places to mark and their labels ("" for one too near to its neighbour); None: the renderer chooses."""
    if axis.ticks is not None:
        labels = _write_labels(axis)
        pairs = sorted(zip(axis.ticks, labels, strict=True))
        texts = [text for _, text in pairs] if axis.rows else _drop_crowded(pairs, axis.scale, extent)
        return [tick for tick, _ in pairs], texts
    return list_marks(axis, extent)


def list_marks(axis: Axis, extent: Extent) -> tuple[list[float], list[str]] | None:
    """Places to mark and the labels of all of them, each in one line; None: the renderer chooses."""
    if axis.ticks is not None:
        labels = axis.tick_labels or tuple(map(format_tick, axis.ticks))
        pairs = sorted(zip(axis.ticks, labels, strict=True))
        return [tick for tick, _ in pairs], [label for _, label in pairs]
    if axis.scale is Scale.LOG2:
        first, last = math.ceil(math.log2(extent.low)), math.floor(math.log2(extent.high))
        powers = range(first, last + 1, max(1, -(-(last - first) // 12)))
        return [2.0**power for power in powers], [format_tick(2.0**power) for power in powers]
    if axis.scale is Scale.LOG10:
        return _mark_decades(extent)
    return None


def find_share(scale: Scale, extent: Extent, values: Numbers) -> Numbers:
    """Where values are on an axis: 0 at its low end, 1 at its high end; NaN: nowhere."""
    if scale is Scale.LINEAR:
        return np.asarray((values - extent.low) / (extent.high - extent.low), dtype=np.float64)
    known = np.where(values > 0, values, np.nan)
    low, high = math.log(extent.low), math.log(extent.high)
    return np.asarray((np.log(known) - low) / (high - low), dtype=np.float64)


def break_title(text: str, letters: int) -> list[str]:
    """The lines of a title, none longer than ``letters``."""
    return textwrap.wrap(text, letters) or [""]


def format_tick(value: float, digits: int = 3) -> str:
    """A number as an axis shows it: ``2048``, ``0.25``, ``10⁷``, ``5×10⁵``; ``digits``: before a power."""
    if value == 0 or 1e-4 <= abs(value) < 1e5:
        return f"{value:.6g}"
    power = math.floor(math.log10(abs(value)))
    factor = f"{value / 10.0**power:.{digits}g}"
    tens = f"10{str(power).translate(_SUPERSCRIPT)}"
    return tens if factor == "1" else f"{factor}×{tens}"


def _mark_decades(extent: Extent) -> tuple[list[float], list[str]] | None:
    first, last = math.floor(math.log10(extent.low)), math.ceil(math.log10(extent.high))
    step = max(1, -(-(last - first) // 9))
    for factors in ((1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)) if last - first <= 3 else ((1,),):
        marks = [factor * 10.0**power for power in range(first, last + 1, step) for factor in factors]
        inside = [mark for mark in marks if extent.low <= mark <= extent.high]
        if len(inside) > 1:
            return inside, [format_tick(mark) for mark in inside]
    return None


def _drop_crowded(pairs: list[tuple[float, str]], scale: Scale, extent: Extent) -> list[str]:
    log = (lambda v: v) if scale is Scale.LINEAR else math.log
    span = log(extent.high) - log(extent.low)
    labels: list[str] = []
    free_from = -math.inf
    for tick, label in pairs:
        if scale is not Scale.LINEAR and tick <= 0:
            labels.append("")
            continue
        at = log(tick) / span
        room = LABELS_APART_RATIO * max(1.0, count_letters([label]) / 3)
        fits = at - room / 2 >= free_from
        labels.append(label if fits else "")
        if fits:
            free_from = at + room / 2
    return labels


def _write_labels(axis: Axis) -> tuple[str, ...]:
    """The labels of the ticks that the axis names, long ones in several lines."""
    if axis.ticks is None:
        return ()
    if axis.tick_labels is None:
        return tuple(format_tick(tick) for tick in axis.ticks)
    letters = ROW_LETTERS if axis.rows else LABEL_LETTERS
    return tuple("\n".join(break_title(label, letters)) for label in axis.tick_labels)


def count_letters(labels: Iterable[str]) -> int:
    """The length of the longest line of the labels."""
    return max((len(line) for label in labels for line in label.split("\n")), default=0)


def _find_grid(panel: Panel) -> Grid | None:
    return next((layer for layer in panel.layers if isinstance(layer, Grid)), None)


def _values(panel: Panel, *, vertical: bool) -> Numbers:
    """Every finite value that an axis has to reach; ``vertical``: of x, else of y."""
    parts = [part for layer in panel.layers for part in _layer_values(layer, across=vertical)]
    values = np.concatenate([np.asarray(part, dtype=np.float64).ravel() for part in parts] or [np.zeros(0)])
    axis = panel.x if vertical else panel.y
    finite: Numbers = values[np.isfinite(values) & ((axis.scale is Scale.LINEAR) | (values > 0))]
    return finite


def _layer_values(layer: Layer, *, across: bool) -> Iterator[Numbers | list[float]]:
    match layer:
        case Curve():
            yield from (
                part
                for part in ((layer.x,) if across else (layer.y, layer.low, layer.high))
                if part is not None
            )
        case Points():
            if across or not layer.at_axis:
                yield layer.x if across else layer.y
        case Area():
            yield from (layer.x,) if across else (layer.low, layer.high)
        case Bars():
            bottom = np.zeros(len(layer.x)) if layer.bottom is None else layer.bottom
            half = layer.width / 2
            yield from (layer.x - half, layer.x + half) if across else (bottom, bottom + layer.height)
            if across and np.isfinite(layer.x).any():
                middle = float(np.nanmin(layer.x) + np.nanmax(layer.x)) / 2
                yield [middle - FEWEST_BARS * half, middle + FEWEST_BARS * half]
        case Rule():
            if across == layer.vertical:
                yield [layer.value]
        case Span():
            if across:
                yield [layer.start, layer.end]
        case Grid():
            yield [-0.5, len(layer.x if across else layer.y) - 0.5]


def _make_room(extent: Extent, panel: Panel) -> Extent:
    """The extent of a y axis with room for the text above its highest labelled line or point."""
    labelled = [layer.value for layer in panel.layers if isinstance(layer, Rule) and layer.labelled]
    for layer in panel.layers:
        if isinstance(layer, Curve) and layer.texts:
            labelled += [y for y, text in zip(layer.y.tolist(), layer.texts, strict=True) if text and y == y]
    logarithmic = panel.y.scale is not Scale.LINEAR
    labelled = [value for value in labelled if value > 0 or not logarithmic]
    if not labelled:
        return extent
    if logarithmic:
        needed = extent.low * (max(labelled) / extent.low) ** (1 / (1 - LABEL_ROOM_RATIO))
    else:
        needed = extent.low + (max(labelled) - extent.low) / (1 - LABEL_ROOM_RATIO)
    return Extent(low=extent.low, high=max(extent.high, needed))


def _reach(axis: Axis, values: Numbers, exact: bool, letters: int = 0) -> Extent:
    """The extent of an axis; ``letters``: of a text that is centred on an outermost point."""
    if not values.size:
        return Extent(low=1.0, high=10.0) if axis.scale is not Scale.LINEAR else Extent(low=0.0, high=1.0)
    low, high = float(values.min()), float(values.max())
    if axis.rows:
        return Extent(low=low - 0.5, high=high + 0.5)
    if exact:
        return Extent(low=low, high=high)
    if axis.scale is not Scale.LINEAR:
        stretch = max((high / low) ** MARGIN_RATIO, 1.15)
        return Extent(low=low / stretch, high=high * stretch)
    if axis.from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high == 0:
        return Extent(low=0.0 if axis.from_zero else -1.0, high=1.0)
    span = high - low or abs(high) * 0.2
    # the outermost labels need half of their width
    letters = max(letters, count_letters(_write_labels(axis)) if axis.tick_labels else 0)
    margin = max(MARGIN_RATIO, letters * LETTER_RATIO) * span
    at_zero = axis.from_zero and low == 0
    wide = Extent(low=0.0 if at_zero else low - margin, high=high + margin)
    return wide if wide.low < wide.high else Extent(low=low - 1.0, high=high + 1.0)
