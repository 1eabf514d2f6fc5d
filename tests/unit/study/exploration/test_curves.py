"""The curves of a view: grouping, estimates, exclusions, limits and order."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.serial import SerialEstimate, serial_median
from pathlab.analysis.estimators.serial_levels import serial_mean, serial_quantile
from pathlab.study.exploration.curves import build_from_rows
from pathlab.study.exploration.dots import DOTS_MAX
from pathlab.study.exploration.exploration import PointState
from pathlab.study.exploration.view import View
from tests.builders.tables import MadeColumn, MadeTable, make_table


def all_rows(table: MadeTable) -> np.ndarray:
    return np.arange(len(table))


def make_view(**given: Any) -> View:
    return View(**{"x": "streams", "y": ("throughput",), **given})


@pytest.fixture
def table() -> MadeTable:
    return make_table(np.random.default_rng(1), 400)


@pytest.mark.parametrize(
    ("statistic", "function"),
    [("median", serial_median), ("mean", serial_mean), ("p90", lambda values: serial_quantile(values, 0.9))],
)
def test_a_point_is_the_estimate_of_its_usable_trials_in_time_order(
    table: MadeTable, statistic: str, function: Callable[[Floats], SerialEstimate]
) -> None:
    table.values["started_utc"] = table.values["started_utc"][::-1].copy()
    found = build_from_rows(table, make_view(statistic=statistic), all_rows(table))
    (curve,) = found.facets[0].curves
    assert [point.x for point in curve.points] == [1, 2, 4, 8, 16]
    values, streams = table.values["throughput"], table.values["streams"]
    for point in curve.points:
        rows = np.flatnonzero((streams == point.x) & table.counted & ~np.isnan(values))[::-1]
        truth = function(values[rows])
        assert point.rows == tuple(rows)
        assert (point.trials, point.y) == (rows.size, truth.estimate)
        assert (point.low, point.high) == (truth.interval.low, truth.interval.high)
        assert (point.state is PointState.ESTIMATED) == truth.interval.decided
    assert found.undecided == sum(point.state is PointState.UNDECIDED for point in curve.points)


def test_other_ranges_and_statistics_describe_the_trials(table: MadeTable) -> None:
    values = table.values["throughput"]
    known = table.counted & ~np.isnan(values) & (table.values["streams"] == 4)
    samples = values[known]
    q1, q3 = np.quantile(samples, (0.25, 0.75))
    ends = {"iqr": (q1, q3), "extremes": (samples.min(), samples.max()), "none": (None, None)}
    heights = {"min": samples.min(), "max": samples.max(), "iqr": q3 - q1, "median": np.median(samples)}
    for shown, (low, high) in ends.items():
        for statistic, y in heights.items():
            view = make_view(statistic=statistic, range=shown)
            point = build_from_rows(table, view, all_rows(table)).facets[0].curves[0].points[2]
            assert point.y == pytest.approx(y)
            assert (point.low, point.high) == (low and pytest.approx(low), high and pytest.approx(high))
            assert point.state is PointState.ESTIMATED
    point = build_from_rows(table, make_view(statistic="min"), all_rows(table)).facets[0].curves[0].points[2]
    assert (point.low, point.high) == (None, None)


def test_one_trial_is_shown_and_undecided(table: MadeTable) -> None:
    row = int(np.flatnonzero(table.counted & ~np.isnan(table.values["throughput"]))[0])
    for statistic in ("median", "mean", "p50", "min", "iqr"):
        for shown in ("interval", "iqr", "extremes"):
            view = make_view(statistic=statistic, range=shown)
            (point,) = build_from_rows(table, view, np.array([row])).facets[0].curves[0].points
            assert point.y == (0 if statistic == "iqr" else table.values["throughput"][row])
            assert (point.low, point.high, point.state) == (None, None, PointState.UNDECIDED)


def test_excluded_trials_are_counted_and_drawn_but_not_estimated(table: MadeTable) -> None:
    found = build_from_rows(table, make_view(), all_rows(table))
    reasons = dict(found.excluded)
    assert sum(reasons.values()) == int((~table.counted).sum())
    assert reasons["failed"] == int((table.reason_codes == 1).sum())
    dots = {dot.row: dot for curve in found.facets[0].curves for dot in curve.dots}
    for row, dot in dots.items():
        assert dot.counted == table.counted[row]
        assert (dot.reason is None) == dot.counted
        assert dot.flagged == bool(table.flag_bits[row] & np.uint64(3))  # 4: what all have
    assert any(not dot.counted for dot in dots.values())
    everything = build_from_rows(table, make_view(count="all"), all_rows(table))
    assert everything.excluded == ()
    trials = sum(point.trials for point in everything.facets[0].curves[0].points)
    assert trials == int((~np.isnan(table.values["throughput"])).sum())


def test_curves_go_from_low_to_high_with_stable_colours(table: MadeTable) -> None:
    table.values["throughput"] += np.where(table.values["congestion"] == 0, 500, 0)
    view = make_view(colour="congestion")
    curves = build_from_rows(table, view, all_rows(table)).facets[0].curves
    assert [curve.name for curve in curves][-1] == "bbr"
    assert {curve.name: curve.colour_level for curve in curves} == {"bbr": 0, "cubic": 1, "not set": -1}
    only = build_from_rows(table, view, np.flatnonzero(table.values["congestion"] == 1))
    assert [(curve.name, curve.colour_level) for curve in only.facets[0].curves] == [("cubic", 1)]


def test_facets_and_several_columns_make_curves_of_their_own(table: MadeTable) -> None:
    view = make_view(facet="window", y=("throughput", "rtt"), colour="results")
    found = build_from_rows(table, view, all_rows(table))
    assert [facet.name for facet in found.facets] == ["64 KiB", "256 KiB", "1 MiB", "auto"]
    for facet in found.facets:
        assert {curve.name for curve in facet.curves} == {
            f"{results}, {y}" for results in ("A: first", "B: <b>") for y in ("throughput", "RTT")
        }
    assert [axis.column for axis in found.ys] == ["throughput", "rtt"]


def test_nothing_selected_shows_nothing(table: MadeTable) -> None:
    found = build_from_rows(table, make_view(facet="window", colour="results"), np.zeros(0, dtype=np.intp))
    assert (found.facets, found.excluded, found.undecided) == ((), (), 0)


def test_many_trials_leave_some_dots_and_all_extremes() -> None:
    rng = np.random.default_rng(3)
    made = MadeTable(count=5000)
    made.add(MadeColumn(name="started_utc", label="start", kind="time", role="identity"), np.arange(5000))
    made.add(MadeColumn(name="streams", label="streams"), np.ones(5000))
    made.add(MadeColumn(name="throughput", label="throughput", role="measured"), rng.normal(size=5000))
    (curve,) = build_from_rows(made, make_view(), np.arange(5000)).facets[0].curves
    values = made.values["throughput"]
    assert len(curve.dots) == DOTS_MAX
    heights = [dot.y for dot in curve.dots]
    assert (min(heights), max(heights)) == (values.min(), values.max())
    assert all(values[dot.row] == dot.y for dot in curve.dots)


def test_an_axis_marks_the_levels_that_were_measured(table: MadeTable) -> None:
    axis = build_from_rows(table, make_view(min_x=0.5, max_x=20), all_rows(table)).x
    assert (axis.ticks, axis.suggested) == ((1, 2, 4, 8, 16), "log2")
    assert (axis.low, axis.high) == (0.5, 20)
    category = build_from_rows(table, make_view(x="congestion"), all_rows(table)).x
    assert (category.levels, category.ticks) == (("bbr", "cubic"), None)
    assert build_from_rows(table, make_view(x="rtt"), all_rows(table)).x.ticks is None


def test_infinity_is_no_number(table: MadeTable) -> None:
    table.values["throughput"][:50] = np.inf
    table.values["rtt"][:50] = -np.inf
    found = build_from_rows(table, make_view(y=("throughput", "rtt"), statistic="mean"), all_rows(table))
    text = json.dumps(found.to_json(), allow_nan=False)
    assert "Infinity" not in text
    rows = {row for curve in found.facets[0].curves for point in curve.points for row in point.rows}
    assert not rows & set(range(50))
