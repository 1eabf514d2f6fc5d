"""Links of a lab used together: each way uses the links that it should, and nothing of it is left."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pathlab.errors import HostError
from pathlab.lab.bonds import HASH_POLICY, REORDERING, BondedLinks
from pathlab.lab.lab import Lab
from pathlab.lab.topology import Link, Topology
from tests.lab.test_lab import make_lab, ping
from tests.lab.test_running_links import carry
from tests.require import require

pytestmark = [pytest.mark.netns, pytest.mark.engine]

RATE_BITS_PER_S = 50_000_000
PAYLOAD = 1448 / 1500
LINE = Link(between=("a", "b"), rate_bits_per_s=RATE_BITS_PER_S, delay_ns=10_000_000, queue_bytes=250_000)
TWO = Topology(hosts=("a", "b"), links=(LINE, replace(LINE)))
UNEQUAL = Topology(
    hosts=("a", "b"), links=(LINE, replace(LINE, rate_bits_per_s=20_000_000, queue_bytes=100_000))
)
Setup = Callable[[BondedLinks], None]


@pytest.fixture
def lab() -> Iterator[Lab]:
    require(shutil.which("nft", path="/usr/sbin:/usr/bin"), "nft (Debian: nftables)")
    with make_lab(TWO) as running:
        yield running


def carried_bytes(lab: Lab, way: str) -> list[int]:
    """What each link delivered in a direction since the lab began."""
    return [counted[way]["delivered_bytes"] for counted in lab.counters()]


def read_state(lab: Lab) -> list[list[str]]:
    """Everything at the hosts that a way to share links may touch, in lines without an order."""
    commands = (
        "ip -d link show",
        "ip address show",
        "ip rule show",
        "ip route show table all",
        "nft list ruleset",
        "ip mptcp limits show",
        "ip mptcp endpoint show",
        "ip neigh show",
        f"cat /proc/sys/{REORDERING.replace('.', '/')} /proc/sys/{HASH_POLICY.replace('.', '/')}",
    )
    shown = [lab.namespaces.run(node, *words.split()) for node in ("a", "b") for words in commands]
    return [sorted(text.splitlines()) for text in shown]


@pytest.mark.parametrize(
    ("setup", "streams", "links", "least"),
    [
        # Segments arrive more out of order than packets: TCP may slow down to less than one link.
        (lambda pair: pair.share_in_turn(by_packet=False), 1, 2, 0.3),
        (lambda pair: pair.share_in_turn(by_packet=True), 1, 2, 1.1),
        (lambda pair: pair.share_by_hash(0), 8, 1, 0.3),  # one pair of addresses is one hash
        (lambda pair: pair.share_by_hash(1), 16, 2, 1.1),
    ],
    ids=["in-turn", "in-turn-by-packet", "hash-of-addresses", "hash-of-ports"],
)
def test_each_way_uses_its_links_both_ways_and_leaves_nothing(
    lab: Lab, setup: Setup, streams: int, links: int, least: float
) -> None:
    """`links` is how many carry; `least` is the least goodput, as a multiple of one link's."""
    before = read_state(lab)
    pair = BondedLinks(lab, ("a", "b"))
    try:
        setup(pair)
        rate = carry(lab, "--streams", str(streams), address=pair.shared_addresses[1])
        carried = [carried_bytes(lab, way) for way in ("forward", "reverse")]
    finally:
        pair.undo()
    used = [sum(count > 0.02 * sum(counts) for count in counts) for counts in carried]
    assert used == [links, links]
    assert least < rate / (PAYLOAD * RATE_BITS_PER_S) < 1.1 * links
    assert read_state(lab) == before
    pair.undo()  # a second time does nothing


def test_packets_in_turn_are_as_many_on_each_link() -> None:
    require(shutil.which("nft", path="/usr/sbin:/usr/bin"), "nft (Debian: nftables)")
    with make_lab(TWO) as lab:
        pair = BondedLinks(lab, ("a", "b"))
        pair.share_in_turn(by_packet=True)
        assert [pair.read_interface("a", number)["gso_max_segs"] for number in (0, 1)] == [1, 1]
        carry(lab, address=pair.shared_addresses[1])
        packets = [counted["forward"]["arrived_packets"] for counted in lab.counters()]
        pair.undo()
        assert [pair.read_interface("a", number)["gso_max_segs"] for number in (0, 1)] != [1, 1]
    assert packets[0] == pytest.approx(packets[1], abs=2)


def test_settings_of_tcp_and_mptcp_are_set_at_both_hosts_and_set_back(lab: Lab) -> None:
    require(Path("/proc/sys/net/mptcp/enabled").exists(), "MPTCP")
    before = read_state(lab)
    pair = BondedLinks(lab, ("a", "b"))
    pair.set_reordering(127)
    pair.limit_subflows(1)
    assert [pair.read_sysctl(node, REORDERING) for node in ("a", "b")] == ["127", "127"]
    assert carry(lab, "--transport", "mptcp") < 1.1 * PAYLOAD * RATE_BITS_PER_S
    assert carried_bytes(lab, "forward")[1] == 0
    pair.undo()
    assert read_state(lab) == before


@pytest.mark.parametrize("silent", [True, False])
def test_a_link_that_fails_and_returns_carries_again(lab: Lab, silent: bool) -> None:
    before = read_state(lab)
    pair = BondedLinks(lab, ("a", "b"))
    pair.share_in_turn(by_packet=False)
    own, peer = pair.shared_addresses
    shared = read_state(lab)
    pair.fail(1, silent=silent)
    assert pair.find_rate(1, 0) == RATE_BITS_PER_S  # of the link when it works
    answered = count_answers(lab, own, peer)
    assert answered < 10 if silent else answered >= 18
    pair.restore(1)
    assert lab.topology.links[1] == TWO.links[1]
    assert read_state(lab) == shared
    assert count_answers(lab, own, peer) >= 18
    pair.fail(0, silent=silent)
    pair.undo()  # with a link that has failed
    assert read_state(lab) == before
    assert len(ping(lab, "a", "b", count=5)["rtts_ns"]) == 5


def count_answers(lab: Lab, own: str, peer: str) -> int:
    """Of 20 probes; ping waits for its last answers for two round trips alone, and a stall is longer."""
    words = f"ping -n -q -c 20 -i 0.02 -W 1 -I {own} {peer}".split()
    try:
        text = lab.namespaces.run("a", *words)
    except HostError:
        return 0  # no answer at all
    return int(text.split(" received")[0].split()[-1])


def test_a_kernel_without_bonding_or_a_scheduler_is_one_line(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not Path("/proc/net/bonding").exists():
        with pytest.raises(HostError, match="this kernel has no bonding"):
            BondedLinks(lab, ("a", "b")).bond("balance-rr", None)
    with pytest.raises(HostError, match="this kernel has no MPTCP scheduler 'red'"):
        BondedLinks(lab, ("a", "b")).set_scheduler("red")
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(HostError, match="'nft' is missing") as caught:
        BondedLinks(lab, ("a", "b")).share_in_turn(by_packet=False)
    assert "apt-get install nftables" in str(caught.value.hint)


@pytest.mark.quiet
def test_the_truth_of_equal_and_of_unequal_links() -> None:
    """Two of 50 Mbit/s give twice one within 2 %; in turn over 50 + 20 they give less than the 50."""
    require(shutil.which("nft", path="/usr/sbin:/usr/bin"), "nft (Debian: nftables)")
    rates = {}
    for name, topology in (("equal", TWO), ("unequal", UNEQUAL)):
        with make_lab(topology) as lab:
            pair = BondedLinks(lab, ("a", "b"))
            rates[name, "one"] = carry(lab, seconds=3)
            pair.share_in_turn(by_packet=True)
            rates[name, "both"] = carry(lab, seconds=3, address=pair.shared_addresses[1])
            pair.undo()
    assert rates["equal", "both"] / (2 * rates["equal", "one"]) == pytest.approx(1, abs=0.02)
    assert rates["unequal", "both"] < 0.9 * rates["unequal", "one"]


def test_lines_of_the_emulator_reorder_by_what_the_second_one_is_longer() -> None:
    longer = replace(LINE, delay_ns=LINE.delay_ns + 5_000_000)
    with make_lab(Topology(hosts=("a", "b"), links=(LINE, longer))) as lab:
        pair = BondedLinks(lab, ("a", "b"))
        pair.carry_by_lines()
        assert (lab.topology.links[0].lines, lab.topology.links[0].line_delay_ns) == (2, 5_000_000)
        assert pair.find_rate(0, 0) == RATE_BITS_PER_S
        rtts_ns = ping(lab, "a", "b", count=40)["rtts_ns"]
        rate = carry(lab)
        pair.undo()
        assert lab.topology.links[0] == LINE
        alone_ns = ping(lab, "a", "b", count=10)["usual_ns"]
    assert rate > 0.5 * PAYLOAD * RATE_BITS_PER_S  # reordering may slow TCP down
    assert min(rtts_ns) == pytest.approx(20e6, abs=2e6)
    assert max(rtts_ns) >= 29e6  # both ways over the longer line
    assert alone_ns == pytest.approx(20e6, abs=2e6)
