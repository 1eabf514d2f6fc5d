"""Do the intervals hold the truth as often as they say? Draw, estimate, count.

The tolerance is four standard errors of the count, so a sound estimator with a new seed fails once in some
16,000 runs, while one that misses its coverage by a few points fails in the long runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from pathlab.analysis.interval import Interval
from pathlab.analysis.latency import rtt_rise
from pathlab.analysis.loss import probe_loss
from pathlab.analysis.quantiles import median_interval
from pathlab.analysis.throughput import mean_rate

Draw = Callable[[np.random.Generator, int], np.ndarray]

DISTRIBUTIONS: dict[str, tuple[Draw, float, float]] = {  # draw, mean, median
    "normal": (lambda rng, n: rng.normal(5.0, 1.0, n), 5.0, 5.0),
    "exponential": (lambda rng, n: rng.exponential(1.0, n), 1.0, math.log(2)),
}
RUNS = [400, pytest.param(6000, marks=pytest.mark.long)]


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


def rate_intervals(rng: np.random.Generator, n: int, correlation: float, runs: int) -> list[Interval]:
    spans = np.full(n, 100_000_000)
    return [
        mean_rate(
            autoregressive(rng, n, correlation, mean=500_000 / 1000) * 1000, spans, rng=rng, resamples=400
        ).interval_bits_per_s
        for _ in range(runs)
    ]


@pytest.mark.parametrize("runs", [300, pytest.param(4000, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("n", "correlation", "least"), [(100, 0.0, 0.95), (100, 0.6, 0.90), (400, 0.6, 0.91)]
)
def test_mean_rate_interval_covers_correlated_records(
    n: int, correlation: float, least: float, runs: int
) -> None:
    found = rate_intervals(np.random.default_rng([n, runs]), n, correlation, runs)
    decided = [interval for interval in found if interval.decided]
    assert len(decided) > 0.9 * runs
    held = sum(interval.contains(500_000 * 80) for interval in decided) / len(decided)
    assert held >= least - tolerance(least, len(decided))
    assert held < 0.995


def test_blocks_matter_for_correlated_records() -> None:
    """The same records shuffled lose their correlation, and with it the width that they need."""
    rng = np.random.default_rng(7)
    spans = np.full(400, 100_000_000)
    ratios = []
    for _ in range(40):
        records = autoregressive(rng, 400, 0.8, mean=500.0)
        ordered = mean_rate(records, spans, rng=rng, resamples=300).interval_bits_per_s
        shuffled = mean_rate(rng.permutation(records), spans, rng=rng, resamples=300).interval_bits_per_s
        assert ordered.low is not None
        assert ordered.high is not None
        assert shuffled.low is not None
        assert shuffled.high is not None
        ratios.append((ordered.high - ordered.low) / (shuffled.high - shuffled.low))
    # theory: sqrt((1 + r) / (1 - r)) = 3 for r = 0.8; a plain bootstrap would give 1
    assert 2.2 < float(np.median(ratios)) < 3.6


@pytest.mark.parametrize("runs", [250, pytest.param(3000, marks=pytest.mark.long)])
@pytest.mark.parametrize(("n", "correlation", "least"), [(40, 0.0, 0.95), (100, 0.6, 0.90)])
def test_rise_intervals_cover(n: int, correlation: float, least: float, runs: int) -> None:
    rng = np.random.default_rng([n, runs])
    found = [
        rtt_rise(
            autoregressive(rng, n, correlation, 60.0) * 1e6,
            autoregressive(rng, n, correlation, 40.0) * 1e6,
            rng=rng,
            resamples=400,
        )
        for _ in range(runs)
    ]
    for intervals in ([rise.mean_interval_ns for rise in found], [rise.median_interval_ns for rise in found]):
        decided = [interval for interval in intervals if interval.decided]
        assert len(decided) > 0.9 * runs
        held = sum(interval.contains(20e6) for interval in decided) / len(decided)
        assert held >= least - tolerance(least, len(decided))
