"""Addresses and words of a lab's links."""

import ipaddress
import json
from dataclasses import replace

import pytest

from pathlab.lab.topology import (
    ADDRESS_RANGE,
    Link,
    LinkSettings,
    Topology,
    link_address,
    link_mac,
    read_facts,
)

LINK = Link(between=("a", "b"), rate_bits_per_s=40_000_000, delay_ns=20_000_000, queue_bytes=250_000)


def test_both_ends_share_a_network_of_their_own() -> None:
    for number in (0, 1, 300):
        ends = [ipaddress.IPv4Interface(f"{link_address(number, end)}/30") for end in (0, 1)]
        assert ends[0].network == ends[1].network
        assert ends[0].network.subnet_of(ADDRESS_RANGE)
        assert set(ends[0].network.hosts()) == {end.ip for end in ends}
    assert link_address(0, 1) != link_address(1, 0)


def test_macs_are_locally_administered_and_distinct() -> None:
    macs = {link_mac(number, end) for number in (0, 1, 255, 256, 300) for end in (0, 1)}
    assert len(macs) == 10
    assert all(int(mac[:2], 16) & 3 == 2 for mac in macs)


def test_address_of_a_host_depends_on_its_end() -> None:
    topology = Topology(hosts=("a", "b"), links=(LINK,))
    assert topology.address("a", "b") == "198.18.0.1"
    assert topology.address("b", "a") == "198.18.0.2"
    with pytest.raises(KeyError, match="no chain of links joins 'a' and 'c'"):
        topology.address("a", "c")


def test_a_chain_is_routed_hop_by_hop() -> None:
    ends = [("a", "b"), ("b", "c"), ("c", "d"), ("x", "y")]
    rates = [100, 20, None, 5]
    links = tuple(
        Link(between=between, rate_bits_per_s=rate, delay_ns=0, queue_bytes=None, mtu_bytes=1500 - number)
        for number, (between, rate) in enumerate(zip(ends, rates, strict=True))
    )
    topology = Topology(hosts=("a", "b", "c", "d", "x", "y"), links=links)
    assert topology.chain("a", "d") == (0, 1, 2)
    assert topology.chain("d", "a") == (2, 1, 0)
    assert topology.address("d", "a") == "198.18.0.10"
    assert topology.bottleneck("a", "d") == (20, 1498)
    assert topology.bottleneck("c", "d") == (None, 1498)
    assert topology.routes("a") == [("198.18.0.4/30", "198.18.0.2"), ("198.18.0.8/30", "198.18.0.2")]
    assert topology.routes("b") == [("198.18.0.8/30", "198.18.0.6")]
    assert topology.routes("x") == []
    with pytest.raises(KeyError, match="no chain of links joins 'a' and 'x'"):
        topology.chain("a", "x")


def test_the_spec_states_the_settings_in_the_engines_units() -> None:
    assert LINK.as_engine_spec() == (
        "rate_bits_per_s=40000000,delay_ns=20000000,queue_bytes=250000,loss_ratio=0,slice_ns=100000"
    )
    free = Link(between=("a", "b"), rate_bits_per_s=None, delay_ns=0, queue_bytes=None, loss_ratio=1e-5)
    assert free.as_engine_spec() == (
        "rate_bits_per_s=0,delay_ns=0,queue_bytes=0,loss_ratio=1e-05,slice_ns=100000"
    )


def test_rare_settings_stand_in_the_spec_only_where_they_are_set() -> None:
    rough = LinkSettings(
        rate_bits_per_s=10**6,
        jitter_ns=1000,
        burst_enter_ratio=0.01,
        burst_leave_ratio=0.5,
        burst_loss_ratio=1.0,
        ecn_bytes=3000,
        aqm="codel",
        cross_bits_per_s=500_000,
    )
    assert rough.as_engine_spec().removeprefix(LinkSettings(rate_bits_per_s=10**6).as_engine_spec()) == (
        ",jitter_ns=1000,ge_enter_ratio=0.01,ge_leave_ratio=0.5,ge_loss_ratio=1,ecn_bytes=3000,"
        "cross_bits_per_s=500000,aqm=codel,target_ns=5000000,interval_ns=100000000"
    )


HOME = Link(
    between=("server", "home"),
    rate_bits_per_s=20_000_000,
    delay_ns=10_000_000,
    reverse=LinkSettings(rate_bits_per_s=5_000_000, delay_ns=30_000_000),
)
TWO_WAYS = Topology(
    hosts=("server", "far"),
    routers=("home",),
    links=(HOME, Link(between=("home", "far"), rate_bits_per_s=50_000_000, delay_ns=1_000_000), HOME),
)


def test_each_direction_is_its_own() -> None:
    assert TWO_WAYS.bottleneck("server", "far") == (20_000_000, 1500)
    assert TWO_WAYS.bottleneck("far", "server") == (5_000_000, 1500)
    assert TWO_WAYS.idle_rtt_ns("server", "far") == TWO_WAYS.idle_rtt_ns("far", "server") == 42_000_000
    assert TWO_WAYS.nodes == ("server", "far", "home")


def test_of_two_links_between_a_pair_the_first_is_the_way() -> None:
    assert TWO_WAYS.chain("server", "far") == (0, 1)
    assert TWO_WAYS.address("server", "home") == link_address(0, 0)


def test_mptcp_takes_all_links_between_two_neighbours_and_no_more() -> None:
    assert TWO_WAYS.beside(0) == (0, 2)
    assert TWO_WAYS.bottleneck("server", "home", multipath=True) == (40_000_000, 1500)
    assert TWO_WAYS.bottleneck("home", "server", multipath=True) == (10_000_000, 1500)
    assert TWO_WAYS.bottleneck("server", "far", multipath=True) == (20_000_000, 1500)
    free = Topology(hosts=("server", "home"), links=(HOME, Link(between=("home", "server"))))
    assert free.bottleneck("server", "home", multipath=True) == (None, 1500)


def test_links_have_networks_of_ipv6_of_their_own() -> None:
    topology = Topology(hosts=("a", "b", "c"), links=(LINK, Link(between=("b", "c"))), ipv6=True)
    assert topology.address("c", "a", 6) == "2001:2:0:1::2"
    assert topology.routes("a", 6) == [("2001:2:0:1::/64", "2001:2::2")]


def test_one_direction_changes_and_the_other_stays() -> None:
    slower = LinkSettings(rate_bits_per_s=10**6, delay_ns=20_000_000)
    before = Topology(hosts=("a", "b"), links=(LINK,))
    after = before.with_direction(0, 1, slower)
    assert after.links[0].as_settings() == LINK.as_settings()
    assert after.directions("b", "a") == [slower]
    assert after.with_direction(0, 1, LINK) == before


def test_a_change_names_what_is_no_longer_set() -> None:
    words = LinkSettings(rate_bits_per_s=10**6).as_engine_spec(whole=True).split(",")
    assert {"loss_ratio=0", "jitter_ns=0", "ge_enter_ratio=0", "ecn_bytes=0", "aqm=none"} < set(words)


@pytest.mark.parametrize("plan", [TWO_WAYS, replace(TWO_WAYS, ipv6=True)])
def test_a_topology_survives_being_written(plan: Topology) -> None:
    assert read_facts(json.loads(json.dumps(plan.as_table()))) == plan
