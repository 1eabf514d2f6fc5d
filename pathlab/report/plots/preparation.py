"""What of a plot can be drawn: finite, on its axes, and no more points than a screen has columns for.

The sentence of the plot names everything that is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pathlab.escaping import escape_controls
from pathlab.report.plots.callouts import place_texts
from pathlab.report.plots.extents import measure_extents
from pathlab.report.plots.model import (
    Area,
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

POINTS_MAX = 2_000  # of a layer; above it the layer is thinned
COLUMNS = 480  # of the screen, in each of which the least, the middle and the largest value stay
LARGEST, SMALLEST = 1e100, 1e-100  # between them an axis, logarithmic too, is divided without overflow

Places: TypeAlias = NDArray[np.intp]
Plane: TypeAlias = Curve | Points | Area | Bars


def prepare_plot(plot: Plot) -> Plot:
    """The plot as every renderer draws it; one that is prepared already comes back alike.

    Layers of more than ``POINTS_MAX`` points keep the least, the middle and the largest value of each of
    ``COLUMNS`` columns, and all outliers. Values that are not finite, beyond 1e100, or not above 0 on a
    logarithmic axis become gaps. A plot of which nothing remains becomes an empty one with the reason.
    Raises ValueError for a layer whose numbers are not of equal length.
    """
    if plot.prepared:
        return plot
    plot = _escape_texts(plot)
    if plot.empty is not None:
        return plot
    unfit, thinned = [0], dict[str, int]()
    panels = tuple(_prepare_panel(panel, plot.name, unfit, thinned) for panel in plot.panels)
    if not any(map(has_content, panels)):
        unfit_text = _describe_unfit(unfit[0])
        reason = f"nothing to draw: {unfit_text}" if unfit_text else "there is no value to draw"
        return replace(plot, panels=(), empty=reason, prepared=True)
    remarks = [
        _describe_unfit(unfit[0]),
        *(_describe_thinned(name, count) for name, count in thinned.items()),
    ]
    remarks = [_as_sentence(text) for text in remarks if text]
    sentence = " ".join([plot.sentence, *remarks]).strip()
    ready = replace(plot, panels=panels, sentence=sentence, prepared=True)
    pairs = zip(panels, measure_extents(ready), strict=True)
    return replace(ready, panels=tuple(place_texts(panel, extents) for panel, extents in pairs))


def keep_columns(x: Numbers, y: Numbers, *, logarithmic: bool = False) -> Places:
    """Places, in order, of the values that show the same on a screen: extremes and middle of each column.

    Values that are NaN are gaps: the first of each run of them stays.
    """
    good = np.isfinite(x) & np.isfinite(y) & ((x > 0) | (not logarithmic))
    kept = np.flatnonzero(~good & np.concatenate(([True], good[:-1])))
    indices = np.flatnonzero(good)
    if not indices.size:
        return kept
    across = np.log(x[indices]) if logarithmic else x[indices]
    low, span = float(across.min()), float(np.ptp(across))
    column = np.minimum(np.floor((across - low) / span * COLUMNS), COLUMNS - 1) if span else across * 0
    order = np.lexsort((y[indices], column))
    ends = np.flatnonzero(np.diff(column[order], append=np.inf))
    starts = np.concatenate(([0], ends[:-1] + 1))
    chosen = np.concatenate((starts, (starts + ends) // 2, ends))
    return np.unique(np.concatenate((kept, indices[order[chosen]])))


def has_content(panel: Panel) -> bool:
    """True if a panel has a value to draw; lines across it and marked stretches alone are none."""
    return any(_holds_something(layer) for layer in panel.layers)


def _escape_texts(value: Any) -> Any:
    """A plot or a part of it, every text in it without controls, which no form of a figure could hold."""
    if isinstance(value, str):
        return value if isinstance(value, Scale) else escape_controls(value)
    if isinstance(value, tuple):
        escaped = tuple(map(_escape_texts, value))
        unchanged = all(item is other for item, other in zip(escaped, value, strict=True))
        return value if unchanged else escaped
    if not is_dataclass(value) or isinstance(value, type):
        return value
    result = {field.name: getattr(value, field.name) for field in fields(value)}
    changed = {name: _escape_texts(part) for name, part in result.items()}
    changed = {name: part for name, part in changed.items() if part is not result[name]}
    return replace(value, **changed) if changed else value


def _prepare_panel(panel: Panel, name: str, unfit: list[int], thinned: dict[str, int]) -> Panel:
    layers: list[Layer] = []
    for layer in panel.layers:
        if isinstance(layer, Grid):
            layers.append(layer)
        elif isinstance(layer, (Rule, Span)):
            result = _clear_mark(layer, panel)
            unfit[0] += result is None
            layers += [] if result is None else [result]
        else:
            _check_lengths(layer, name)
            layers.append(_thin_layer(_clear_layer(layer, panel, unfit), panel, thinned))
    return replace(panel, layers=tuple(layers))


def _check_lengths(layer: Plane, name: str) -> None:
    lengths = {len(values) for _, values in _arrays(layer)}
    if isinstance(layer, Points):
        lengths |= {len(extra) for extra in (layer.outlier, layer.hover) if extra is not None}
    if isinstance(layer, Curve) and layer.texts is not None:
        lengths.add(len(layer.texts))
    if len(lengths) > 1:
        raise ValueError(f"figure '{name}': the numbers of '{layer.name}' are not of equal length")


def _arrays(layer: Plane) -> Sequence[tuple[str, Numbers]]:
    names = {
        Curve: ("x", "y", "low", "high"),
        Points: ("x", "y"),
        Area: ("x", "low", "high"),
        Bars: ("x", "height", "bottom"),
    }[type(layer)]
    result = ((name, getattr(layer, name)) for name in names)
    return [(name, values) for name, values in result if values is not None]


def _clear_layer(layer: Plane, panel: Panel, unfit: list[int]) -> Plane:
    """The layer with gaps where a value has no place; counted once for each point."""
    changed: dict[str, Any] = {}
    lost = np.zeros(len(layer.x), dtype=bool)
    for name, given in _arrays(layer):
        if name == "y" and isinstance(layer, Points) and layer.at_axis:
            continue
        scale = panel.x.scale if name == "x" else panel.y.scale
        values = np.asarray(given, dtype=np.float64)
        wrong = ~np.isnan(values) & ~(np.abs(values) <= LARGEST)
        # A bar or an interval may begin at 0 of a logarithmic axis: it then begins where the axis does.
        if scale is not Scale.LINEAR and name not in ("low", "bottom"):
            wrong |= values < SMALLEST
        if wrong.any():
            changed[name] = np.where(wrong, np.nan, values)
            lost |= wrong
    unfit[0] += int(lost.sum())
    return replace(layer, **changed) if changed else layer


def _clear_mark(mark: Rule | Span, panel: Panel) -> Rule | Span | None:
    """A line or stretch that the axis can show, or None."""
    if isinstance(mark, Span):
        fits = _fit(panel.x.scale)
        return mark if np.isfinite([mark.start, mark.end]).all() and fits(mark.end) else None
    fits = _fit((panel.x if mark.vertical else panel.y).scale)
    if not fits(mark.value):
        return None
    ends = [end if end is not None and np.isfinite(end) else None for end in (mark.low, mark.high)]
    return replace(mark, low=ends[0], high=ends[1])


def _fit(scale: Scale) -> Callable[[float], bool]:
    return lambda value: bool(abs(value) <= LARGEST and (scale is Scale.LINEAR or value >= SMALLEST))


def _thin_layer(layer: Plane, panel: Panel, thinned: dict[str, int]) -> Plane:
    if isinstance(layer, Bars) or len(layer.x) <= POINTS_MAX:
        return layer
    logarithmic = panel.x.scale is not Scale.LINEAR
    height = layer.high if isinstance(layer, Area) else layer.y
    if isinstance(layer, Points) and layer.at_axis:
        height = np.zeros(len(layer.x))
    kept = keep_columns(layer.x, height, logarithmic=logarithmic)
    if isinstance(layer, Area):
        kept = np.union1d(kept, keep_columns(layer.x, layer.low, logarithmic=logarithmic))
    if isinstance(layer, Points) and layer.outlier is not None:
        kept = np.union1d(kept, np.flatnonzero(layer.outlier))
    if len(kept) == len(layer.x):
        return layer
    thinned[layer.name] = max(len(layer.x), thinned.get(layer.name, 0))
    changed: dict[str, Any] = {name: values[kept] for name, values in _arrays(layer)}
    if isinstance(layer, Curve) and layer.texts is not None:
        changed["texts"] = tuple(layer.texts[index] for index in kept)
    if isinstance(layer, Points):
        if layer.outlier is not None:
            changed["outlier"] = layer.outlier[kept]
        if layer.hover is not None:
            changed["hover"] = tuple(layer.hover[index] for index in kept)
    return replace(layer, **changed)


def _holds_something(layer: Layer) -> bool:
    if isinstance(layer, Grid):
        return bool(np.isfinite(layer.values).any())
    if isinstance(layer, (Rule, Span)):
        return False
    match layer:
        case Area():
            shown = np.isfinite(layer.low) & np.isfinite(layer.high)
        case Bars():
            shown = np.isfinite(layer.height)
        case Points(at_axis=True):
            shown = np.ones(len(layer.x), dtype=bool)
        case _:
            shown = np.isfinite(layer.y)
    return bool((np.isfinite(layer.x) & shown).any())


def _describe_unfit(count: int) -> str:
    if not count:
        return ""
    values = "1 value has" if count == 1 else f"{count:,} values have"
    return f"{values} no place on these axes (not finite, or not above 0 on a logarithmic one)"


def _describe_thinned(name: str, count: int) -> str:
    return (
        f"“{name}” has {count:,} points; only those that differ on a screen are drawn: the smallest, "
        "the middle and the largest of each column"
    )


def _as_sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
