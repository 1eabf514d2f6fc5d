"""Figures for a paper: size, title, labels and style; no text is cut, and none covers another."""

import functools
import re
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from pathlab.errors import UsageError
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.explorer.figure import FigureTexts, plot_exploration
from pathlab.report.plots.figure_look import FigureLook, parse_size, read_look
from pathlab.report.plots.model import Plot, Points, Rule
from pathlab.report.plots.preparation import prepare_plot
from pathlab.report.plots.printed import draw_file, draw_plot, draw_plot_figure, write_figure
from pathlab.report.trials.trials import find_trial_plot
from pathlab.study.exploration.exploration import Facet
from tests.builders.explorations import curve, dot, explore, point
from tests.builders.messages import make_message_results
from tests.builders.pictures import list_faults, list_texts
from tests.builders.plots import (
    make_answer,
    make_bars,
    make_empty,
    make_grid,
    make_logarithmic,
    make_sweep,
    make_timeline,
)
from tests.builders.results import make_quickstart
from tests.builders.sections import draw, make_inputs
from tests.builders.technologies import make_technology_inputs, make_technology_results

COLUMN = (3.4, 2.4)
#: With long labels, its three panels and five series need a little more; the refusal says so.
HIGHER = {"measured trial": (3.4, 2.9)}
LONG = "over the transatlantic path"


@pytest.fixture
def small_type(tmp_path: Path) -> Path:
    style = tmp_path / "paper.mplstyle"
    style.write_text("font.size: 8\n")
    return style


@functools.cache
def measure() -> ReportInputs:
    return make_inputs(make_quickstart(cycles=7))


@functools.cache
def measure_messages() -> ReportInputs:
    return make_inputs(make_message_results(cycles=7))


def draw_measured(name: str) -> Plot:
    return draw(measure(), name)


def draw_messages(name: str) -> Plot:
    return draw(measure_messages(), name)


@functools.cache
def measure_technologies() -> ReportInputs:
    return make_technology_inputs(make_technology_results(cycles=7))


def draw_technologies(name: str) -> Plot:
    return draw(measure_technologies(), name)


def draw_trial() -> Plot:
    return find_trial_plot(measure(), "trial-1")


def draw_view() -> Plot:
    """Two panels with open, full and unusable marks."""
    facets = [
        Facet(
            name=name,
            curves=(
                curve("A: Inter-region link (before)", 0, [point(1, 9), point(2, 18, decided=False)]),
                curve("B: Inter-region link (after)", 1, [point(1, 8)], dot(1, 9), dot(2, 4, counted=False)),
            ),
        )
        for name in ("west → east", "west → south")
    ]
    return plot_exploration(explore(*facets), FigureTexts(statistic="median", by_results=True))


KINDS: dict[str, Callable[[], Plot]] = {
    **{made().name: made for made in (make_sweep, make_timeline, make_grid, make_bars, make_logarithmic)},
    **{made().name: made for made in (make_answer, make_empty)},
    "view": draw_view,
    "measured trial": draw_trial,
    **{
        f"measured {name}": functools.partial(draw_measured, name)
        for name in (
            *("answer-1", "throughput-streams-1", "drtt-streams-1", "cpu-throughput-1", "surface-1"),
            *("grid-1", "delay-throughput-1", "limits-1", "loss-streams-1", "saturation-1"),
            *("streams-windows-1", "frequency-throughput-1", "iqr-streams-1", "fairness-1"),
        )
    },
    **{
        name: functools.partial(draw_messages, name)
        for name in ("latency-by-rate-1-64B", "latency-by-size-1-1k-s", "latency-front-1-64B")
    },
    **{
        name: functools.partial(draw_technologies, name)
        for name in ("technologies-1-64B", "technologies-1-16KiB", "technology-overhead-1-64B")
    },
    **{"technologies-by-size-1-1": functools.partial(draw_technologies, "technologies-by-size-1-1")},
}


def lengthen(plot: Plot) -> dict[str, str]:
    """Long texts for the axes and the first series of a figure."""
    if plot.empty is not None:
        return {}
    panel = plot.panels[-1]
    first = next(layer.name for layer in panel.layers if not isinstance(layer, Rule))
    names = dict.fromkeys((panel.x.label, panel.y.label, first))
    return {name: f"{name} {LONG}" for name in names}


@pytest.mark.parametrize("long", [False, True], ids=["own labels", "long labels"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_text_of_a_column_wide_figure_is_cut_or_covered(kind: str, long: bool, small_type: Path) -> None:
    plot = prepare_plot(KINDS[kind]())
    size = HIGHER.get(kind, COLUMN) if long else COLUMN
    for title in ("", None, f"A figure {LONG} {LONG}"):
        look = FigureLook(size_inch=size, title=title, labels=lengthen(plot) if long else {})
        figure = draw_plot_figure(plot, small_type, look)
        assert tuple(figure.get_size_inches()) == size
        assert list(list_faults(figure)) == [], title
        assert {text.get_fontsize() for text in figure.texts} <= {7.2, 8.0}
        for axes in figure.axes:
            assert axes.title.get_fontsize() in (7.2, 8.4)
        for legend in figure.legends:
            assert {text.get_fontsize() for text in legend.get_texts()} == {7.2}
    assert plot.empty or len(list_texts(figure)) > 4


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_of_a_page_is_cut_or_covered(kind: str) -> None:
    with mpl.rc_context():
        for width_inch in (6.6, 4.6):
            figure = draw_plot(prepare_plot(KINDS[kind]()), titled=True, width_inch=width_inch)
            assert list(list_faults(figure)) == []


@pytest.mark.parametrize(
    ("kind", "size", "says"),
    [
        ("throughput-streams-1", (1.2, 0.9), r"at a font size of 12 pt it needs about (\S+ x \S+) in$"),
        (
            "measured trial",
            COLUMN,
            r"needs about (\S+ x \S+) in; 3\.4 x 2\.4 in are enough at (8|8\.5) pt: set",
        ),
        (
            "technologies-by-size-1-1",
            COLUMN,
            r"needs about (\S+ x \S+) in; 3\.4 x 2\.4 in are enough at (\S+) pt",
        ),
    ],
)
def test_a_figure_without_room_names_a_size_and_a_type_that_fit(
    kind: str, size: tuple[float, float], says: str, tmp_path: Path
) -> None:
    plot, style = KINDS[kind](), tmp_path / "large.mplstyle"
    style.write_text("font.size: 12\n")
    with pytest.raises(
        UsageError, match=rf"{size[0]} x {size[1]} in are too small for '{plot.name}'"
    ) as caught:
        draw_plot_figure(plot, style, FigureLook(size_inch=size))
    found = re.search(says, caught.value.hint)
    assert found, caught.value.hint
    draw_plot_figure(plot, style, FigureLook(size_inch=parse_size(found[1])))
    if found.lastindex == 2:
        style.write_text(f"font.size: {found[2]}\n")
        draw_plot_figure(plot, style, FigureLook(size_inch=size))


def test_what_has_no_room_is_left_out_in_order_and_named(small_type: Path) -> None:
    plot = make_sweep()
    found: dict[tuple[str, ...], None] = {}
    for height in np.arange(3.4, 1.7, -0.02):
        drawn = draw_file(plot, ".svg", small_type, FigureLook(size_inch=(3.4, float(height))))
        found[drawn.left_out] = None
    every = (plot.condition, plot.sentence, plot.title)
    assert list(found) == [every[:count] for count in range(4)]
    drawn = draw_file(plot, ".svg", None, FigureLook(title=""))
    assert drawn.left_out == (plot.sentence,)
    assert f">{plot.title}<" not in drawn.content.decode()
    drawn = draw_file(plot, ".svg", None, FigureLook(title="Mine"))
    assert ">Mine<" in drawn.content.decode()
    assert plot.sentence in drawn.content.decode()
    assert plot.condition not in drawn.content.decode().partition("</metadata>")[2]


def test_labels_are_renamed_whole_or_by_word_and_the_page_stays() -> None:
    plot = make_sweep(windows=2)
    labels = {"Throughput (Mbit/s)": "Goodput", "Streams": "Flows", "window": "buffer", "16 KiB": "large"}
    figure = draw_plot_figure(plot, None, FigureLook(labels=labels, title=""))
    shown = {text for text, _ in list_texts(figure)}
    assert {"Goodput", "Flows", "buffer 8 KiB", "buffer large"} <= shown
    assert not [text for text in shown if "window" in text or "Mbit" in text]
    swapped = draw_plot_figure(
        plot, None, FigureLook(labels={"window 8 KiB": "window 16 KiB", "window 16 KiB": "x"})
    )
    assert {"window 16 KiB", "x"} <= {text for text, _ in list_texts(swapped)}
    with pytest.raises(UsageError, match="'throughput-streams-1' has no label 'Stream'"):
        draw_plot_figure(plot, None, FigureLook(labels={"Stream": "Flow"}))
    with pytest.raises(UsageError, match="two series would have the name 'x'"):
        draw_plot_figure(plot, None, FigureLook(labels={"window 8 KiB": "x", "window 16 KiB": "x"}))


@pytest.mark.parametrize(
    ("size", "expected"),
    [("3.4x2.4", (3.4, 2.4)), ("7 x 3 in", (7.0, 3.0)), ((3.4, 2.4), (3.4, 2.4)), (".5X100", (0.5, 100.0))],
)
def test_sizes_are_read(size: str | tuple[float, float], expected: tuple[float, float]) -> None:
    assert parse_size(size) == expected


@pytest.mark.parametrize("size", ["3.4", "x", "0x0", "-1x2", "3.4x2.4cm", "1e3x2", "101x2", "nanxnan"])
def test_what_is_no_size_is_refused(size: str) -> None:
    with pytest.raises(UsageError, match="--size"):
        parse_size(size)
    with pytest.raises(UsageError, match="--label: 'Streams' is not KEY=TEXT"):
        read_look(None, None, ("Streams",))
    assert read_look(None, "", ("a=b=c",)) == FigureLook(title="", labels={"a": "b=c"})


def test_styles_of_matplotlib_have_names_and_move_nothing(tmp_path: Path) -> None:
    plot = make_answer()
    for name in ("dark_background", "seaborn-v0_8-paper", "ggplot"):
        figure = draw_plot_figure(plot, name, FigureLook(size_inch=(6.0, 4.0)))
        assert list(list_faults(figure)) == [], name
    dark = draw_file(plot, ".svg", "dark_background").content.decode()
    assert "#1f2328" not in dark  # ink on a dark ground
    with pytest.raises(UsageError, match="did you mean 'grayscale'"):
        draw_plot_figure(plot, "graysale")
    style = tmp_path / "cut.mplstyle"
    style.write_text("savefig.bbox: tight\nfigure.autolayout: True\ntext.usetex: True\nsavefig.dpi: 100\n")
    write_figure(plot, tmp_path / "a.png", style, FigureLook(size_inch=COLUMN))
    assert struct.unpack(">II", (tmp_path / "a.png").read_bytes()[16:24]) == (340, 240)


def test_the_name_of_a_line_covers_no_mark() -> None:
    plot = make_answer()
    for panel in plot.panels:
        (rule,) = [layer for layer in panel.layers if isinstance(layer, Rule)]
        (marks,) = [layer for layer in panel.layers if isinstance(layer, Points) and not layer.callout]
        # marks above, below, and on both sides of the line: there is no room beside it
        y = np.array([1.04, 0.96, 1.06, 0.94]) * rule.value
        crowded = replace(panel, layers=(*panel.layers[:-1], replace(marks, name="crowd", x=marks.x, y=y)))
        for x in (1.0, 1.3, 1.6, 2.0, 2.6, 3.2, 5.0, 6.5):
            near = replace(marks, name="crowd", x=np.full(2, x), y=np.array([1.05, 0.95]) * rule.value)
            crowded = replace(crowded, layers=(*crowded.layers, near))
        (ready,) = prepare_plot(replace(plot, panels=(crowded,))).panels
        (placed,) = [layer for layer in ready.layers if isinstance(layer, Rule)]
        assert not placed.labelled
        assert placed.legend  # it is named there instead
