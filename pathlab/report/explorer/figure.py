"""An exploration as a figure for print: axes, marks, key and notes are those of the page.

Each facet and y column is a panel, and the comparison with a baseline one more. A full marker is an estimate
with an interval, an open one is undecided, one with a dot in it provisional; small dots are trials.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pathlab.report.plots.extents import MARGIN_RATIO
from pathlab.report.plots.figure_look import FigureLook
from pathlab.report.plots.model import (
    Area,
    Axis,
    Bars,
    Curve,
    Key,
    Layer,
    Numbers,
    Panel,
    Plot,
    Points,
    Rule,
    Scale,
)
from pathlab.report.plots.printed import draw_plot_figure
from pathlab.study.exploration.exploration import (
    AgainstCurve,
    AgainstPoint,
    Exploration,
    ExploredAxis,
    ExploredCurve,
    ExploredPoint,
    Facet,
    PointState,
)
from pathlab.study.exploration.explored_results import RESULTS, ExploredResults
from pathlab.study.exploration.level_text import format_explored_level
from pathlab.study.exploration.view import View
from pathlab.study.exploration.view_text import show_level

NAME = "view"
#: Of the room of a level: what its curves, side by side, take.
LEVEL_SHARE = 0.7
#: From more points on ranges are a band and points have no markers.
BARS_MAX, MARKED_MAX = 40, 60
DAY_S = 86_400.0
#: From one mark of a time axis to the next.
STEPS_S = (
    *(1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 10_800, 21_600, 43_200),
    *(days * 86_400 for days in (1, 2, 7, 14, 30, 90, 365, 730, 3650)),
)
_TIME_TICKS = 7  # at most
#: An axis of y begins at 0 if its least value is at most this share of the largest.
FROM_ZERO_RATIO = 0.6
CUMULATIVE = ("cdf", "ccdf")
DISTRIBUTIONS = (*CUMULATIVE, "histogram")
#: Of a linear axis, or of the decades of a logarithmic one: how far curves stand apart at a marked value.
APART_RATIO = 0.012


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureTexts:
    """What a view shows besides its curves: statistic, name of the baseline, and the comparison with it.

    ``by_results``: each curve is one of the results. ``all_counted``: estimates take unusable trials too.
    """

    statistic: str
    baseline: str | None = None
    difference: bool = False
    by_results: bool = False
    all_counted: bool = False

    def name_change(self) -> str:
        """``Ratio to 64 KiB``."""
        return f"{'Difference' if self.difference else 'Ratio'} to {self.baseline or 'the baseline'}"


def describe_view(results: ExploredResults, view: View) -> FigureTexts:
    """The texts of a view."""
    baseline = view.baseline
    if view.colour is not None and baseline is not None:
        column = results.column(view.colour)
        named = (level for level in results.levels(view.colour) if show_level(level) == baseline)
        baseline = next((format_explored_level(column, level) for level in named), column.missing_label)
    return FigureTexts(
        statistic=view.statistic,
        baseline=baseline,
        difference=view.against == "difference",
        by_results=view.colour == RESULTS,
        all_counted=view.count == "all",
    )


def plot_exploration(exploration: Exploration, texts: FigureTexts) -> Plot:
    """The figure of an exploration; without a point it says why there is none."""
    title = write_subject(exploration, texts.statistic)
    condition, sentence = exploration.title, write_sentence(exploration)
    panels = tuple(_list_panels(exploration, texts))
    if not panels:
        return Plot(
            name=NAME, title=title, condition=condition, sentence="", empty=sentence or "no trial is selected"
        )
    return Plot(
        name=NAME,
        title=title,
        condition=condition,
        sentence=sentence,
        panels=panels,
        shared_x=True,
        keys=tuple(_list_keys(exploration, texts, panels)),
        names=tuple(_order_results(exploration)) if texts.by_results else (),
    )


def name_columns(labels: Mapping[str, str], exploration: Exploration) -> dict[str, str]:
    """Texts for labels, by label where a key is the name of a column on an axis."""
    names = {axis.column: axis.label for axis in (exploration.x, *exploration.ys)}
    return {names.get(key, key): text for key, text in labels.items()}


def draw_view(
    results: ExploredResults, view: View, exploration: Exploration, style: Path | str | None, look: FigureLook
) -> Figure:
    """The figure of a view, as ``pathlab view --output`` writes it. Raises UsageError."""
    plot = plot_exploration(exploration, describe_view(results, view))
    return draw_plot_figure(plot, style, replace(look, labels=name_columns(look.labels, exploration)))


def _order_results(exploration: Exploration) -> list[str]:
    """The names of curves of results in the order in which these were given."""
    curves = [curve for facet in exploration.facets for curve in facet.curves]
    ys = {y.column: y for y in exploration.ys}
    named = sorted(
        (curve.colour_level or 0, _shorten_name(curve, ys[curve.y_column]).name) for curve in curves
    )
    return list(dict.fromkeys(name for _, name in named))


def _list_keys(exploration: Exploration, texts: FigureTexts, panels: Sequence[Panel]) -> Iterator[Key]:
    """What the marks mean, of those that there are: as ``legend.js`` explains them."""
    layers = [layer for panel in panels for layer in panel.layers]
    banded = any(isinstance(layer, Area) for layer in layers)
    if texts.statistic in DISTRIBUTIONS:
        if banded and exploration.range:
            yield Key(kind="band", text=exploration.range)
        return
    name = exploration.statistic
    marks = [layer for layer in layers if isinstance(layer, Curve) and not layer.line]
    if any(layer.low is not None and np.isfinite(layer.low).any() for layer in marks):
        yield Key(kind="interval", text=f"{name} with {exploration.range}")
    elif any(layer.filled for layer in marks):
        yield Key(kind="point", text=name)
    if banded:
        yield Key(kind="band", text=exploration.range)
    if any(not layer.filled and not layer.dotted for layer in marks):
        yield Key(kind="undecided", text=f"{name}, undecided: too few trials")
    if any(layer.dotted for layer in marks):
        yield Key(kind="provisional", text=f"{name}, provisional: all trials lab-limited")
    dots = [layer for layer in layers if isinstance(layer, Points)]
    if any(not layer.hollow and not _find_outliers(layer).all() for layer in dots):
        yield Key(kind="dot", text="one trial")
    if any(_find_outliers(layer).any() for layer in dots):
        yield Key(kind="flagged", text="flagged trial")
    if any(layer.hollow for layer in dots):
        counted = texts.all_counted
        yield Key(kind="excluded", text="unusable trial, counted" if counted else "trial that is not counted")


def _find_outliers(layer: Points) -> NDArray[np.bool_]:
    return np.zeros(len(layer.x), dtype=np.bool_) if layer.outlier is None else layer.outlier


def write_subject(exploration: Exploration, statistic: str) -> str:
    """What the figure shows: ``Throughput over Streams: median, 95 % confidence interval``."""
    how = ", ".join(part for part in (exploration.statistic, exploration.range) if part)
    if statistic in DISTRIBUTIONS:
        return f"{exploration.x.label}: {how}"
    subject = " and ".join(dict.fromkeys(axis.label for axis in exploration.ys))
    return f"{subject} over {exploration.x.label}: {how}"


def write_sentence(exploration: Exploration) -> str:
    """What the figure does not show by itself, in the words of the page: notes and left-out trials."""
    counts = "; ".join(f"{reason} ({count})" for reason, count in exploration.excluded)
    return " ".join([*exploration.notes, *([f"Not counted: {counts}."] if counts else ())])


def _list_panels(exploration: Exploration, texts: FigureTexts) -> Iterator[Panel]:
    places = _Places(exploration)
    x = _describe_axis(places.axis, places.values)
    every = [curve for facet in exploration.facets for curve in facet.curves]
    axes = {
        y.column: _describe_y(y, [curve for curve in every if curve.y_column == y.column], texts)
        for y in exploration.ys
    }
    for facet in exploration.facets:
        for y in exploration.ys:
            curves = [_shorten_name(curve, y) for curve in facet.curves if curve.y_column == y.column]
            layers = tuple(_list_layers(curves, places, texts))
            if not layers:
                continue
            upwards = axes[y.column]
            if len(exploration.facets) > 1:
                upwards = _share_limits(upwards, [c for c in every if c.y_column == y.column])
            layers = tuple(_cut_dots(layer, x, upwards) for layer in layers)
            name = facet.name or (y.label if len(exploration.ys) > 1 else "")
            yield Panel(x=x, y=upwards, layers=layers, title=name or None)
            yield from _compare(exploration, facet, y, x, places, texts)


def _shorten_name(curve: ExploredCurve, y: ExploredAxis) -> ExploredCurve:
    """The curve named by its colour alone: its panel shows which column it is."""
    return replace(curve, name=curve.name.removesuffix(f", {y.label}"))


def _share_limits(axis: Axis, curves: Sequence[ExploredCurve]) -> Axis:
    """The axis with limits that hold the values of all facets, so that they can be compared by eye."""
    values = _read_reach(curves)
    logarithmic = axis.scale is not Scale.LINEAR
    values = np.log(values[values > 0]) if logarithmic else values
    if not values.size:
        return axis
    least = 0.0 if axis.from_zero else float(values.min())
    margin = MARGIN_RATIO * (float(values.max()) - least or abs(float(values[0])) or 1.0)
    low, high = least - margin * (not axis.from_zero), float(values.max()) + margin
    if logarithmic:
        low, high = math.exp(low), math.exp(high)
    return replace(
        axis, low=low if axis.low is None else axis.low, high=high if axis.high is None else axis.high
    )


def _compare(
    exploration: Exploration, facet: Facet, y: ExploredAxis, x: Axis, places: _Places, texts: FigureTexts
) -> Iterator[Panel]:
    """The panel of ratios or differences to the baseline, where there is one."""
    curves = [
        curve
        for curve in exploration.against or ()
        if curve.facet == facet.name and curve.y_column == y.column
    ]
    if not curves:
        return
    layers = [
        layer
        for number, curve in enumerate(curves)
        for layer in _draw_points(curve, number, len(curves), places, legend=False)
    ]
    equal = Rule(name="equal to the baseline", value=0.0 if texts.difference else 1.0)
    axis = Axis(label=texts.name_change(), unit=(y.unit or None) if texts.difference else None)
    yield Panel(x=x, y=axis, layers=(*layers, equal), title=facet.name or None)


class _Places:
    """Where x values are drawn: unused levels get no room, curves of a level stand side by side."""

    def __init__(self, exploration: Exploration) -> None:
        curves = [curve for facet in exploration.facets for curve in facet.curves]
        marks = itertools.chain.from_iterable(
            (*(point.x for point in curve.points), *(dot.x for dot in curve.dots)) for curve in curves
        )
        used = sorted(set(marks))
        self.axis = exploration.x
        self.levels: Mapping[float, int] = {}
        self.values = np.array(used, dtype=np.float64)
        if exploration.x.levels:
            self.levels = {level: index for index, level in enumerate(used)}
            names = tuple(exploration.x.levels[int(level)] for level in used)
            self.axis = replace(
                exploration.x,
                ticks=tuple(map(float, range(len(used)))),
                tick_labels=names,
                low=None,
                high=None,
            )
            self.values = np.arange(len(used), dtype=np.float64)

    def find(self, marks: Sequence[float], number: int, curves: int) -> Numbers:
        """Where marks of the curve ``number`` of so many are drawn."""
        place = number - (curves - 1) / 2
        if self.levels:
            shift = place * LEVEL_SHARE / max(1, curves)
            return np.array([self.levels[mark] + shift for mark in marks], dtype=np.float64)
        numbers: Numbers = np.array(marks, dtype=np.float64)
        if self.axis.ticks is None or len(self.values) < 2:
            return numbers
        first, last = float(self.values[0]), float(self.values[-1])
        if (self.axis.scale or self.axis.suggested) == Scale.LINEAR or first <= 0:
            return numbers + place * APART_RATIO * (last - first)
        return numbers * float((last / first) ** (place * APART_RATIO))


def _list_layers(curves: Sequence[ExploredCurve], places: _Places, texts: FigureTexts) -> Iterator[Layer]:
    """Dots first, so that estimates are drawn over them."""
    if texts.statistic == "histogram":
        yield from _draw_bins(curves)
        return
    for number, curve in enumerate(curves):
        yield from _draw_dots(curve, number, len(curves), places)
    for number, curve in enumerate(curves):
        if texts.statistic in CUMULATIVE:
            yield from _draw_steps(curve, number)
        else:
            yield from _draw_points(curve, number, len(curves), places, legend=True)


def _choose_slot(curve: ExploredCurve | AgainstCurve, number: int) -> int:
    level = curve.colour_level
    return number if level is None or level < 0 else level


def _draw_points(
    curve: ExploredCurve | AgainstCurve, number: int, curves: int, places: _Places, *, legend: bool
) -> Iterator[Layer]:
    """The line, the estimates with their ranges, and the undecided points of a curve."""
    slot, points = _choose_slot(curve, number), curve.points
    x = places.find([point.x for point in points], number, curves)
    y, low, high = _read_values(points)
    ranged = bool((np.isfinite(low) & np.isfinite(high)).any())
    banded = ranged and len(points) > BARS_MAX
    if banded:
        yield Area(name=curve.name, x=x, low=low, high=high, slot=slot, legend=False)
    lined = len(points) > 1 and not places.levels
    marked = len(points) <= MARKED_MAX or not lined
    if lined:
        named = legend and not marked
        yield Curve(name=curve.name, x=x, y=y, slot=slot, markers=False, legend=named)
    if not marked:
        return
    undecided, provisional = (
        np.array([point.state is state for point in points], dtype=np.bool_)
        for state in (PointState.UNDECIDED, PointState.PROVISIONAL)
    )
    for chosen, filled in ((~undecided & ~provisional, True), (undecided, False), (provisional, False)):
        if chosen.any():
            drawn = Curve(
                name=curve.name,
                x=x[chosen],
                y=y[chosen],
                slot=slot,
                line=False,
                filled=filled,
                dotted=chosen is provisional,
                legend=legend,
            )
            if ranged and filled and not banded:
                drawn = replace(drawn, low=low[chosen], high=high[chosen])
            yield drawn
            legend = False


def _draw_dots(curve: ExploredCurve, number: int, curves: int, places: _Places) -> Iterator[Points]:
    slot = _choose_slot(curve, number)
    for counted in (True, False):
        dots = [dot for dot in curve.dots if dot.counted is counted]
        if dots:
            yield Points(
                name=f"{curve.name}, trials" if counted else f"{curve.name}, unusable",
                x=places.find([dot.x for dot in dots], number, curves),
                y=np.array([dot.y for dot in dots], dtype=np.float64),
                slot=slot,
                outlier=np.array([counted and dot.flagged for dot in dots], dtype=np.bool_),
                legend=False,
                hollow=not counted,
                small=True,
            )


def _cut_dots(layer: Layer, x: Axis, y: Axis) -> Layer:
    """Dots beyond the limits of an axis are left out: they would be drawn alongside the panel."""
    if not isinstance(layer, Points):
        return layer
    inside = np.ones(len(layer.x), dtype=np.bool_)
    for values, axis in ((layer.x, x), (layer.y, y)):
        inside &= values >= (-np.inf if axis.low is None else axis.low)
        inside &= values <= (np.inf if axis.high is None else axis.high)
    outlier = None if layer.outlier is None else layer.outlier[inside]
    return replace(layer, x=layer.x[inside], y=layer.y[inside], outlier=outlier)


def _draw_steps(curve: ExploredCurve, number: int) -> Iterator[Layer]:
    """A cumulative share, and its band in steps of the same width."""
    slot = _choose_slot(curve, number)
    y, low, high = _read_values(curve.points)
    x = np.array([point.x for point in curve.points], dtype=np.float64)
    if (np.isfinite(low) & np.isfinite(high)).any():
        low, high = np.repeat(low, 2)[:-1], np.repeat(high, 2)[:-1]
        yield Area(name=curve.name, x=np.repeat(x, 2)[1:], low=low, high=high, slot=slot, legend=False)
    yield Curve(name=curve.name, x=x, y=y, slot=slot, markers=False, step=True)


def _draw_bins(curves: Sequence[ExploredCurve]) -> Iterator[Layer]:
    """One curve as bars, several as outlines, which hide nothing."""
    for number, curve in enumerate(curves):
        y, _, _ = _read_values(curve.points)
        edges, slot = np.array(curve.edges, dtype=np.float64), _choose_slot(curve, number)
        if len(edges) != len(y) + 1:
            continue
        if len(curves) == 1:
            width = float(np.diff(edges).min())
            yield Bars(name=curve.name, x=(edges[1:] + edges[:-1]) / 2, height=y, slot=slot, width=width)
        else:
            x = np.concatenate([edges[:1], edges])
            heights = np.concatenate([[0.0], y, [0.0]])
            yield Curve(name=curve.name, x=x, y=heights, slot=slot, markers=False, step=True)


def _read_values(points: Sequence[ExploredPoint | AgainstPoint]) -> tuple[Numbers, Numbers, Numbers]:
    """y and the ends of its range, NaN for what is not known."""
    rows = [(point.y, point.low, point.high) for point in points]
    result = np.array(rows or np.empty((0, 3)), dtype=np.float64)
    return result[:, 0], result[:, 1], result[:, 2]


def _read_heights(curves: Sequence[ExploredCurve]) -> Numbers:
    points = (point.y for curve in curves for point in curve.points if point.y is not None)
    dots = (dot.y for curve in curves for dot in curve.dots)
    return np.array([*points, *dots], dtype=np.float64)


def _read_reach(curves: Sequence[ExploredCurve]) -> Numbers:
    """All values that an axis of y has to reach: those drawn, and the ends of ranges."""
    ends = [end for curve in curves for point in curve.points for end in (point.low, point.high)]
    known = np.array([end for end in ends if end is not None], dtype=np.float64)
    values = np.concatenate([_read_heights(curves), known])
    numbers: Numbers = values[np.isfinite(values)]
    return numbers


def _describe_y(axis: ExploredAxis, curves: Sequence[ExploredCurve], texts: FigureTexts) -> Axis:
    """The axis of y, from 0 where ``axes.js`` begins it there: where the least value is not far above 0."""
    result = _describe_axis(axis, _read_heights(curves))
    values = _read_reach(curves)
    if result.scale is not Scale.LINEAR or result.low is not None or not values.size:
        return result
    least = 0.0 if texts.statistic in DISTRIBUTIONS else float(values.min())
    return replace(result, from_zero=0 <= least <= FROM_ZERO_RATIO * float(values.max()))


def _describe_axis(axis: ExploredAxis, values: Numbers) -> Axis:
    """The axis with its scale, limits and ticks; a logarithmic one needs a value above 0."""
    scale = Scale(axis.scale or axis.suggested)
    if scale is not Scale.LINEAR and not (values > 0).any():
        scale = Scale.LINEAR
    result = Axis(
        label=axis.label,
        unit=axis.unit or None,
        scale=scale,
        ticks=axis.ticks,
        tick_labels=axis.tick_labels,
        low=axis.low if scale is Scale.LINEAR or (axis.low or 0) > 0 else None,
        high=axis.high if scale is Scale.LINEAR or (axis.high or 0) > 0 else None,
    )
    if axis.ticks is not None and axis.unit:
        return replace(result, unit=None)  # each label has it
    if axis.kind != "time" or not values.size:
        return result
    ticks = mark_times(float(values.min()), float(values.max()))
    labels = tuple(_write_time(tick, ticks) for tick in ticks)
    return replace(result, ticks=tuple(ticks), tick_labels=labels)


def mark_times(low_s: float, high_s: float) -> list[float]:
    """At most seven times, in seconds since 1970, at whole minutes, hours or days between two times."""
    wanted = (high_s - low_s) / _TIME_TICKS
    step = next((item for item in STEPS_S if item >= wanted), wanted)
    first = np.ceil(low_s / step)
    result = [float(number * step) for number in np.arange(first, first + _TIME_TICKS + 1)]
    return [item for item in result if item <= high_s] or [low_s]


def _write_time(seconds: float, ticks: Sequence[float]) -> str:
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    moment = datetime.fromtimestamp(seconds, UTC)
    if step >= DAY_S:
        return f"{moment:%Y-%m-%d}"
    clock = f"{moment:%H:%M}" if step >= 60 else f"{moment:%H:%M:%S}"
    return f"{moment:%m-%d} {clock}" if seconds == ticks[0] or seconds % DAY_S == 0 else clock
