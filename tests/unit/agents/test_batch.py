"""Requests to the prober: everything is checked, every mistake named."""

from __future__ import annotations

from typing import Any

import pytest

from pathlab.agents import limits
from pathlab.agents.discovery.batch import read_batch, read_options, resolve_target
from pathlab.agents.discovery.flow import Target

OPTIONS: dict[str, Any] = {
    "address": "127.0.0.1",
    "method": "udp",
    "family": 0,
    "flows": 2,
    "port": 33434,
    "source_port": 53100,
}
BATCH: dict[str, Any] = {
    "batch": 3,
    "ttls": [1, 2],
    "sizes_bytes": [600, 700, 800],
    "repeats": 2,
    "flows": [0, 1],
    "seed": 7,
    "gap_ns": 0,
    "timeout_ns": 1_000_000_000,
}
TARGET = Target(address="127.0.0.1", method="udp", port=33434, source_port=53100)


def test_options_name_a_target_and_its_flows() -> None:
    assert read_options(OPTIONS) == (TARGET, 2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"method": "gre"}, "'gre' is none of udp, icmp, tcp"),
        ({"family": 5}, "5 is none of 4, 6"),
        ({"flows": 0}, "'flows': 0 is not within 1 to 16"),
        ({"flows": 17}, "'flows': 17 is not within 1 to 16"),
        ({"flows": True}, "option 'flows' must be an integer"),
        ({"port": 0}, "'port': 0 is not within 1 to 65535"),
        ({"source_port": 80}, "'source_port': 80 is not within"),
        ({"speed": 1}, "unknown option 'speed'"),
        ({"address": 7}, "option 'address' must be a text"),
        ({"address": "224.0.0.1"}, "'224.0.0.1' is a multicast address"),
        ({"address": "::1", "family": 4}, "cannot resolve '::1'"),
        ({"address": "a" * 300}, "cannot resolve 'aaa"),
    ],
)
def test_a_wrong_option_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_options({**OPTIONS, **change})


def test_a_link_local_address_keeps_its_zone() -> None:
    assert resolve_target("fe80::1%lo", 0) == "fe80::1%lo"


def test_a_missing_option_is_named() -> None:
    for name in OPTIONS:
        with pytest.raises(ValueError, match=f"option '{name}' is missing"):
            read_options({key: value for key, value in OPTIONS.items() if key != name})


def test_addresses_resolve_to_themselves_and_names_by_the_requested_family() -> None:
    assert resolve_target("127.0.0.1", 0) == "127.0.0.1"
    assert resolve_target("::1", 6) == "::1"
    assert resolve_target("localhost", 4).startswith("127.")


def test_a_batch_is_every_ttl_with_every_size_as_often_as_requested_shuffled_by_the_seed() -> None:
    batch = read_batch(BATCH, TARGET, 2)
    order = batch.order(0)
    expected = sorted([(ttl, size) for ttl in (1, 2) for size in (600, 700, 800)] * 2)
    assert sorted(order) == expected
    assert order != expected
    assert batch.order(0) == order
    assert batch.order(1) != order
    assert read_batch({**BATCH, "seed": 8}, TARGET, 2).order(0) != order
    plain = read_batch({**BATCH, "seed": -1}, TARGET, 2).order(0)
    assert plain == [(ttl, size) for _ in range(2) for ttl in (1, 2) for size in (600, 700, 800)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ttls": []}, "field 'ttls' is empty"),
        ({"ttls": [0]}, "'ttls': 0 is not within 1 to 255"),
        ({"ttls": [True]}, "field 'ttls' must hold integers"),
        ({"sizes_bytes": [39]}, "'sizes_bytes': 39 is not within 40 to 65535"),
        ({"sizes_bytes": ["600"]}, "field 'sizes_bytes' must hold integers"),
        ({"flows": [2]}, "'flows': 2 is not within 0 to 1"),
        ({"flows": [1, 1]}, "names a flow twice"),
        ({"repeats": 0}, "'repeats': 0 is not within"),
        ({"repeats": 1000}, "12000 probes in a batch; the most is 4096"),
        ({"batch": None}, "field 'batch' must be an integer"),
        ({"pace": 1}, "unknown field 'pace'"),
    ],
)
def test_a_wrong_batch_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_batch({**BATCH, **change}, TARGET, 2)


def test_times_are_clamped() -> None:
    batch = read_batch({**BATCH, "gap_ns": -5, "timeout_ns": 10**15}, TARGET, 2)
    assert batch.gap_ns == limits.MIN_PROBE_GAP_NS
    assert batch.timeout_ns == limits.MAX_PROBE_TIMEOUT_NS


def test_a_syn_has_one_size() -> None:
    tcp = TARGET._replace(method="tcp")
    assert read_batch({**BATCH, "sizes_bytes": [44]}, tcp, 2).sizes_bytes == (44,)
    with pytest.raises(ValueError, match="a SYN has 44 bytes and no other size"):
        read_batch({**BATCH, "sizes_bytes": [44, 60]}, tcp, 2)
