"""The layers of a plot as traces and shapes of plotly.js."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pathlab.report.plots.extents import Extent
from pathlab.report.plots.layers import FEW, MARKED_MAX, format_fields, stands_alone
from pathlab.report.plots.model import (
    Area,
    Bars,
    Curve,
    Grid,
    Layer,
    Numbers,
    Panel,
    Points,
    Rule,
    Scale,
    Span,
)
from pathlab.report.plots.style import GRID, INK, choose_slot

FLOORS_FROM = 100  # numbers of the axes on which marks without a height stand
RULE_DASHES = ("dot", "dashdot", "2px,2px", "longdash")
PALETTE = "Cividis"

Trace = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A panel's place in the figure; ``named`` (names in the legend so far) and ``shapes`` are added to."""

    panel: Panel
    number: int
    across: Extent
    upwards: Extent
    named: dict[str, None]
    shapes: list[dict[str, Any]]

    @property
    def suffix(self) -> str:
        """What the names of the panel's axes end with."""
        return str(self.number + 1) if self.number else ""

    @property
    def floor_suffix(self) -> str:
        """The same for the axis over y on which marks without a height stand."""
        return str(FLOORS_FROM + self.number)

    @property
    def x(self) -> str:
        """How traces name the x axis."""
        return f"x{self.suffix}"

    @property
    def y(self) -> str:
        """How traces name the y axis."""
        return f"y{self.suffix}"

    @property
    def floor_used(self) -> bool:
        """True if the panel has marks without a height."""
        return any(isinstance(layer, Points) and layer.at_axis for layer in self.panel.layers)

    def round_x(self, values: Any) -> list[float | None]:
        """Values along x as JSON holds them."""
        return round_numbers(values, logarithmic=self.panel.x.scale is not Scale.LINEAR)

    def round_y(self, values: Any) -> list[float | None]:
        """Values along y as JSON holds them."""
        return round_numbers(values, logarithmic=self.panel.y.scale is not Scale.LINEAR)

    def name_layer(self, name: str, shown: bool = True) -> Trace:
        """The layer's name, and whether it is the first of that name, which the legend shows."""
        first = shown and name not in self.named
        if shown:
            self.named[name] = None
        return {"name": escape(name, quote=False), "legendgroup": name, "showlegend": first}


def build_layer(layer: Layer, frame: Frame) -> list[Trace]:
    """The traces of a layer; its shapes are added to the frame."""
    match layer:
        case Curve():
            return [_build_curve(layer, frame)]
        case Points():
            return _build_points(layer, frame)
        case Area():
            return [_build_band(layer, frame)]
        case Bars():
            return [_build_bars(layer, frame)]
        case Rule():
            frame.shapes.extend(_shape_rule(layer, frame))
        case Span():
            frame.shapes.append(_shape_span(layer, frame))
        case Grid():
            return [_build_grid(layer, frame)]
    return []


def round_numbers(values: Any, *, logarithmic: bool = False) -> list[float | None]:
    """Numbers as a screen can show them: a ten-thousandth of their span, or six digits; None for a gap."""
    array = np.asarray(values, dtype=np.float64)
    finite = array[np.isfinite(array)]
    span = float(np.ptp(finite)) if finite.size else 0.0
    if logarithmic or not span:
        return [_shorten(float(f"{value:.6g}")) if math.isfinite(value) else None for value in array.tolist()]
    places = 4 - math.floor(math.log10(span))
    return [_shorten(round(value, places)) if math.isfinite(value) else None for value in array.tolist()]


def fade_colour(colour: str, share: float) -> str:
    """The colour ``#rrggbb``, so much of it covering what lies below."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{share:g})"


def _shorten(value: float) -> float:
    return int(value) if abs(value) < 1e15 and value == int(value) else value


def _place(frame: Frame) -> Trace:
    return {"xaxis": frame.x, "yaxis": frame.y}


def _build_curve(curve: Curve, frame: Frame) -> Trace:
    slot = choose_slot(curve.slot)
    marked = (curve.markers and len(curve.x) <= MARKED_MAX) or not curve.line or stands_alone(curve.y)
    trace: Trace = {
        "type": "scatter",
        "mode": "+".join([*(["lines"] if curve.line else []), *(["markers"] if marked else [])]),
        "x": frame.round_x(curve.x),
        "y": frame.round_y(curve.y),
        "line": {"color": slot.colour, "width": 2, "dash": slot.live_dash},
        "connectgaps": False,
        "meta": {"layer": "curve"},
        **_place(frame),
        **frame.name_layer(curve.name, curve.legend),
    }
    if curve.step:
        trace["line"] |= {"shape": "hv"}
    if marked:
        trace["marker"] = {"symbol": f"{slot.live_marker}-open", "size": 8, "color": slot.colour}
        trace["cliponaxis"] = False
    if curve.low is not None and curve.high is not None:
        raised = _raise_low(curve.low, frame)
        if np.any(raised != curve.low, where=np.isfinite(curve.low)):
            trace["meta"] |= {"low": round_numbers(curve.low)}  # the true ends, for the table
        trace["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": frame.round_y(np.maximum(curve.high - curve.y, 0)),
            "arrayminus": frame.round_y(np.maximum(curve.y - raised, 0)),
            "color": slot.colour,
            "thickness": 1,
            "width": 3,
        }
    return trace


def _raise_low(low: Numbers, frame: Frame) -> Numbers:
    """On a logarithmic axis an interval that reaches 0 begins where the axis does."""
    if frame.panel.y.scale is Scale.LINEAR:
        return low
    return np.where(np.isfinite(low), np.maximum(low, frame.upwards.low), low)


def _build_points(points: Points, frame: Frame) -> list[Trace]:
    slot = choose_slot(points.slot)
    common = {"type": "scatter", "mode": "markers", "meta": {"layer": "points"}, "cliponaxis": False}
    common |= _place(frame)
    named = frame.name_layer(points.name, points.legend)
    if points.at_axis:
        marks = {
            "x": frame.round_x(points.x),
            "y": [0.025] * len(points.x),
            "yaxis": f"y{frame.floor_suffix}",
            "marker": {"symbol": "x-thin", "size": 8, "line": {"width": 2, "color": slot.colour}},
            "hovertemplate": "%{x}<extra></extra>",
            "meta": {"layer": "marks"},
        }
        return [common | named | marks]
    apart = np.zeros(len(points.x), dtype=bool) if points.outlier is None else points.outlier
    usual = common | named | _pick_points(points, ~apart, frame)
    usual["marker"] = {
        "symbol": f"{slot.live_marker}-open" if points.hollow else slot.live_marker,
        "size": 8 if len(points.x) <= FEW else 6 if len(points.x) <= 300 else 4,
        "color": slot.colour,
        "opacity": 0.9 if points.hollow else 0.6,
    }
    if not apart.any():
        return [usual]
    outliers = common | named | _pick_points(points, apart, frame) | {"showlegend": False}
    outliers["marker"] = {
        "symbol": "circle-x-open",
        "size": 10,
        "color": slot.colour,
        "line": {"width": 1.5, "color": slot.colour},
    }
    outliers["meta"] = {"layer": "points", "outliers": True}
    return [usual, outliers]


def _pick_points(points: Points, chosen: NDArray[np.bool_], frame: Frame) -> Trace:
    found: Trace = {"x": frame.round_x(points.x[chosen]), "y": frame.round_y(points.y[chosen])}
    if points.hover is not None:
        found["text"] = [
            escape(points.hover[place], quote=False) for place in np.flatnonzero(chosen).tolist()
        ]
        found["hovertemplate"] = "%{text}<br>%{x}, %{y}<extra></extra>"
    return found


def _build_band(band: Area, frame: Frame) -> Trace:
    """One polygon for each stretch without a gap: there along the upper edge, back along the lower."""
    slot = choose_slot(band.slot)
    good = np.isfinite(band.x) & np.isfinite(band.low) & np.isfinite(band.high)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], good, [False])).astype(np.int8)))
    raised = _raise_low(band.low, frame)
    meta: Trace = {"layer": "band"}
    if np.any(raised[good] != band.low[good]):
        meta["low"] = round_numbers(band.low[good])
    x, low, high = frame.round_x(band.x), frame.round_y(raised), frame.round_y(band.high)
    along: list[float | None] = []
    height: list[float | None] = []
    for start, end in edges.reshape(-1, 2).tolist():
        gap: list[float | None] = [None] if along else []
        along += [*gap, *x[start:end], *x[start:end][::-1]]
        height += [*gap, *high[start:end], *low[start:end][::-1]]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": along,
        "y": height,
        "fill": "toself",
        "fillcolor": fade_colour(slot.colour, 0.75 if band.solid else 0.18),
        "line": {"width": 0.5 if band.solid else 0, "color": slot.colour},
        "hoveron": "fills",
        "hoverinfo": "name",
        "meta": meta,
        **_place(frame),
        **frame.name_layer(band.name, band.legend),
    }


def _build_bars(bars: Bars, frame: Frame) -> Trace:
    slot = choose_slot(bars.slot)
    trace = {
        "type": "bar",
        "x": frame.round_x(bars.x),
        "y": frame.round_y(bars.height),
        "width": bars.width,
        "marker": {
            "color": slot.colour,
            "opacity": 0.85,
            "pattern": {
                "shape": slot.live_hatch,
                "fgcolor": "rgba(255,255,255,0.6)",
                "bgcolor": slot.colour,
                "size": 9,
                "solidity": 0.2,
            },
        },
        "meta": {"layer": "bars"},
        **_place(frame),
        **frame.name_layer(bars.name, bars.legend),
    }
    if bars.bottom is not None:
        trace["base"] = frame.round_y(bars.bottom)
        trace["customdata"] = trace["y"]
        trace["hovertemplate"] = "%{x}: %{customdata}"
    return trace


def _build_grid(grid: Grid, frame: Frame) -> Trace:
    return {
        "type": "heatmap",
        "x": list(range(len(grid.x))),
        "y": list(range(len(grid.y))),
        "z": [round_numbers(row, logarithmic=True) for row in grid.values],
        "text": format_fields(grid),
        "texttemplate": "%{text}",
        "colorscale": PALETTE,
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        "hovertemplate": "%{text} " + escape(grid.unit, quote=False) + "<extra></extra>",
        "meta": {"layer": "grid", "x": list(grid.x), "y": list(grid.y)},
        **_place(frame),
        **frame.name_layer(grid.name, False),
    }


def _shape_rule(rule: Rule, frame: Frame) -> list[dict[str, Any]]:
    dashes = [layer for layer in frame.panel.layers if isinstance(layer, Rule)]
    dash = RULE_DASHES[next(at for at, one in enumerate(dashes) if one is rule) % len(RULE_DASHES)]
    value = float(f"{rule.value:.6g}")
    line = _stretch(frame, rule.vertical, value, value) | {
        "type": "line",
        "line": {"color": INK, "width": 1.3, "dash": dash},
        **frame.name_layer(rule.name),
    }
    if rule.low is None or rule.high is None:
        return [line]
    low = rule.low
    across = frame.panel.x if rule.vertical else frame.panel.y
    if across.scale is not Scale.LINEAR:
        low = max(low, (frame.across if rule.vertical else frame.upwards).low)
    area = _stretch(frame, rule.vertical, float(f"{low:.6g}"), float(f"{rule.high:.6g}"))
    return [area | _area() | {"legendgroup": rule.name}, line]


def _shape_span(span: Span, frame: Frame) -> dict[str, Any]:
    return _stretch(frame, True, span.start, span.end) | _area() | frame.name_layer(span.name)


def _area() -> dict[str, Any]:
    return {
        "type": "rect",
        "fillcolor": fade_colour(GRID, 0.2),
        "line": {"width": 0, "color": GRID},
        "layer": "below",
    }


def _stretch(frame: Frame, vertical: bool, start: float, end: float) -> dict[str, Any]:
    """From one value to another, over the whole panel in the other direction."""
    if vertical:
        return {"xref": frame.x, "yref": f"{frame.y} domain", "x0": start, "x1": end, "y0": 0, "y1": 1}
    return {"xref": f"{frame.x} domain", "yref": frame.y, "x0": 0, "x1": 1, "y0": start, "y1": end}
