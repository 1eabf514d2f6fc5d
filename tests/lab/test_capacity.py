"""Capacity and latency of each hop against the lab's settings: an emulated chain of 100, 20 and 50 Mbit/s."""

import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.discover.capacity import OUT_OF_TIME, PRECISE, CapacityOptions, measure_capacity
from pathlab.lab.verdict import evaluate_lab, take_snapshot
from tests.lab.labs import make_lab
from tests.lab.paths import DELAYS_NS, chain, probing

pytestmark = [pytest.mark.netns, pytest.mark.engine]

RATES_MBIT_PER_S = (100, 20, 50)
#: Intervals of 99.9 % instead of 95 %: three hops in each test would otherwise miss the setting now and then.
CAREFUL = CapacityOptions(target_ratio=0.08, confidence_ratio=0.999, budget_s=40.0, budget_packets=60_000)
LATENCY_SLACK_NS = 120_000


@pytest.mark.parametrize(
    ("backend", "ends"), [("tun", "ad"), pytest.param("packet", "da", marks=pytest.mark.long)]
)
def test_each_hop_of_a_chain_is_recovered(backend: str, ends: str) -> None:
    rates = RATES_MBIT_PER_S if ends == "ad" else RATES_MBIT_PER_S[::-1]
    delays_ns = DELAYS_NS if ends == "ad" else DELAYS_NS[::-1]
    with make_lab(chain(RATES_MBIT_PER_S), backend) as lab, probing(lab, (ends[0], ends[1])) as prober:
        before = take_snapshot(lab)
        result = measure_capacity(prober, (1, 2, 3), 1500, CAREFUL)
        verdict = evaluate_lab(before, take_snapshot(lab), lab.topology.idle_rtt_ns(ends[0], ends[1]))
    # Precise within seconds on a quiet machine; the fast hop behind two slow ones may take the whole budget.
    assert result.stopped in (PRECISE, OUT_OF_TIME)
    assert result.stamps == ("kernel-receive",)
    for hop, rate, delay_ns in zip(result.hops, rates, delays_ns, strict=True):
        estimate = hop.estimate
        assert estimate.capacity_bits_per_s == pytest.approx(rate * 10**6, rel=0.1)
        # A late emulator shifts even the quickest answers by a few microseconds.
        assert estimate.capacity_interval.contains(rate * 10**6) or not verdict.trusted
        assert estimate.latency_ns == pytest.approx(delay_ns, abs=LATENCY_SLACK_NS)
        assert estimate.r_squared > 0.9
        assert hop.answered + 5 >= hop.sent  # nothing rations its answers here


def test_a_link_without_a_rate_is_undecided_with_a_bound() -> None:
    options = CapacityOptions(budget_s=20.0)
    with make_lab(chain((20, None))) as lab, probing(lab, ("a", "c")) as prober:
        result = measure_capacity(prober, (1, 2), 1500, options)
    first, second = (hop.estimate for hop in result.hops)
    assert first.capacity_bits_per_s == pytest.approx(20e6, rel=0.1)
    assert second.undecided in (Undecided.NOT_POSITIVE, Undecided.BEYOND_RANGE) or (
        second.capacity_bits_per_s is not None and second.capacity_bits_per_s > 100e6
    )
    assert second.at_least_bits_per_s is None or second.at_least_bits_per_s > 20e6
