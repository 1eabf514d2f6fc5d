"""What the browser draws from: valid plotly, the same numbers, sealed against the page."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import plotly.graph_objects as plotly
import pytest

from pathlab.report.plots import live
from pathlab.report.plots.export import HEADINGS, tabulate, write_csv
from pathlab.report.plots.live import describe_plot, read_library, seal_json, seal_script
from pathlab.report.plots.markup import render_figure, render_printed
from pathlab.report.plots.model import Area, Curve, Plot, Points, Scale
from pathlab.report.plots.printed import render_svg
from pathlab.report.plots.style import BLANK
from pathlab.report.plots.traces import round_numbers
from tests.unit.report.plot_samples import (
    HOSTILE,
    list_samples,
    make_bars,
    make_empty,
    make_grid,
    make_hostile,
    make_logarithmic,
    make_panel,
    make_plot,
    make_sweep,
    make_timeline,
)

DRAWN = [plot for plot in list_samples() if plot.empty is None]


def find_traces(described: dict[str, Any], layer: str) -> list[dict[str, Any]]:
    return [trace for trace in described["data"] if trace["meta"]["layer"] == layer]


@pytest.mark.parametrize("plot", DRAWN, ids=lambda plot: plot.name)
def test_every_kind_is_valid_plotly_and_json(plot: Plot) -> None:
    described = describe_plot(plot)
    figure = plotly.Figure({"data": described["data"], "layout": described["layout"]})
    assert len(figure.data) == len(described["data"])
    text = json.dumps(described, allow_nan=False)
    assert json.loads(text) == described


def test_curves_have_the_medians_and_their_intervals() -> None:
    plot = make_sweep(windows=1)
    (trace,) = find_traces(describe_plot(plot), "curve")
    curve = plot.panels[0].layers[1]
    assert isinstance(curve, Curve)
    assert trace["y"] == pytest.approx(curve.y.tolist(), rel=1e-3)
    assert curve.low is not None
    low = np.array(trace["y"]) - np.array(trace["error_y"]["arrayminus"])
    assert low == pytest.approx(curve.low, rel=1e-3)


def test_a_value_that_stands_alone_is_seen_without_a_line() -> None:
    for y, mode in (
        ([1.0], "lines+markers"),
        ([1.0, np.nan, 2.0, 3.0], "lines+markers"),
        ([1.0, 2.0], "lines"),
    ):
        curve = Curve(name="c", x=np.arange(float(len(y))), y=np.array(y), markers=False)
        (trace,) = find_traces(describe_plot(make_plot(make_panel(curve))), "curve")
        assert trace["mode"] == mode


def test_outliers_are_traces_of_their_own_and_once_in_the_legend() -> None:
    described = describe_plot(make_sweep(windows=2))
    usual, apart, *_ = find_traces(described, "points")
    assert (len(usual["x"]), len(apart["x"])) == (65, 1)
    shown = [trace["name"] for trace in described["data"] if trace["showlegend"]]
    assert shown == ["window 8 KiB", "window 16 KiB"]
    assert [shape["showlegend"] for shape in described["layout"]["shapes"] if "showlegend" in shape] == [True]


def test_gaps_stay_gaps() -> None:
    x = np.arange(6.0)
    y = np.array([1, np.nan, 3, 4, np.nan, 6])
    described = describe_plot(
        make_plot(make_panel(Curve(name="c", x=x, y=y), Area(name="b", x=x, low=y, high=y + 1)))
    )
    (curve,), (band,) = find_traces(described, "curve"), find_traces(described, "band")
    assert curve["y"] == [1, None, 3, 4, None, 6]
    assert curve["connectgaps"] is False
    assert band["x"] == [0, 0, None, 2, 3, 3, 2, None, 5, 5]
    assert band["y"] == [2, 1, None, 4, 5, 4, 3, None, 7, 6]


def test_marks_without_a_height_stand_on_an_axis_of_their_own() -> None:
    described = describe_plot(make_timeline())
    (marks,) = find_traces(described, "marks")
    floor = described["layout"][f"yaxis{marks['yaxis'][1:]}"]
    assert floor["range"] == [0, 1]
    assert floor["overlaying"] == "y2"
    assert marks["x"] == [1, 2.5]


def test_panels_stand_one_above_the_other_on_one_axis() -> None:
    layout = describe_plot(make_timeline())["layout"]
    assert layout["yaxis"]["domain"][0] > layout["yaxis2"]["domain"][1]
    assert layout["xaxis2"]["matches"] == "x"
    assert layout["xaxis"]["range"] == layout["xaxis2"]["range"]
    assert layout["xaxis2"]["title"]["text"] == "Time since the sender's go (s)"


def test_intervals_that_reach_zero_begin_at_a_logarithmic_axis() -> None:
    described = describe_plot(make_logarithmic())
    (trace,) = find_traces(described, "curve")
    lowest = 10 ** described["layout"]["yaxis"]["range"][0]
    ends = [
        y - below
        for y, below in zip(trace["y"], trace["error_y"]["arrayminus"], strict=True)
        if y is not None
    ]
    assert min(ends) >= lowest * 0.98
    assert described["layout"]["yaxis"]["type"] == "log"


def test_names_are_text_to_the_browser() -> None:
    described = describe_plot(make_hostile())
    for text in (described["data"][0]["name"], described["data"][1]["text"][0]):
        assert "<" not in text
        assert "&lt;i&gt;" in text
    assert not re.search(r"<(?!br>)", described["layout"]["xaxis"]["title"]["text"])


def test_nothing_offers_to_leave_the_page() -> None:
    for plot in DRAWN:
        config = describe_plot(plot)["config"]
        assert not config["responsive"]  # plotly.js would take a figure's height at any change of the window
        assert config["showSendToCloud"] is False
        assert config["responsive"] is False  # plotly.js would take heights away at any change of the window
        assert config["plotlyServerURL"] == ""
        assert "http" not in json.dumps(describe_plot(plot))


@pytest.mark.parametrize(
    ("values", "logarithmic", "rounded"),
    [
        ([0.123456789, 1000.123456789], False, [0.1, 1000.1]),
        ([1e9 + 1 / 3, 1e9 + 1], False, [1000000000.33333, 1000000001]),
        ([1e-9, 2.3456789123e-9], False, [1e-9, 2.34568e-9]),
        ([3.14159265, 3.14159265], False, [3.14159, 3.14159]),
        ([1.23456789e-7, 1.23456789e9], True, [1.23457e-7, 1234570000]),
        ([float("nan"), 2.0], False, [None, 2]),
        ([], False, []),
    ],
)
def test_numbers_are_rounded_to_what_a_screen_shows(
    values: list[float], logarithmic: bool, rounded: list[float | None]
) -> None:
    assert round_numbers(values, logarithmic=logarithmic) == pytest.approx(rounded)


def test_large_figures_stay_small() -> None:
    rng = np.random.default_rng(1)
    cloud = Points(name="probes", x=np.arange(100_000.0), y=rng.random(100_000))
    assert len(json.dumps(describe_plot(make_plot(make_panel(cloud))))) < 60_000


@pytest.mark.parametrize("scale", list(Scale))
@pytest.mark.parametrize("values", [[1e-30, 1.0, 1e30], [5.0], [0.0, 0.0, 1.0], [1e99, -1e99], [1e-320, 2.0]])
def test_extreme_numbers_are_valid_too(scale: Scale, values: list[float]) -> None:
    curve = Curve(name="line", x=np.arange(1.0, len(values) + 1), y=np.array(values))
    described = describe_plot(make_plot(make_panel(curve, y=scale)))
    low, high = described["layout"]["yaxis"]["range"]
    assert low < high
    json.dumps(described, allow_nan=False)


def test_an_empty_plot_is_a_box_with_its_reason() -> None:
    with pytest.raises(ValueError, match="one duration only"):
        describe_plot(make_empty())
    page = render_figure(make_empty(), "f1")
    assert "one duration only" in page
    assert "<script" not in page
    assert "<svg" not in page


def test_markup_cannot_be_left() -> None:
    page = render_figure(replace(make_hostile(), sentence=HOSTILE), "f1")
    inside = page.split('<script type="application/json">')[1]
    assert inside.count("<") == 2  # the ends of the script and of the figure
    assert json.loads(inside.split("</script>")[0])["layout"]["meta"]["name"] == "hostile"
    assert "<i>" not in page


def test_without_a_picture_a_figure_says_how_it_can_be_had() -> None:
    page = render_figure(make_grid(), "g", static=False)
    assert "<svg" not in page
    assert f"--figure {make_grid().name} --out FILE.svg" in page
    assert "plot-way" not in render_figure(make_grid(), "g")


def test_on_paper_a_figure_is_an_image_with_its_numbers_attached() -> None:
    page = render_printed(make_grid(), "g")
    assert "<script" not in page
    kinds = dict(re.findall(r'"data:([a-z/+]+[a-z]);base64,([^"]*)"', page))
    assert ElementTree.fromstring(base64.b64decode(kinds["image/svg+xml"])).get("width")
    assert base64.b64decode(kinds["text/csv"]).decode() == write_csv(make_grid())
    assert "one duration only" in render_printed(make_empty(), "e")


def test_scripts_are_sealed() -> None:
    assert seal_script('a = "</script>"; b = "<!-- "; 1 < 2') == 'a = "\\x3c/script>"; b = "\\x3c!-- "; 1 < 2'
    assert json.loads(seal_json(json.dumps("</script>\u2028"))) == "</script>\u2028"
    library = read_library()
    assert "plotly.js" in library[:100]
    for text in (library, live.SCRIPT):
        assert not re.search("</script|<!--", text, re.IGNORECASE)


def test_tables_hold_every_number_that_is_drawn() -> None:
    headings, rows = tabulate(make_sweep(windows=1))
    assert headings == HEADINGS
    assert len(rows) == 66 + 11 + 1
    assert sum(row[-1] == "outlier" for row in rows) == 1
    curve = make_sweep(windows=1).panels[0].layers[1]
    assert isinstance(curve, Curve)
    assert curve.low is not None
    assert rows[66][:3] == ("Throughput (Mbit/s)", "window 8 KiB", 1)
    assert [rows[66][3], rows[66][4]] == pytest.approx([curve.y[0], curve.low[0]])
    _, fields = tabulate(make_grid())
    assert fields[0][2:] == ("1", 3.3, None, None, "8 KiB")
    assert sum(row[3] is None for row in fields) == 1
    _, bars = tabulate(make_bars())
    assert len(bars) == 96
    assert bars[12][4] == pytest.approx(bars[0][5])
    assert tabulate(make_empty())[1] == []


def test_csv_names_what_x_is_and_quotes() -> None:
    lines = write_csv(make_sweep(windows=1)).splitlines()
    assert lines[0] == "panel,series,x: Streams,y,low,high,note"
    assert '"a & b <i>""c""</i>' in write_csv(make_hostile())


def test_a_panel_without_a_value_says_so() -> None:
    full = make_panel(Curve(name="c", x=np.arange(2.0), y=np.arange(2.0)))
    blank = make_panel(Curve(name="d", x=np.arange(2.0), y=np.full(2, np.nan)))
    plot = make_plot(full, blank, shared_x=True)
    said = [note for note in describe_plot(plot)["layout"]["annotations"] if note["text"] == BLANK]
    assert [note["yref"] for note in said] == ["y2 domain"]
    assert render_svg(plot, "k").count(BLANK) == 1
