"""What plotly.js draws a report's figures from: the same numbers, no markup, no way out of the page."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pathlab.report.plots.export import write_csv
from pathlab.report.plots.layers import colour_fields
from pathlab.report.plots.live import SCRIPT, describe_plot
from pathlab.report.plots.model import Area, Curve, Grid, Plot
from pathlab.report.plots.preparation import prepare_plot
from pathlab.report.plots.printed import render_svg
from pathlab.report.plots.style import BLANK, GRID, MARKERS
from tests.builders.plots import (
    list_samples,
    make_grid,
    make_hostile,
    make_logarithmic,
    make_panel,
    make_plot,
    make_sweep,
    make_timeline,
)
from tests.scripts.host import ScriptHost

Describe = Callable[[Plot], dict[str, Any]]
DRAWN = [plot for plot in list_samples() if plot.empty is None]


@pytest.fixture
def build(scripts: ScriptHost) -> Describe:
    """What report.js makes of a plot; that plotly.js takes it is tested in tests/browser."""

    def ask(plot: Plot) -> dict[str, Any]:
        described = {**describe_plot(plot), "ink": "#000000"}
        found: dict[str, Any] = scripts.evaluate("(plot) => pathlabPlots.describe(plot)", described)
        return found

    return ask


def find_traces(described: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [trace for trace in described["data"] if trace["meta"] == kind]


@pytest.mark.parametrize("plot", DRAWN, ids=lambda plot: plot.name)
def test_every_kind_is_json(build: Describe, plot: Plot) -> None:
    described = build(plot)
    assert described["data"]
    text = json.dumps(described, allow_nan=False)
    assert json.loads(text) == described


def test_curves_have_the_medians_and_their_intervals(build: Describe) -> None:
    plot = make_sweep(windows=1)
    (trace,) = find_traces(build(plot), "curve")
    curve = plot.panels[0].layers[1]
    assert isinstance(curve, Curve)
    assert trace["y"] == pytest.approx(curve.y.tolist(), rel=1e-3)
    assert curve.low is not None
    low = np.array(trace["y"]) - np.array(trace["error_y"]["arrayminus"])
    assert low == pytest.approx(curve.low, rel=1e-3)


def test_a_value_that_stands_alone_is_seen_without_a_line(build: Describe) -> None:
    for y, mode in (
        ([1.0], "lines+markers"),
        ([1.0, np.nan, 2.0, 3.0], "lines+markers"),
        ([1.0, 2.0], "lines"),
    ):
        curve = Curve(name="c", x=np.arange(float(len(y))), y=np.array(y), markers=False)
        (trace,) = find_traces(build(make_plot(make_panel(curve))), "curve")
        assert trace["mode"] == mode


def test_outliers_are_traces_of_their_own_and_once_in_the_legend(build: Describe) -> None:
    described = build(make_sweep(windows=2))
    usual, apart, *_ = find_traces(described, "points")
    assert (len(usual["x"]), len(apart["x"])) == (65, 1)
    shown = [trace["name"] for trace in described["data"] if trace["showlegend"]]
    assert shown == ["window 8 KiB", "window 16 KiB"]
    assert [shape["showlegend"] for shape in described["layout"]["shapes"] if "showlegend" in shape] == [True]


def test_gaps_stay_gaps(build: Describe) -> None:
    x = np.arange(6.0)
    y = np.array([1, np.nan, 3, 4, np.nan, 6])
    described = build(
        make_plot(make_panel(Curve(name="c", x=x, y=y), Area(name="b", x=x, low=y, high=y + 1)))
    )
    (curve,), (band,) = find_traces(described, "curve"), find_traces(described, "area")
    assert curve["y"] == [1, None, 3, 4, None, 6]
    assert curve["connectgaps"] is False
    assert band["x"] == [0, 0, None, 2, 3, 3, 2, None, 5, 5]
    assert band["y"] == [2, 1, None, 4, 5, 4, 3, None, 7, 6]


def test_marks_without_a_height_stand_on_an_axis_of_their_own(build: Describe) -> None:
    described = build(make_timeline())
    (marks,) = (trace for trace in find_traces(described, "points") if trace["yaxis"] == "y101")
    floor = described["layout"][f"yaxis{marks['yaxis'][1:]}"]
    assert floor["range"] == [0, 1]
    assert floor["overlaying"] == "y2"
    assert marks["x"] == [1, 2.5]


def test_panels_stand_one_above_the_other_on_one_axis(build: Describe) -> None:
    layout = build(make_timeline())["layout"]
    assert layout["yaxis"]["domain"][0] > layout["yaxis2"]["domain"][1]
    assert layout["xaxis2"]["matches"] == "x"
    assert layout["xaxis"]["range"] == layout["xaxis2"]["range"]
    assert layout["xaxis2"]["title"]["text"] == "Time since the sender's go (s)"


def test_intervals_that_reach_zero_begin_at_a_logarithmic_axis(build: Describe) -> None:
    described = build(make_logarithmic())
    (trace,) = find_traces(described, "curve")
    lowest = 10 ** described["layout"]["yaxis"]["range"][0]
    ends = [
        y - below
        for y, below in zip(trace["y"], trace["error_y"]["arrayminus"], strict=True)
        if y is not None
    ]
    assert min(ends) >= lowest * 0.98
    assert described["layout"]["yaxis"]["type"] == "log"


def test_names_are_text_to_the_browser(build: Describe) -> None:
    described = build(make_hostile())
    for text in (described["data"][0]["name"], described["data"][1]["text"][0]):
        assert "<" not in text
        assert "&lt;i&gt;" in text
    assert not re.search(r"<(?!br>)", described["layout"]["xaxis"]["title"]["text"])


def test_nothing_offers_to_leave_the_page(build: Describe) -> None:
    for plot in DRAWN:
        config = build(plot)["config"]
        assert config["showSendToCloud"] is False
        assert config["responsive"] is False  # plotly.js would take heights away at any change of the window
        assert config["plotlyServerURL"] == ""
        assert "http" not in json.dumps(build(plot))


def test_the_script_has_the_looks_of_print(build: Describe) -> None:
    x = np.arange(2.0)
    curves = [Curve(name=str(n), x=x, y=x, slot=n) for n in range(len(MARKERS))]
    traces = build(make_plot(make_panel(*curves)))["data"]
    assert len({trace["marker"]["symbol"] for trace in traces}) == len(MARKERS)
    assert len({trace["line"]["dash"] for trace in traces}) == len(MARKERS)
    assert GRID in SCRIPT


def test_a_panel_without_a_value_says_so(build: Describe) -> None:
    full = make_panel(Curve(name="c", x=np.arange(2.0), y=np.arange(2.0)))
    blank = make_panel(Curve(name="d", x=np.arange(2.0), y=np.full(2, np.nan)))
    plot = make_plot(full, blank, shared_x=True)
    notes = [note for note in build(plot)["layout"]["annotations"] if note["text"] == BLANK]
    assert [note["yref"] for note in notes] == ["y2 domain"]
    assert render_svg(plot, "k").count(BLANK) == 1


def test_a_grid_is_a_bar_for_each_measured_field(build: Describe) -> None:
    plot = make_grid()
    (trace,) = find_traces(build(plot), "grid")
    grid = plot.panels[0].layers[0]
    assert isinstance(grid, Grid)
    rows = [round(base + height / 2) for base, height in zip(trace["base"], trace["y"], strict=True)]
    places = list(zip(rows, trace["x"], strict=True))
    drawn = dict(zip(places, map(float, trace["text"]), strict=True))
    measured = {place: value for place, value in np.ndenumerate(grid.values) if np.isfinite(value)}
    assert 0 < len(measured) < grid.values.size
    assert drawn == pytest.approx(measured, rel=5e-3)
    colours = colour_fields(grid)
    inks = zip(trace["marker"]["color"], trace["insidetextfont"]["color"], strict=True)
    assert [list(pair) for pair in inks] == [list(colours[row][column]) for row, column in places]


def read_number(cell: str) -> float:
    return float(cell or "nan")


@pytest.mark.parametrize("plot", DRAWN, ids=lambda plot: plot.name)
def test_the_page_offers_the_numbers_of_a_figure(scripts: ScriptHost, plot: Plot) -> None:
    """As a table they are the rows of the command line, as far as a screen shows their numbers."""
    offered = scripts.evaluate("(plot) => pathlabPlots.tabulate(plot)", describe_plot(plot))
    found, wanted = (list(csv.reader(io.StringIO(text))) for text in (offered, write_csv(prepare_plot(plot))))
    assert found[0] == wanted[0]
    assert [(*row[:2], row[6]) for row in found] == [(*row[:2], row[6]) for row in wanted]
    for place in (2, 3, 4, 5):
        mine, theirs = ([read_number(row[place]) for row in table[1:]] for table in (found, wanted))
        assert mine == pytest.approx(theirs, rel=2e-3, abs=2e-3, nan_ok=True)
