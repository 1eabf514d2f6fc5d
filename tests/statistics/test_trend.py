"""Mann-Kendall, Theil-Sen and the bound of what a factor changes."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.trend import bound_change, find_trend
from pathlab.analysis.libraries import stats
from tests.statistics.noise import NOISES, RUNS, check_coverage, check_share, draw_autoregressive

RISING = [4, 7, 5, 9, 8, 12, 10, 11, 15, 13, 14, 18, 16, 17, 21]
TIED = [4, 5, 5, 4, 6, 5, 6, 4, 5, 6, 5, 4]
DURATIONS_S = np.repeat([10.0, 20.0, 40.0, 80.0], 5)
RATES = [3.1, 3.4, 2.9, 3.3, 3.0, 3.2, 3.6, 3.1, 3.5, 3.4, 3.3, 3.7, 3.2, 3.6, 3.5, 3.4, 3.8, 3.3, 3.7, 3.9]


@pytest.mark.parametrize(
    ("values", "positions", "p_value", "tau", "exact"),
    [
        # R 4.2.2: cor.test(1:15, v, method = "kendall", exact = TRUE)
        (RISING[::-1], np.arange(15.0)[::-1], 4.073460589e-07, 0.8476190476, True),
        # R 4.2.2: cor.test(1:12, v, method = "kendall", exact = FALSE, continuity = TRUE)
        (TIED[::-1], np.arange(12.0)[::-1], 0.7678782408, 0.08977369643, False),
        # R 4.2.2: cor.test(d, u, method = "kendall", exact = FALSE, continuity = TRUE)
        (RATES, DURATIONS_S, 0.003613654246, 0.530942032, False),
    ],
)
def test_trend_is_rs(
    values: list[float], positions: np.ndarray | None, p_value: float, tau: float, exact: bool
) -> None:
    found = find_trend(values, positions)
    assert found.p_exact is exact
    assert found.tau_ratio == pytest.approx(tau, rel=1e-8)
    assert found.p_value == pytest.approx(p_value, rel=1e-6)
    assert found.inflation_ratio == 1.0


def test_slope_is_scipys_and_its_interval_inverts_the_test() -> None:
    rng = np.random.default_rng(4)
    places = np.arange(12.0)[::-1]  # not in time order: values without correlation
    values = -0.4 * (places - 11) + rng.normal(size=12)
    found = find_trend(values, places)
    assert found.slope == pytest.approx(float(stats.theilslopes(values, places).slope))
    assert found.change == pytest.approx(11 * (found.slope or 0.0))
    interval = found.slope_interval
    low, high, coverage = interval.low, interval.high, interval.coverage_ratio
    assert 0.95 <= coverage < 0.97

    def p_value(slope: float) -> float:
        return float(stats.kendalltau(places, values - slope * places, method="exact").pvalue)

    step = 1e-9
    assert min(p_value(low + step), p_value(high - step)) > 1 - coverage
    assert max(p_value(low - step), p_value(high + step)) <= 1 - coverage + 1e-12


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize(("name", "n"), [("normal", 5), ("log-normal", 10), ("normal", 200)])
def test_level_and_coverage_without_correlation(name: str, n: int, runs: int) -> None:
    noise = NOISES[name](np.random.default_rng([n, runs]), runs, n)
    found = [find_trend(row) for row in noise]
    # What is allowed for a correlation that is not there costs much of few samples' level.
    check_share(sum(one.p_value is not None and one.p_value < 0.05 for one in found), runs, 0.0, 0.05)
    sloped = [find_trend(row).slope_interval for row in noise + 0.2 * np.arange(n)]
    check_coverage(sloped, 0.2, least=0.95, most=1 - 1e-9)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize(("n", "correlation"), [(7, 0.7), (21, 0.5), (200, 0.7)])
def test_level_and_coverage_under_correlation(n: int, correlation: float, runs: int) -> None:
    series = draw_autoregressive(np.random.default_rng([n, runs]), runs, n, correlation)
    found = [find_trend(row) for row in series]
    check_share(sum(one.p_value is not None and one.p_value < 0.05 for one in found), runs, 0.0, 0.07)
    check_coverage([one.slope_interval for one in found], 0.0, least=0.92, most=1 - 1e-9)


def durations_campaign(rng: np.random.Generator, cycles: int, change: float) -> tuple[np.ndarray, np.ndarray]:
    """Rates of cycles over 10 to 320 s whose expectation changes by ``change`` over the whole range."""
    positions = np.tile(np.log2([10.0, 320.0, 40.0, 80.0, 160.0, 20.0]), cycles)
    rise = math.log1p(change) * (positions - positions.min()) / np.ptp(positions)
    return positions, 9e8 * np.exp(rise + rng.normal(0, 0.05, positions.size))


@pytest.mark.parametrize("runs", RUNS)
def test_bound_of_durations_covers_and_keeps_its_level(runs: int) -> None:
    rng = np.random.default_rng(runs)
    found = []
    for _ in range(runs):
        positions, rates = durations_campaign(rng, 21, 0.05)
        found.append(bound_change(rates, positions))
    check_coverage([one.interval_ratio for one in found], 0.05, least=0.89, most=0.92)
    check_share(sum(one.equivalent is True for one in found), runs, 0.03, 0.05)
    same = [bound_change(*durations_campaign(rng, 21, 0.0)[::-1]) for _ in range(runs)]
    check_share(sum(one.equivalent is True for one in same), runs, 0.9, 1 - 1e-9)
    bounds = [one.bound_ratio for one in same if one.bound_ratio is not None]
    assert len(bounds) == runs
    assert all((bound < 0.05) is one.equivalent for bound, one in zip(bounds, same, strict=True))


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize(("cycles", "correlation"), [(7, 0.7), (21, 0.0), (60, 0.7)])
def test_bound_of_durations_withstands_correlation(cycles: int, correlation: float, runs: int) -> None:
    """Every duration wanders by itself over the cycles, and all of them together by what a cycle shares."""
    rng = np.random.default_rng([runs, cycles])
    positions = np.tile(np.log2([10.0, 320.0, 40.0, 80.0, 160.0, 20.0]), cycles)
    numbers = np.repeat(np.arange(cycles), 6)
    found, naive = [], 0
    for _ in range(runs):
        own = draw_autoregressive(rng, 6, cycles, correlation).T
        logs = 0.03 * (own + draw_autoregressive(rng, 1, cycles, correlation).T).ravel()
        found.append(bound_change(np.exp(logs), positions, cycles=numbers))
        naive += bound_change(np.exp(logs), positions).interval_ratio.contains(0.0)
    check_coverage([one.interval_ratio for one in found], 0.0, least=0.92, most=1 - 1e-9)
    if correlation:
        assert naive < 0.85 * runs


SERIES = st.lists(st.integers(-(10**4), 10**4), min_size=6, max_size=40)


def test_few_places_have_a_slope_and_no_interval() -> None:
    """Of five samples at one place and a sixth elsewhere only five pairs have a slope."""
    found = find_trend([1, 2, 3, 4, 5, 6], [0, 0, 0, 0, 0, 1])
    assert (found.slope, found.slope_interval.undecided) == (3.0, Undecided.TOO_FEW_SAMPLES)


@settings(max_examples=30)
@given(SERIES, st.integers(-(10**4), 10**4), st.integers(1, 100))
def test_trend_follows_shift_and_scale_and_mirrors(values: list[int], shift: int, scale: int) -> None:
    found, moved = find_trend(values), find_trend([value * scale + shift for value in values])
    mirrored = find_trend([-value for value in values])
    if found.slope is None or found.tau_ratio is None:
        assert found.undecided is Undecided.NO_VARIATION
        return
    assert moved.slope == pytest.approx(found.slope * scale)
    assert moved.p_value == pytest.approx(found.p_value, rel=1e-6)
    assert mirrored.tau_ratio == pytest.approx(-found.tau_ratio)
    assert mirrored.slope == pytest.approx(-found.slope)
    assert mirrored.p_value == pytest.approx(found.p_value, rel=1e-6)
    if found.slope_interval.decided:
        assert found.slope_interval.contains(found.slope)


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99)), min_size=6, max_size=40),
    st.randoms(use_true_random=False),
)
def test_order_of_measurement_is_no_matter_where_positions_are_not_time(
    pairs: list[tuple[int, int]], shuffler: random.Random
) -> None:
    shuffled = shuffler.sample(pairs, len(pairs))
    found, moved = (find_trend(*np.array(one, dtype=float).T[::-1]) for one in (pairs, shuffled))
    assert moved.p_value == pytest.approx(found.p_value)
    assert moved.slope == pytest.approx(found.slope)
