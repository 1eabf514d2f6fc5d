"""The cost of a message: by hand, reasons and wrong values."""

from dataclasses import replace

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.fits.message_cost import fit_cycles, fit_message_cost

SIZES_BYTES = 2.0 ** np.arange(2, 15)


def test_by_hand() -> None:
    """500 ns and 1 ns a byte: 8 Gbit/s, and 500 bytes take as long as their message."""
    found = fit_message_cost(SIZES_BYTES, 500 + SIZES_BYTES)
    assert found.message_ns == pytest.approx(500)
    assert found.rate_bits_per_s == pytest.approx(8e9)
    assert found.half_size_bytes == pytest.approx(500)
    assert found.residual_ratio == pytest.approx([0.0] * 13, abs=1e-9)
    assert found.predict_time_ns(np.array([500.0, 1500.0])) == pytest.approx([1000, 2000])
    assert replace(found, rate_bits_per_s=None).predict_time_ns(np.array([500.0])) is None


def test_the_median_cycle_is_the_cost() -> None:
    """Seven cycles of 400 to 700 ns a message and 1 ns a byte, one slower by half."""
    own_ns = np.array([400.0, 450.0, 500.0, 550.0, 600.0, 650.0, 700.0])[[3, 0, 5, 1, 6, 2, 4]]
    times = (own_ns[:, None] + SIZES_BYTES) * np.array([1, 1, 1.5, 1, 1, 1, 1])[:, None]
    found = fit_cycles(np.tile(SIZES_BYTES, 7), times.ravel(), np.repeat(np.arange(7), SIZES_BYTES.size))
    assert found.message_ns == pytest.approx(550)
    assert found.rate_bits_per_s == pytest.approx(8e9)
    assert found.half_size_bytes == pytest.approx(550)
    assert (found.n, found.message_interval_ns.n) == (91, 7)
    assert found.message_interval_ns.contains(550)
    assert found.rate_interval_bits_per_s.contains(8e9)
    assert found.half_size_interval_bytes.contains(550)
    assert len(found.residual_ratio) == 91


def test_cycles_that_give_no_interval_give_a_value_and_the_reason() -> None:
    few = fit_cycles(np.tile(SIZES_BYTES, 3), np.tile(500 + SIZES_BYTES, 3), np.repeat([0, 1, 2], 13))
    assert few.message_ns == pytest.approx(500)
    for interval in (few.message_interval_ns, few.rate_interval_bits_per_s, few.half_size_interval_bytes):
        assert interval.undecided is Undecided.TOO_FEW_SAMPLES
    # a size in each cycle: no cycle has four
    spread = fit_cycles(SIZES_BYTES, 500 + SIZES_BYTES, np.arange(13))
    assert spread.message_ns == pytest.approx(500)
    assert spread.message_interval_ns.undecided is Undecided.TOO_FEW_SAMPLES
    assert fit_cycles([1, 2], [1.0, 2.0], [0, 0]).undecided is Undecided.TOO_FEW_LEVELS


def test_a_cycle_whose_times_fall_with_the_size_identifies_no_half_size() -> None:
    slopes = np.array([1.0, 1.1, 0.9, 1.2, 0.8, 1.3, -0.01])
    times = 500 + slopes[:, None] * SIZES_BYTES
    found = fit_cycles(np.tile(SIZES_BYTES, 7), times.ravel(), np.repeat(np.arange(7), SIZES_BYTES.size))
    assert found.rate_bits_per_s == pytest.approx(8e9)
    assert found.half_size_bytes is None
    assert found.half_size_interval_bytes.undecided is Undecided.NOT_IDENTIFIED
    assert found.rate_interval_bits_per_s.undecided is Undecided.NOT_IDENTIFIED


def test_reasons() -> None:
    assert fit_message_cost([1, 2, 4] * 3, [1.0] * 9).undecided is Undecided.TOO_FEW_LEVELS
    # Times that fall with the size: a message costs something, its bytes nothing that could be told.
    falling = fit_message_cost([1, 2, 4, 8, 16], [9.0, 8.0, 7.0, 6.0, 5.0])
    assert falling.rate_bits_per_s is None
    assert falling.half_size_bytes is None
    assert falling.rate_interval_bits_per_s.undecided is Undecided.NOT_IDENTIFIED
    lone = fit_message_cost([1, 1e9, 1.01e9, 1.02e9, 1.03e9], [1e3, 9e11, 9.2e11, 9.1e11, 9.3e11])
    assert lone.undecided is Undecided.NOT_IDENTIFIED
    assert lone.rate_bits_per_s is None
    # Twice as much for twice the size: nothing is left for the message itself.
    rng = np.random.default_rng(0)
    free = fit_message_cost(SIZES_BYTES, (SIZES_BYTES - 0.9) * rng.uniform(0.99, 1.01, 13))
    assert free.half_size_bytes is None
    assert free.half_size_interval_bytes.undecided is Undecided.NOT_IDENTIFIED
    assert free.rate_bits_per_s == pytest.approx(8e9, rel=0.05)
