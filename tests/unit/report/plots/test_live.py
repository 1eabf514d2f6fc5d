"""Figures in the page: what the script draws from, small and sealed against the page; their tables."""

import base64
import hashlib
import json
import re
import tomllib
from dataclasses import replace
from importlib import resources
from xml.etree import ElementTree

import numpy as np
import pytest

from pathlab.report.plots import live
from pathlab.report.plots.export import HEADINGS, list_plot_rows, write_csv
from pathlab.report.plots.live import describe_plot, read_library, round_numbers, seal_json, seal_script
from pathlab.report.plots.markup import render_figure, render_printed
from pathlab.report.plots.model import Curve, Points
from tests.builders.plots import (
    HOSTILE,
    make_bars,
    make_empty,
    make_grid,
    make_hostile,
    make_panel,
    make_plot,
    make_sweep,
)


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
    assert json.loads(inside.split("</script>")[0])["name"] == "hostile"
    assert "<i>" not in page


def test_without_a_picture_a_figure_says_how_it_can_be_had() -> None:
    page = render_figure(make_grid(), "g", static=False)
    assert "<svg" not in page
    assert f"--figure {make_grid().name} --out FILE.svg" in page
    assert "plot-way" not in render_figure(make_grid(), "g")


def test_on_paper_a_figure_is_an_image_with_its_numbers_attached() -> None:
    titled = render_printed(replace(make_grid(), title="Throughput (Mbit/s) <b>"), "t")
    assert "Throughput (Mbit/\u2060s) &lt;b&gt;</strong>" in titled  # no line breaks within the unit
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
    assert library.startswith("/**\n* plotly.js (basic - minified) v")
    for text in (library, live.SCRIPT):
        assert not re.search("</script|<!--", text, re.IGNORECASE)


def test_tables_hold_every_number_that_is_drawn() -> None:
    sweep = make_sweep(windows=1)
    headings, rows = list_plot_rows(sweep)
    assert headings == HEADINGS
    assert len(rows) == 66 + 11 + 1
    assert sum(row[-1] == "outlier" for row in rows) == 1
    curve = sweep.panels[0].layers[1]
    assert isinstance(curve, Curve)
    assert rows[66][:3] == ("Throughput (Mbit/s)", "window 8 KiB", 1)
    assert [rows[66][3], rows[66][4]] == pytest.approx([curve.y[0], curve.low[0]])
    _, fields = list_plot_rows(make_grid())
    assert fields[0][2:] == ("1", 3.3, None, None, "8 KiB")
    assert sum(row[3] is None for row in fields) == 1
    _, bars = list_plot_rows(make_bars())
    assert len(bars) == 96
    assert bars[12][4] == pytest.approx(bars[0][5])
    assert list_plot_rows(make_empty())[1] == []


@pytest.mark.parametrize(
    ("folder", "script"), [("report/plotly", "plotly-basic.min.js"), ("web/uplot", "uPlot.iife.min.js")]
)
def test_a_library_is_the_published_one_with_its_licence(folder: str, script: str) -> None:
    files = {item.name: item.read_bytes() for item in (resources.files("pathlab") / folder).iterdir()}
    stated = tomllib.loads(files.pop("bundle.toml").decode())
    assert {name: hashlib.sha256(content).hexdigest() for name, content in files.items()} == stated["sha256"]
    assert re.search(rf"\bv{re.escape(stated['version'])}\b", files[script][:80].decode())
    assert "MIT License" in files["LICENSE"].decode()
