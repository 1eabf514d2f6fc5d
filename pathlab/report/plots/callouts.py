"""Places of the texts inside a panel: beside a ringed point, above a line."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from pathlab.report.plots.extents import Extent
from pathlab.report.plots.model import CALLOUT_SIDES, Axis, Curve, Numbers, Panel, Points, Rule, Scale

# Of a stacked panel on a phone, about 300 x 150 pixels: where a text fits there, it fits everywhere.
LETTER_RATIO, LINE_RATIO = 0.023, 0.12
APART_RATIO = (0.04, 0.08)  # of the text from its point: ring and gap
SAMPLES = 12  # of a line between two of its points


def place_texts(panel: Panel, extents: tuple[Extent, Extent]) -> Panel:
    """The panel with a side for each callout; the names above lines at the end away from the rings."""
    rings = [layer for layer in panel.layers if isinstance(layer, Points) and layer.callout]
    if not rings:
        return panel
    across = np.concatenate([_share(panel.x, extents[0], ring.x) for ring in rings])
    at_right = bool((across < 0.5).any() and not (across >= 0.5).any())
    layers = [
        replace(layer, at_right=at_right) if isinstance(layer, Rule) and layer.labelled else layer
        for layer in panel.layers
    ]
    named = replace(panel, layers=tuple(layers))
    layers = [
        replace(layer, side=_choose_side(named, extents, layer))
        if isinstance(layer, Points) and layer.callout
        else layer
        for layer in layers
    ]
    return replace(panel, layers=tuple(layers))


def _choose_side(panel: Panel, extents: tuple[Extent, Extent], ringed: Points) -> str:
    """The first of ``CALLOUT_SIDES`` whose text is inside the panel and covers the least that is drawn."""
    drawn = np.concatenate(list(_trace_layers(panel, extents)) or [np.zeros((0, 2))])
    text = ringed.callout or ""
    points = _place(panel, extents, ringed.x, ringed.y)

    def count_covered(side: str) -> float:
        covered = 0.0
        for x, y in points[np.isfinite(points).all(axis=1)].tolist():
            left, right, bottom, top = _frame_text(text, x, y, side)
            inside = (drawn[:, 0] > left) & (drawn[:, 0] < right)
            inside &= (drawn[:, 1] > bottom) & (drawn[:, 1] < top)
            covered += int(inside.sum())
            covered += 1000.0 * (left < 0 or right > 1 or bottom < 0 or top > 1)
        return covered

    return min(CALLOUT_SIDES, key=count_covered)


def _frame_text(text: str, x: float, y: float, side: str) -> tuple[float, float, float, float]:
    """Left, right, bottom and top of the text, in shares of the panel."""
    vertical, horizontal = side.split()
    wide, apart = len(text) * LETTER_RATIO, APART_RATIO
    middle = {"left": x - apart[0] - wide / 2, "center": x, "right": x + apart[0] + wide / 2}[horizontal]
    height = {"top": y + apart[1], "middle": y - LINE_RATIO / 2, "bottom": y - apart[1] - LINE_RATIO}[
        vertical
    ]
    return middle - wide / 2, middle + wide / 2, height, height + LINE_RATIO


def _trace_layers(panel: Panel, extents: tuple[Extent, Extent]) -> Iterator[Numbers]:
    """Points along everything drawn in a panel, in shares of it: one row each, x and y."""
    along = np.linspace(0, 1, 4 * SAMPLES)
    for layer in panel.layers:
        if isinstance(layer, Points) and layer.callout is None and not layer.at_axis:
            yield _place(panel, extents, layer.x, layer.y)
        elif isinstance(layer, Curve):
            line = _place(panel, extents, layer.x, layer.y)
            yield line
            if layer.line:
                yield from (np.linspace(first, last, SAMPLES) for first, last in pairwise(line))
            if layer.low is not None and layer.high is not None:
                ends = [_place(panel, extents, layer.x, end) for end in (layer.low, layer.high)]
                yield np.linspace(ends[0], ends[1], SAMPLES).reshape(-1, 2)
        elif isinstance(layer, Rule) and not layer.vertical:
            ((_, height),) = _place(panel, extents, np.ones(1), np.array([layer.value]))
            yield np.column_stack((along, np.full(along.size, height)))
            if layer.labelled:
                written = along[along < len(layer.name) * LETTER_RATIO]
                written = 1 - written if layer.at_right else written
                yield np.column_stack((written, np.full(written.size, height + LINE_RATIO / 2)))


def _place(panel: Panel, extents: tuple[Extent, Extent], x: Numbers, y: Numbers) -> Numbers:
    shares = (
        _share(axis, extent, values)
        for axis, extent, values in zip((panel.x, panel.y), extents, (x, y), strict=True)
    )
    return np.column_stack(tuple(shares))


def _share(axis: Axis, extent: Extent, values: Numbers) -> Numbers:
    if axis.scale is Scale.LINEAR:
        return np.asarray((values - extent.low) / (extent.high - extent.low), dtype=np.float64)
    known = np.where(values > 0, values, np.nan)
    low, high = math.log(extent.low), math.log(extent.high)
    return np.asarray((np.log(known) - low) / (high - low), dtype=np.float64)
