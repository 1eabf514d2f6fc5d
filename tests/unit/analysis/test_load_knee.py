"""The knee of latency over the offered rate: where it lies, and when it is undecided."""

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.fits.load_knee import LoadKnee, find_load_knee

RATES = (1e3, 2e3, 5e3, 1e4, 2e4)
NAN = float("nan")


def find(*latencies: float, cycles: int = 8, rates: tuple[float, ...] = RATES) -> LoadKnee:
    numbers = np.repeat(np.arange(cycles), len(rates))
    return find_load_knee(np.tile(rates, cycles), np.tile(latencies, cycles), cycles=numbers)


def test_it_is_the_rate_before_latency_doubles() -> None:
    knee = find(100, 100, 150, 199, 201)
    assert (knee.rate_per_s, knee.next_per_s) == (1e4, 2e4)
    assert knee.base_ns == pytest.approx(100)
    assert (knee.interval.low, knee.interval.high) == (1e4, 1e4)
    assert knee.undecided is None


def test_the_second_rate_is_no_base_of_its_own_test() -> None:
    """Their geometric mean would hide all that rises less than fourfold at the second rate."""
    knee = find(10, 35, 36, 37, 38)
    assert (knee.rate_per_s, knee.next_per_s, knee.base_ns) == (1e3, 2e3, 10)
    assert knee.undecided is None


@pytest.mark.parametrize(
    ("latencies", "rate", "reason"),
    [
        ((100, 100, 110, NAN, 120), 5e3, None),  # a missed rate ends it, however low its latency seems
        ((100, 100, 500, 110, 120), 2e3, None),  # a rate above one that is too slow does not count
        ((100, 100, 110, 120, 130), 2e4, Undecided.BEYOND_RANGE),
        ((NAN, NAN, NAN, NAN, NAN), None, Undecided.BEYOND_RANGE),
    ],
)
def test_rates_beyond_it_do_not_count(
    latencies: tuple[float, ...], rate: float | None, reason: Undecided | None
) -> None:
    knee = find(*latencies)
    assert (knee.rate_per_s, knee.undecided) == (rate, reason)
    assert knee.interval.decided is (reason is None)


def test_too_few_rates_or_cycles_are_undecided() -> None:
    assert find(100, 100, 900, rates=RATES[:3]).undecided is Undecided.TOO_FEW_LEVELS
    few = find(100, 100, 150, 199, 201, cycles=5)
    assert few.rate_per_s == 1e4
    assert few.interval.undecided is Undecided.TOO_FEW_SAMPLES


def test_a_cycle_in_which_a_rate_was_not_measured_is_left_out() -> None:
    rates, latencies = np.tile(RATES, 2)[:-1], np.tile([100, 100, 150, 199, 201], 2)[:-1]
    knee = find_load_knee(rates, latencies, cycles=np.repeat([0, 1], 5)[:-1])
    assert (knee.n, knee.left_out) == (1, 1)
