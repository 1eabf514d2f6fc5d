"""What each member carried in the steady window, and which bond of a host is meant."""

from typing import Any

from pathlab.runner.trial.bond_record import BondReading, MemberLink, count_members

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
    # No counter is not measured, and never zero.
    unread = [
        (row["tx_bytes"], row["covered_ns"]) for row in count_members(reading, "sender", "a", records, [])
    ]
    assert unread == [(None, 0)] * 2
    assert reading.list_interfaces("b") == ["wan0"]
