"""Links of a lab used together: each way uses the links that it should, and nothing of it is left."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pathlab.errors import HostError
from pathlab.lab.bonds import HASH_POLICY, REORDERING, BondedLinks
from pathlab.lab.lab import Lab
from pathlab.remote.engine import find_engine
from tests.lab.fixtures import SharedLabs
from tests.lab.labs import RATE_BITS_PER_S, TWO, carry_bytes, list_delivered_bytes, ping
from tests.require import require, require_mptcp

pytestmark = [pytest.mark.netns, pytest.mark.engine]

Setup = Callable[[BondedLinks], None]


@pytest.fixture
def lab(shared_labs: SharedLabs) -> Lab:
    """Two links, as they were before each test."""
    require(shutil.which("nft", path="/usr/sbin:/usr/bin"), "nft (Debian: nftables)")
    return shared_labs.lend(TWO)


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
    ("setup", "streams", "links"),
    [
        (lambda pair: pair.share_in_turn(by_packet=False), 1, 2),
        (lambda pair: pair.share_in_turn(by_packet=True), 1, 2),
        (lambda pair: pair.share_by_hash(0), 8, 1),  # one pair of addresses is one hash
        (lambda pair: pair.share_by_hash(1), 16, 2),
    ],
    ids=["in-turn", "in-turn-by-packet", "hash-of-addresses", "hash-of-ports"],
)
def test_each_way_uses_its_links_both_ways_and_leaves_nothing(
    lab: Lab, setup: Setup, streams: int, links: int
) -> None:
    """`links` is how many carry."""
    before, ways = read_state(lab), ("forward", "reverse")
    begun = [list_delivered_bytes(lab, way) for way in ways]
    pair = BondedLinks(lab, ("a", "b"))
    try:
        setup(pair)
        carry_bytes(lab, "--streams", str(streams), address=pair.shared_addresses[1])
        ended = [list_delivered_bytes(lab, way) for way in ways]
    finally:
        pair.undo()
    carried = [
        [last - first for first, last in zip(*counts, strict=True)]
        for counts in zip(begun, ended, strict=True)
    ]
    used = [sum(count > 0.02 * sum(counts) for count in counts) for counts in carried]
    assert used == [links, links]
    assert read_state(lab) == before
    pair.undo()  # a second time does nothing


def test_packets_in_turn_are_as_many_on_each_link(lab: Lab) -> None:
    begun = [counted["forward"]["arrived_packets"] for counted in lab.counters()]
    pair = BondedLinks(lab, ("a", "b"))
    pair.share_in_turn(by_packet=True)
    assert [pair.read_interface("a", number)["gso_max_segs"] for number in (0, 1)] == [1, 1]
    carry_bytes(lab, address=pair.shared_addresses[1])
    ended = [counted["forward"]["arrived_packets"] for counted in lab.counters()]
    pair.undo()
    assert [pair.read_interface("a", number)["gso_max_segs"] for number in (0, 1)] != [1, 1]
    assert ended[0] - begun[0] == pytest.approx(ended[1] - begun[1], abs=2)


def test_settings_of_tcp_and_mptcp_are_set_at_both_hosts_and_set_back(lab: Lab) -> None:
    require_mptcp()
    before, begun = read_state(lab), list_delivered_bytes(lab, "forward")
    pair = BondedLinks(lab, ("a", "b"))
    pair.set_reordering(127)
    pair.limit_subflows(1)
    assert [pair.read_sysctl(node, REORDERING) for node in ("a", "b")] == ["127", "127"]
    carry_bytes(lab, "--transport", "mptcp")
    ended = list_delivered_bytes(lab, "forward")
    assert ended[0] > begun[0]
    assert ended[1] == begun[1]
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
    answered = count_answers(lab, own, peer, "500ms" if silent else "5s")
    assert answered < 10 if silent else answered >= 18
    pair.restore(1)
    assert lab.topology.links[1] == TWO.links[1]
    assert read_state(lab) == shared
    assert count_answers(lab, own, peer) >= 18
    pair.fail(0, silent=silent)
    pair.undo()  # with a link that has failed
    assert read_state(lab) == before
    assert len(ping(lab, "a", "b", count=5)["rtts_ns"]) == 5


def count_answers(lab: Lab, own: str, peer: str, timeout: str = "5s") -> int:
    """Of 20 probes between addresses that the links share."""
    words = f"ping --address {peer} --bind {own} --count 20 --interval 20ms --timeout {timeout} --output json"
    lines = lab.namespaces.run("a", str(find_engine()), *words.split()).splitlines()
    answered: int = json.loads(lines[-1])["received"]
    return answered


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
