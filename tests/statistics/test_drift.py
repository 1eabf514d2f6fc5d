"""Control rows: a steady path is left in peace, drift and steps are told apart."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.drift import SIMULATED, Drift, DriftVerdict, find_drift
from tests.length import choose_runs
from tests.statistics.noise import CYCLES, check_share, draw_autoregressive, draw_normal, draw_second_order


def find(logarithms: np.ndarray) -> Drift:
    return find_drift(np.arange(logarithms.size) * 600.0, 9e8 * np.exp(logarithms))


def verdicts(rows: np.ndarray) -> list[DriftVerdict]:
    return [find(row).verdict for row in rows]


def is_change(verdict: DriftVerdict) -> bool:
    return verdict in (DriftVerdict.DRIFTING, DriftVerdict.STEPPED)


def test_each_verdict() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.01, 40)
    assert find(noise).verdict is DriftVerdict.STEADY
    rising = find(noise + np.linspace(0, 0.2, 40))
    assert rising.verdict is DriftVerdict.DRIFTING
    assert rising.change.change_ratio == pytest.approx(np.expm1(0.2), abs=0.03)
    stepped = find(noise - 0.3 * (np.arange(40) >= 15))
    assert stepped.verdict is DriftVerdict.STEPPED
    assert stepped.step.place == 15
    assert stepped.step.change_ratio == pytest.approx(np.expm1(-0.3), abs=0.02)
    noisy = find(rng.normal(0, 0.3, 12))
    assert (noisy.verdict, noisy.undecided) == (DriftVerdict.UNDECIDED, Undecided.INCONCLUSIVE)


def test_a_drift_that_is_sure_but_smaller_than_the_margin_is_steady() -> None:
    found = find(np.random.default_rng(2).normal(0, 0.002, 60) + np.linspace(0, 0.02, 60))
    assert found.trend_p_value == 1 / (1 + SIMULATED)  # more than in any series without a change
    assert found.verdict is DriftVerdict.STEADY


@pytest.mark.parametrize("runs", [choose_runs(60), pytest.param(600, marks=pytest.mark.long)])
@pytest.mark.parametrize("n", [10, 40])
def test_level_and_power(n: int, runs: int) -> None:
    rng = np.random.default_rng([n, runs])
    noise = 0.05 * draw_normal(rng, runs, n)
    blamed = sum(one in (DriftVerdict.DRIFTING, DriftVerdict.STEPPED) for one in verdicts(noise))
    check_share(blamed, runs, 0.001, 0.05)
    if n == 40:
        risen = sum(one is DriftVerdict.DRIFTING for one in verdicts(noise + np.linspace(0, 0.25, n)))
        check_share(risen, runs, 0.9, 1 - 1e-9)
        stepped = sum(one is DriftVerdict.STEPPED for one in verdicts(noise + 0.25 * (np.arange(n) > 20)))
        check_share(stepped, runs, 0.9, 1 - 1e-9)
        correlated = verdicts(0.05 * draw_autoregressive(rng, runs, n))
        blamed = sum(one in (DriftVerdict.DRIFTING, DriftVerdict.STEPPED) for one in correlated)
        check_share(blamed, runs, 0.001, 0.07)


@pytest.mark.parametrize("runs", [choose_runs(100, short=24), pytest.param(1000, marks=pytest.mark.long)])
def test_a_step_of_a_tenth_is_named_and_correlated_noise_is_not(runs: int) -> None:
    """31 rows, 5 % of noise: a step is named in 88 % half way and 79 % at a quarter, other noise in 5 %."""
    rng = np.random.default_rng([31, runs])
    noise = draw_normal(rng, runs, 31)
    step = np.log(1.1) / 0.05
    for place, least in ((16, 0.85), (8, 0.78), (23, 0.78), (4, 0.45)):
        stepped = verdicts(0.05 * (noise + step * (np.arange(31) >= place)))
        check_share(sum(map(is_change, stepped)), runs, least, 1 - 1e-9)
    steady = [noise, rng.standard_t(2, (runs, 31))]
    steady += [
        math.sqrt(1 - correlation**2) * draw_autoregressive(rng, runs, 31, correlation)
        for correlation in (0.3, 0.7)
    ]
    steady += [draw_second_order(rng, runs, 31, phi) for phi in CYCLES]
    for rows in steady:
        check_share(sum(map(is_change, verdicts(0.05 * rows))), runs, 0.0, 0.05)
    for phi, most in (((0.5, 0.3), 0.18), ((0.4, 0.4), 0.22), ((0.2, 0.5), 0.18)):
        lasting = 0.05 * draw_second_order(rng, runs, 31, phi)
        check_share(sum(map(is_change, verdicts(lasting))), runs, 0.0, most)


@settings(max_examples=15)
@given(st.lists(st.integers(1, 10**6), min_size=10, max_size=30), st.integers(1, 1000))
def test_scale_does_not_matter(values: list[int], scale: int) -> None:
    times = np.arange(len(values)) * 60.0
    found = find_drift(times, values)
    moved = find_drift(times, [value * scale for value in values])
    assert moved.verdict is found.verdict
    assert moved.step_p_value == pytest.approx(found.step_p_value)
