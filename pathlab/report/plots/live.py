"""Plots for the browser, as plain dicts that JSON can hold.

``templates/report.js`` makes plotly.js's traces of it; ``plotly/`` holds that library's basic bundle.
"""

from __future__ import annotations

import math
import re
from dataclasses import fields
from importlib import resources
from typing import Any

import numpy as np

from pathlab.report.plots.extents import Extent, break_title, mark_axis, measure_extents
from pathlab.report.plots.layers import MARKED_MAX, colour_fields, format_fields, stands_alone
from pathlab.report.plots.model import Axis, Curve, Grid, Layer, Panel, Plot, Scale
from pathlab.report.plots.preparation import has_content, prepare_plot
from pathlab.report.plots.style import BLANK, INK, choose_slot

_TEMPLATES = resources.files("pathlab.report") / "templates"
#: The page's own script: it draws each figure when it comes into sight, and offers its numbers.
SCRIPT = "".join((_TEMPLATES / name).read_text(encoding="utf-8") for name in ("page.js", "report.js"))
#: Style of the figures of a page.
SHEET = (_TEMPLATES / "plot.css").read_text(encoding="utf-8")
PANEL_PX, STACKED_PX, GRID_ROW_PX, ROW_PX = 330, 150, 34, 24
LETTER_PX, LINE_LETTERS = 8, 60
_LIBRARY = resources.files("pathlab.report") / "plotly"
_SCRIPT_END = re.compile(r"<(?=/script|!--)", re.IGNORECASE)


def describe_plot(plot: Plot) -> dict[str, Any]:
    """The plot as the page's script reads it, numbers rounded to what a screen can show.

    Titles are left out: the page has them as text. Raises ValueError for an empty plot.
    """
    ready = prepare_plot(plot)
    if ready.empty is not None:
        raise ValueError(f"figure '{plot.name}' is empty: {ready.empty}")
    heights = [_panel_px(panel, len(ready.panels)) for panel in ready.panels]
    letters = (STACKED_PX if len(ready.panels) > 1 else PANEL_PX) // LETTER_PX
    panels = [
        {
            "title": panel.title,
            "blank": None if has_content(panel) else BLANK,
            "x": _describe_axis(panel.x, across, LINE_LETTERS),
            "y": _describe_axis(panel.y, upwards, letters),
            "layers": [_describe_layer(layer, panel) for layer in panel.layers],
        }
        for panel, (across, upwards) in zip(ready.panels, measure_extents(ready), strict=True)
    ]
    return {"name": plot.name, "shared_x": ready.shared_x, "heights": heights, "panels": panels}


def round_numbers(values: Any, *, logarithmic: bool = False) -> list[float | None]:
    """Numbers as a screen can show them: a ten-thousandth of their span, or six digits; None for a gap."""
    array = np.asarray(values, dtype=np.float64)
    finite = array[np.isfinite(array)]
    span = float(np.ptp(finite)) if finite.size else 0.0
    if logarithmic or not span:
        return [_shorten(float(f"{value:.6g}")) if math.isfinite(value) else None for value in array.tolist()]
    places = 4 - math.floor(math.log10(span))
    return [_shorten(round(value, places)) if math.isfinite(value) else None for value in array.tolist()]


def _shorten(value: float) -> float:
    return int(value) if abs(value) < 1e15 and value == int(value) else value


def read_library() -> str:
    """The source of plotly.js, safe inside a ``<script>``."""
    return seal_script((_LIBRARY / "plotly-basic.min.js").read_text(encoding="utf-8"))


def seal_script(text: str) -> str:
    """Script or JSON text that cannot end its own element; the same inside strings."""
    return _SCRIPT_END.sub(r"\\x3c", text)


def seal_json(text: str) -> str:
    """JSON text that cannot end its own ``<script>``."""
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _panel_px(panel: Panel, panels: int) -> int:
    grid = next((layer for layer in panel.layers if isinstance(layer, Grid)), None)
    if grid is not None:
        return max(120, GRID_ROW_PX * len(grid.y))
    if panel.y.rows:
        return max(120, ROW_PX * len(panel.y.ticks or ()))
    return PANEL_PX if panels == 1 else STACKED_PX


def _describe_axis(axis: Axis, extent: Extent, letters: int) -> dict[str, Any]:
    return {
        "title": break_title(axis.title, letters),
        "log": axis.scale is not Scale.LINEAR,
        "ends": [float(f"{end:.8g}") for end in (extent.low, extent.high)],
        "marks": mark_axis(axis, extent),
    }


def _describe_layer(layer: Layer, panel: Panel) -> dict[str, Any]:
    """The fields of a layer and its look; what is not set is left out."""
    result: dict[str, Any] = {"legend": getattr(layer, "legend", not isinstance(layer, Grid))}
    for field in fields(layer):
        value = getattr(layer, field.name)
        if isinstance(value, np.ndarray):
            axis = panel.x if field.name == "x" else panel.y
            value = _list_values(value, logarithmic=axis.scale is not Scale.LINEAR)
        if field.name == "slot":
            slot = choose_slot(value)
            result |= {"look": slot.look, "hatch": slot.hatch_look}
            result["colour"] = None if slot.colour == INK else slot.colour  # the page's ink
        else:
            result[field.name] = value
    if isinstance(layer, Curve):
        marked = layer.markers and len(layer.x) <= MARKED_MAX
        result["marked"] = marked or not layer.line or stands_alone(layer.y)
        result["look"] = 0 if layer.solid else result["look"]
    if isinstance(layer, Grid):
        result["texts"] = format_fields(layer)
        result["colours"] = colour_fields(layer)
    kind = {"kind": type(layer).__name__.lower()}
    return kind | {name: value for name, value in result.items() if value is not None and value is not False}


def _list_values(values: np.ndarray, *, logarithmic: bool) -> list[Any]:
    """Numbers, rows of numbers, or the places of marks."""
    if values.dtype == np.bool_:
        return list(np.flatnonzero(values).tolist())
    if values.ndim > 1:
        return [round_numbers(row, logarithmic=True) for row in values]
    return list(round_numbers(values, logarithmic=logarithmic))
