"""Plots for the browser: what plotly.js draws from, as plain dicts that JSON can hold.

The library itself comes with the package ``plotly``, of which nothing is imported.
"""

from __future__ import annotations

import importlib.util
import math
import re
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from pathlab.errors import PathlabError
from pathlab.report.plots.extents import Extent, break_title, mark_axis, measure_extents
from pathlab.report.plots.model import Axis, Grid, Panel, Plot, Scale
from pathlab.report.plots.preparation import has_content, prepare_plot
from pathlab.report.plots.style import BLANK, GRID, INK
from pathlab.report.plots.traces import Frame, build_layer, fade_colour

#: The page's own script: it draws each figure when it comes into sight, and offers its numbers.
SCRIPT = (resources.files("pathlab.report") / "templates" / "report.js").read_text(encoding="utf-8")
#: Style of the figures of a page.
SHEET = (resources.files("pathlab.report") / "templates" / "plot.css").read_text(encoding="utf-8")
PANEL_PX, STACKED_PX, GRID_ROW_PX, LEGEND_ROW_PX, GAP_PX = 330, 150, 34, 22, 46
TOP_PX, BOTTOM_PX = 24, 56
LETTER_PX, LINE_LETTERS = 8, 60
ACROSS_LETTERS = 110  # of legend names in one row of a desktop's page
_SCRIPT_END = re.compile(r"<(?=/script|!--)", re.IGNORECASE)


def describe_plot(plot: Plot) -> dict[str, Any]:
    """The plot as ``{"data", "layout", "config"}`` of plotly.js, numbers rounded to what a screen can show.

    Titles are left out: the page has them as text. Raises ValueError for an empty plot.
    """
    ready = prepare_plot(plot)
    if ready.empty is not None:
        raise ValueError(f"figure '{plot.name}' is empty: {ready.empty}")
    extents = measure_extents(ready)
    heights = [_panel_px(panel, len(ready.panels)) for panel in ready.panels]
    inner = sum(heights) + GAP_PX * (len(heights) - 1)
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"shapes": [], "annotations": []}
    named: dict[str, None] = {}
    top = 1.0
    for number, (panel, (across, upwards)) in enumerate(zip(ready.panels, extents, strict=True)):
        domain = [round(max(0.0, top - heights[number] / inner), 4), round(top, 4)]
        top -= (heights[number] + GAP_PX) / inner
        frame = Frame(
            panel=panel, number=number, across=across, upwards=upwards, named=named, shapes=layout["shapes"]
        )
        for layer in panel.layers:
            data += build_layer(layer, frame)
        layout |= _describe_axes(ready, frame, domain)
        if panel.title and len(ready.panels) > 1:
            layout["annotations"].append(_head(panel.title, domain[1]))
        if not has_content(panel):
            layout["annotations"].append(_write_blank(frame))
    rows = -(-sum(len(name) + 8 for name in named) // ACROSS_LETTERS)
    below = BOTTOM_PX + LEGEND_ROW_PX * rows
    layout |= _describe_rest(inner + TOP_PX + below, below)
    layout["meta"] = {"name": plot.name, "inner": inner, "names": [len(name) for name in named]}
    return {"data": data, "layout": layout, "config": _describe_config(plot)}


def read_library() -> str:
    """The source of plotly.js, safe inside a ``<script>``. Raises PathlabError where it is not installed."""
    found = importlib.util.find_spec("plotly")
    folders = list(found.submodule_search_locations or ()) if found is not None else []
    file = Path(folders[0], "package_data", "plotly.min.js") if folders else None
    if file is None or not file.is_file():
        raise PathlabError(
            "the package 'plotly' that draws figures in the browser is not installed",
            hint="pip install plotly, or write the report as --format md or json",
        )
    return seal_script(file.read_text(encoding="utf-8"))


def seal_script(text: str) -> str:
    """Script or JSON text that cannot end the element it stands in; meant alike inside strings."""
    return _SCRIPT_END.sub(r"\\x3c", text)


def seal_json(text: str) -> str:
    """JSON text that cannot end the ``<script>`` it stands in."""
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _panel_px(panel: Panel, panels: int) -> int:
    grid = next((layer for layer in panel.layers if isinstance(layer, Grid)), None)
    if grid is not None:
        return max(120, GRID_ROW_PX * len(grid.y))
    return PANEL_PX if panels == 1 else STACKED_PX


def _describe_axes(plot: Plot, frame: Frame, domain: list[float]) -> dict[str, Any]:
    """Both axes of a panel, and a third over its y axis for what has no height."""
    panel, last = frame.panel, frame.number == len(plot.panels) - 1
    letters = (STACKED_PX if len(plot.panels) > 1 else PANEL_PX) // LETTER_PX
    across = _describe_axis(panel.x, frame.across, LINE_LETTERS) | {"anchor": frame.y}
    upwards = _describe_axis(panel.y, frame.upwards, letters) | {"anchor": frame.x, "domain": domain}
    upwards["title"] |= {"standoff": 4}
    if plot.shared_x and frame.number:
        across["matches"] = "x"
    if plot.shared_x and not last:
        across |= {"showticklabels": False, "title": {"text": ""}}
    found = {f"xaxis{frame.suffix}": across, f"yaxis{frame.suffix}": upwards}
    if frame.floor_used:
        floor = {
            "overlaying": frame.y,
            "anchor": frame.x,
            "range": [0, 1],
            "visible": False,
            "fixedrange": True,
        }
        found[f"yaxis{frame.floor_suffix}"] = floor
    return found


def _describe_axis(axis: Axis, extent: Extent, letters: int) -> dict[str, Any]:
    logarithmic = axis.scale is not Scale.LINEAR
    ends = [math.log10(end) if logarithmic else end for end in (extent.low, extent.high)]
    found: dict[str, Any] = {
        "title": {
            "text": "<br>".join(escape(line, quote=False) for line in break_title(axis.title, letters))
        },
        "type": "log" if logarithmic else "linear",
        "range": [float(f"{end:.8g}") for end in ends],
        "automargin": True,
        "ticklabeloverflow": "allow",
        "zeroline": False,
        "showline": True,
        "linecolor": INK,
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": INK,
        "gridcolor": fade_colour(GRID, 0.3),
        "exponentformat": "power",
    }
    marks = mark_axis(axis, extent)
    if marks is not None:
        found |= {
            "tickmode": "array",
            "tickvals": marks[0],
            "ticktext": [escape(text, quote=False).replace("\n", "<br>") for text in marks[1]],
        }
    return found


def _describe_rest(height: int, below: int) -> dict[str, Any]:
    return {
        "height": height,
        "margin": {"l": 62, "r": 14, "t": TOP_PX, "b": below},
        "showlegend": True,
        "legend": {
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "y": 0,
            "yref": "container",
            "yanchor": "bottom",
            "bgcolor": "rgba(0,0,0,0)",
            "itemwidth": 36,
        },
        "hovermode": "closest",
        "hoverlabel": {"namelength": -1},
        "dragmode": "zoom",
        "barmode": "overlay",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": INK, "size": 12, "family": "system-ui, -apple-system, Segoe UI, sans-serif"},
        "colorway": [INK],
        "title": {"text": ""},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": GRID, "activecolor": INK},
    }


def _describe_config(plot: Plot) -> dict[str, Any]:
    return {
        # report.js draws anew where the width changes; plotly.js, at any change of the window (a phone hides
        # its bar of addresses), takes the height away that a figure has by its contents
        "responsive": False,
        "displaylogo": False,
        "scrollZoom": False,
        # nothing leaves the page: plotly.js would offer to send the figure to its makers' server
        "showSendToCloud": False,
        "plotlyServerURL": "",
        "topojsonURL": "about:blank",
        "modeBarButtonsToRemove": ["lasso2d", "select2d", "autoScale2d"],
        "toImageButtonOptions": {"format": "svg", "filename": plot.name},
    }


def _head(title: str, top: float) -> dict[str, Any]:
    return {
        "text": escape(title, quote=False),
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": top,
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 12},
    }


def _write_blank(frame: Frame) -> dict[str, Any]:
    place = {"xref": f"{frame.x} domain", "yref": f"{frame.y} domain", "x": 0.5, "y": 0.5}
    return {"text": BLANK, "showarrow": False, **place}
