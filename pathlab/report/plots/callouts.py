"""Places of the texts inside a panel: next to a ringed point, at a line, above points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from pathlab.report.plots.extents import Extent, find_share
from pathlab.report.plots.model import CALLOUT_SIDES, LEGEND, Curve, Layer, Numbers, Panel, Points, Rule

SAMPLES = 12  # of a line between two of its points
MARK, LINE, OUTSIDE = (
    1.0,
    0.05,
    1000.0,
)  # how bad it is that a text covers a mark, a line, or leaves the panel

#: Left, right, bottom and top of a text, in shares of the panel.
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Sizes of texts in shares of a panel: the width of a text, the height of a line, and gaps.

    ``apart``: of a callout from its point, across and upwards; ``off_line``: of a name from its line.
    ``ring`` and ``mark``: radius across and upwards of a ring around a point, and of a marker.
    ``exact``: sizes are those of the picture, so that a text above a point without room is left out.
    """

    measure: Callable[[str], float]
    line: float
    apart: tuple[float, float]
    off_line: float
    ring: tuple[float, float]
    mark: tuple[float, float]
    exact: bool = True


#: Of a stacked panel on a phone, about 300 x 150 pixels: where a text fits there, it fits everywhere.
PHONE = Room(
    measure=lambda text: 0.023 * len(text),
    line=0.12,
    apart=(0.04, 0.08),
    off_line=0.05,
    ring=(0.03, 0.06),
    mark=(0.01, 0.02),
    exact=False,
)


def place_texts(panel: Panel, extents: tuple[Extent, Extent], room: Room = PHONE) -> Panel:
    """The panel with a place for each of its texts, where it is inside and covers no mark and no other text.

    A name of a line, or a callout, without such a place is in the legend instead; a text above a point
    without one is left out.
    """
    if not any(map(_has_text, panel.layers)):
        return panel
    drawing = _Drawing(panel, extents, room)
    layers = list(panel.layers)
    for kind in (Curve, Rule, Points):
        for at, layer in enumerate(layers):
            if isinstance(layer, kind) and _has_text(layer):
                layers[at] = drawing.place(layer)
    return replace(panel, layers=tuple(layers))


def _has_text(layer: Layer) -> bool:
    match layer:
        case Curve():
            return any(layer.texts or ())
        case Rule():
            return layer.labelled and not layer.vertical
        case Points():
            return bool(layer.callout)
    return False


@dataclass(slots=True)
class _Drawing:
    """What is drawn in a panel, in shares of it: marks and points along lines, one row each, x and y."""

    panel: Panel
    extents: tuple[Extent, Extent]
    room: Room
    marks: Numbers = field(init=False)
    lines: Numbers = field(init=False)
    texts: list[Box] = field(default_factory=list)

    def __post_init__(self) -> None:
        nothing = np.zeros((0, 2))
        self.marks = np.concatenate([nothing, *self._list_marks()])
        self.lines = np.concatenate([nothing, *self._list_lines()])

    def place(self, layer: Curve | Rule | Points) -> Layer:
        """The layer with a place for its texts, which later ones keep clear of."""
        match layer:
            case Curve():
                return self._place_above(layer)
            case Rule():
                return self._place_name(layer)
            case Points():
                return self._place_callout(layer)

    def _place_name(self, rule: Rule) -> Rule:
        ((_, height),) = self._locate(np.ones(1), np.array([rule.value]))
        wide, off, line = self.room.measure(rule.name), self.room.off_line, self.room.line
        result: list[tuple[float, Rule, Box]] = []
        for below in (False, True):
            bottom = height - off - line if below else height + off
            for at_right in (False, True):
                left = 1 - wide - 0.01 if at_right else 0.01
                box = (left, left + wide, bottom, bottom + line)
                named = replace(rule, at_right=at_right, below=below)
                result.append((self._count(box, own=height), named, box))
        covered, named, box = min(result, key=lambda item: item[0])
        if covered >= MARK:
            return replace(rule, labelled=False)
        self.texts.append(box)
        return named

    def _place_callout(self, ringed: Points) -> Points:
        if ringed.side == LEGEND:
            return ringed
        points = self._locate(ringed.x, ringed.y)
        points = points[np.isfinite(points).all(axis=1)]

        def frame(side: str) -> list[Box]:
            return [self._frame_callout(ringed.callout or "", x, y, side) for x, y in points.tolist()]

        # a line through the point, or a mark near it, is no reason to do without the text
        costs = {side: sum(map(self._count, frame(side))) for side in CALLOUT_SIDES}
        side = min(CALLOUT_SIDES, key=lambda item: costs[item])
        if costs[side] >= OUTSIDE:
            return replace(ringed, side=LEGEND, legend=True)
        self.texts += frame(side)
        return replace(ringed, side=side)

    def _place_above(self, curve: Curve) -> Curve:
        texts = []
        for (x, y), text in zip(self._locate(curve.x, curve.y).tolist(), curve.texts or (), strict=True):
            half = self.room.measure(text) / 2
            box = (x - half, x + half, y + self.room.off_line, y + self.room.off_line + self.room.line)
            shown = text != "" and bool(np.isfinite(box).all())
            free = shown and not (self.room.exact and self._touches(box))
            texts.append(text if free else "")
            if free:
                self.texts.append(box)
        return replace(curve, texts=tuple(texts))

    def _frame_callout(self, text: str, x: float, y: float, side: str) -> Box:
        vertical, horizontal = side.split()
        wide, line, (aside, off) = self.room.measure(text), self.room.line, self.room.apart
        left = {"left": x - aside - wide, "center": x - wide / 2, "right": x + aside}[horizontal]
        bottom = {"top": y + off, "middle": y - line / 2, "bottom": y - off - line}[vertical]
        return left, left + wide, bottom, bottom + line

    def _count(self, box: Box, own: float | None = None) -> float:
        """How bad a place is; ``own``: the height of the line that the text is of."""
        left, right, bottom, top = box
        wide, high = self.room.mark
        around = (left - wide, right + wide, bottom - high, top + high)
        lines = self.lines if own is None else self.lines[self.lines[:, 1] != own]
        covered = MARK * _count_inside(self.marks, around) + LINE * _count_inside(lines, box)
        return covered + OUTSIDE * (left < 0 or right > 1 or bottom < 0 or top > 1 or self._touches(box))

    def _touches(self, box: Box) -> bool:
        return any(
            box[0] < other[1] and other[0] < box[1] and box[2] < other[3] and other[2] < box[3]
            for other in self.texts
        )

    def _list_marks(self) -> Iterator[Numbers]:
        turn = np.linspace(0, 2 * np.pi, 8, endpoint=False)
        ring = np.column_stack((np.cos(turn), np.sin(turn))) * self.room.ring
        for layer in self.panel.layers:
            if isinstance(layer, Points) and layer.callout:
                places = self._locate(layer.x, layer.y)
                yield (places[:, np.newaxis] + ring).reshape(-1, 2)
            elif (isinstance(layer, Points) and not layer.at_axis) or (
                isinstance(layer, Curve) and (layer.markers or not layer.line)
            ):
                yield self._locate(layer.x, layer.y)

    def _list_lines(self) -> Iterator[Numbers]:
        along = np.linspace(0, 1, 4 * SAMPLES)
        for layer in self.panel.layers:
            if isinstance(layer, Curve):
                line = self._locate(layer.x, layer.y)
                if layer.line:
                    yield line
                    yield from (np.linspace(first, last, SAMPLES) for first, last in pairwise(line))
                if layer.low is not None and layer.high is not None:
                    ends = [self._locate(layer.x, end) for end in (layer.low, layer.high)]
                    yield np.linspace(ends[0], ends[1], SAMPLES).reshape(-1, 2)
            elif isinstance(layer, Rule) and not layer.vertical:
                ((_, height),) = self._locate(np.ones(1), np.array([layer.value]))
                yield np.column_stack((along, np.full(along.size, height)))

    def _locate(self, x: Numbers, y: Numbers) -> Numbers:
        axes = (self.panel.x, self.panel.y)
        shares = (
            find_share(axis.scale, extent, values)
            for axis, extent, values in zip(axes, self.extents, (x, y), strict=True)
        )
        return np.column_stack(tuple(shares))


def _count_inside(points: Numbers, box: Box) -> int:
    left, right, bottom, top = box
    inside = (points[:, 0] > left) & (points[:, 0] < right) & (points[:, 1] > bottom) & (points[:, 1] < top)
    return int(inside.sum())
