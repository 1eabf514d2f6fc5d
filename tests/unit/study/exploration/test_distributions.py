"""Distributions of selected trials: shares, their band, and bins."""

from typing import Any

import numpy as np
import pytest

from pathlab.analysis.estimators.serial_levels import measure_distribution_band
from pathlab.study.exploration.curves import build_from_rows
from pathlab.study.exploration.distributions import BINS_MAX, STEPS_MAX, count_bins
from pathlab.study.exploration.exploration import PointState
from pathlab.study.exploration.view import View
from tests.builders.tables import MadeColumn, MadeTable


def make_values(values: Any) -> MadeTable:
    table = MadeTable(count=len(values))
    start = MadeColumn(name="started_utc", label="start", kind="time", role="identity")
    table.add(start, np.arange(len(values)))
    table.add(MadeColumn(name="rate", label="rate", unit="Mbit/s", role="measured"), values)
    return table


def build(table: MadeTable, statistic: str, **given: Any) -> Any:
    view = View(**{"x": "started_utc", "y": ("rate",), "statistic": statistic, **given})
    return build_from_rows(table, view, np.arange(len(table)))


def test_shares_are_those_at_or_below_and_above_each_value() -> None:
    table = make_values([3.0, 1.0, 2.0, 2.0, np.nan])
    for statistic, shares in (("cdf", [25, 75, 100]), ("ccdf", [75, 25, 0])):
        found = build(table, statistic)
        (curve,) = found.facets[0].curves
        assert [(point.x, point.y) for point in curve.points] == list(zip([1, 2, 3], shares, strict=True))
        assert [point.rows for point in curve.points] == [(1,), (2, 3), (0,)]
        assert {point.state for point in curve.points} == {PointState.UNDECIDED}
        assert (found.x.label, found.x.unit, found.ys[0].unit) == ("rate", "Mbit/s", "%")
    assert build(table, "ccdf").ys[0].scale == "log10"
    assert build(table, "cdf").notes == ("1 trial without rate not shown.",)


def test_the_band_is_that_of_the_samples_in_time_order() -> None:
    values = np.random.default_rng(2).lognormal(size=90)
    band = measure_distribution_band(values).half_width_ratio
    points = build(make_values(values), "cdf").facets[0].curves[0].points
    assert points[44].low == pytest.approx(50 - 100 * band)
    assert points[44].high == pytest.approx(50 + 100 * band)
    assert (points[0].low, points[-1].high) == (0, 100)
    assert {point.state for point in points} == {PointState.ESTIMATED}
    assert {
        point.low for point in build(make_values(values), "cdf", range="none").facets[0].curves[0].points
    } == {None}


def test_many_values_leave_some_steps_with_both_tails() -> None:
    values = np.random.default_rng(3).permutation(5000).astype(float)
    points = build(make_values(values), "ccdf").facets[0].curves[0].points
    assert len(points) <= STEPS_MAX + 40
    assert [point.x for point in points[-20:]] == list(range(4980, 5000))
    assert sum(len(point.rows) for point in points) == 5000


def test_the_number_of_bins_is_bounded() -> None:
    rng = np.random.default_rng(5)
    assert count_bins(np.full(50, 3.0)) == 1
    assert count_bins(np.r_[np.zeros(90), rng.random(10)]) == 8  # Sturges, where quartiles are equal
    normal = rng.normal(size=1000)
    width = 2 * (np.quantile(normal, 0.75) - np.quantile(normal, 0.25)) / 10
    assert count_bins(normal) == np.ceil(np.ptp(normal) / width)
    assert count_bins(np.r_[normal, 1e9]) == BINS_MAX


@pytest.mark.parametrize("statistic", ["cdf", "ccdf", "histogram"])
def test_no_trial_has_no_distribution(statistic: str) -> None:
    assert build(make_values([]), statistic).facets == ()
    assert build(make_values([np.nan]), statistic).facets == ()
