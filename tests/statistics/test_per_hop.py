"""Capacity and latency per hop by simulation: do the intervals hold the truth as often as they say?"""

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.fits.per_hop import Floor, Floors, HopEstimates, estimate_hops, fit_line
from pathlab.analysis.libraries import stats
from pathlab.discover.capacity import CapacityOptions, measure_capacity
from tests.builders.paths import DELAYS_NS, RATES, SIZES, SimulatedPath, Wait, draw_hops
from tests.length import choose_runs, list_long
from tests.statistics.noise import RUNS, check_coverage, check_share

#: Waits (ns) that probes meet: often none, always some, host stalls, a queue that half of them find full.
WAITS: dict[str, Wait] = {
    "exponential": lambda rng, n: rng.exponential(30e3, n),
    "always-some": lambda rng, n: rng.gamma(3.0, 15e3, n),
    "log-normal": lambda rng, n: rng.lognormal(np.log(30e3), 1.0, n),
    "stalls": lambda rng, n: rng.exponential(20e3, n) + np.where(rng.random(n) < 0.05, 5e6, 0.0),
    "half-queued": lambda rng, n: rng.exponential(10e3, n) + np.where(rng.random(n) < 0.5, 60e3, 0.0),
}


def simulate(wait: Wait, repeats: int, runs: int, rates: tuple[float, ...] = RATES) -> list[HopEstimates]:
    rng = np.random.default_rng([repeats, runs])
    return [estimate_hops(draw_hops(rng, repeats, wait, rates)) for _ in range(runs)]


@pytest.mark.parametrize(
    ("name", "repeats", "runs"),
    [
        *((name, 20, RUNS[0]) for name in WAITS),
        *((name, repeats, RUNS[0]) for name, repeats in (("exponential", 8), ("half-queued", 60))),
        *list_long(WAITS, (8, 20, 60), runs=2000),
    ],
)
def test_intervals_of_capacity_and_latency_hold_the_truth(name: str, repeats: int, runs: int) -> None:
    found = simulate(WAITS[name], repeats, runs)
    for index, rate in enumerate(RATES):
        check_coverage([estimates.hops[index].capacity_interval for estimates in found], rate)
    if repeats != 20:
        return
    for index, delay_ns in enumerate(DELAYS_NS[1:], start=1):
        held = sum(estimates.hops[index].latency_interval.contains(delay_ns) for estimates in found)
        check_share(held, runs, 0.92, 0.98)
    # Every floor lies above the empty path, which the first hop alone has nothing to be compared with for.
    first = np.array([estimates.hops[0].latency_ns for estimates in found])
    assert np.all(first > DELAYS_NS[0] - 20e3)
    assert np.median(first) == pytest.approx(DELAYS_NS[0], abs=60e3)


@pytest.mark.parametrize("runs", RUNS)
def test_an_equal_slope_is_decided_no_more_often_than_the_level_says(runs: int) -> None:
    """A second link that serialises nothing: its capacity is infinite, so every decided interval is wrong."""
    found = simulate(WAITS["exponential"], 20, runs, (20e6, np.inf))
    decided = sum(estimates.hops[1].capacity_interval.decided for estimates in found)
    check_share(decided, runs, 0.0, 0.025)
    reasons = {estimates.hops[1].undecided for estimates in found}
    assert reasons - {None} == {Undecided.NOT_POSITIVE, Undecided.BEYOND_RANGE}
    bounds = [estimates.hops[1].at_least_bits_per_s for estimates in found]
    assert all(bound is None or bound > 20e6 for bound in bounds)


@pytest.mark.parametrize("runs", [choose_runs(100), pytest.param(1000, marks=pytest.mark.long)])
def test_stopping_when_precise_costs_little_coverage(runs: int) -> None:
    """The rule looks after every round, so it tends to stop where scatter looks small by chance."""
    held = np.zeros(2)
    for seed in range(runs):
        path = SimulatedPath([100e6, 20e6], wait_ns=30e3, seed=seed)
        result = measure_capacity(path, (1, 2), 1500, CapacityOptions())
        for index, rate in enumerate((100e6, 20e6)):
            held[index] += result.hops[index].estimate.capacity_interval.contains(rate)
    for count in held:
        check_share(int(count), runs, 0.90, 0.99)


def test_each_wait_has_the_floor_that_suits_it() -> None:
    floors = {
        name: [estimates.floor for estimates in simulate(WAITS[name], 40, 40)]
        for name in ("exponential", "always-some")
    }
    assert floors["exponential"].count(Floor.MINIMUM) > 35
    assert floors["always-some"].count(Floor.LOW_QUARTER) > 30


def test_a_line_is_scipys() -> None:
    rng = np.random.default_rng(5)
    times = 3e6 + 400.0 * SIZES + rng.normal(0, 1e4, SIZES.size)
    line = fit_line(Floors(sizes_bytes=SIZES, rtt_ns=times, samples=SIZES.size))
    expected = stats.linregress(SIZES, times)
    assert line.slope_ns_per_byte == pytest.approx(expected.slope, rel=1e-10)
    assert line.intercept_ns == pytest.approx(expected.intercept, rel=1e-10)
    assert line.slope_variance == pytest.approx(expected.stderr**2, rel=1e-8)
    assert line.r_squared == pytest.approx(expected.rvalue**2, rel=1e-10)
    at_zero, variance = line.value_at(0.0)
    assert at_zero == pytest.approx(expected.intercept, rel=1e-10)
    assert variance == pytest.approx(expected.intercept_stderr**2, rel=1e-8)
