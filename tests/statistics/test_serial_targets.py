"""METHOD's targets where neighbours are correlated: false winners up to 7 %, intervals that hold in 92 %."""

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
ALWAYS = {7: 300, 13: 300, 60: 150, 200: 80}
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
    pytest.param(name, n, correlation, choose_runs(ALWAYS[n], short=30))
    for name, n, correlation in (
        *(("gaussian", n, 0.7) for n in ALWAYS),
        *(("gaussian", 7, 0.0), ("gaussian", 60, 0.0), ("skewed", 13, 0.7), ("heavy", 7, 0.7)),
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


@pytest.mark.parametrize(
    ("n", "ratio", "least_ratio"), [(7, 1.3, 0.8), (13, 1.3, 1.0), (13, 1.1, 0.8), (60, 1.1, 0.8)]
)
def test_independent_cycles_still_decide(n: int, ratio: float, least_ratio: float) -> None:
    """3 % of noise: what is allowed for the order of the cycles does not make everything undecided."""
    runs = choose_runs(100)
    noise = 0.03 * np.random.default_rng(n).normal(size=(2, runs, n))
    sides = list(zip(np.exp(noise[0] + math.log(ratio)), np.exp(noise[1]), strict=True))
    verdicts = [compare_pairs(ours, theirs).verdict for ours, theirs in sides]
    assert verdicts.count(PairVerdict.STREAMS) >= least_ratio * runs
    if n >= 13:
        groups = [compare_groups(theirs, ours).interval_ratio.low or 0.0 for ours, theirs in sides]
        assert sum(low > 1.0 for low in groups) >= least_ratio * runs
