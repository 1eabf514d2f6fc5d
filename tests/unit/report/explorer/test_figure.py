"""An exploration as a figure for print: panels, marks, places and texts."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np
import pytest

from pathlab.report.explorer.figure import FigureTexts, mark_times, plot_exploration
from pathlab.report.plots.model import Area, Bars, Curve, Panel, Points, Rule, Scale
from pathlab.study.exploration.exploration import (
    AgainstCurve,
    AgainstPoint,
    ExploredAxis,
    ExploredCurve,
    Facet,
    PointState,
)
from tests.builders.explorations import DELAY, PATH, RATE, STREAMS, curve, dot, explore, point

MEDIAN = FigureTexts(statistic="median")
Mark = TypeVar("Mark")


def draw_panel(*curves: ExploredCurve, texts: FigureTexts = MEDIAN, **axes: Any) -> Panel:
    """The only panel of a figure of these curves."""
    (panel,) = plot_exploration(explore(Facet(name="", curves=curves), **axes), texts).panels
    return panel


def find_marks(panel: Panel, kind: type[Mark]) -> list[Mark]:
    return [layer for layer in panel.layers if isinstance(layer, kind)]


def test_full_markers_have_an_interval_and_open_ones_are_undecided() -> None:
    panel = draw_panel(curve("64 KiB", 2, [point(1, 10), point(2, 20, decided=False)]))
    line, full, hollow = find_marks(panel, Curve)
    assert (line.markers, list(line.y)) == (False, [10, 20])
    assert (full.filled, full.line) == (True, False)
    assert (list(full.x), list(full.low), list(full.high)) == ([1], [9], [11])
    assert (hollow.filled, list(hollow.x), hollow.low) == (False, [2], None)
    assert [layer.slot for layer in (line, full, hollow)] == [2, 2, 2]
    assert [layer.legend for layer in (line, full, hollow)] == [False, True, False]
    assert (panel.x.scale, panel.x.ticks, panel.x.title) == (Scale.LOG2, (1.0, 2.0, 4.0), "Streams")


def test_dots_say_whether_their_trial_counts_and_is_flagged() -> None:
    dots = (dot(1, 9), dot(1, 12, flagged=True), dot(1, 2, counted=False))
    counted, others = find_marks(draw_panel(curve("a", 0, [point(1, 10)], *dots)), Points)
    assert (list(counted.y), list(counted.outlier), counted.hollow) == ([9, 12], [False, True], False)
    assert (list(others.y), others.hollow, others.legend) == ([2], True, False)
    assert counted.small
    assert others.small


def test_levels_stand_side_by_side_and_unused_ones_get_no_room() -> None:
    curves = (curve("a", 0, [point(0, 1), point(2, 2)]), curve("b", 1, [point(2, 3)]))
    panel = draw_panel(*curves, x=PATH)
    assert (panel.x.ticks, panel.x.tick_labels) == ((0.0, 1.0), ("east", "south"))
    first, second = find_marks(panel, Curve)
    np.testing.assert_allclose(first.x, [-0.175, 0.825])
    np.testing.assert_allclose(second.x, [1.175])
    assert not first.line


def test_curves_stand_apart_at_a_marked_value() -> None:
    curves = (curve("a", 0, [point(1, 1), point(4, 2)]), curve("b", 1, [point(1, 1), point(4, 2)]))
    first, second = (layer for layer in find_marks(draw_panel(*curves), Curve) if layer.line)
    np.testing.assert_allclose(second.x / first.x, 4**0.012)
    linear = draw_panel(*curves, x=replace(STREAMS, scale="linear"))
    first, second = (layer for layer in find_marks(linear, Curve) if layer.line)
    np.testing.assert_allclose(second.x - first.x, 3 * 0.012)


def test_each_facet_and_measure_is_a_panel_with_the_same_limits_for_a_measure() -> None:
    def facet(name: str, height: float) -> Facet:
        parts = (curve("a, Throughput", 0, [point(1, height)]), curve("a, RTT", 0, [point(1, 5)], y="delay"))
        return Facet(name=name, curves=parts)

    plot = plot_exploration(explore(facet("east", 10), facet("south", 100), ys=(RATE, DELAY)), MEDIAN)
    assert plot.title.startswith("Throughput and RTT over Streams")
    assert [(panel.title, panel.y.label) for panel in plot.panels] == [
        ("east", "Throughput"),
        ("east", "RTT"),
        ("south", "Throughput"),
        ("south", "RTT"),
    ]
    limits = {(panel.y.label, panel.y.low, panel.y.high) for panel in plot.panels}
    assert len(limits) == 2
    low, high = next((low, high) for label, low, high in limits if label == "Throughput")
    assert low < 9 < 101 < high
    assert {layer.name for panel in plot.panels for layer in panel.layers} == {"a"}


def test_a_comparison_with_the_baseline_has_a_panel_of_its_own() -> None:
    ends = {"x": 1.0, "y": 1.5, "low": 1.4, "high": 1.6}
    against = AgainstCurve(
        facet="",
        name="b",
        colour_level=1,
        y_column="rate",
        points=(
            AgainstPoint(
                **ends, state=PointState.ESTIMATED, trials=8, baseline_trials=7, paired=True, drawn=False
            ),
        ),
    )
    found = explore(Facet(name="", curves=(curve("a", 0, [point(1, 10)]), curve("b", 1, [point(1, 15)]))))
    found = replace(found, against=(against,))
    ratio = plot_exploration(found, replace(MEDIAN, baseline="a")).panels[1]
    assert (ratio.y.title, find_marks(ratio, Rule)[0].value) == ("Ratio to a", 1)
    assert (find_marks(ratio, Curve)[0].slot, find_marks(ratio, Curve)[0].legend) == (1, False)
    difference = plot_exploration(found, replace(MEDIAN, baseline="a", difference=True)).panels[1]
    assert (difference.y.title, find_marks(difference, Rule)[0].value) == ("Difference to a (Mbit/s)", 0)


def test_limits_of_the_view_cut_dots_and_reach_the_axis() -> None:
    dots = (dot(1, 4), dot(1, 6))
    panel = draw_panel(curve("a", 0, [point(1, 10)], *dots), ys=(replace(RATE, low=5.0, high=None),))
    assert (panel.y.low, panel.y.high) == (5.0, None)
    assert list(find_marks(panel, Points)[0].y) == [6]


def test_a_logarithmic_axis_without_a_value_above_zero_is_linear() -> None:
    panel = draw_panel(curve("a", 0, [point(1, -3)]), ys=(replace(RATE, scale="log10"),))
    assert panel.y.scale is Scale.LINEAR


def test_many_points_have_a_band_and_no_markers() -> None:
    x = replace(STREAMS, ticks=None, tick_labels=None, scale="linear")
    points = [point(place, place) for place in range(1, 101)]
    panel = draw_panel(curve("a", 0, points), x=x)
    assert len(find_marks(panel, Area)) == 1
    (line,) = find_marks(panel, Curve)
    assert (line.markers, line.low, line.legend) == (False, None, True)


def test_a_cumulative_share_is_steps_and_bins_are_bars_or_outlines() -> None:
    parts = curve("a", 0, [point(1, 0.5), point(2, 1.0)])
    steps = draw_panel(parts, texts=FigureTexts(statistic="cdf"))
    assert [layer.step for layer in find_marks(steps, Curve)] == [True]
    (band,) = find_marks(steps, Area)
    assert (list(band.x), list(band.low), list(band.high)) == ([1, 2, 2], [-0.5, -0.5, 0], [1.5, 1.5, 2])
    bins = replace(parts, edges=(0.5, 1.5, 2.5))
    histogram = FigureTexts(statistic="histogram")
    (bars,) = find_marks(draw_panel(bins, texts=histogram), Bars)
    assert (list(bars.x), list(bars.height), bars.width) == ([1, 2], [0.5, 1.0], 1)
    outlines = find_marks(draw_panel(bins, replace(bins, name="b", colour_level=1), texts=histogram), Curve)
    assert [list(layer.y) for layer in outlines] == [[0, 0.5, 1.0, 0]] * 2
    assert [list(layer.x) for layer in outlines] == [[0.5, 0.5, 1.5, 2.5]] * 2


@pytest.mark.parametrize("span_s", [0, 1, 59, 3_600, 86_400, 10 * 86_400, 4 * 365 * 86_400])
def test_times_are_marked_at_few_whole_steps(span_s: float) -> None:
    start = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).timestamp()
    ticks = mark_times(start, start + span_s)
    assert 1 <= len(ticks) <= 8
    assert ticks == sorted(set(ticks))
    assert all(start <= tick <= start + span_s for tick in ticks)
    steps = set(np.diff(ticks))
    assert len(steps) <= 1


def test_a_time_axis_says_date_and_clock() -> None:
    start = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).timestamp()
    x = ExploredAxis(column="started_utc", label="Start (UTC)", unit=None, scale="linear", kind="time")
    points = [point(start, 1), point(start + 3_600, 2)]
    panel = draw_panel(curve("a", 0, points), x=x)
    assert panel.x.tick_labels[0] == "01-02 03:10"
    assert panel.x.tick_labels[1:3] == ("03:20", "03:30")
