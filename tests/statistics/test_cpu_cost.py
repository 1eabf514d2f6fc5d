"""CPU lines: values of R, units and order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.fits.cpu_cost import CENTRED, UNCENTRED, fit_cpu_cost
from tests.statistics.r_values import read_columns, read_r


def test_lines_are_rs() -> None:
    data = read_columns("trials.csv")
    found = fit_cpu_cost(data["throughput_gbits_per_s"] * 1e9, data["cpu_percent"])
    for line, case in ((found.with_intercept, "cpu-intercept"), (found.through_origin, "cpu-origin")):
        expected = read_r(case)
        interval = line.slope_interval_percent_per_gbit_s
        assert line.slope_percent_per_gbit_s == pytest.approx(expected["slope"], rel=1e-9)
        assert interval.low == pytest.approx(expected["slope_low"], rel=1e-9)
        assert interval.high == pytest.approx(expected["slope_high"], rel=1e-9)
        assert line.r_squared_ratio == pytest.approx(expected["r2"], rel=1e-9)
    expected = read_r("cpu-intercept")
    intercept = found.with_intercept.intercept_interval_percent
    assert found.with_intercept.intercept_percent == pytest.approx(expected["intercept"], rel=1e-9)
    assert (intercept.low, intercept.high) == pytest.approx(
        (expected["intercept_low"], expected["intercept_high"]), rel=1e-9
    )
    assert found.with_intercept.r_squared_definition == CENTRED
    assert found.through_origin.r_squared_definition == UNCENTRED
    assert found.through_origin.intercept_percent == 0.0


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_lines_follow_the_units_and_ignore_the_order(seed: int, fast: float, heavy: float) -> None:
    rng = np.random.default_rng(seed)
    rates = rng.uniform(1e8, 9e9, 12)
    loads = 5 + rates / 1e8 * rng.uniform(0.8, 1.2, 12)
    order = rng.permutation(12)
    before, after = fit_cpu_cost(rates, loads), fit_cpu_cost(rates[order] * fast, loads[order] * heavy)
    for first, second in (
        (before.with_intercept, after.with_intercept),
        (before.through_origin, after.through_origin),
    ):
        slope = first.slope_percent_per_gbit_s * heavy / fast
        assert second.slope_percent_per_gbit_s == pytest.approx(slope, rel=1e-6)
        assert second.r_squared_ratio == pytest.approx(first.r_squared_ratio, rel=1e-6)
    assert after.cpu_s_per_gb == pytest.approx(before.cpu_s_per_gb * heavy / fast, rel=1e-9)
