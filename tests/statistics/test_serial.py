"""Serial correlation: measured, and withstood by the intervals that say so."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.interval import Undecided
from pathlab.analysis.quantiles import median_interval
from pathlab.analysis.serial import (
    measure_autocorrelation,
    measure_effective_size,
    measure_inflation,
    serial_mean,
    serial_median,
)
from pathlab.errors import UsageError

from .noise import check_coverage, check_share, draw_autoregressive

LONG_RUNS = [150, pytest.param(1500, marks=pytest.mark.long)]


def test_autocorrelation_is_rs() -> None:
    # R 4.2.2: acf(v, plot = FALSE, lag.max = 3)$acf  ->  0.7700470745 0.6832674641 0.5220117335
    series = [4, 7, 5, 9, 8, 12, 10, 11, 15, 13, 14, 18, 16, 17, 21, 19, 20, 24, 22, 23.5]
    found = measure_autocorrelation(series, lags=3)
    assert found.lag_ratios == pytest.approx((0.7700470745, 0.6832674641, 0.5220117335), rel=1e-8)
    assert found.noise_ratio == pytest.approx(1.959964 / np.sqrt(20))


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
def test_effective_size_is_that_of_theory(correlation: float) -> None:
    """n (1 - r) / (1 + r) for a long first-order series."""
    series = draw_autoregressive(np.random.default_rng(2), 20, 4000, correlation)
    found = [measure_effective_size(row) for row in series]
    ratios = [one.effective / one.n for one in found if one.effective is not None]
    assert len(ratios) == 20
    assert np.median(ratios) == pytest.approx((1 - correlation) / (1 + correlation), rel=0.12)
    assert max(ratios) <= 1


def test_inflation_sees_more_than_the_first_lag() -> None:
    """A square wave of long steps under noise has a small first lag and a long memory."""
    rng = np.random.default_rng(3)
    series = np.repeat(rng.normal(0, 1, 40), 25) + rng.normal(0, 2, 1000)
    truth = 1 + 24 * 0.2  # 25 equal steps of a fifth of the variance: 1 + 2 sum (1 - k/25) / 5
    assert measure_inflation(series) == pytest.approx(truth, rel=0.4)
    first = float(measure_autocorrelation(series, 1).lag_ratios[0])  # type: ignore[index]
    assert (1 + first) / (1 - first) < 0.5 * truth


@pytest.mark.parametrize("runs", LONG_RUNS)
@pytest.mark.parametrize("n", [40, 200])
@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_intervals_cover_under_correlation(correlation: float, n: int, runs: int) -> None:
    series = draw_autoregressive(np.random.default_rng([n, runs]), runs, n, correlation)
    rates = 100 * np.exp(0.3 * series)  # skewed, median 100
    mean_rate = 100 * np.exp(0.09 / (1 - correlation**2) / 2)
    for intervals, truth in (
        ([serial_mean(row).interval for row in series], 0.0),
        ([serial_mean(row).interval for row in rates], float(mean_rate)),
        ([serial_median(row).interval for row in rates], 100.0),
    ):
        decided = [interval for interval in intervals if interval.decided]
        assert len(decided) >= 0.97 * runs
        check_coverage(decided, truth)


def test_correlation_widens_and_forgetting_it_fails() -> None:
    series = draw_autoregressive(np.random.default_rng(5), 150, 100, 0.5)
    plain = sum(median_interval(row).contains(0.0) for row in series)
    check_share(plain, 150, 0.70, 0.85)  # what an interval for independent samples is worth here
    allowed = sum(serial_median(row).interval.contains(0.0) for row in series)
    check_share(allowed, 150, 0.93, 0.97)


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(-(10**6), 10**6), st.integers(1, 1000))
def test_estimates_follow_shift_and_scale(seed: int, shift: int, scale: int) -> None:
    values = np.random.default_rng(seed).integers(0, 1000, 60).astype(float)
    for estimate in (serial_mean, serial_median):
        before, after = estimate(values), estimate(values * scale + shift)
        assert before.estimate is not None
        assert before.interval.low is not None
        assert before.interval.high is not None
        assert before.interval.contains(before.estimate)
        assert (after.estimate, after.interval.low, after.interval.high) == pytest.approx(
            tuple(v * scale + shift for v in (before.estimate, before.interval.low, before.interval.high)),
            rel=1e-6,
            abs=1e-2,
        )
    assert measure_effective_size(values[::-1]).effective == pytest.approx(
        measure_effective_size(values).effective
    )


def test_reasons() -> None:
    assert measure_autocorrelation([]).undecided is Undecided.NO_SAMPLES
    assert measure_autocorrelation(np.arange(19)).undecided is Undecided.TOO_FEW_SAMPLES
    assert measure_effective_size(np.ones(30)).undecided is Undecided.NO_VARIATION
    assert measure_inflation(np.ones(30)) == 1.0
    for estimate in (serial_mean, serial_median):
        few = estimate(np.arange(39.0))
        assert (few.estimate, few.interval.undecided) == (19.0, Undecided.TOO_FEW_SAMPLES)
        assert estimate([]).undecided is Undecided.NO_SAMPLES
        assert estimate(np.ones(50)).interval.undecided is Undecided.NO_VARIATION
        assert estimate(np.repeat([0.0, 1.0], 50)).interval.undecided is Undecided.TOO_CORRELATED
    with pytest.raises(UsageError, match="0 lags"):
        measure_autocorrelation([1.0], lags=0)
    with pytest.raises(UsageError, match="finite"):
        serial_mean([float("inf")])
