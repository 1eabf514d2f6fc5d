"""Addresses and words of a lab's links."""

from __future__ import annotations

import ipaddress

import pytest

from pathlab.lab.topology import ADDRESS_RANGE, Link, Topology, link_address, link_mac

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


def test_the_spec_states_the_truth_in_the_engines_units() -> None:
    assert LINK.as_engine_spec() == (
        "rate_bits_per_s=40000000,delay_ns=20000000,queue_bytes=250000,loss_ratio=0,slice_ns=50000"
    )
    free = Link(between=("a", "b"), rate_bits_per_s=None, delay_ns=0, queue_bytes=None, loss_ratio=1e-5)
    assert free.as_engine_spec() == (
        "rate_bits_per_s=0,delay_ns=0,queue_bytes=0,loss_ratio=1e-05,slice_ns=50000"
    )
