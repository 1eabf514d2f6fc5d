"""Shift, scale and order for the estimators whose own tests ask something else."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.fits.optimum import OptimalStreams, find_optimal_streams
from pathlab.analysis.fits.per_hop import HopSamples, estimate_hops
from pathlab.analysis.planning.stopping import StopRule, evaluate_stop_rule
from pathlab.analysis.verdicts.two_samples import compare_groups

RATES = st.lists(st.integers(1, 10**6), min_size=4, max_size=20)
SEEDS = st.integers(0, 10**6)
LEVELS, CYCLES = (1, 2, 4, 8), 8


@settings(max_examples=40)
@given(RATES, RATES, st.integers(1, 1000), st.randoms(use_true_random=False))
def test_the_ratio_of_groups_ignores_unit_and_order_and_mirrors(
    first: list[int], second: list[int], scale: int, shuffler: random.Random
) -> None:
    found = compare_groups(first, second)
    mixed = [value * scale for value in second]
    if len(mixed) < 10:  # from there on the order tells the correlation
        shuffler.shuffle(mixed)
    same = compare_groups([value * scale for value in first], mixed)
    assert same.ratio == pytest.approx(found.ratio)
    assert same.p_value == pytest.approx(found.p_value)
    mirrored = compare_groups(second, first)
    assert mirrored.ratio == pytest.approx(1 / found.ratio)
    assert mirrored.p_value == pytest.approx(found.p_value)
    assert mirrored.equivalence_p_value == pytest.approx(found.equivalence_p_value)
    if found.interval_ratio.low is not None:
        assert mirrored.interval_ratio.high == pytest.approx(1 / found.interval_ratio.low)


def sweep(seed: int) -> dict[str, np.ndarray]:
    """Throughput that saturates and a queue that grows, eight cycles of four stream counts."""
    rng = np.random.default_rng(seed)
    counts = np.tile(np.array(LEVELS, dtype=float), CYCLES)
    return {
        "streams": counts,
        "rates": 1e7 * counts / (1 + 0.3 * counts) * rng.lognormal(0, 0.1, counts.size),
        "rises": 1e5 * counts**1.5 * rng.lognormal(0, 0.2, counts.size),
        "cycles": np.repeat(np.arange(CYCLES), len(LEVELS)),
    }


def find_optimum(trials: dict[str, np.ndarray]) -> OptimalStreams:
    streams, rates, rises = (trials[name] for name in ("streams", "rates", "rises"))
    rng = np.random.default_rng(4)
    return find_optimal_streams(streams, rates, rises, cycles=trials["cycles"], rng=rng)


@settings(max_examples=10)
@given(SEEDS, st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_the_optimum_ignores_the_units_and_the_order(seed: int, fast: float, slow: float) -> None:
    trials = sweep(seed)
    plain = find_optimum(trials)
    other = find_optimum({**trials, "rates": trials["rates"] * fast, "rises": trials["rises"] * slow})
    assert (other.streams, other.interval) == (plain.streams, plain.interval)
    costs = [cost * slow / fast for cost in plain.cost_ns_per_bit_per_s]
    assert other.cost_ns_per_bit_per_s == pytest.approx(costs)
    order = np.random.default_rng(seed).permutation(trials["streams"].size)
    mixed = find_optimum({name: values[order] for name, values in trials.items()})
    assert (mixed.streams, mixed.interval) == (plain.streams, plain.interval)
    assert mixed.cost_ns_per_bit_per_s == pytest.approx(plain.cost_ns_per_bit_per_s)


@settings(max_examples=20)
@given(SEEDS, st.floats(0, 1e9), st.floats(0.1, 10))
def test_a_hops_capacity_ignores_a_longer_path_and_follows_the_unit(
    seed: int, away_ns: float, scale: float
) -> None:
    rng = np.random.default_rng(seed)
    sizes = np.tile(np.linspace(64, 1500, 12), 20)
    rtts = 1e6 + 800 * sizes + rng.exponential(2e4, sizes.size)  # 10 Mbit/s
    (plain,) = estimate_hops([HopSamples(hop=1, sizes_bytes=sizes, rtt_ns=rtts)]).hops
    order = rng.permutation(sizes.size)
    (farther,) = estimate_hops(
        [HopSamples(hop=1, sizes_bytes=sizes[order], rtt_ns=rtts[order] + away_ns)]
    ).hops
    assert farther.capacity_bits_per_s == pytest.approx(plain.capacity_bits_per_s, rel=1e-4)
    (slower,) = estimate_hops([HopSamples(hop=1, sizes_bytes=sizes, rtt_ns=rtts * scale)]).hops
    assert slower.capacity_bits_per_s == pytest.approx(plain.capacity_bits_per_s / scale)


@settings(max_examples=40)
@given(RATES, st.integers(1, 1000), st.randoms(use_true_random=False))
def test_stopping_ignores_unit_and_order(values: list[int], scale: int, shuffler: random.Random) -> None:
    plain = evaluate_stop_rule({"cell": values}, len(values), StopRule())
    mixed = [value * scale for value in values]
    if len(mixed) < 10:
        shuffler.shuffle(mixed)
    other = evaluate_stop_rule({"cell": mixed}, len(values), StopRule())
    assert (other.stop, other.reason) == (plain.stop, plain.reason)
    assert other.cells[0].half_width_ratio == pytest.approx(plain.cells[0].half_width_ratio)
