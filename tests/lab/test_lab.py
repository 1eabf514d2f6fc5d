"""Round trips in a lab are those of its links' settings, with either back end."""

import itertools
import json

import pytest

from pathlab.lab.topology import Link, LinkSettings, Topology, link_address
from pathlab.remote.engine import find_engine
from tests.lab.labs import PAIR, make_lab, ping, ping_once

pytestmark = [pytest.mark.netns, pytest.mark.engine]


@pytest.mark.parametrize("backend", ["tun", "packet"])
def test_an_idle_link_has_its_round_trip(backend: str) -> None:
    with make_lab(PAIR, backend) as lab:
        for host, peer in (("a", "b"), ("b", "a")):
            measured = ping(lab, host, peer)
            assert measured["received"] == 20
            assert measured["usual_ns"] == pytest.approx(40e6, abs=1e6)
            assert measured["rtts_ns"][0] >= 40e6
        (counters,) = lab.counters()
        assert counters["forward"]["arrived_packets"] >= 40
        assert counters["forward"]["write_errors"] == counters["reverse"]["write_errors"] == 0
        described = lab.describe()
        assert described["backend"] == backend
        assert described["links"][0]["rate_bits_per_s"] == 40_000_000


@pytest.mark.parametrize("backend", ["tun", "packet"])
def test_a_chain_of_links_adds_up(backend: str) -> None:
    links = tuple(
        Link(between=ends, rate_bits_per_s=10**8, delay_ns=delay_ns, queue_bytes=100_000)
        for ends, delay_ns in ((("a", "b"), 2_000_000), (("b", "c"), 5_000_000), (("c", "d"), 1_000_000))
    )
    with make_lab(Topology(hosts=("a", "b", "c", "d"), links=links), backend) as lab:
        assert ping(lab, "a", "d")["usual_ns"] == pytest.approx(16e6, abs=1e6)
        assert ping(lab, "d", "b")["usual_ns"] == pytest.approx(12e6, abs=1e6)


def test_eight_hops_and_a_star() -> None:
    nodes = ("a", *(f"r{number}" for number in range(1, 8)), "b")
    pairs = itertools.pairwise(nodes)
    links = tuple(Link(between=pair, rate_bits_per_s=10**8, delay_ns=1_000_000) for pair in pairs)
    with make_lab(Topology(hosts=("a", "b"), routers=nodes[1:-1], links=links)) as lab:
        # Eight emulators on few cores delay most of the probes, and hasten none.
        assert ping(lab, "a", "b", count=100)["rtts_ns"][0] == pytest.approx(16e6, abs=2e6)
    spokes = tuple(
        Link(between=(host, "hub"), rate_bits_per_s=10**8, delay_ns=delay_ns)
        for host, delay_ns in (("a", 1_000_000), ("b", 2_000_000), ("c", 4_000_000))
    )
    with make_lab(Topology(hosts=("a", "b", "c"), routers=("hub",), links=spokes)) as lab:
        assert ping(lab, "a", "b")["usual_ns"] == pytest.approx(6e6, abs=1e6)
        assert ping(lab, "c", "a")["usual_ns"] == pytest.approx(10e6, abs=1e6)


def test_each_direction_has_its_own_delay_and_parallel_links_their_own_way() -> None:
    reverse = LinkSettings(rate_bits_per_s=10**7, delay_ns=9_000_000)
    first = Link(between=("a", "b"), rate_bits_per_s=10**8, delay_ns=1_000_000, reverse=reverse)
    second = Link(between=("a", "b"), rate_bits_per_s=10**8, delay_ns=2_000_000)
    with make_lab(Topology(hosts=("a", "b"), links=(first, second))) as lab:
        assert ping(lab, "a", "b")["usual_ns"] == pytest.approx(10e6, abs=1e6)
        before = lab.counters()[1]["forward"]["arrived_packets"]
        lab.namespaces.run("a", "ping", "-c", "2", "-i", "0.05", link_address(1, 1))
        counted = lab.counters()
        assert counted[1]["forward"]["arrived_packets"] == before + 2
        assert counted[0]["reverse"]["arrived_packets"] == 20


def test_one_direction_changes_while_the_link_runs() -> None:
    with make_lab(PAIR) as lab:
        lab.change_link(0, 1, LinkSettings(delay_ns=5_000_000, rate_bits_per_s=10**9))
        changed = ping(lab, "a", "b", count=10)
        assert changed["usual_ns"] == pytest.approx(25e6, abs=1e6)
        assert lab.topology.idle_rtt_ns("a", "b") == 25_000_000
        assert lab.namespaces.run("a", "cat", "/proc/sys/net/ipv4/tcp_ecn") != "1\n"
        lab.change_link(0, 0, LinkSettings(loss_ratio=1.0, rate_bits_per_s=10**7, ecn_bytes=30_000))
        assert lab.namespaces.run("a", "cat", "/proc/sys/net/ipv4/tcp_ecn") == "1\n"
        assert ping_once(lab)["received"] == 0
        counted = lab.counters()[0]
    assert counted["forward"]["lost_packets"] == 1
    assert counted["reverse"]["lost_packets"] == 0


@pytest.mark.parametrize("backend", ["tun", "packet"])
def test_ipv6_goes_through_a_chain_and_nodes_send_nothing_of_their_own(backend: str) -> None:
    ends = [("a", "r"), ("r", "b")]
    links = tuple(Link(between=pair, rate_bits_per_s=10**8, delay_ns=1_000_000) for pair in ends)
    plan = Topology(hosts=("a", "b"), routers=("r",), links=links, ipv6=True)
    with make_lab(plan, backend) as lab:
        words = ["ping", "--address", plan.address("b", "a", 6), "--count", "10", "--interval", "10ms"]
        lines = lab.namespaces.run("a", str(find_engine()), *words, "--output", "json").splitlines()
        records = [json.loads(line) for line in lines]
        rtts_ns = sorted(record["rtt_ns"] for record in records if record["type"] == "probe")
        assert rtts_ns[2] == pytest.approx(4e6, abs=1e6)
        shown = lab.namespaces.run("r", "ip", "-6", "-brief", "address", "show", "scope", "link")
        assert shown == ""
