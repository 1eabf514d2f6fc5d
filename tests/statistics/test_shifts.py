"""Hodges-Lehmann shift, signed-rank test and Cliff's delta."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.estimators.dominance import cliffs_delta
from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.serial import bound_order
from pathlab.analysis.estimators.shifts import critical_rank, hodges_lehmann
from pathlab.analysis.libraries import stats
from tests.statistics.noise import RUNS, check_coverage

# The data of the example of R's wilcox.test: Hollander and Wolfe 1973, p. 29.
FIRST = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30])
SECOND = np.array([0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29])
_STEPS = np.arange(1, 61)
LONG = np.sin(_STEPS) * 3 + (_STEPS % 7) / 2 + _STEPS / 1000


@pytest.mark.parametrize(
    ("differences", "shift", "low", "high"),
    [
        # R 4.2.2: wilcox.test(x, y, paired = TRUE, conf.int = TRUE)
        (FIRST - SECOND, 0.46, 0.010, 0.786),
        # R 4.2.2: wilcox.test(z[1:50], conf.int = TRUE, exact = TRUE)
        (LONG[:50], 1.489030965, 0.7548758709, 2.2691074602),
    ],
)
def test_shift_is_rs_and_its_interval_is_rs_widened(
    differences: np.ndarray, shift: float, low: float, high: float
) -> None:
    found = hodges_lehmann(differences)
    assert found.shift == pytest.approx(shift, rel=1e-8)
    n, order = differences.size, bound_order(differences)
    coverage = critical_rank(n, 0.95)[1] or 0.0
    error = (high - low) / 2 / stats.t.ppf((1 + coverage) / 2, n - 1) * order.error_ratio
    assert found.standard_error == pytest.approx(error, rel=1e-8)
    half = error * stats.t.ppf(0.975, order.freedom)
    assert (found.interval.low, found.interval.high) == pytest.approx((shift - half, shift + half))
    assert found.p_value == pytest.approx(2 * stats.t.sf(shift / error, order.freedom))
    assert found.at(0.99).high == pytest.approx(shift + error * stats.t.ppf(0.995, order.freedom))


def test_shift_of_many_is_rs() -> None:
    # R 4.2.2: w <- outer(z, z, "+") / 2; median(w[lower.tri(w, diag = TRUE)])
    assert hodges_lehmann(LONG).shift == pytest.approx(1.61151675946, rel=1e-8)


def test_critical_ranks_are_rs() -> None:
    # R 4.2.2: qsignrank(0.025, c(6, 10, 21, 50))  ->  1 9 59 435;  psignrank(42, 22)  ->  0.00234246254
    assert [critical_rank(n, 0.95)[0] for n in (6, 10, 21, 50)] == [1, 9, 59, 435]
    assert critical_rank(6, 0.95)[1] == 1 - 2 / 64
    assert critical_rank(5, 0.95) == (0, None)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("n", [10, 200])
@pytest.mark.parametrize("common", [0.0, 1.0])
def test_cliffs_delta_interval_covers(common: float, n: int, runs: int) -> None:
    """Two normals half a standard deviation apart; what the pair shares leaves the truth less far from 0."""
    rng = np.random.default_rng([n, runs, 2])
    shared = rng.normal(0, common, (runs, n)) if common else np.zeros((runs, n))
    first, second = rng.normal(0.5, 1, (runs, n)) + shared, rng.normal(0, 1, (runs, n)) + shared
    truth = 2 * float(stats.norm.cdf(0.5 / np.sqrt(2 * (1 + common**2)))) - 1
    found = [cliffs_delta(one, other).interval_ratio for one, other in zip(first, second, strict=True)]
    check_coverage(found, truth, least=0.95, most=1 - 1e-9)


def test_cliffs_delta_by_r_and_by_hand() -> None:
    # R 4.2.2: mean(sign(outer(x, y, "-")))  ->  0.4320987654
    assert cliffs_delta(FIRST, SECOND).delta_ratio == pytest.approx(0.4320987654)
    assert cliffs_delta([1.0, 2.0], [2.0, 3.0]).delta_ratio == -0.75
    ties = cliffs_delta(np.ones(12), np.ones(12))
    assert (ties.delta_ratio, ties.interval_ratio.undecided) == (0.0, Undecided.NO_VARIATION)
    apart = cliffs_delta(np.arange(12) + 50.0, np.arange(12.0))
    assert (apart.delta_ratio, apart.interval_ratio.undecided) == (1.0, Undecided.NO_VARIATION)


DIFFERENCES = st.lists(st.integers(-(10**6), 10**6), min_size=6, max_size=60)


@settings(max_examples=40)
@given(DIFFERENCES, st.integers(-(10**6), 10**6), st.integers(1, 1000), st.randoms(use_true_random=False))
def test_shift_follows_shift_and_scale(
    values: list[int], shift: int, scale: int, shuffler: random.Random
) -> None:
    before = hodges_lehmann(values)
    moved = [value * scale + shift for value in values]
    if len(values) < 10:  # from there on their order tells their correlation
        shuffler.shuffle(moved)
    after = hodges_lehmann(moved)
    assert after.shift == pytest.approx(before.shift * scale + shift, abs=1e-3)
    low, high = before.interval.low, before.interval.high
    if low is not None and high is not None and after.interval.decided:
        ends = pytest.approx((low * scale + shift, high * scale + shift), abs=1e-3)
        assert (after.interval.low, after.interval.high) == ends
        assert low <= before.shift <= high
    mirrored = hodges_lehmann([-value for value in values])
    assert mirrored.p_value == (None if before.p_value is None else pytest.approx(before.p_value))


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=60))
def test_delta_mirrors_and_its_interval_holds_it(pairs: list[tuple[int, int]]) -> None:
    first, second = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found, mirrored = cliffs_delta(first, second), cliffs_delta(second, first)
    assert found.delta_ratio is not None
    assert mirrored.delta_ratio == pytest.approx(-found.delta_ratio)
    scaled = cliffs_delta([value * 3 + 1 for value in first], [value * 3 + 1 for value in second])
    assert scaled == found
    if found.interval_ratio.decided:
        assert found.interval_ratio.contains(found.delta_ratio)
        assert found.interval_ratio.low >= -1
