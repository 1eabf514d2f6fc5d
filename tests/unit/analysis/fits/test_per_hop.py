"""Hops from exact times, floors by hand, and reasons."""

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.fits.per_hop import Floor, HopSamples, estimate_hops, find_floors
from tests.builders.paths import DELAYS_NS, RATES, draw_hops


def test_exact_times_give_exact_hops() -> None:
    found = estimate_hops(draw_hops(np.random.default_rng(1), 1, lambda _rng, n: np.zeros(n))).hops
    for estimate, rate, delay_ns in zip(found, RATES, DELAYS_NS, strict=True):
        assert estimate.capacity_bits_per_s == pytest.approx(rate, rel=1e-6)
        assert estimate.latency_ns == pytest.approx(delay_ns, rel=1e-6)
        assert estimate.r_squared == pytest.approx(1.0)


def test_floors_are_the_minimum_or_the_mean_of_the_lowest_quarter() -> None:
    sizes = [600] * 8 + [700] * 3
    times = [9.0, 2, 4, 8, 7, 6, 5, 3, 30, 10, 20]
    least, low = find_floors(sizes, times), find_floors(sizes, times, Floor.LOW_QUARTER)
    assert (least.sizes_bytes.tolist(), least.rtt_ns.tolist(), least.samples) == ([600, 700], [2, 10], 11)
    assert low.rtt_ns.tolist() == [2.5, 10]  # of 8 the two least, of 3 the least


def test_too_few_sizes_are_undecided() -> None:
    few = HopSamples(hop=1, sizes_bytes=[600, 700, 800, 900], rtt_ns=[1e6, 1.1e6, 1.2e6, 1.3e6])
    none = HopSamples(hop=2, sizes_bytes=[], rtt_ns=[])
    first, second = estimate_hops([few, none]).hops
    assert first.undecided is Undecided.TOO_FEW_LEVELS
    assert second.undecided is Undecided.NO_SAMPLES
    assert second.from_hop == 0
