"""The numbers of a figure as a table."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from pathlab.escaping import escape_cell
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
    Span,
)

Cell: TypeAlias = str | float | None
HEADINGS = ("panel", "series", "x", "y", "low", "high", "note")


def list_plot_rows(plot: Plot) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
    """Headings and one row for each point of each layer, in the units of the axes of its panel.

    ``panel`` is the y axis with its unit; ``low`` and ``high`` are the ends of an interval, a band or a bar;
    None where nothing was measured. An empty plot has no rows.
    """
    return HEADINGS, [
        row for panel in plot.panels for layer in panel.layers for row in _list_rows(layer, panel)
    ]


def write_csv(plot: Plot) -> str:
    """The table as CSV; the first column heading says what x is."""
    headings, rows = list_plot_rows(plot)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    titles = list(dict.fromkeys(panel.x.title for panel in plot.panels))
    named = [f"x: {'; '.join(titles)}" if name == "x" and titles else name for name in headings]
    writer.writerow([escape_cell(name) for name in named])
    writer.writerows([_write_cell(cell) for cell in row] for row in rows)
    return text.getvalue()


def _write_cell(cell: Cell) -> str | float:
    if cell is None:
        return ""
    return escape_cell(cell) if isinstance(cell, str) else cell


def _list_rows(layer: Layer, panel: Panel) -> Iterator[tuple[Cell, ...]]:
    start = (panel.title or panel.y.title, layer.name)
    match layer:
        case Curve():
            yield from ((*start, *row, None) for row in _zip_numbers(layer.x, layer.y, layer.low, layer.high))
        case Points():
            height = np.full(len(layer.x), np.nan) if layer.at_axis else layer.y
            notes = layer.hover or ("",) * len(layer.x)
            marks = [False] * len(layer.x) if layer.outlier is None else layer.outlier.tolist()
            rows = _zip_numbers(layer.x, height, None, None)
            for row, note, apart in zip(rows, notes, marks, strict=True):
                remark = "; ".join(text for text in (note, "outlier" if apart else "") if text)
                yield (*start, *row, remark or None)
        case Area():
            yield from ((*start, *row, None) for row in _zip_numbers(layer.x, None, layer.low, layer.high))
        case Bars():
            bottom = np.zeros(len(layer.x)) if layer.bottom is None else layer.bottom
            rows = _zip_numbers(layer.x, layer.height, bottom, bottom + layer.height)
            yield from ((*start, *row, None) for row in rows)
        case Rule():
            ends = (layer.value, None) if layer.vertical else (None, layer.value)
            yield (*start, *ends, layer.low, layer.high, "line")
        case Span():
            yield (*start, None, None, layer.start, layer.end, "stretch of x")
        case Grid():
            for name, values in zip(layer.y, layer.values.tolist(), strict=True):
                for column, value in zip(layer.x, values, strict=True):
                    yield (*start, column, _cell(value), None, None, name)


def _zip_numbers(*columns: Numbers | None) -> Iterator[tuple[Cell, ...]]:
    length = max(len(column) for column in columns if column is not None)
    lists = [[None] * length if column is None else column.tolist() for column in columns]
    for row in zip(*lists, strict=True):
        yield tuple(_cell(value) for value in row)


def _cell(value: float | None) -> Cell:
    if value is None or not math.isfinite(value):
        return None
    return int(value) if abs(value) < 1e15 and value == int(value) else float(f"{value:.10g}")
