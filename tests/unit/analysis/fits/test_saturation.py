"""Saturation: a plain path by hand, reasons and wrong values."""

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.fits.models import Family
from pathlab.analysis.fits.saturation import fit_saturation
from tests.statistics.sweeps import draw_factors, number_trials, simulate, true_rates


def test_a_plain_path_by_hand() -> None:
    """12 Mbit/s a stream up to 84: the knee is at 7, nine tenths (75.6) are there with 7 streams."""
    streams, numbers = number_trials(6)
    rng = np.random.default_rng(0)
    rates = np.minimum(12e6 * streams, 84e6)
    found = fit_saturation(streams, rates, cycles=numbers, rng=rng)
    assert found.winner is Family.LINEAR_THEN_FLAT
    assert [estimate.value for estimate in found.parameters] == pytest.approx([12e6, 84e6])
    assert found.capacity.value == pytest.approx(84e6)
    assert found.n_90.value == 7
    assert (found.n_90.interval.low, found.n_90.interval.high) == (7, 7)
    assert found.residuals.trial_bits_per_s == pytest.approx([0.0] * 84, abs=1e-3)
    assert found.residuals.cell_n == (6,) * 14


def test_residuals_stay_in_the_order_given() -> None:
    streams, numbers = number_trials(5)
    truth = true_rates(Family.LINEAR_THEN_FLAT)
    rates = np.tile(truth, 5) * draw_factors("normal", np.random.default_rng(4), 5)
    order = np.random.default_rng(5).permutation(streams.size)
    plain = fit_saturation(streams, rates, cycles=numbers, rng=np.random.default_rng(0))
    mixed = fit_saturation(streams[order], rates[order], cycles=numbers[order], rng=np.random.default_rng(0))
    assert np.array(plain.residuals.trial_bits_per_s)[order] == pytest.approx(
        mixed.residuals.trial_bits_per_s, rel=1e-6, abs=1.0
    )
    assert mixed.best is plain.best
    assert mixed.capacity.value == pytest.approx(plain.capacity.value, rel=1e-6)
    assert mixed.capacity.interval.low == pytest.approx(plain.capacity.interval.low, rel=1e-6)


def test_reasons() -> None:
    def reason(streams: list[float], rates: list[float], cycles: list[float]) -> Undecided | None:
        found = fit_saturation(streams, rates, cycles=cycles, rng=np.random.default_rng(0))
        assert found.winner is None
        assert found.capacity.interval.undecided is not None
        return found.undecided

    assert reason([1, 2, 3], [1, 2, 3], [0, 0, 0]) is Undecided.TOO_FEW_SAMPLES
    assert reason([1, 2] * 4, [5, 6] * 4, [0, 1] * 4) is Undecided.TOO_FEW_LEVELS
    assert reason([1, 2, 4] * 4, [0.0] * 12, [0] * 12) is Undecided.ALL_ZERO
    assert reason([1, 2, 4] * 4, [7.0] * 12, [0] * 12) is Undecided.NO_VARIATION


def test_few_cycles_give_values_without_intervals() -> None:
    found = simulate(Family.LINEAR_THEN_FLAT, "normal", 4, np.random.default_rng(1))
    assert found.capacity.value == pytest.approx(9e7, rel=0.1)
    assert found.capacity.interval.undecided is Undecided.TOO_FEW_SAMPLES
    assert found.band is None


def test_drifting_cycles_give_values_without_intervals() -> None:
    streams, numbers = number_trials(12)
    rates = np.tile(true_rates(Family.LINEAR_THEN_FLAT), 12) * (1 + numbers / 12)
    found = fit_saturation(streams, rates, cycles=numbers, rng=np.random.default_rng(1))
    assert found.capacity.value is not None
    assert found.capacity.interval.undecided is Undecided.TOO_CORRELATED
