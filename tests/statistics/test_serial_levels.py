"""Mean, quantiles and distribution of trials in time order: their intervals hold as often as promised."""

import math
from typing import Any

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.serial import bound_order, serial_median
from pathlab.analysis.estimators.serial_levels import (
    find_quantile_ranks,
    measure_distribution_band,
    serial_mean,
    serial_quantile,
)
from pathlab.analysis.libraries import special, stats
from pathlab.errors import UsageError
from tests.length import choose_runs, list_long

from .noise import check_share, draw_autoregressive
from .test_serial_targets import draw_gaussian, draw_heavy

SIZES: list[Any] = [(n, choose_runs(runs)) for n, runs in ((7, 300), (13, 300), (200, 100))]
SIZES += list_long((7, 13, 19, 40, 60, 100, 200), runs=3000)
#: Enough samples of p90 have both order statistics.
QUANTILE_SIZES: list[Any] = [(n, choose_runs(runs)) for n, runs in ((40, 300), (300, 100))]
QUANTILE_SIZES += list_long((36, 60, 100, 300), runs=2000)


@pytest.mark.parametrize("correlation", [0.0, 0.5])
@pytest.mark.parametrize(("n", "runs"), SIZES)
def test_means_are_held(n: int, runs: int, correlation: float) -> None:
    """Never too seldom; short series are wider, since they cannot show how independent they are."""
    rng = np.random.default_rng([n, runs, round(10 * correlation)])
    for draw in (draw_gaussian, draw_heavy):
        found = [serial_mean(row).interval for row in draw(rng, runs, n, correlation)]
        decided = [one for one in found if one.decided]
        assert len(decided) >= 0.99 * runs
        least = 0.95 if correlation == 0 else 0.93
        check_share(sum(one.contains(0.0) for one in decided), len(decided), least, 1.0)


@pytest.mark.parametrize("correlation", [0.0, 0.5])
@pytest.mark.parametrize(("n", "runs"), QUANTILE_SIZES)
def test_quantiles_are_held(n: int, runs: int, correlation: float) -> None:
    rng = np.random.default_rng([n, runs, round(10 * correlation), 2])
    spread = 1 / math.sqrt(1 - correlation**2)
    rows = draw_autoregressive(rng, runs, n, correlation)
    for ratio in (0.5, 0.9):
        truth = float(stats.norm.ppf(ratio)) * spread
        found = [serial_quantile(row, ratio).interval for row in rows]
        decided = [one for one in found if one.decided]
        assert len(decided) >= 0.99 * runs
        least = 0.95 if correlation == 0 else 0.93
        check_share(sum(one.contains(truth) for one in decided), len(decided), least, 1.0)


@pytest.mark.parametrize("correlation", [0.0, 0.5])
@pytest.mark.parametrize(("n", "runs"), SIZES)
def test_bands_hold_the_whole_distribution(n: int, runs: int, correlation: float) -> None:
    rng = np.random.default_rng([n, runs, round(10 * correlation), 3])
    rows = np.sort(draw_autoregressive(rng, runs, n, correlation) * math.sqrt(1 - correlation**2), axis=1)
    order = draw_autoregressive(rng, runs, n, correlation)
    shares = stats.norm.cdf(rows)
    above = np.abs(np.arange(1, n + 1) / n - shares).max(axis=1)
    below = np.abs(np.arange(n) / n - shares).max(axis=1)
    held = 0
    for row, ranks, distance in zip(rows, order, np.maximum(above, below), strict=True):
        # the samples in an order of measurement that is correlated as they are
        width = measure_distribution_band(row[np.argsort(np.argsort(ranks))]).half_width_ratio
        held += width >= distance
    check_share(held, runs, 0.95, 1.0)


@pytest.mark.parametrize("n", [6, 7, 25, 80, 500])
@pytest.mark.parametrize("ratio", [0.05, 0.5, 0.9, 0.95, 0.99])
def test_ranks_are_those_of_the_binomial(n: int, ratio: float) -> None:
    """Against the incomplete beta function: P(x(k) is below the quantile) is I_ratio(k, n + 1 - k)."""
    low, high, coverage = find_quantile_ranks(n, ratio, 0.95)
    missed = [float(special.betainc(k, n + 1 - k, ratio)) for k in range(1, n + 1)]
    lows = [k for k in range(1, n + 1) if 1 - missed[k - 1] <= 0.025]
    highs = [k for k in range(1, n + 1) if missed[k - 1] <= 0.025]
    if not lows or not highs:
        assert (low, high) == (0, 0)
        return
    assert (low, high) == (max(lows), min(highs))
    assert coverage == pytest.approx(missed[low - 1] - missed[high - 1], abs=1e-12)
    assert coverage >= 0.95


def test_the_mean_of_uncorrelated_samples_has_students_interval() -> None:
    """400 alternating values show no positive correlation: what is left is scipy's interval."""
    rng = np.random.default_rng(5)
    size = np.abs(rng.normal(1.0, 0.2, 400))
    samples = 10 + np.where(np.arange(400) % 2, size, -size)
    assert bound_order(samples).inflation_ratio == 1
    found = serial_mean(samples)
    low, high = stats.t.interval(0.95, 399, loc=samples.mean(), scale=stats.sem(samples))
    assert found.interval.low == pytest.approx(low)
    assert found.interval.high == pytest.approx(high)
    assert found.estimate == pytest.approx(samples.mean())


def test_the_p50_is_the_median() -> None:
    samples = np.random.default_rng(6).lognormal(size=41)
    median, p50 = serial_median(samples), serial_quantile(samples, 0.5)
    assert p50.estimate == median.estimate
    assert p50.interval.low == pytest.approx(median.interval.low)
    assert p50.interval.high == pytest.approx(median.interval.high)


def test_what_decides_nothing_says_why() -> None:
    assert serial_mean([]).interval.undecided is Undecided.NO_SAMPLES
    assert serial_quantile([], 0.9).estimate is None
    few = serial_mean([1.0, 2.0, 6.0])
    assert (few.estimate, few.interval.undecided) == (3.0, Undecided.TOO_FEW_SAMPLES)
    assert serial_quantile(np.arange(30.0) % 7, 0.95).interval.undecided is Undecided.TOO_FEW_SAMPLES
    ramp = np.arange(100.0)
    for undecided in (
        serial_mean(ramp).interval.undecided,
        serial_quantile(ramp, 0.9).interval.undecided,
        measure_distribution_band(ramp).undecided,
    ):
        assert undecided is Undecided.TOO_CORRELATED
    assert measure_distribution_band([1.0]).undecided is Undecided.TOO_FEW_SAMPLES
    assert measure_distribution_band([]).undecided is Undecided.NO_SAMPLES


def test_equal_samples_have_an_interval_of_one_point() -> None:
    for interval in (serial_mean([4.0] * 9).interval, serial_quantile([4.0] * 90, 0.9).interval):
        assert (interval.low, interval.high) == (4.0, 4.0)


def test_what_cannot_be_negative_has_no_negative_end() -> None:
    rare = np.zeros(30)
    rare[[3, 17]] = 50.0
    assert serial_mean(rare).interval.low == 0
    few_zeros = np.random.default_rng(1).permutation(np.r_[np.zeros(4), np.linspace(5, 10, 76)])
    assert serial_quantile(few_zeros, 0.1).interval.low == 0


def test_a_share_of_all_or_nothing_is_no_quantile() -> None:
    for ratio in (0.0, 1.0, 95.0):
        with pytest.raises(UsageError, match="is not between 0 and 1"):
            serial_quantile([1.0], ratio)
