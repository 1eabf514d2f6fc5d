"""Rates and delays of links of a lab used together."""

import shutil
import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from pathlab.lab.bonds import BondedLinks
from pathlab.lab.lab import Lab
from pathlab.lab.topology import Topology
from tests.lab.labs import RATE_BITS_PER_S, TWO, carry_bytes, exchange, list_rates, make_lab, ping
from tests.require import require

pytestmark = [pytest.mark.netns, pytest.mark.engine]

LINE = TWO.links[0]
UNEQUAL = Topology(
    hosts=("a", "b"), links=(LINE, replace(LINE, rate_bits_per_s=20_000_000, queue_bytes=100_000))
)
ROUNDS = 3


def compare_ways(
    topology: Topology, ways: Mapping[str, tuple[Callable[[BondedLinks], None], int]]
) -> dict[str, float]:
    """Goodput of each way to share the links, with so many streams, as a multiple of the first link's alone.

    They take turns, so that the machine is the same for all, and a stall spoils a few of the 30 intervals.
    """
    require(shutil.which("nft", path="/usr/sbin:/usr/bin"), "nft (Debian: nftables)")
    rates: dict[str, list[float]] = defaultdict(list)
    with make_lab(topology) as lab:
        for _ in range(ROUNDS):
            rates["alone"] += list_rates(exchange(lab)[1])
            for name, (setup, streams) in ways.items():
                rates[name] += measure_way(lab, setup, streams)
    alone = statistics.median(rates.pop("alone"))
    return {name: statistics.median(values) / alone for name, values in rates.items()}


def measure_way(lab: Lab, setup: Callable[[BondedLinks], None], streams: int) -> list[float]:
    pair = BondedLinks(lab, ("a", "b"))
    try:
        setup(pair)
        flow = exchange(lab, "--streams", str(streams), address=pair.shared_addresses[1])
        return list_rates(flow[1])
    finally:
        pair.undo()


def test_equal_links_carry_twice_as_much_as_one() -> None:
    found = compare_ways(
        TWO,
        {
            "in turn": (lambda pair: pair.share_in_turn(by_packet=True), 1),
            "hash of ports": (lambda pair: pair.share_by_hash(1), 16),
        },
    )
    assert found["in turn"] == pytest.approx(2, abs=0.04)
    assert 1.1 < found["hash of ports"] < 2.04


def test_unequal_links_in_turn_carry_less_than_the_better_one() -> None:
    found = compare_ways(UNEQUAL, {"in turn": (lambda pair: pair.share_in_turn(by_packet=True), 1)})
    assert found["in turn"] < 0.9


def test_lines_of_the_emulator_reorder_by_what_the_second_one_is_longer() -> None:
    longer = replace(LINE, delay_ns=LINE.delay_ns + 5_000_000)
    with make_lab(Topology(hosts=("a", "b"), links=(LINE, longer))) as lab:
        pair = BondedLinks(lab, ("a", "b"))
        pair.carry_by_lines()
        assert (lab.topology.links[0].lines, lab.topology.links[0].line_delay_ns) == (2, 5_000_000)
        assert pair.find_rate(0, 0) == RATE_BITS_PER_S
        rtts_ns = ping(lab, "a", "b", count=40)["rtts_ns"]
        carry_bytes(lab)
        pair.undo()
        assert lab.topology.links[0] == LINE
        alone_ns = ping(lab, "a", "b", count=10)["usual_ns"]
    assert min(rtts_ns) == pytest.approx(20e6, abs=2e6)
    assert max(rtts_ns) >= 29e6  # both ways over the longer line
    assert alone_ns == pytest.approx(20e6, abs=2e6)
