"""The response surface: values of R, limits recovered or left open, units and order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.fits.curve_fit import FitOptions, Noise
from pathlab.analysis.fits.surface import Surface, fit_surface
from tests.length import choose_runs
from tests.statistics.noise import check_share
from tests.statistics.r_values import read_columns, read_r
from tests.statistics.sweeps import STREAMS, draw_factors

WINDOWS = np.array([8e3, 16e3, 32e3, 55e3, 64e3, 128e3, 256e3])
LEVELS = np.stack([axis.ravel() for axis in np.meshgrid(STREAMS, WINDOWS)], axis=1)
CAPACITY, RTT_NS, SHARPNESS = 90e6, 40e6, 6.0


def true_rates(levels: np.ndarray) -> np.ndarray:
    """N W / RTT and C joined by the p-norm, bit/s."""
    limited = levels.prod(axis=1) * 8e9 / RTT_NS
    rates: np.ndarray = (limited**-SHARPNESS + CAPACITY**-SHARPNESS) ** (-1 / SHARPNESS)
    return rates


def fit(rates: np.ndarray, cycles: int, rng: np.random.Generator, resamples: int = 300) -> Surface:
    return fit_surface(
        np.tile(LEVELS, (cycles, 1)),
        rates,
        cycles=np.repeat(np.arange(cycles), len(LEVELS)),
        rng=rng,
        options=FitOptions(resamples=resamples),
    )


def test_fit_is_rs() -> None:
    data, expected = read_columns("surface.csv"), read_r("surface")
    found = fit_surface(
        np.stack([data["streams"], data["window_bytes"]], axis=1),
        data["throughput_mbits_per_s"] * 1e6,
        cycles=data["cycle"],
        rng=np.random.default_rng(0),
        options=FitOptions(noise=Noise.ABSOLUTE),
    )
    assert found.capacity.value == pytest.approx(expected["C"] * 1e6, rel=1e-4)
    assert found.effective_rtt.value == pytest.approx(expected["rtt"] * 1e6, rel=1e-4)
    assert found.sharpness.value == pytest.approx(expected["p"], rel=1e-3)
    rss = float(np.sum(np.square(found.residuals.trial_bits_per_s))) / 1e12
    assert rss == pytest.approx(expected["rss"], rel=1e-6)
    assert found.residuals.cell_fitted_bits_per_s == pytest.approx(found.fitted_bits_per_s)
    means, fitted = found.residuals.cell_means_bits_per_s, found.residuals.cell_fitted_bits_per_s
    assert np.subtract(means, fitted) == pytest.approx(np.array(found.residuals.cell_bits_per_s))
    # Three cycles: values, but no interval.
    assert found.capacity.interval.undecided is Undecided.TOO_FEW_SAMPLES


def test_a_sharp_corner_is_recovered() -> None:
    rng = np.random.default_rng(1)
    limited = np.tile(np.minimum(LEVELS.prod(axis=1) * 8e9 / RTT_NS, CAPACITY), 21)
    found = fit(limited * draw_factors("normal", rng, 21, len(LEVELS)), 21, rng)
    assert found.capacity.value == pytest.approx(CAPACITY, rel=0.03)
    assert found.effective_rtt.value == pytest.approx(RTT_NS, rel=0.03)
    assert found.sharpness.value > 15
    assert found.lack_of_fit_p > 0.001


def test_a_path_that_the_surface_does_not_fit_is_seen() -> None:
    """Past 10 streams the path collapses by a quarter, which no surface of this form can follow."""
    rng = np.random.default_rng(1)
    rates = true_rates(LEVELS) * np.where(LEVELS[:, 0] > 10, 0.75, 1.0)
    found = fit(np.tile(rates, 10) * draw_factors("normal", rng, 10, len(LEVELS)), 10, rng)
    assert found.lack_of_fit_p < 1e-6
    streams, windows = np.array(found.residuals.cell_levels).T
    collapsed = (streams > 10) & (windows > 60e3)
    assert np.array(found.residuals.cell_ratio)[collapsed].max() < 0


@pytest.mark.parametrize("runs", [choose_runs(25, short=8), pytest.param(1000, marks=pytest.mark.long)])
def test_lack_of_fit_keeps_its_level(runs: int) -> None:
    rng = np.random.default_rng([runs, 4])
    truth = np.tile(true_rates(LEVELS), 6)
    found = [fit(truth * draw_factors("normal", rng, 6, len(LEVELS)), 6, rng, 100) for _ in range(runs)]
    low = sum(surface.lack_of_fit_p is not None and surface.lack_of_fit_p < 0.05 for surface in found)
    check_share(low, runs, 0.03, 0.08)


def test_a_limit_that_no_cell_shows_is_left_open() -> None:
    rng = np.random.default_rng(5)
    noise = draw_factors("normal", rng, 21, len(LEVELS))
    windows = fit(np.tile(LEVELS.prod(axis=1) * 8e9 / RTT_NS, 21) * noise, 21, rng)
    assert windows.capacity.undecided is Undecided.STILL_RISING
    assert (windows.capacity.value, windows.capacity.interval.high) == (None, None)
    most = float(LEVELS.prod(axis=1).max()) * 8e9 / RTT_NS
    assert 0.9 * most < windows.capacity.interval.low < most
    assert windows.effective_rtt.value == pytest.approx(RTT_NS, rel=0.01)
    flat = fit(CAPACITY * noise, 21, rng)
    assert flat.capacity.value == pytest.approx(CAPACITY, rel=0.01)
    assert flat.effective_rtt.undecided is Undecided.NOT_IDENTIFIED
    assert flat.effective_rtt.value is None


@settings(max_examples=2)
@given(st.integers(0, 10**6), st.floats(0.01, 100))
def test_surface_follows_the_units_and_ignores_the_order(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    levels, numbers = np.tile(LEVELS, (5, 1)), np.repeat(np.arange(5), len(LEVELS))
    rates = true_rates(levels) * draw_factors("normal", rng, 5, len(LEVELS))
    order = rng.permutation(rates.size)
    before, after = (
        fit_surface(
            levels[places],
            rates[places] * by,
            cycles=numbers[places],
            rng=np.random.default_rng(0),
            options=FitOptions(resamples=100),
        )
        for places, by in ((slice(None), 1.0), (order, scale))
    )
    assert after.capacity.value == pytest.approx(before.capacity.value * scale, rel=1e-5)
    assert after.effective_rtt.value == pytest.approx(before.effective_rtt.value / scale, rel=1e-5)
