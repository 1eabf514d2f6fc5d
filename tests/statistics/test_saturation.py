"""Saturation families: values of R, the right family named, bands that hold, and reasons."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.fits.curve_fit import FitOptions, Noise
from pathlab.analysis.fits.models import MODELS, Family
from pathlab.analysis.fits.saturation import Saturation, fit_saturation
from tests.length import choose_runs
from tests.statistics.noise import check_share
from tests.statistics.r_values import read_columns, read_r
from tests.statistics.sweeps import STREAMS, draw_factors, number_trials, simulate, true_rates


@functools.cache
def fit_recorded() -> Saturation:
    data = read_columns("sweep.csv")
    return fit_saturation(
        data["streams"],
        data["throughput_mbits_per_s"] * 1e6,
        cycles=data["cycle"],
        rng=np.random.default_rng(1),
        options=FitOptions(noise=Noise.ABSOLUTE),
    )


# Powers of 1e6 that R's Mbit/s leave in a parameter of each unit.
SCALES = {"bit/s": 1e6, "bit/s per stream": 1e6, "1": 1.0}


@pytest.mark.parametrize("family", list(Family))
def test_fits_are_rs(family: Family) -> None:
    found = {fit.family: fit for fit in fit_recorded().fits}
    expected = read_r(family.value)
    for name, unit in MODELS[family].symbols:
        if name not in expected:
            assert (family, name) == (Family.UNIVERSAL, "sigma")
            assert 0 <= found[family].parameters["sigma"] < 1e-5
            continue
        value = found[family].parameters[name] / SCALES.get(unit, 1e-12)
        assert value == pytest.approx(expected[name], rel=2e-3), name
    rmse, data = found[family].rmse_ratio, read_columns("sweep.csv")
    most = max(data["throughput_mbits_per_s"][data["streams"] == n].mean() for n in STREAMS)
    rss = (rmse * most) ** 2 * (70 - len(MODELS[family].symbols))  # of 70 trials
    assert rss == pytest.approx(expected["rss"], rel=1e-5)


def test_aicc_and_weights_are_rs() -> None:
    found = {fit.family: fit for fit in fit_recorded().fits}
    scores = {family: read_r(family.value)["aicc"] for family in Family}
    least = min(scores.values())
    total = sum(np.exp((least - score) / 2) for score in scores.values())
    for family, score in scores.items():
        assert found[family].aicc_difference == pytest.approx(score - least, abs=2e-3)
        assert found[family].weight_ratio == pytest.approx(np.exp((least - score) / 2) / total, rel=2e-3)
    assert found[Family.LU].lack_of_fit_p == pytest.approx(read_r("lu")["lack_of_fit_p"], rel=1e-4)


@pytest.mark.parametrize("runs", [choose_runs(12, short=4), pytest.param(300, marks=pytest.mark.long)])
@pytest.mark.parametrize("family", list(Family))
def test_the_true_family_is_named_or_nothing_is(family: Family, runs: int) -> None:
    rng = np.random.default_rng([5, runs])
    found = [simulate(family, "normal", 21, rng) for _ in range(runs)]
    named = sum(result.winner is family for result in found)
    open_ = sum(result.winner is None for result in found)
    check_share(named + open_, runs, 0.97, 1.0)
    for result in found:
        assert (result.winner is None) == (result.undecided is Undecided.RIVALS) == bool(result.rivals)
    # Families of clearly different shape are not only left open but named.
    if family in {Family.LINEAR_THEN_FLAT, Family.LOSS_LIMITED, Family.UNIVERSAL}:
        check_share(named, runs, 0.8, 1.0)


def test_band_holds_new_trials_and_the_curve() -> None:
    rng = np.random.default_rng(8)
    inside, means = [], []
    truth = true_rates(Family.LU)
    for _ in range(choose_runs(30, short=12)):
        band = simulate(Family.LU, "normal", 21, rng, only=True).band
        at = [band.streams.index(n) for n in STREAMS]
        low, high = np.array(band.trial_low_bits_per_s)[at], np.array(band.trial_high_bits_per_s)[at]
        fresh = truth * draw_factors("normal", rng, 1)
        inside.append(np.mean((low <= fresh) & (fresh <= high)))
        low, high = np.array(band.mean_low_bits_per_s)[at], np.array(band.mean_high_bits_per_s)[at]
        means.append(np.mean((low <= truth) & (truth <= high)))
    assert 0.90 < float(np.mean(inside)) < 0.99
    assert 0.88 < float(np.mean(means)) <= 1.0


@settings(max_examples=3)
@given(st.integers(0, 10**6), st.floats(1e-3, 1e3))
def test_everything_follows_the_unit_of_rate(seed: int, scale: float) -> None:
    streams, numbers = number_trials(5)
    rates = np.tile(true_rates(Family.UNIVERSAL), 5) * draw_factors("normal", np.random.default_rng(seed), 5)
    options = FitOptions(resamples=100)
    before, after = (
        fit_saturation(streams, rates * by, cycles=numbers, rng=np.random.default_rng(1), options=options)
        for by in (1.0, scale)
    )
    assert after.best is before.best
    assert after.capacity.undecided is before.capacity.undecided
    if before.capacity.value is not None:
        assert after.capacity.value == pytest.approx(before.capacity.value * scale, rel=1e-6)
    assert after.n_90.value == before.n_90.value
    for first, second in zip(before.fits, after.fits, strict=True):
        assert first.family is second.family
        assert first.rmse_ratio == pytest.approx(second.rmse_ratio, rel=1e-6)


def test_unbounded_growth_has_no_capacity() -> None:
    found = simulate(Family.LOSS_LIMITED, "normal", 21, np.random.default_rng(2), only=True)
    assert found.winner is Family.LOSS_LIMITED
    assert found.capacity.undecided is Undecided.STILL_RISING
    assert (found.capacity.value, found.n_90.value) == (None, None)
    assert found.capacity.interval.undecided is Undecided.STILL_RISING


def test_a_slope_that_no_cell_shows_is_not_given() -> None:
    streams, numbers = number_trials(6)
    rates = 9e7 * draw_factors("normal", np.random.default_rng(1), 6)
    alone = frozenset([Family.LINEAR_THEN_FLAT])
    found = fit_saturation(streams, rates, cycles=numbers, rng=np.random.default_rng(1), families=alone)
    slope, top = found.parameters
    assert slope.interval.undecided is Undecided.NOT_IDENTIFIED
    assert top.value == pytest.approx(9e7, rel=0.05)
