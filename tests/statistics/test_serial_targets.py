"""METHOD's targets where neighbours are correlated: false winners up to 7 %, intervals that hold in 92 %."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from pathlab.analysis.estimators.serial import ordered_median_interval
from pathlab.analysis.verdicts.pairs import PairVerdict, compare_pairs
from pathlab.analysis.verdicts.two_samples import compare_groups
from tests.length import choose_runs

from .noise import Rows, check_share, correlate, draw_autoregressive

FALSE_WINNERS_RATIO = 0.07
COVERAGE_RATIO = 0.92
WINNERS = (PairVerdict.STREAMS, PairVerdict.WINDOWS)
SIZES = (7, 13, 19, 60, 200)
CORRELATIONS = (0.0, 0.3, 0.5, 0.7)
#: Many short series and few long ones: so many runs of each size, always and at full length.
ALWAYS = {7: 300, 13: 300, 19: 300, 60: 150, 200: 80}
FULLY = {7: 3000, 13: 3000, 19: 3000, 60: 2000, 200: 1000}


def draw_gaussian(rng: np.random.Generator, runs: int, n: int, correlation: float) -> Rows:
    """First-order series, standard deviation 0.1."""
    return 0.1 * math.sqrt(1 - correlation**2) * draw_autoregressive(rng, runs, n, correlation)


def draw_skewed(rng: np.random.Generator, runs: int, n: int, correlation: float) -> Rows:
    """Log-normal with a median of 0: half of the values lie far on one side."""
    return 0.05 * np.expm1(10 * draw_gaussian(rng, runs, n, correlation))


def draw_heavy(rng: np.random.Generator, runs: int, n: int, correlation: float) -> Rows:
    """First-order series whose steps follow Student's t on 3 degrees: now and then one of many deviations."""
    steps = rng.standard_t(3, size=(runs, n + 60))
    series: Rows = 0.03 * correlate(steps, correlation)[:, 60:]
    return series


NOISE: dict[str, Callable[[np.random.Generator, int, int, float], Rows]] = {
    "gaussian": draw_gaussian,
    "skewed": draw_skewed,
    "heavy": draw_heavy,
}
SHORT = [
    pytest.param(name, n, correlation, choose_runs(ALWAYS[n]))
    for name, n, correlation in (
        *(("gaussian", n, correlation) for n in SIZES for correlation in (0.0, 0.7)),
        *((name, n, 0.7) for name in ("skewed", "heavy") for n in (7, 13)),
    )
]
LONG = [
    pytest.param(name, n, correlation, FULLY[n], marks=pytest.mark.long)
    for name in NOISE
    for n in SIZES
    for correlation in CORRELATIONS
]


@pytest.mark.parametrize(("name", "n", "correlation", "runs"), SHORT + LONG)
def test_targets_hold(name: str, n: int, correlation: float, runs: int) -> None:
    """Nothing differs: two runs, the two sides of pairs, and one cell whose median is known."""
    rng = np.random.default_rng([n, round(10 * correlation), runs, len(name)])
    first, second, cell = (NOISE[name](rng, runs, n, correlation) for _ in range(3))
    wrong = dict.fromkeys(("compare", "pairs"), 0)
    held = dict.fromkeys(("compare", "ratio", "shift", "median"), 0)
    open_ones = dict.fromkeys(held, 0)
    for ours, theirs, alone in zip(np.exp(first), np.exp(second), np.exp(cell), strict=True):
        groups = compare_groups(ours, theirs)
        differs = groups.p_value is not None and groups.p_value < 0.05
        wrong["compare"] += differs and (groups.equivalence_p_value or 0.0) >= 0.05
        pairs = compare_pairs(ours, theirs)
        wrong["pairs"] += pairs.verdict in WINNERS
        intervals = {
            "compare": (groups.interval_ratio, 1.0),
            "ratio": (pairs.ratio_interval, 1.0),
            "shift": (pairs.shift.interval, 0.0),
            "median": (ordered_median_interval(alone), 1.0),
        }
        for part, (interval, truth) in intervals.items():
            open_ones[part] += not interval.decided
            held[part] += interval.decided and interval.contains(truth)
    assert max(open_ones.values()) <= 0.01 * runs
    for count in wrong.values():
        check_share(count, runs, 0.0, FALSE_WINNERS_RATIO)
    for part, count in held.items():
        check_share(count, runs - open_ones[part], COVERAGE_RATIO, 1.0)


def test_independent_cycles_would_be_told_apart_by_chance() -> None:
    """What the targets are about: with 13 correlated cycles a test for independent ones goes wrong often."""
    rng = np.random.default_rng(3)
    first, second = (draw_gaussian(rng, 300, 13, 0.7) for _ in range(2))
    spread = np.sqrt((first.var(axis=1, ddof=1) + second.var(axis=1, ddof=1)) / 13)
    apart = np.abs(first.mean(axis=1) - second.mean(axis=1)) > 2.06 * spread
    check_share(int(apart.sum()), 300, 0.3, 0.5)


@pytest.mark.parametrize("n", [13, 60])
def test_independent_cycles_still_decide(n: int) -> None:
    """3 % of noise: a difference of 30 % is decided with 13 cycles, one of 10 % with 13 in most campaigns."""
    rng = np.random.default_rng(n)
    noise = 0.03 * rng.normal(size=(2, 100, n))
    for ratio, least in ((1.3, 100), (1.1, 80)):
        ours, theirs = np.exp(noise[0] + math.log(ratio)), np.exp(noise[1])
        decided_count = sum(
            compare_pairs(one, other).verdict is PairVerdict.STREAMS
            for one, other in zip(ours, theirs, strict=True)
        )
        assert decided_count >= least
        groups = [compare_groups(other, one) for one, other in zip(ours, theirs, strict=True)]
        assert sum((found.interval_ratio.low or 0.0) > 1.0 for found in groups) >= least
