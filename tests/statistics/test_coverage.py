"""Do the intervals hold the truth as often as they say? Draw, estimate, count.

The tolerance is four standard errors of the count, so a sound estimator with a new seed fails once in some
16,000 runs, while one that misses its coverage by a few points fails in the long runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from pathlab.analysis.estimators.loss import probe_loss
from pathlab.analysis.estimators.quantiles import median_interval
from pathlab.analysis.libraries import stats
from tests.length import choose_runs

Draw = Callable[[np.random.Generator, int], np.ndarray]

DISTRIBUTIONS: dict[str, tuple[Draw, float, float]] = {  # draw, mean, median
    "normal": (lambda rng, n: rng.normal(5.0, 1.0, n), 5.0, 5.0),
    "exponential": (lambda rng, n: rng.exponential(1.0, n), 1.0, math.log(2)),
}
RUNS = [choose_runs(400), pytest.param(6000, marks=pytest.mark.long)]


def tolerance(coverage: float, runs: int) -> float:
    return 4 * math.sqrt(coverage * (1 - coverage) / runs)


def autoregressive(rng: np.random.Generator, n: int, correlation: float, mean: float) -> np.ndarray:
    """A stationary first-order series of unit innovation, started from its own distribution."""
    series = np.empty(n)
    state = rng.normal() / math.sqrt(1 - correlation**2)
    for index, shock in enumerate(rng.normal(size=n)):
        series[index] = mean + state
        state = correlation * state + shock
    return series


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("n", [6, 10, 21, 200])
@pytest.mark.parametrize("name", sorted(DISTRIBUTIONS))
def test_median_interval_covers_exactly_what_it_states(name: str, n: int, runs: int) -> None:
    draw, _, truth = DISTRIBUTIONS[name]
    rng = np.random.default_rng([n, runs])
    found = [median_interval(draw(rng, n)) for _ in range(runs)]
    stated = found[0].coverage_ratio
    assert stated is not None
    assert stated >= 0.95
    held = sum(interval.contains(truth) for interval in found) / runs
    assert held == pytest.approx(stated, abs=tolerance(stated, runs))


@pytest.mark.parametrize("n", [5, 10, 21, 200])
def test_wilson_interval_holds_most_ratios_as_often_as_it_says_and_rare_losses_less(n: int) -> None:
    """Summed over all outcomes, not drawn."""
    intervals = [probe_loss(n, n - lost).interval_ratio for lost in range(n + 1)]
    ratios = np.linspace(1e-4, 0.5, 2000)
    held = np.array([[interval.contains(ratio) for interval in intervals] for ratio in ratios])
    coverage = np.sum(stats.binom.pmf(np.arange(n + 1), n, ratios[:, None]) * held, axis=1)
    assert 0.95 <= np.mean(coverage) <= 0.956
    assert 0.83 <= np.min(coverage) <= 0.86
    assert 0.15 < n * ratios[np.argmin(coverage)] < 0.2
