"""Requests to the prober. What is refused: tests/golden/agents/test_refusals.py."""

from typing import Any

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


def test_addresses_resolve_to_themselves_and_names_by_the_requested_family() -> None:
    assert resolve_target("127.0.0.1", 0) == "127.0.0.1"
    assert resolve_target("::1", 6) == "::1"
    assert resolve_target("fe80::1%lo", 0) == "fe80::1%lo"
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


def test_times_are_clamped_and_a_syn_has_one_size() -> None:
    batch = read_batch({**BATCH, "gap_ns": -5, "timeout_ns": 10**15}, TARGET, 2)
    assert (batch.gap_ns, batch.timeout_ns) == (limits.MIN_PROBE_GAP_NS, limits.MAX_PROBE_TIMEOUT_NS)
    tcp = TARGET._replace(method="tcp")
    assert read_batch({**BATCH, "sizes_bytes": [44]}, tcp, 2).sizes_bytes == (44,)
