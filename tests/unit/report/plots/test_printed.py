"""Printed figures: valid, named, in the page's ink, without a warning whatever they show."""

import json
import re
import struct
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure

from pathlab.errors import UsageError
from pathlab.report.plots import printed
from pathlab.report.plots.layers import format_fields
from pathlab.report.plots.live import describe_plot
from pathlab.report.plots.model import Curve, Grid, Plot, Points, Rule, Scale
from pathlab.report.plots.preparation import prepare_plot
from pathlab.report.plots.printed import draw_plot, render_svg, write_figure
from pathlab.report.plots.style import COLOURS, GRID, INK, MARKERS, choose_slot
from tests.builders.plots import (
    CONDITION,
    HOSTILE,
    list_samples,
    make_empty,
    make_grid,
    make_hostile,
    make_logarithmic,
    make_panel,
    make_plot,
    make_sweep,
    make_timeline,
)
from tests.builders.sections import find_layer

SVG = "{http://www.w3.org/2000/svg}"


def draw(plot: Plot) -> Figure:
    return draw_plot(prepare_plot(plot), titled=False)


@pytest.mark.parametrize("plot", list_samples(), ids=lambda plot: plot.name)
def test_every_kind_is_valid_svg_with_ids_of_its_own(plot: Plot) -> None:
    text = render_svg(plot, "f7", titled=True)
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert root.get("width") is None
    assert root.get("viewBox")
    assert INK not in text
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    assert all(name.startswith("f7-") for name in ids)
    used = re.findall(r"(?:url\(#|href=\"#)([^)\"]*)", text)
    assert set(used) <= set(ids)
    assert plot.title[:20] in root.get("aria-label", "")


def test_what_draws_nothing_leaves_a_picture_whole() -> None:
    nothing = np.full(2, np.nan)
    curve = Curve(name="c", x=np.arange(2.0), y=np.arange(2.0), low=nothing, high=nothing)
    text = render_svg(make_plot(make_panel(curve)), "k")
    assert ElementTree.fromstring(text).get("viewBox")
    assert "<g>" not in text


def test_text_stays_text_and_names_are_not_interpreted() -> None:
    root = ElementTree.fromstring(render_svg(make_hostile(), "h"))
    texts = ["".join(node.itertext()) for node in root.iter(f"{SVG}text")]
    assert any(HOSTILE.split(" —")[0] in text for text in texts)


def test_labels_of_close_values_keep_their_digits() -> None:
    close = make_panel(Curve(name="ratio", x=np.array([1.0, 2.0]), y=np.array([1.0002, 1.0088])))
    svg = render_svg(make_plot(close), "k")
    assert {"1.002", "1.004", "1.006"} <= set(re.findall(r">([0-9.]+)</text>", svg))


def test_points_of_one_look_share_their_style() -> None:
    rng = np.random.default_rng(1)
    cloud = Points(name="trials", x=rng.random(2000), y=rng.random(2000))
    text = render_svg(make_plot(make_panel(cloud)), "k")
    assert text.count("<use") >= 2000
    assert len(text) / 2000 < 70


def list_segments(svg: str, colour: str) -> set[tuple[float, ...]]:
    """The straight lines of paths of one colour, as (x, y, x, y)."""
    paths = re.findall(rf'<path d="([^"]*)" [^>]*style="[^"]*stroke: {colour}[^"]*"/>', svg)
    lines = re.findall(r"M (\S+) (\S+) L (\S+) (\S+) ", "".join(paths))
    return {tuple(round(float(number), 1) for number in line) for line in lines}


@pytest.mark.parametrize("make", [make_sweep, make_timeline])
def test_grid_and_ticks_are_a_path_each_and_where_they_were(
    make: Callable[[], Plot], monkeypatch: pytest.MonkeyPatch
) -> None:
    joined = render_svg(make(), "k", alone=True)
    assert INK in joined
    assert "currentColor" not in joined
    assert "DejaVu Sans" in joined
    assert ElementTree.fromstring(joined).get("width")
    monkeypatch.setattr(printed, "join_marks", lambda text: text)
    apart = render_svg(make(), "k", alone=True)
    assert list_segments(joined, GRID) == list_segments(apart, GRID) != set()
    panels = len(make().panels)
    assert joined.count(f"stroke: {GRID}; stroke-opacity") == panels < apart.count(f"stroke: {GRID};")
    dashes = re.findall(r'<path id="([^"]*)" d="M 0 0 L ', apart)
    ticks = re.findall(rf'href="#(?:{"|".join(dashes)})" x="([^"]*)" y="([^"]*)"', apart)
    starts = {line[:2] for line in list_segments(joined, INK)}
    assert len(ticks) > 5
    assert {(round(float(x), 1), round(float(y), 1)) for x, y in ticks} <= starts
    assert not any(name in joined for name in dashes)


def test_medians_intervals_and_outliers_are_where_the_numbers_are() -> None:
    plot = make_sweep(windows=2)
    axes = draw(plot).axes[0]
    lines = {str(line.get_label()): line for line in axes.get_lines()}
    for layer in plot.panels[0].layers:
        if isinstance(layer, Curve):
            line = next(found for found in axes.get_lines() if found.get_label() == layer.name)
            assert np.array_equal(np.asarray(line.get_ydata()), layer.y)
    intervals = np.asarray(lines["_intervals"].get_ydata())
    last = plot.panels[0].layers[-2]
    assert isinstance(last, Curve)
    assert last.low is not None
    assert np.array_equal(intervals[::3], last.low)
    outliers = [line for line in axes.get_lines() if "outliers" in str(line.get_label())]
    assert [len(np.asarray(line.get_xdata())) for line in outliers] == [1, 1, 1, 1]
    assert axes.get_ylim()[0] == 0


def test_points_of_no_median_are_open() -> None:
    x = np.arange(3.0)
    cloud = Points(name="lab-limited", x=x, y=x, slot=2, hollow=True)
    (line,) = draw(make_plot(make_panel(cloud))).axes[0].get_lines()
    assert (line.get_markerfacecolor(), line.get_marker()) == ("none", MARKERS[2])
    (layer,) = describe_plot(make_plot(make_panel(cloud)))["panels"][0]["layers"]
    assert (layer["hollow"], layer["look"]) == (True, 2)


def test_slots_differ_by_more_than_colour() -> None:
    looks = {(choose_slot(n).colour, choose_slot(n).marker, str(choose_slot(n).dash)) for n in range(40)}
    assert len(looks) == 40
    assert len({choose_slot(n).marker for n in range(len(COLOURS))}) == len(MARKERS)
    assert {choose_slot(n).hatch for n in (0, 7)} != {choose_slot(0).hatch}


def test_fields_without_a_value_stay_blank() -> None:
    texts = format_fields(find_layer(make_grid(), "median throughput", kind=Grid))
    assert texts[1][2] == ""
    assert texts[0][0] == "3.3"
    shown = [text.get_text() for text in draw(make_grid()).axes[0].texts]
    assert len(shown) == 35
    assert shown.count("") == 1


def test_panels_share_their_axis_and_only_the_last_says_it() -> None:
    above, below = draw(make_timeline()).axes
    assert above.get_xlim() == below.get_xlim()
    assert above.get_xlabel() == ""
    assert below.get_xlabel() == "Time since the sender's go (s)"


def test_nothing_reaches_beyond_the_paper() -> None:
    for plot in (make_sweep(), make_timeline(), make_grid(), make_logarithmic()):
        figure = draw_plot(prepare_plot(plot), titled=True)
        scale = "log" if plot.panels[0].x.scale is Scale.LOG2 else "linear"
        assert figure.axes[0].get_xscale() == scale
        box, paper = figure.get_tightbbox(), figure.bbox_inches
        assert box.x0 > -0.02
        assert box.y0 > -0.02
        assert box.x1 < paper.x1 + 0.02
        assert box.y1 < paper.y1 + 0.02


CLOSE = [1e9, 1e9 + 1]


@pytest.mark.parametrize(
    "values",
    [
        *([1e-30, 1.0, 1e30], [5.0], [0.0, 0.0], [0.0, 0.0, 1.0], [-1e99, 1e99], CLOSE),
        *([1e-320], [1e-320, 2.0]),
    ],
    ids=str,
)
def test_extreme_numbers_are_drawn_or_left_out_on_every_scale(values: list[float]) -> None:
    y = np.array(values)
    curve = Curve(name="line", x=np.arange(1.0, y.size + 1), y=y, low=y - 1, high=y + 1)
    rule = Rule(name="known", value=values[0])
    plot = make_plot(*(make_panel(curve, rule, y=scale) for scale in Scale))
    assert render_svg(plot, "x").startswith("<svg")
    described = describe_plot(plot)
    for panel in described["panels"]:
        low, high = panel["y"]["ends"]
        assert low < high or values == CLOSE
    json.dumps(described, allow_nan=False)


def test_a_thousand_names_do_not_bury_the_figure() -> None:
    curves = [Curve(name=f"stream {n}", x=np.arange(2.0), y=np.arange(2.0) + n, slot=n) for n in range(300)]
    figure = draw(make_plot(make_panel(*curves)))
    assert len(figure.legends[0].get_texts()) == 40
    assert figure.get_size_inches()[1] < 6


def test_files_have_the_form_that_their_ending_says(tmp_path: Path) -> None:
    kinds = (
        ("a.svg", b"<?xml", make_grid()),
        ("a.pdf", b"%PDF", make_hostile()),
        ("a.PNG", b"\x89PNG", make_grid()),
        ("empty.svg", b"<?xml", make_empty()),
    )
    for name, start, plot in kinds:
        write_figure(plot, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    assert CONDITION in (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "one duration only" in (tmp_path / "empty.svg").read_text(encoding="utf-8")
    width_px = struct.unpack(">I", (tmp_path / "a.PNG").read_bytes()[16:20])[0]
    assert width_px == 1320  # 6.6 inches at 200 dpi


def test_a_style_file_overrides(tmp_path: Path) -> None:
    style = tmp_path / "mine.mplstyle"
    style.write_text(
        "axes.prop_cycle: cycler('color', ['123456', '654321'])\nfigure.figsize: 3, 2\nsavefig.dpi: 50\n"
    )
    plot = make_sweep(windows=1)
    write_figure(plot, tmp_path / "a.svg", style)
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "#123456" in text
    assert COLOURS[0].lower() not in text
    write_figure(plot, tmp_path / "a.png", style)
    assert struct.unpack(">II", (tmp_path / "a.png").read_bytes()[16:24]) == (150, 100)
    write_figure(plot, tmp_path / "b.svg")
    assert "#123456" not in (tmp_path / "b.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"no.such.key: 3\n", "no.such.key"),
        (b"axes.grid: perhaps\n", "perhaps"),
        (b"\xff\xfe\x00binary", "decode"),
        (None, "No such file"),
    ],
)
def test_a_style_file_that_cannot_be_used_is_one_line(
    tmp_path: Path, content: bytes | None, word: str
) -> None:
    style = tmp_path / "mine.mplstyle"
    if content is not None:
        style.write_bytes(content)
    with pytest.raises(UsageError, match=r"mine\.mplstyle") as caught:
        write_figure(make_sweep(windows=1), tmp_path / "a.svg", style)
    assert word in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "a.svg").exists()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a\.gif"):
        write_figure(make_sweep(windows=1), tmp_path / "a.gif")
    with pytest.raises(UsageError, match=r"no folder .*nowhere"):
        write_figure(make_sweep(windows=1), tmp_path / "nowhere" / "a.svg")
