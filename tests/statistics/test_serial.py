"""Serial correlation: measured, and withstood by the intervals that say so."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.estimators.serial import (
    bound_order,
    measure_autocorrelation,
    measure_effective_size,
    order_moments,
    serial_median,
)
from tests.length import choose_runs
from tests.statistics.noise import (
    CYCLES,
    check_share,
    draw_autoregressive,
    draw_second_order,
    inflate_second_order,
)


def test_autocorrelation_is_rs() -> None:
    # R 4.2.2: acf(v, plot = FALSE, lag.max = 3)$acf  ->  0.7700470745 0.6832674641 0.5220117335
    series = [4, 7, 5, 9, 8, 12, 10, 11, 15, 13, 14, 18, 16, 17, 21, 19, 20, 24, 22, 23.5]
    found = measure_autocorrelation(series)
    assert found.lag_ratios[:3] == pytest.approx((0.7700470745, 0.6832674641, 0.5220117335), rel=1e-8)
    assert found.noise_ratio == pytest.approx(1.959964 / np.sqrt(20))


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
def test_effective_size_is_that_of_theory(correlation: float) -> None:
    """n (1 - r) / (1 + r) for a long first-order series, less what its estimate may be off."""
    series = draw_autoregressive(np.random.default_rng(2), 20, 4000, correlation)
    found = [measure_effective_size(row) for row in series]
    ratios = [one.effective / one.n for one in found if one.effective is not None]
    assert len(ratios) == 20
    truth = (1 - correlation) / (1 + correlation)
    assert 0.8 * truth < np.median(ratios) < truth
    assert max(ratios) <= 1


def test_inflation_sees_more_than_the_first_lag() -> None:
    """A square wave of long steps under noise has a small first lag and a long memory."""
    rng = np.random.default_rng(3)
    series = np.repeat(rng.normal(0, 1, 40), 25) + rng.normal(0, 2, 1000)
    truth = 1 + 24 * 0.2  # 25 equal steps of a fifth of the variance: 1 + 2 sum (1 - k/25) / 5
    assert bound_order(series).inflation_ratio == pytest.approx(truth, rel=0.4)
    ratios = measure_autocorrelation(series).lag_ratios
    first = float(ratios[0])
    assert (1 + first) / (1 - first) < 0.5 * truth


@pytest.mark.parametrize("correlation", [0.3, 0.7, 0.97])
@pytest.mark.parametrize("n", [6, 13, 60])
def test_moments_are_those_of_the_correlation_matrix(n: int, correlation: float) -> None:
    lags = np.arange(n)
    known = correlation ** np.abs(lags[:, None] - lags[None, :])
    centre = np.eye(n) - 1 / n
    left = centre @ known
    trace = float(np.trace(left))
    assert order_moments(n, correlation) == pytest.approx(
        (known.sum() / n, trace / (n - 1), trace**2 / float(np.trace(left @ left)))
    )
    assert order_moments(n, 0.0) == (1.0, 1.0, n - 1)


def test_few_samples_are_bounded_by_seven_tenths_and_more_by_what_they_show() -> None:
    rng = np.random.default_rng(1)
    nine = bound_order(rng.normal(size=9))
    assert (nine.correlation_ratio, nine.bound_ratio) == (None, 0.7)
    bounds = [
        float(np.median([bound_order(rng.normal(size=n)).bound_ratio for _ in range(100)]))
        for n in (13, 60, 200)
    ]
    assert 0.7 > bounds[0] > bounds[1] > bounds[2] > 0.05
    wandering = [bound_order(row) for row in draw_autoregressive(rng, 100, 200, 0.9)]
    assert float(np.median([one.bound_ratio for one in wandering])) > 0.85
    estimates = [bound_order(row).correlation_ratio for row in draw_autoregressive(rng, 400, 19, 0.5)]
    assert float(np.mean([one for one in estimates if one is not None])) == pytest.approx(0.47, abs=0.06)


@pytest.mark.parametrize("coefficients", CYCLES)
@pytest.mark.parametrize("n", [31, 60, 200])
def test_a_cycle_is_not_read_as_a_wandering_level(n: int, coefficients: tuple[float, float]) -> None:
    """Its halves cancel in a mean: the effective size is not that of neighbours alone, nor too large."""
    rows = draw_second_order(np.random.default_rng([n, 4]), choose_runs(120, short=40), n, coefficients)
    truth = max(1.0, inflate_second_order(n, coefficients))
    found = [bound_order(row).inflation_ratio for row in rows]
    check_share(sum(one >= truth / 1.05 for one in found), len(found), 0.92, 1.0)
    first = coefficients[0] / (1 - coefficients[1])
    if n >= 60:
        assert float(np.median(found)) < 2 * truth if truth == 1 else 2.5 * truth
        assert n < 200 or first <= 0 or float(np.median(found)) < (1 + first) / (1 - first)


@pytest.mark.parametrize(
    ("n", "coefficients"),
    [
        *itertools.product((7, 31, 60, 200), [*CYCLES, (0.2, 0.4)]),
        *itertools.product((31, 60, 200), [(1.8, -0.9)]),  # 20 samples a period: seven see a third of one
    ],
)
def test_medians_of_second_order_noise_hold(n: int, coefficients: tuple[float, float]) -> None:
    rows = draw_second_order(np.random.default_rng([n, 5]), choose_runs(120, short=40), n, coefficients)
    found = [interval for row in rows if (interval := serial_median(row).interval).decided]
    assert len(found) > (0.2 if coefficients == (1.8, -0.9) else 0.9) * len(rows)
    check_share(sum(one.contains(0.0) for one in found), len(found), 0.92, 1.0)


@pytest.mark.parametrize("n", [7, 13, 60])
def test_no_median_is_shown_beyond_what_was_measured(n: int) -> None:
    """Cut at the range and said so; what is not cut has its level, and verdicts read the uncut ends."""
    rows = 5 * draw_autoregressive(np.random.default_rng(n), choose_runs(200, short=60), n, 0.7)
    found = [(row, interval) for row in rows if (interval := serial_median(row).interval).decided]
    cut = [interval for _, interval in found if interval.cut]
    for row, interval in found:
        low, high = interval.low, interval.high
        limits = interval.limits
        assert row.min() <= low <= high <= row.max()
        assert limits[0] <= low <= high <= limits[1]
        assert interval.cut == (limits[0] < low or high < limits[1])
        assert interval.coverage_ratio is None
    assert len(cut) == len(found) if n == 7 else len(cut) < len(found)
    check_share(sum(one.contains(0.0) for _, one in found), len(found), 0.92, 1.0)
    if n == 7:  # so the level of the range is not that of the interval
        held = sum(one.low <= 0 <= one.high for _, one in found)
        check_share(held, len(found), 0.6, 0.85)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(-(10**6), 10**6), st.integers(1, 1000))
def test_estimates_follow_shift_and_scale(seed: int, shift: int, scale: int) -> None:
    values = np.random.default_rng(seed).integers(0, 1000, 60).astype(float)
    before, after = serial_median(values), serial_median(values * scale + shift)
    assert before.estimate is not None
    assert before.interval.high is not None
    assert before.interval.contains(before.estimate)
    expected = [v * scale + shift for v in (before.estimate, before.interval.low, before.interval.high)]
    found = [after.estimate, after.interval.low, after.interval.high]
    if before.interval.low > 0 or after.interval.low == 0:  # what is nowhere below 0 has no median below 0
        expected, found = expected[::2], found[::2]
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-2)
    assert measure_effective_size(values[::-1]).effective == pytest.approx(
        measure_effective_size(values).effective
    )
