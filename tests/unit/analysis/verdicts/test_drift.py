"""Drift: the likelihoods of changes by hand, long series, and a series that is one step."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from pathlab.analysis.verdicts import drift
from pathlab.analysis.verdicts.drift import find_level_changes


def measure_likelihood(
    series: NDArray[np.float64], mean: NDArray[np.float64], first: float, second: float = 0.0
) -> float:
    """Logarithm of the likelihood of second-order noise about the fitted columns of ``mean``."""
    n = series.size
    known = [1.0, first]
    while len(known) < n:
        known.append(first * (1 - second) * known[-1] + second * known[-2])
    lags = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    covariance = np.array(known)[lags] / ((1 - first**2) * (1 - second**2))
    inverse = np.linalg.inv(covariance)
    fitted = np.linalg.solve(mean.T @ inverse @ mean, mean.T @ inverse @ series)
    rest = series - mean @ fitted
    return float(-n / 2 * math.log(rest @ inverse @ rest) - np.linalg.slogdet(covariance)[1] / 2)


@pytest.mark.parametrize("lagged", [0.0, 0.9])
def test_gains_are_those_of_the_likelihoods(lagged: float) -> None:
    series = np.random.default_rng(3).normal(size=12) + 2 * (np.arange(12) >= 5)
    for row in range(2, 12):
        series[row] += lagged * series[row - 2]
    gains, correlation = drift._gain_likelihood(series[None])
    one = np.ones((12, 1))
    level = [measure_likelihood(series, one, ratio) for ratio in drift.CORRELATIONS]
    assert correlation[0] == np.argmax(level)
    forward = [ratio for ratio in drift.CORRELATIONS if ratio > -1e-9]
    longer = max(
        measure_likelihood(series, one, ratio, second)
        for ratio in forward
        for second in drift.SECOND_CORRELATIONS
    )
    # Noise with a longer memory counts where it explains the rows better than its parameter costs.
    assert (longer - math.log(12) / 2 > max(level)) == bool(lagged)
    base = max(*level, longer - math.log(12) / 2)
    weights = [(1 - ratio) ** drift.MEMORY_POWER for ratio in forward]
    changes = [np.arange(12) >= place for place in range(2, 11)] + [np.arange(12)]
    for gain, change in zip(gains[0], changes, strict=True):
        both = np.column_stack([one, change.astype(float)])
        found = [math.exp(measure_likelihood(series, both, ratio) - base) for ratio in forward]
        assert gain == pytest.approx(math.log(np.average(found, weights=weights)))


def test_an_outlier_is_no_more_than_a_high_value() -> None:
    series = np.random.default_rng(5).normal(size=(1, 40))
    series[0, 7] = 9.0
    clipped = drift._clip_outliers(series)
    assert clipped.max() == drift.CLIPPED
    assert np.median(np.abs(clipped)) == pytest.approx(drift.NORMAL_DEVIATION)
    series[0, 7] = 9e9
    assert (drift._clip_outliers(series) == clipped).all()
    mostly_one = np.array([[*[1.0] * 9, 2.0, 3.0]])
    assert drift._clip_outliers(mostly_one).std() == pytest.approx(1, abs=0.1)


def test_a_p_value_counts_steady_series_whose_largest_gain_is_as_large() -> None:
    values = np.random.default_rng(4).normal(size=20)
    found = find_level_changes(values)
    assert min(found.step_p, found.trend_p) >= 1 / (1 + drift.SIMULATED)
    assert max(found.step_p, found.trend_p) <= 1
    assert (found.step_p <= found.trend_p) == found.step_likelier
    moved = find_level_changes(3 * values + 1)
    assert (moved.step_p, moved.trend_p, moved.step.place) == (found.step_p, found.trend_p, found.step.place)
