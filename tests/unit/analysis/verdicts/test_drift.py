"""Drift: the likelihoods of changes by hand, long series, and a series that is one step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from pathlab.analysis.verdicts import drift
from pathlab.analysis.verdicts.drift import find_level_changes


def measure_likelihood(series: NDArray[np.float64], mean: NDArray[np.float64], correlation: float) -> float:
    """Logarithm of the likelihood of a first-order series about the fitted columns of ``mean``."""
    lags = np.arange(series.size)
    known = correlation ** np.abs(lags[:, None] - lags[None, :]) / (1 - correlation**2)
    inverse = np.linalg.inv(known)
    fitted = np.linalg.solve(mean.T @ inverse @ mean, mean.T @ inverse @ series)
    rest = series - mean @ fitted
    return float(-series.size / 2 * math.log(rest @ inverse @ rest) - np.linalg.slogdet(known)[1] / 2)


def test_gains_are_those_of_the_likelihoods() -> None:
    rng = np.random.default_rng(3)
    series = rng.normal(size=12) + 2 * (np.arange(12) >= 5)
    gains, correlation = drift._gain_likelihood(series[None])
    one = np.ones((12, 1))
    level = [measure_likelihood(series, one, ratio) for ratio in drift.CORRELATIONS]
    assert correlation[0] == drift.CORRELATIONS[int(np.argmax(level))]
    changes = [np.arange(12) >= place for place in range(2, 11)] + [np.arange(12)]
    for gain, change in zip(gains[0], changes, strict=True):
        both = np.column_stack([one, change.astype(float)])
        best = max(measure_likelihood(series, both, ratio) for ratio in drift.CORRELATIONS)
        assert gain == pytest.approx(best - max(level))


def test_a_p_value_counts_steady_series_whose_largest_gain_is_as_large() -> None:
    values = np.random.default_rng(4).normal(size=20)
    found = find_level_changes(values)
    assert min(found.step_p, found.trend_p) >= 1 / (1 + drift.SIMULATED)
    assert max(found.step_p, found.trend_p) <= 1
    assert (found.step_p <= found.trend_p) == found.step_likelier
    moved = find_level_changes(3 * values + 1)
    assert (moved.step_p, moved.trend_p, moved.step.place) == (
        found.step_p,
        found.trend_p,
        found.step.place,
    )


@pytest.mark.parametrize("n", [10, 31, 400, 1001])
def test_a_clear_step_is_found_where_it_is(n: int) -> None:
    place = n // 3
    found = find_level_changes(0.01 * np.random.default_rng(n).normal(size=n) + 0.2 * (np.arange(n) >= place))
    together = math.ceil(n / drift.MOST_ROWS)
    assert abs(found.step.place - place) < together
    assert found.step.change_ratio == pytest.approx(math.expm1(0.2), abs=0.02)
    assert found.step_likelier
    if n > 10:
        assert found.step_p < 0.01
    assert abs(find_level_changes(np.repeat([0.0, 1.0], n // 2)).step.place - n // 2) < together
