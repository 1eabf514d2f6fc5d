"""The layers of a plot on matplotlib's axes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from pathlab.report.plots.extents import format_tick
from pathlab.report.plots.model import (
    CALLOUT_SIDES,
    LEGEND,
    Area,
    Bars,
    Curve,
    Grid,
    KeyKind,
    Layer,
    Numbers,
    Panel,
    Points,
    Rule,
    Scale,
    Span,
)
from pathlab.report.plots.style import DIVERGING, GRID, INK_SLOT, PALETTE, Slot, choose_slot

FEW = 40  # points of a layer that are drawn large
WHITE_ON_LUMINANCE = 0.179  # of a shade: below it white contrasts more than black
SMALL_POINTS = 3.2  # across, of a small point
MARK_POINTS = 6  # across, of the marker of an estimate
RING_POINTS = 14  # across, of a ring around a point
CALLOUT_OFF_POINTS, NAME_OFF_POINTS, TEXT_OFF_POINTS = 8.4, 4.0, 6.0  # of texts: from a ring, a line, a point
FAINT_RATIO = 0.45  # opacity of a faint line; ``templates/report.js`` has the same
MARKED_MAX = 60  # points of a line that still carry a marker each
RULE_DASHES: tuple[Any, ...] = ((0, (2, 3)), (0, (6, 2, 1, 2)), (0, (1, 1)), (0, (9, 3)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pen:
    """What layers are drawn with: ``field_points`` is the size of the numbers of a grid.

    ``paper``: the colour that fills open markers, so that nothing is seen through them; "none": nothing.
    """

    field_points: float
    paper: str = "none"


def draw_layer(axes: Axes, layer: Layer, panel: Panel, number: int, pen: Pen) -> None:
    """Draw one layer of a prepared panel; ``number``: its position, which gives a rule its dashes."""
    match layer:
        case Curve():
            _draw_curve(axes, layer, pen)
        case Points():
            _draw_points(axes, layer, pen)
        case Area():
            _draw_band(axes, layer)
        case Bars():
            _draw_bars(axes, layer, logarithmic=panel.y.scale is not Scale.LINEAR)
        case Rule():
            rules = [index for index, other in enumerate(panel.layers) if isinstance(other, Rule)]
            _draw_rule(axes, layer, RULE_DASHES[rules.index(number) % len(RULE_DASHES)], pen)
        case Span():
            _draw_span(axes, layer)
        case Grid():
            _draw_grid(axes, layer, pen)


def draw_key(kind: KeyKind, paper: str) -> Artist | tuple[Artist, ...]:
    """The sample of a legend's entry that explains a mark, or its parts one over the other."""
    looks: dict[KeyKind, dict[str, Any]] = {
        "interval": {"marker": "o"},
        "point": {"marker": "o"},
        "undecided": {"marker": "o", "markerfacecolor": paper},
        "provisional": {"marker": "o", "markerfacecolor": paper},
        "dot": {"marker": "o", "markersize": SMALL_POINTS, "alpha": 0.6, "markeredgewidth": 0},
        "flagged": {"marker": "o", "markerfacecolor": "none", "markeredgewidth": 1.1},
        "excluded": {
            "marker": "o",
            "markersize": SMALL_POINTS,
            "markerfacecolor": "none",
            "markeredgewidth": 0.8,
        },
    }
    inner: dict[KeyKind, dict[str, Any]] = {
        "interval": {"marker": "|", "markersize": 11},
        "provisional": {"marker": ".", "markersize": 3},
        "flagged": {"marker": "x", "markersize": SMALL_POINTS},
    }
    if kind == "band":
        return Patch(color=read_ink(), alpha=0.18, linewidth=0)
    common: dict[str, Any] = {"color": read_ink(), "linestyle": "none", "markersize": MARK_POINTS}
    parts = [common | look for look in (looks[kind], inner.get(kind)) if look]
    return tuple(Line2D([], [], **part) for part in parts)


def format_fields(grid: Grid) -> list[list[str]]:
    """The number of each field as it is shown; "" where nothing was measured."""
    return [
        ["" if not np.isfinite(value) else _format_field(value, signed=grid.diverging) for value in row]
        for row in grid.values.tolist()
    ]


def _format_field(value: float, *, signed: bool) -> str:
    text = format_tick(float(f"{value:.3g}"))
    return f"+{text}" if signed and value > 0 else text


def colour_fields(grid: Grid, shades: str = PALETTE) -> list[list[tuple[str, str]]]:
    """The shade of each field and the ink that reads best on it, both as hex; where nothing is, "" twice.

    ``shades`` names a palette of matplotlib, for a grid that is not diverging.
    """
    known = grid.values[np.isfinite(grid.values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    palette = mpl.colormaps[shades]
    if grid.diverging:
        high = max(abs(low), abs(high))
        low = -high
        palette = LinearSegmentedColormap.from_list("diverging", DIVERGING, N=257)
    span = (high - low) or 1.0
    shares = np.where(np.isfinite(grid.values), (grid.values - low) / span, np.nan)
    return [
        [_colour_field(palette(share)) if np.isfinite(share) else ("", "") for share in row]
        for row in shares.tolist()
    ]


def _colour_field(shade: tuple[float, float, float, float]) -> tuple[str, str]:
    luminance = float(np.dot((0.2126, 0.7152, 0.0722), [_linearise(part) for part in shade[:3]]))
    return to_hex(shade), "#ffffff" if luminance < WHITE_ON_LUMINANCE else "#000000"


def _linearise(part: float) -> float:
    """A part of an sRGB colour as light (WCAG 2.2, relative luminance)."""
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def read_ink() -> str:
    """The colour of texts that is set, as hex."""
    return to_hex(mpl.rcParams["text.color"])


def _slot(number: int) -> Slot:
    ink = read_ink()
    slot = choose_slot(number, tuple(mpl.rcParams["axes.prop_cycle"].by_key().get("color", (ink,))))
    return replace(slot, colour=ink) if number == INK_SLOT else slot


def _label(layer: Curve | Points | Area | Bars) -> str:
    """The name for matplotlib, whose legend omits names with a leading underscore."""
    return layer.name if layer.legend else f"_{layer.name}"


def _draw_curve(axes: Axes, curve: Curve, pen: Pen) -> None:
    slot = _slot(curve.slot)
    marked = curve.markers and len(curve.x) <= MARKED_MAX
    axes.plot(
        curve.x,
        curve.y,
        color=slot.colour,
        linestyle=("-" if curve.solid else slot.dash) if curve.line else "none",
        linewidth=1.6 if len(curve.x) <= 200 and not curve.faint else 1.1,
        alpha=FAINT_RATIO if curve.faint else 1.0,
        drawstyle="steps-post" if curve.step else "default",
        # a single value, or one between two gaps, has no line
        marker=slot.marker if marked or not curve.line else "." if stands_alone(curve.y) else "",
        markersize=MARK_POINTS if marked else 4,
        markerfacecolor=pen.paper if marked and not curve.filled else slot.colour,
        label=_label(curve),
        zorder=2.5,
    )
    if curve.dotted:
        axes.plot(curve.x, curve.y, ".", color=slot.colour, markersize=3, label="_dots", zorder=2.6)
    for x, y, text in zip(curve.x.tolist(), curve.y.tolist(), curve.texts or (), strict=False):
        if text and np.isfinite(y):
            axes.annotate(
                text,
                (x, y),
                xytext=(0, TEXT_OFF_POINTS),
                textcoords="offset points",
                ha="center",
                fontsize=mpl.rcParams["legend.fontsize"],
            )
    if curve.low is not None and curve.high is not None:
        along, ends = _join_intervals(curve.x, curve.low, curve.high)
        axes.plot(
            along, ends, "_-", color=slot.colour, linewidth=1, markersize=5, alpha=0.8, label="_intervals"
        )


def _join_intervals(x: Numbers, low: Numbers, high: Numbers) -> tuple[Numbers, Numbers]:
    """All intervals as one line with gaps, which is many times faster than a bar for each."""
    gap = np.full(len(x), np.nan)
    known = np.isfinite(low) & np.isfinite(high)
    ends = np.column_stack((np.where(known, low, np.nan), np.where(known, high, np.nan), gap))
    return np.repeat(x, 3), ends.ravel()


def stands_alone(values: Numbers) -> bool:
    """Whether a value is between gaps, so that no line goes through it."""
    good = np.concatenate(([False], np.isfinite(values), [False]))
    return bool((good[1:-1] & ~good[:-2] & ~good[2:]).any())


def _draw_points(axes: Axes, points: Points, pen: Pen) -> None:
    slot = _slot(points.slot)
    label = _label(points)
    if points.callout:
        _draw_callout(axes, points, slot, pen)
        return
    if points.at_axis:
        axes.plot(
            points.x,
            np.full(len(points.x), 0.025),
            "x",
            color=slot.colour,
            markersize=6.5,
            markeredgewidth=1.5,
            transform=axes.get_xaxis_transform(),
            clip_on=False,
            label=label,
        )
        return
    apart = np.zeros(len(points.x), dtype=bool) if points.outlier is None else points.outlier
    usual = 6 if len(points.x) <= FEW else 4.5 if len(points.x) <= 300 else 3.2
    axes.plot(
        points.x[~apart],
        points.y[~apart],
        "o" if points.small else slot.marker,
        color=slot.colour,
        markersize=SMALL_POINTS if points.small else usual,
        alpha=1.0 if points.hollow else 0.6,
        markerfacecolor="none" if points.hollow else slot.colour,
        markeredgewidth=(0.8 if points.small else 1.3) if points.hollow else 0,
        clip_on=False,  # else the axis would cut the marker of a 0 in half
        label=label,
    )
    if apart.any():
        axes.plot(
            points.x[apart],
            points.y[apart],
            "o",
            markerfacecolor="none",
            markeredgecolor=slot.colour,
            markersize=6 if points.small else 8,
            markeredgewidth=1.1,
            label=f"_{points.name}, outliers",
        )
        axes.plot(
            points.x[apart],
            points.y[apart],
            "x",
            color=slot.colour,
            markersize=3.2 if points.small else 4.5,
            label="_outliers",
        )


def _draw_callout(axes: Axes, points: Points, slot: Slot, pen: Pen) -> None:
    axes.plot(
        points.x,
        points.y,
        "o",
        markerfacecolor="none",
        markeredgecolor=slot.colour,
        markersize=RING_POINTS,
        markeredgewidth=1.8,
        clip_on=False,
        zorder=4,
        label=_label(points),
    )
    if points.side == LEGEND:
        return
    vertical, horizontal = (points.side or CALLOUT_SIDES[0]).split()
    apart = {"left": -1, "right": 1, "top": 1, "bottom": -1}
    for x, y in zip(points.x.tolist(), points.y.tolist(), strict=True):
        axes.annotate(
            points.callout or "",
            (x, y),
            xytext=(
                CALLOUT_OFF_POINTS * apart.get(horizontal, 0),
                CALLOUT_OFF_POINTS * apart.get(vertical, 0),
            ),
            textcoords="offset points",
            ha={"left": "right", "right": "left"}.get(horizontal, "center"),
            va={"top": "bottom", "bottom": "top"}.get(vertical, "center"),
            fontsize=mpl.rcParams["legend.fontsize"],
            fontweight="bold",
            bbox=_back(pen),
        )


def _draw_band(axes: Axes, band: Area) -> None:
    slot = _slot(band.slot)
    looks: dict[str, Any] = {"alpha": 0.18, "linewidth": 0}
    if band.solid:
        looks = {"alpha": 0.8, "linewidth": 0.25, "edgecolor": "white"}
        if band.slot % 2:
            looks["hatch"] = slot.hatch
    axes.fill_between(band.x, band.low, band.high, facecolor=slot.colour, label=_label(band), **looks)


def _draw_bars(axes: Axes, bars: Bars, *, logarithmic: bool) -> None:
    slot = _slot(bars.slot)
    known = np.isfinite(bars.x) & np.isfinite(bars.height)
    bottom = np.zeros(len(bars.x)) if bars.bottom is None else bars.bottom
    if not known.any():
        return
    axes.bar(
        bars.x[known],
        bars.height[known],
        bottom=bottom[known],
        width=bars.width,
        color=slot.colour,
        alpha=0.8,
        hatch=slot.hatch or None,
        edgecolor="white",
        linewidth=0.5,
        log=logarithmic,
        label=_label(bars),
    )


def _draw_rule(axes: Axes, rule: Rule, dash: Any, pen: Pen) -> None:
    line, area = (axes.axvline, axes.axvspan) if rule.vertical else (axes.axhline, axes.axhspan)
    if rule.low is not None and rule.high is not None:
        area(rule.low, rule.high, color=GRID, alpha=0.2, linewidth=0)
    label = f"_{rule.name}" if rule.labelled else rule.name
    line(rule.value, color=read_ink(), linewidth=1.1, linestyle=dash, label=label)
    if rule.labelled:
        transform = axes.get_yaxis_transform()
        axes.annotate(
            rule.name,
            (1 if rule.at_right else 0, rule.value),
            xycoords=transform,
            xytext=(-3 if rule.at_right else 3, -NAME_OFF_POINTS if rule.below else NAME_OFF_POINTS),
            textcoords="offset points",
            ha="right" if rule.at_right else "left",
            va="top" if rule.below else "bottom",
            fontsize=mpl.rcParams["legend.fontsize"],
            bbox=_back(pen),
        )


def _back(pen: Pen) -> dict[str, Any] | None:
    """Paper behind a text, so that lines do not cross its letters; None where the paper is the page's."""
    if pen.paper == "none":
        return None
    return {"facecolor": pen.paper, "alpha": 0.85, "edgecolor": "none", "pad": 0.5}


def _draw_span(axes: Axes, span: Span) -> None:
    axes.axvspan(span.start, span.end, color=GRID, alpha=0.16, linewidth=0, label=span.name)


def _draw_grid(axes: Axes, grid: Grid, pen: Pen) -> None:
    axes.grid(visible=False)
    fields = zip(format_fields(grid), colour_fields(grid, mpl.rcParams["image.cmap"]), strict=True)
    for row, (texts, colours) in enumerate(fields):
        for column, (text, (shade, ink)) in enumerate(zip(texts, colours, strict=True)):
            if text:
                place = (column - 0.5, row - 0.5)
                axes.add_patch(Rectangle(place, 1, 1, facecolor=shade, edgecolor="white", linewidth=0.8))
            looks: dict[str, Any] = {"color": ink or read_ink(), "fontsize": pen.field_points}
            axes.text(column, row, text, ha="center", va="center", **looks)
