"""What each member carried in the steady window, and which bond of a host is meant."""

from __future__ import annotations

from typing import Any

from pathlab.runner.hosts.bond_setup import is_other_bond
from pathlab.runner.trial.bond_record import (
    BondReading,
    MemberLink,
    count_members,
)

MS = 1_000_000
COUNTS = ("rx_bytes", "rx_packets", "tx_bytes", "tx_packets", "tx_dropped", "rx_dropped")
BOND: dict[str, Any] = {
    "mode": "802.3ad",
    "hash_policy": "layer3+4",
    "address": "192.0.2.1",
    "members": {"eth0": {"state": "up", "failures": 0}, "eth1": {"state": "up", "failures": 0}},
}


def make_sample(end_ms: int, **counts: int | None) -> dict[str, Any]:
    rows = [
        {"interface": name, **dict.fromkeys(COUNTS, 0), "tx_bytes": size} for name, size in counts.items()
    ]
    return {"time_ns": end_ms * MS, "span_ns": 100 * MS, "nics": rows}


def test_spans_wholly_inside_the_steady_window_are_added_up_by_member() -> None:
    members = (
        MemberLink(host="a", interface="wan0", link=0, gro=False),
        MemberLink(host="a", interface="wan1"),
    )
    reading = BondReading(members=(*members, MemberLink(host="b", interface="wan0")))
    records: list[dict[str, Any]] = [
        {"type": "start", "monotonic_ns": 1000 * MS},
        {"type": "result", "phases": {"steady": {"start_ns": 150 * MS, "end_ns": 500 * MS}}},
    ]
    samples = [
        make_sample(1200, wan0=1, wan1=1, lo=9),  # begins before the window
        make_sample(1300, wan0=10, wan1=100, lo=9),
        make_sample(1400, wan0=20, wan1=None),
        make_sample(1600, wan0=1, wan1=1),  # ends after it
    ]
    first, second = count_members(reading, "sender", "a", records, samples)
    assert (first["end"], first["member"], first["link"], first["tx_bytes"]) == ("sender", "wan0", 0, 30)
    assert (first["covered_ns"], first["gro"], first["gso_max_segments"]) == (200 * MS, 0, None)
    assert second["tx_bytes"] is None  # a counter that went backwards
    assert (second["gro"], second["link"]) == (None, None)
    assert list(count_members(reading, "sender", "a", records[:1], samples)) == []
    assert reading.list_interfaces("b") == ["wan0"]


def test_no_counter_is_not_measured_and_never_zero() -> None:
    reading = BondReading(members=(MemberLink(host="a", interface="wan0"),))
    records: list[dict[str, Any]] = [
        {"type": "start", "monotonic_ns": 0},
        {"type": "result", "phases": {"steady": {"start_ns": 0, "end_ns": 500 * MS}}},
    ]
    (row,) = count_members(reading, "receiver", "a", records, [])
    assert row["tx_bytes"] is None
    assert row["covered_ns"] == 0


def test_a_member_that_went_down_even_for_a_moment_is_a_change() -> None:
    flapped = {**BOND, "members": {**BOND["members"], "eth1": {"state": "up", "failures": 1}}}
    down = {**BOND, "members": {**BOND["members"], "eth1": {"state": "down", "failures": 0}}}
    assert not is_other_bond(BOND, {**BOND, "members": {**BOND["members"]}})
    for after in (flapped, down, {**BOND, "mode": "balance-rr"}, None):
        assert is_other_bond(BOND, after)
