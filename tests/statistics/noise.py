"""Draws that the simulations share: noise of several shapes, one row per simulated campaign."""

import math
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from numpy.typing import NDArray

from pathlab.analysis.estimators.interval import Interval
from tests.length import choose_runs

Rows = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int, int], Rows]

#: The first number runs always, the long one behind its marker.
RUNS = [choose_runs(200, short=30), pytest.param(2000, marks=pytest.mark.long)]
#: Samples that campaigns really have.
SIZES = [5, 10, 21, 200]


def draw_normal(rng: np.random.Generator, runs: int, n: int) -> Rows:
    return rng.normal(size=(runs, n))


def draw_log_normal(rng: np.random.Generator, runs: int, n: int) -> Rows:
    """Skewed, median 1: a rate under multiplicative noise of some 30 %."""
    return rng.lognormal(0.0, 0.3, size=(runs, n))


def correlate(shocks: Rows, correlation: float) -> Rows:
    """First-order series: each value is its shock and ``correlation`` times the value before it."""
    series = shocks.copy()
    for place in range(1, series.shape[-1]):
        series[..., place] += correlation * series[..., place - 1]
    return series


def draw_autoregressive(rng: np.random.Generator, runs: int, n: int, correlation: float = 0.5) -> Rows:
    """Stationary first-order series of unit innovation about 0."""
    shocks = rng.normal(size=(runs, n))
    shocks[:, 0] /= math.sqrt(1 - correlation**2)
    return correlate(shocks, correlation)


#: Coefficients of second-order noise with a cycle, of 4 to 14 samples a period.
CYCLES = ((1.2, -0.8), (0.5, -0.6), (0.0, -0.7), (1.5, -0.7))


def draw_second_order(rng: np.random.Generator, runs: int, n: int, coefficients: tuple[float, float]) -> Rows:
    """Second-order series of unit innovation about 0, after 200 values that nobody sees."""
    series = rng.normal(size=(runs, n + 200))
    for place in range(2, n + 200):
        series[:, place] += coefficients[0] * series[:, place - 1] + coefficients[1] * series[:, place - 2]
    return series[:, 200:]


def inflate_second_order(n: int, coefficients: tuple[float, float]) -> float:
    """Variance of the mean of n values of such a series over that of n independent ones."""
    known = [1.0, coefficients[0] / (1 - coefficients[1])]
    for _ in range(n - 2):
        known.append(coefficients[0] * known[-1] + coefficients[1] * known[-2])
    return 1 + 2 * sum((1 - lag / n) * known[lag] for lag in range(1, n))


def draw_cycles(
    rng: np.random.Generator, n: int, ratio: float = 1.0, spread: float = 0.1
) -> tuple[np.ndarray, np.ndarray]:
    """Rates of two sides in bit/s: the cycles differ, each trial has log-normal noise of its own."""
    cycle = 5e8 * rng.lognormal(0, 0.2, n)
    return cycle * ratio * rng.lognormal(0, spread, n), cycle * rng.lognormal(0, spread, n)


def draw_pilot(spread: float, n: int = 30, mean: float = 0.0) -> np.ndarray:
    """Log ratios of a pilot run with exactly this mean and standard deviation."""
    values = np.random.default_rng(3).normal(size=n)
    return np.asarray((values - values.mean()) / values.std(ddof=1) * spread + mean)


NOISES: dict[str, Noise] = {"normal": draw_normal, "log-normal": draw_log_normal}


def check_coverage(
    intervals: Iterable[Interval], truth: float, *, least: float = 0.92, most: float = 0.98
) -> None:
    """Every interval is decided and as many hold the truth as promised, give or take ``check_share``."""
    found = list(intervals)
    assert all(interval.decided for interval in found)
    check_share(sum(interval.contains(truth) for interval in found), len(found), least, most)


def check_share(count: int, runs: int, least: float, most: float) -> None:
    """``count`` of ``runs`` may come from a share within the two, give or take four standard errors."""
    share = count / runs
    assert share >= least - 4 * math.sqrt(least * (1 - least) / runs)
    assert share <= most + 4 * math.sqrt(most * (1 - most) / runs)
