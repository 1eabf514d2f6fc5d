"""Distributions: values of R, intervals that hold, the true law ranked first, reasons."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.fits.distributions import Distribution, DistributionFit, fit_distributions
from tests.length import choose_runs, list_long
from tests.statistics.noise import SIZES, check_coverage
from tests.statistics.r_values import read_columns, read_r

DRAWS: dict[Distribution, tuple[Callable[[np.random.Generator, int], np.ndarray], dict[str, float]]] = {
    Distribution.EXPONENTIAL: (lambda rng, n: rng.exponential(3.0, n), {"mean": 3.0}),
    Distribution.LOG_NORMAL: (lambda rng, n: rng.lognormal(1.0, 0.5, n), {"log_mean": 1.0, "log_sd": 0.5}),
    Distribution.NORMAL: (lambda rng, n: rng.normal(10.0, 2.0, n), {"mean": 10.0, "sd": 2.0}),
    Distribution.WEIBULL: (lambda rng, n: 4 * rng.weibull(1.7, n), {"shape": 1.7, "scale": 4.0}),
}


def pick(values: np.ndarray, distribution: Distribution, seed: int = 0) -> DistributionFit:
    fits = fit_distributions(values, rng=np.random.default_rng(seed)).fits
    return next(fit for fit in fits if fit.distribution is distribution)


@pytest.mark.parametrize("distribution", list(Distribution))
def test_fits_are_rs(distribution: Distribution) -> None:
    expected = read_r(distribution.value)
    found = pick(read_columns("trials.csv")["cpu_percent"], distribution)
    assert found.aic == pytest.approx(expected.pop("aic"), rel=1e-9)
    assert found.ks_distance_ratio == pytest.approx(expected.pop("ks"), abs=1e-6)
    for name, value in expected.items():
        parameter, _, end = name.partition("_")
        if end:
            assert getattr(found.intervals[parameter], end) == pytest.approx(value, rel=1e-9)
        else:
            assert found.parameters[parameter] == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize(("n", "runs"), [(5, choose_runs(40, short=15)), *list_long(SIZES, runs=1000)])
@pytest.mark.parametrize("distribution", list(Distribution))
def test_intervals_cover(distribution: Distribution, n: int, runs: int) -> None:
    rng = np.random.default_rng([n, runs])
    draw, truth = DRAWS[distribution]
    found = [pick(draw(rng, n), distribution, seed) for seed in range(runs)]
    for name, value in truth.items():
        check_coverage([fit.intervals[name] for fit in found], value)


@pytest.mark.parametrize("name", ["shape", "scale"])
def test_weibull_intervals_cover_beyond_the_pivots(name: str) -> None:
    rng = np.random.default_rng(2)
    draw, truth = DRAWS[Distribution.WEIBULL]
    found = [pick(draw(rng, 600), Distribution.WEIBULL).intervals[name] for _ in range(choose_runs(60))]
    assert {interval.method for interval in found} == {"normal-limit"}
    check_coverage(found, truth[name])


@pytest.mark.parametrize("distribution", list(Distribution))
def test_the_true_law_ranks_first_in_large_samples(distribution: Distribution) -> None:
    rng = np.random.default_rng(6)
    draw, _ = DRAWS[distribution]
    first = [fit_distributions(draw(rng, 501), rng=rng).fits[0].distribution for _ in range(12)]
    # A Weibull with a shape near 1 is an exponential: it wins by chance in one of six samples.
    assert first.count(distribution) >= 7


@settings(max_examples=10)
@given(st.lists(st.integers(1, 10**6), min_size=5, max_size=30, unique=True), st.floats(1e-6, 1e6))
def test_ranks_and_distances_ignore_scale_and_order(values: list[int], scale: float) -> None:
    samples = np.array(values, dtype=float)
    before = fit_distributions(samples, rng=np.random.default_rng(1))
    after = fit_distributions(samples[::-1] * scale, rng=np.random.default_rng(1))
    for first in before.fits:
        second = next(fit for fit in after.fits if fit.distribution is first.distribution)
        assert second.ks_distance_ratio == pytest.approx(first.ks_distance_ratio, abs=1e-6)
        assert second.aic_difference == pytest.approx(first.aic_difference, abs=1e-3)
        for name in {"mean", "sd", "scale"} & set(first.parameters):
            assert second.parameters[name] == pytest.approx(first.parameters[name] * scale, rel=1e-5)
