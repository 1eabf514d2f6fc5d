"""An exploration as a figure for print: panels, marks, places and texts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

import numpy as np
import pytest

from pathlab.report.explorer.figure import FigureTexts, mark_times, plot_exploration
from pathlab.report.plots.model import Area, Bars, Curve, Panel, Points, Rule, Scale
from pathlab.study.exploration.exploration import (
    AgainstCurve,
    AgainstPoint,
    Dot,
    Exploration,
    ExploredAxis,
    ExploredCurve,
    ExploredPoint,
    Facet,
    PointState,
)

MEDIAN = FigureTexts(statistic="median")
STREAMS = ExploredAxis(
    column="streams",
    label="Streams",
    unit=None,
    scale="log2",
    kind="number",
    ticks=(1.0, 2.0, 4.0),
    tick_labels=("1", "2", "4"),
)
PATH = ExploredAxis(
    column="path", label="Path", unit=None, scale="linear", kind="category", levels=("east", "north", "south")
)
RATE = ExploredAxis(column="rate", label="Throughput", unit="Mbit/s", scale="linear", kind="number")
DELAY = ExploredAxis(column="delay", label="RTT", unit="ms", scale="linear", kind="number")


def point(x: float, y: float, *, decided: bool = True) -> ExploredPoint:
    ends = (y - 1, y + 1) if decided else (None, None)
    state = PointState.ESTIMATED if decided else PointState.UNDECIDED
    return ExploredPoint(x=x, y=y, low=ends[0], high=ends[1], state=state, trials=8 if decided else 2)


def dot(x: float, y: float, *, counted: bool = True, flagged: bool = False) -> Dot:
    return Dot(x=x, y=y, row=0, counted=counted, reason=None if counted else "failed", flagged=flagged)


def curve(
    name: str, level: int | None, points: list[ExploredPoint], *dots: Dot, y: str = "rate"
) -> ExploredCurve:
    return ExploredCurve(name=name, colour_level=level, y_column=y, points=tuple(points), dots=dots)


def explore(*facets: Facet, x: ExploredAxis = STREAMS, ys: tuple[ExploredAxis, ...] = (RATE,)) -> Exploration:
    points = [one for facet in facets for part in facet.curves for one in part.points]
    return Exploration(
        title="window 64 KiB",
        notes=("A note.",),
        statistic="median",
        range="95 % confidence interval",
        x=x,
        ys=ys,
        facets=facets,
        excluded=(("failed", 3),),
        against=None,
        undecided=sum(one.state is PointState.UNDECIDED for one in points),
    )


Mark = TypeVar("Mark")


def find_marks(panel: Panel, kind: type[Mark]) -> list[Mark]:
    return [layer for layer in panel.layers if isinstance(layer, kind)]


def test_full_markers_have_an_interval_and_open_ones_are_undecided() -> None:
    found = explore(Facet(name="", curves=(curve("64 KiB", 2, [point(1, 10), point(2, 20, decided=False)]),)))
    plot = plot_exploration(found, MEDIAN)
    assert plot.title == "Throughput over Streams: median, 95 % confidence interval"
    assert plot.condition == "window 64 KiB"
    assert plot.sentence == (
        "1 point is undecided (too few trials for an interval): open markers. "
        "Trials not counted: 3 failed. A note."
    )
    (panel,) = plot.panels
    line, full, hollow = find_marks(panel, Curve)
    assert (line.markers, list(line.y)) == (False, [10, 20])
    assert full.low is not None
    assert full.high is not None
    assert (full.filled, full.line, list(full.x), list(full.low), list(full.high)) == (
        True,
        False,
        [1],
        [9],
        [11],
    )
    assert (hollow.filled, list(hollow.x), hollow.low) == (False, [2], None)
    assert [layer.slot for layer in (line, full, hollow)] == [2, 2, 2]
    assert [layer.legend for layer in (line, full, hollow)] == [False, True, False]
    assert (panel.x.scale, panel.x.ticks, panel.x.title) == (Scale.LOG2, (1.0, 2.0, 4.0), "Streams")


def test_dots_say_whether_their_trial_counts_and_is_flagged() -> None:
    dots = (dot(1, 9), dot(1, 12, flagged=True), dot(1, 2, counted=False))
    plot = plot_exploration(explore(Facet(name="", curves=(curve("a", 0, [point(1, 10)], *dots),))), MEDIAN)
    counted, others = find_marks(plot.panels[0], Points)
    assert counted.outlier is not None
    assert (list(counted.y), list(counted.outlier), counted.hollow) == ([9, 12], [False, True], False)
    assert (list(others.y), others.hollow, others.legend) == ([2], True, False)
    assert counted.small
    assert others.small


def test_levels_stand_side_by_side_and_unused_ones_get_no_room() -> None:
    curves = (curve("a", 0, [point(0, 1), point(2, 2)]), curve("b", 1, [point(2, 3)]))
    plot = plot_exploration(explore(Facet(name="", curves=curves), x=PATH), MEDIAN)
    (panel,) = plot.panels
    assert (panel.x.ticks, panel.x.tick_labels) == ((0.0, 1.0), ("east", "south"))
    first, second = find_marks(panel, Curve)
    np.testing.assert_allclose(first.x, [-0.175, 0.825])
    np.testing.assert_allclose(second.x, [1.175])
    assert not first.line


def test_curves_stand_apart_at_a_marked_value() -> None:
    curves = (curve("a", 0, [point(1, 1), point(4, 2)]), curve("b", 1, [point(1, 1), point(4, 2)]))
    panel = plot_exploration(explore(Facet(name="", curves=curves)), MEDIAN).panels[0]
    first, second = (layer for layer in find_marks(panel, Curve) if layer.line)
    np.testing.assert_allclose(second.x / first.x, 4**0.012)
    linear = replace(STREAMS, scale="linear")
    panel = plot_exploration(explore(Facet(name="", curves=curves), x=linear), MEDIAN).panels[0]
    first, second = (layer for layer in find_marks(panel, Curve) if layer.line)
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
    assert low is not None
    assert high is not None
    assert low < 9 < 101 < high
    assert {layer.name for panel in plot.panels for layer in panel.layers} == {"a"}


def test_a_comparison_with_the_baseline_has_a_panel_of_its_own() -> None:
    against = AgainstCurve(
        facet="",
        name="b",
        colour_level=1,
        y_column="rate",
        points=(
            AgainstPoint(
                x=1,
                y=1.5,
                low=1.4,
                high=1.6,
                state=PointState.ESTIMATED,
                trials=8,
                baseline_trials=7,
                paired=True,
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
    limited = replace(RATE, low=5.0, high=None)
    dots = (dot(1, 4), dot(1, 6))
    plot = plot_exploration(
        explore(Facet(name="", curves=(curve("a", 0, [point(1, 10)], *dots),)), ys=(limited,)), MEDIAN
    )
    (panel,) = plot.panels
    assert (panel.y.low, panel.y.high) == (5.0, None)
    assert list(find_marks(panel, Points)[0].y) == [6]


def test_a_logarithmic_axis_without_a_value_above_zero_is_linear() -> None:
    found = explore(
        Facet(name="", curves=(curve("a", 0, [point(1, -3)]),)), ys=(replace(RATE, scale="log10"),)
    )
    assert plot_exploration(found, MEDIAN).panels[0].y.scale is Scale.LINEAR


def test_many_points_have_a_band_and_no_markers() -> None:
    x = replace(STREAMS, ticks=None, tick_labels=None, scale="linear")
    points = [point(place, place) for place in range(1, 101)]
    (panel,) = plot_exploration(explore(Facet(name="", curves=(curve("a", 0, points),)), x=x), MEDIAN).panels
    assert len(find_marks(panel, Area)) == 1
    (line,) = find_marks(panel, Curve)
    assert (line.markers, line.low, line.legend) == (False, None, True)


def test_a_cumulative_share_is_steps_and_bins_are_bars_or_outlines() -> None:
    parts = curve("a", 0, [point(1, 0.5), point(2, 1.0)])
    steps = plot_exploration(explore(Facet(name="", curves=(parts,))), FigureTexts(statistic="cdf")).panels[0]
    assert [layer.step for layer in find_marks(steps, Curve)] == [True]
    (band,) = find_marks(steps, Area)
    assert (list(band.x), list(band.low), list(band.high)) == ([1, 2, 2], [-0.5, -0.5, 0], [1.5, 1.5, 2])
    bins = replace(parts, edges=(0.5, 1.5, 2.5))
    histogram = FigureTexts(statistic="histogram")
    one = plot_exploration(explore(Facet(name="", curves=(bins,))), histogram).panels[0]
    (bars,) = find_marks(one, Bars)
    assert (list(bars.x), list(bars.height), bars.width) == ([1, 2], [0.5, 1.0], 1)
    both = Facet(name="", curves=(bins, replace(bins, name="b", colour_level=1)))
    two = plot_exploration(explore(both), histogram).panels[0]
    outlines = find_marks(two, Curve)
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
    (panel,) = plot_exploration(explore(Facet(name="", curves=(curve("a", 0, points),)), x=x), MEDIAN).panels
    assert panel.x.tick_labels is not None
    assert panel.x.tick_labels[0] == "01-02 03:10"
    assert panel.x.tick_labels[1:3] == ("03:20", "03:30")
