"""Positions of the panels of a printed figure, computed from the text around them.

matplotlib can measure this text, but draws everything twice for it: too slow for a hundred figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from matplotlib.ticker import MaxNLocator

from pathlab.report.plots.extents import Extent, break_title, count_letters, format_tick, mark_axis
from pathlab.report.plots.model import Axis, Grid, Panel, Plot

WIDTH_INCH = 6.6  # between the margins of A4; still readable on a phone
PANEL_INCH, STACKED_INCH, GRID_ROW_INCH, ROW_INCH = 2.45, 1.3, 0.36, 0.24
LINE_INCH, LETTER_INCH, PAD_INCH = 0.175, 0.089, 0.08  # of type of 10 points
LINE_LETTERS, LETTERS_PER_INCH = 84, 14
LEGEND_LETTERS = 92  # of names side by side below a figure
LEGEND_NAMES_MAX, LEGEND_COLUMNS_MAX = 40, 4
LEGEND_ROW_INCH = 0.19
TICKS_ACROSS, TICKS_UPWARDS = 8, 5
LEAST_SHARE = 0.8  # of the height of a panel in a narrow figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """Where an axis is marked, and with what."""

    places: tuple[float, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelPlace:
    """A panel's place in inches from the lower left corner; titles by line, empty where there is none.

    ``beside``: the width of the labels between the y axis and its title, the same for all panels.
    """

    left: float
    bottom: float
    width: float
    height: float
    beside: float
    across: Marks
    upwards: Marks
    x_title: str
    y_title: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """A figure's size in inches, its panels from the top, its title and how many columns its legend has."""

    width: float
    height: float
    panel_places: tuple[PanelPlace, ...]
    title: str
    legend_columns: int


def arrange_plot(
    plot: Plot, extents: Sequence[tuple[Extent, Extent]], *, titled: bool, width_inch: float = WIDTH_INCH
) -> Arrangement:
    """Arrange a prepared plot that has panels."""
    share = width_inch / WIDTH_INCH
    marks = [
        (_mark(panel.x, across, round(share * TICKS_ACROSS)), _mark(panel.y, upwards, TICKS_UPWARDS))
        for panel, (across, upwards) in zip(plot.panels, extents, strict=True)
    ]
    lower = max(share, LEAST_SHARE)
    heights = [_panel_inch(panel, len(plot.panels)) * lower for panel in plot.panels]
    names = list_trace_names(plot)
    columns = _count_columns(names, share)
    legend = LEGEND_ROW_INCH * math.ceil(len(names) / columns) + PAD_INCH if names else 0.0
    title = write_title(plot) if titled else ""
    y_titles = [
        break_title(panel.y.title, round(height * LETTERS_PER_INCH))
        for panel, height in zip(plot.panels, heights, strict=True)
    ]
    beside = max(_widest(upwards) for _, upwards in marks)
    left = max(map(len, y_titles)) * LINE_INCH + PAD_INCH + beside
    panel_places: list[PanelPlace] = []
    top = LINE_INCH * (title.count("\n") + 1) + PAD_INCH if title else 0.0
    for place, panel in enumerate(plot.panels):
        last = place == len(plot.panels) - 1
        labelled = last or not plot.shared_x
        x_title = "\n".join(break_title(panel.x.title, round(share * LINE_LETTERS))) if labelled else ""
        head = panel.title if panel.title and len(plot.panels) > 1 else ""
        top += LINE_INCH * bool(head) + PAD_INCH
        across, upwards = marks[place]
        one = PanelPlace(
            left=left,
            bottom=-(top + heights[place]),
            width=width_inch - left - PAD_INCH - _overhang(across),
            height=heights[place],
            beside=beside,
            across=across if labelled else Marks(places=across.places, labels=("",) * len(across.places)),
            upwards=upwards,
            x_title=x_title,
            y_title="\n".join(y_titles[place]),
            title=head,
        )
        panel_places.append(one)
        lines = x_title.count("\n") + 2 + max((label.count("\n") for label in across.labels), default=0)
        top += heights[place] + lines * LINE_INCH * labelled + PAD_INCH
    found = Arrangement(
        width=width_inch, height=top + legend, panel_places=(), title=title, legend_columns=columns
    )
    return _settle(panel_places, found)


def list_trace_names(plot: Plot) -> list[str]:
    """The names that the legend shows, in the order in which they are drawn."""
    names = dict.fromkeys(
        layer.name
        for panel in plot.panels
        for layer in panel.layers
        if not isinstance(layer, Grid) and getattr(layer, "legend", True)
    )
    return list(names)[:LEGEND_NAMES_MAX]


def write_title(plot: Plot) -> str:
    """The title and the condition, in lines that fit."""
    lines = [*break_title(plot.title, LINE_LETTERS), *break_title(plot.condition, LINE_LETTERS)]
    return "\n".join(lines)


def _settle(panel_places: list[PanelPlace], around: Arrangement) -> Arrangement:
    """The same with its panels, seen from the lower left corner."""
    placed = tuple(replace(one, bottom=one.bottom + around.height) for one in panel_places)
    return replace(around, panel_places=placed)


def _panel_inch(panel: Panel, panels: int) -> float:
    grid = next((layer for layer in panel.layers if isinstance(layer, Grid)), None)
    if grid is not None:
        return max(0.8, GRID_ROW_INCH * len(grid.y))
    if panel.y.rows:
        return max(0.8, ROW_INCH * len(panel.y.ticks or ()))
    return PANEL_INCH if panels == 1 else STACKED_INCH


def _count_columns(names: list[str], share: float) -> int:
    longest = max((len(name) for name in names), default=0) + 7
    return max(1, min(len(names), round(share * LEGEND_LETTERS) // longest, LEGEND_COLUMNS_MAX))


def _widest(marks: Marks) -> float:
    return count_letters(marks.labels) * LETTER_INCH + PAD_INCH


def _overhang(marks: Marks) -> float:
    """The width by which the last label may exceed its axis."""
    return count_letters(marks.labels[-1:]) * LETTER_INCH / 2


def _mark(axis: Axis, extent: Extent, most: int) -> Marks:
    chosen = mark_axis(axis, extent)
    if chosen is not None:
        return Marks(places=tuple(chosen[0]), labels=tuple(chosen[1]))
    found = MaxNLocator(nbins=most, steps=(1, 2, 2.5, 5, 10)).tick_values(extent.low, extent.high)
    places = tuple(float(place) for place in found if extent.low <= place <= extent.high)
    return Marks(places=places, labels=_format_evenly(places))


def _format_evenly(places: tuple[float, ...]) -> tuple[str, ...]:
    """Labels of a linear axis, all with as many decimals as its step needs."""
    if len(places) < 2:
        return tuple(format_tick(place) for place in places)
    step, largest = abs(places[1] - places[0]), max(map(abs, places))
    if largest >= 1e5 or largest < 1e-3 or not step:
        digits = max(1, math.ceil(math.log10(largest / step)) + 1) if step and largest else 3
        return tuple(format_tick(place, digits) for place in places)
    decimals = next((n for n in range(7) if abs(round(step, n) - step) < step * 1e-3), 7)
    return tuple(f"{place:.{decimals}f}" for place in places)
