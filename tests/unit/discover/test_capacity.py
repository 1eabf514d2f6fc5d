"""How probing for capacity goes on and ends, over simulated paths whose rates are known."""

import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.discover.capacity import (
    LONGEST_GAP_NS,
    OUT_OF_PACKETS,
    OUT_OF_TIME,
    PRECISE,
    UNANSWERED,
    CapacityOptions,
    choose_sizes,
    measure_capacity,
    summarise_hops,
)
from pathlab.discover.probes import Probe
from tests.builders.paths import SimulatedPath, probe

SIZES = choose_sizes(1500, 16)


def test_sizes_are_even_from_600_to_the_mtu() -> None:
    assert choose_sizes(1500, 16) == tuple(range(600, 1501, 60))
    assert choose_sizes(603, 16) == (600, 601, 602, 603)
    assert choose_sizes(599, 16) == ()
    # An IPv6 router's error holds up to 1280 bytes, so only larger probes have answers of one size.
    assert choose_sizes(1500, 3, 6) == (1240, 1370, 1500)


def test_it_stops_when_precise_and_is_right() -> None:
    path = SimulatedPath([100e6, 20e6, 50e6])
    result = measure_capacity(path, (1, 2, 3), 1500, CapacityOptions())
    assert result.stopped == PRECISE
    assert result.packets == sum(plan.packets for plan in path.plans) < 10_000
    assert result.rounds * 2 >= 8
    for hop, rate in zip(result.hops, (100e6, 20e6, 50e6), strict=True):
        interval = hop.estimate.capacity_interval
        assert hop.estimate.capacity_bits_per_s == pytest.approx(rate, rel=0.1)
        assert interval.high - interval.low <= 0.1 * rate * 1.2
    assert len({plan.seed for plan in path.plans}) == result.rounds


def test_more_noise_takes_more_probes() -> None:
    quiet = measure_capacity(SimulatedPath([20e6], wait_ns=5e3), (1,), 1500, CapacityOptions())
    noisy = measure_capacity(SimulatedPath([20e6], wait_ns=200e3), (1,), 1500, CapacityOptions())
    assert quiet.packets < noisy.packets
    assert noisy.stopped == PRECISE


def test_a_hop_too_fast_is_settled_by_its_bound() -> None:
    result = measure_capacity(SimulatedPath([20e6, 10e9]), (1, 2), 1500, CapacityOptions())
    assert result.stopped == PRECISE
    estimate = result.hops[1].estimate
    assert estimate.at_least_bits_per_s >= 200e6
    assert estimate.undecided in (Undecided.NOT_POSITIVE, Undecided.BEYOND_RANGE)
    assert estimate.capacity_bits_per_s is None


def test_budgets_end_it() -> None:
    never = CapacityOptions(target_ratio=1e-9, ceiling_bits_per_s=10**15, budget_packets=1000)
    spent = measure_capacity(SimulatedPath([20e6, 50e6]), (1, 2), 1500, never)
    assert spent.stopped == OUT_OF_PACKETS
    assert spent.packets <= 1000 < spent.packets + 64
    late = CapacityOptions(target_ratio=1e-9, ceiling_bits_per_s=10**15, budget_s=0.0)
    assert measure_capacity(SimulatedPath([20e6]), (1,), 1500, late).stopped == OUT_OF_TIME


@pytest.mark.parametrize(
    ("options", "stopped"),
    [(CapacityOptions(budget_packets=31), OUT_OF_PACKETS), (CapacityOptions(budget_s=0.0), OUT_OF_TIME)],
)
def test_a_budget_that_is_less_than_a_round_sends_nothing(options: CapacityOptions, stopped: str) -> None:
    path = SimulatedPath([20e6])
    result = measure_capacity(path, (1,), 1500, options)
    assert (result.stopped, result.packets, path.plans) == (stopped, 0, [])
    assert result.hops[0].estimate.undecided is Undecided.NO_SAMPLES


def test_no_answers_at_all_end_it_at_once() -> None:
    path = SimulatedPath([20e6], answer_ratio={1: 0.0})
    result = measure_capacity(path, (1,), 1500, CapacityOptions())
    assert (result.stopped, result.rounds) == (UNANSWERED, 1)
    assert result.hops[0].estimate.undecided is Undecided.NO_SAMPLES


def test_a_silent_hop_is_passed_over_and_the_next_says_from_where() -> None:
    path = SimulatedPath([100e6, 20e6, 50e6], answer_ratio={2: 0.0})
    result = measure_capacity(path, (1, 2, 3), 1500, CapacityOptions())
    assert path.plans[0].ttls == (1, 2, 3)
    assert {plan.ttls for plan in path.plans[1:]} == {(1, 3)}
    first, second, third = (hop.estimate for hop in result.hops)
    assert second.capacity_bits_per_s is None
    assert (third.from_hop, third.hop) == (1, 3)
    assert third.capacity_bits_per_s == pytest.approx(1 / (1 / 20e6 + 1 / 50e6), rel=0.1)
    assert first.capacity_bits_per_s == pytest.approx(100e6, rel=0.1)


def test_rationed_answers_slow_the_probes_down() -> None:
    path = SimulatedPath([20e6], answer_ratio={1: 0.5})
    options = CapacityOptions(budget_packets=1000, target_ratio=1e-9)
    result = measure_capacity(path, (1,), 1500, options)
    gaps = [plan.gap_ns for plan in path.plans]
    assert gaps == sorted(gaps)
    assert gaps[-1] > 8 * gaps[0]
    assert result.gap_ns <= LONGEST_GAP_NS
    steady = SimulatedPath([20e6])
    measure_capacity(steady, (1,), 1500, options)
    assert {plan.gap_ns for plan in steady.plans} == {options.gap_ns}


def answers(ttl: int, **changes: object) -> list[Probe]:
    return [probe(ttl, 1_000_000 + 80 * size, size_bytes=size, **changes) for size in SIZES]


def test_answers_that_grow_with_their_probes_give_no_capacity() -> None:
    growing = [
        probe(1, 10**6 + 160 * s, size_bytes=s, reply_bytes=s + 28, kind="port-unreachable") for s in SIZES
    ]
    (hop,), _ = summarise_hops(growing, (1,))
    assert hop.estimate.undecided is Undecided.TOO_FEW_LEVELS
    assert hop.answered == len(SIZES)


def test_echo_replies_of_a_target_and_other_hosts_do_not_count() -> None:
    (hop,), _ = summarise_hops(answers(1, kind="echo-reply"), (1,))
    assert hop.answered == 0
    mixed = answers(1, kind="port-unreachable") + answers(1, kind="port-unreachable", source="x")[:3]
    (hop,), _ = summarise_hops(mixed, (1,))
    assert (hop.source, hop.answered, hop.others) == ("198.18.0.1", 16, 3)


def test_too_small_an_mtu_is_said_and_nothing_is_sent() -> None:
    path = SimulatedPath([20e6])
    result = measure_capacity(path, (1,), 576, CapacityOptions())
    assert result.stopped == "mtu-too-small"
    assert path.plans == []
    assert result.hops[0].estimate.capacity_bits_per_s is None


def test_settled_hops_are_reported_while_others_are_probed_further() -> None:
    reports: list[tuple[int, ...]] = []
    path, options = SimulatedPath([20e6, 90e6, 40e6], wait_ns=100e3), CapacityOptions()
    result = measure_capacity(path, (1, 2, 3), 1500, options, lambda found: reports.append(tuple(found)))
    assert result.stopped == PRECISE
    assert len(reports) > 1
    assert 0 < len(reports[0]) < 3
    assert reports[-1] == (1, 2, 3)
