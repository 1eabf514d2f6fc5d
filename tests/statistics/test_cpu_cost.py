"""CPU lines: values of R, intervals that hold, reasons."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.fits.cpu_cost import CENTRED, UNCENTRED, fit_cpu_cost
from pathlab.errors import UsageError
from tests.statistics.noise import SIZES, check_coverage
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
    assert intercept is not None
    assert found.with_intercept.intercept_percent == pytest.approx(expected["intercept"], rel=1e-9)
    assert (intercept.low, intercept.high) == pytest.approx(
        (expected["intercept_low"], expected["intercept_high"]), rel=1e-9
    )
    assert found.with_intercept.r_squared_definition == CENTRED
    assert found.through_origin.r_squared_definition == UNCENTRED
    assert found.through_origin.intercept_percent == 0.0


def test_a_line_predicts_and_an_undecided_one_does_not() -> None:
    rates = np.arange(1.0, 9.0) * 1e9
    line = fit_cpu_cost(rates, 5 + 3 * rates / 1e9).with_intercept
    assert line.predict_percent([0.0, 10e9]) == pytest.approx([5.0, 35.0])
    assert np.isnan(fit_cpu_cost([1e9], [5.0]).with_intercept.predict_percent([1e9])).all()


def test_seconds_per_gigabyte_by_hand() -> None:
    """50 % of a core at 2 Gbit/s: 0.5 s of CPU for 0.25 GB, 2 s per GB; idle trials carry no cost."""
    found = fit_cpu_cost([2e9] * 6 + [1e9, 0.0], [50.0] * 6 + [25.0, 3.0])
    assert found.cpu_s_per_gb == pytest.approx(2.0)
    assert found.cpu_s_per_gb_interval.n == 7
    assert found.cpu_s_per_gb_interval.contains(2.0)


@pytest.mark.parametrize("runs", [60, pytest.param(2000, marks=pytest.mark.long)])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("skewed", [False, True])
def test_intervals_cover(skewed: bool, n: int, runs: int) -> None:
    rng = np.random.default_rng([n, runs, skewed])
    slopes, origins = [], []
    for _ in range(runs if n < 200 else runs // 2):
        rates = rng.uniform(0.1, 9.0, n)
        factors = rng.lognormal(-0.02, 0.2, n) if skewed else 1 + 0.1 * rng.normal(size=n)
        found = fit_cpu_cost(rates * 1e9, np.maximum((3 + 8 * rates) * factors, 0))
        slopes.append(found.with_intercept.slope_interval_percent_per_gbit_s)
        found = fit_cpu_cost(rates * 1e9, np.maximum(8 * rates * factors, 0))
        origins.append(found.through_origin.slope_interval_percent_per_gbit_s)
    # Of five random throughputs one may fix the line alone, which is then left undecided.
    decided = [interval for interval in slopes if interval.decided]
    assert len(decided) >= 0.98 * len(slopes)
    check_coverage(decided, 8.0)
    check_coverage(origins, 8.0)


@settings(max_examples=30, deadline=None)
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
        assert first.slope_percent_per_gbit_s is not None
        slope = first.slope_percent_per_gbit_s * heavy / fast
        assert second.slope_percent_per_gbit_s == pytest.approx(slope, rel=1e-6)
        assert second.r_squared_ratio == pytest.approx(first.r_squared_ratio, rel=1e-6)
    assert before.cpu_s_per_gb is not None
    assert after.cpu_s_per_gb == pytest.approx(before.cpu_s_per_gb * heavy / fast, rel=1e-9)


def test_reasons() -> None:
    assert fit_cpu_cost([], []).undecided is Undecided.NO_SAMPLES
    assert fit_cpu_cost([], []).cpu_s_per_gb is None
    assert fit_cpu_cost([1e9] * 4, [1.0] * 4).undecided is Undecided.TOO_FEW_SAMPLES
    assert fit_cpu_cost([0.0] * 6, [1.0] * 6).undecided is Undecided.ALL_ZERO
    equal = fit_cpu_cost([1e9] * 6, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert equal.with_intercept.undecided is Undecided.NO_VARIATION
    assert equal.with_intercept.slope_percent_per_gbit_s is None
    assert equal.through_origin.slope_percent_per_gbit_s == pytest.approx(3.5)
    lone = fit_cpu_cost([1e9] * 6 + [9e9], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    assert lone.with_intercept.undecided is Undecided.NOT_IDENTIFIED
    still = fit_cpu_cost([1e9, 2e9, 3e9, 4e9, 5e9], [5.0] * 5)
    assert still.with_intercept.slope_percent_per_gbit_s == pytest.approx(0.0, abs=1e-9)
    assert still.with_intercept.r_squared_ratio is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: fit_cpu_cost([1e9], [float("nan")]),
        lambda: fit_cpu_cost([-1.0], [1.0]),
        lambda: fit_cpu_cost([1e9, 2e9], [1.0]),
    ],
)
def test_wrong_values_are_refused_with_a_hint(call: Callable[[], object]) -> None:
    with pytest.raises(UsageError) as caught:
        call()
    assert "\n" not in caught.value.message
    assert caught.value.hint
