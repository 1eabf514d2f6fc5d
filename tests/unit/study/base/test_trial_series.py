"""What hosts counted during a trial, as tables: times from the side's own start, null for the unknown."""

import base64
from typing import Any

import pyarrow as pa
import pytest

from pathlab.runner.trial.choreography import TrialData
from pathlab.runner.trial.series import build_series
from pathlab.store.series import decode_series, encode_series
from pathlab.store.series_columns import SERIES_KINDS

CORE = {f"{name}_ratio": None for name in ("user", "system", "softirq", "irq", "steal", "idle")}
COUNTED = ("bytes", "packets", "errors", "dropped")
NIC: dict[str, Any] = {
    "interface": "eth0",
    **{
        f"{way}_{name}": place
        for way in ("rx", "tx")
        for place, name in enumerate(COUNTED, 1 if way == "rx" else 5)
    },
    "tx_dropped": None,
}
QDISC: dict[str, Any] = {
    **{"interface": "eth0", "handle": "0:", "parent": "root", "kind": "fq_codel"},
    **{"bytes": 2**40, "packets": 2, "drops": None, "requeues": 4, "overlimits": 5},
    **{"backlog_bytes": 6, "qlen": 7},
}


def make_sample(time_ns: int, **parts: Any) -> dict[str, Any]:
    return {
        "time_ns": time_ns,
        "span_ns": 100,
        "cores": [{"core": 0, **CORE}],
        "nics": [NIC],
        "softnet": {
            "processed": 9,
            "dropped": 0,
            "time_squeeze": None,
            "cores": [{"core": 1, "processed": 9, "dropped": 0, "time_squeeze": None}],
        },
        "tcp": {"OutSegs": 12, "RetransSegs": None},
        "qdiscs": [QDISC],
        **parts,
    }


def build(*samples: dict[str, Any]) -> dict[str, pa.Table]:
    start = {"type": "start", "monotonic_ns": 1_000}
    return build_series(TrialData(sender=[start], sender_counters=list(samples)))


def test_every_part_becomes_a_table_with_the_times_of_its_side() -> None:
    start = {"type": "start", "monotonic_ns": 1_000}
    later = {"type": "start", "monotonic_ns": 5_000}
    tables = build_series(
        TrialData(
            sender=[start],
            receiver=[later],
            sender_counters=[make_sample(1_100)],
            receiver_counters=[make_sample(4_900)],
        )
    )
    parts = ("cpu", "nics", "softnet", "tcp", "qdiscs")
    assert set(tables) == {f"{side}_{part}" for side in ("sender", "receiver") for part in parts}
    assert set(tables) <= set(SERIES_KINDS)
    stamps = {"sender": {"time_ns": 100, "span_ns": 100}, "receiver": {"time_ns": -100, "span_ns": 100}}
    for side, stamp in stamps.items():
        assert tables[f"{side}_cpu"].to_pylist() == [{**stamp, "core": 0, **CORE}]
        drops = dict.fromkeys(("rx_missed", "rx_fifo", "rx_nohandler"))  # this host does not state them
        assert tables[f"{side}_nics"].to_pylist() == [{**stamp, **NIC, **drops}]
        assert tables[f"{side}_softnet"].to_pylist() == [
            {**stamp, "core": 1, "processed": 9, "dropped": 0, "time_squeeze": None}
        ]
        assert tables[f"{side}_tcp"].to_pylist() == [
            {**stamp, "name": "OutSegs", "value": 12},
            {**stamp, "name": "RetransSegs", "value": None},
        ]
        assert tables[f"{side}_qdiscs"].to_pylist() == [
            {**stamp, **QDISC, "hw_bytes": None, "hw_packets": None}
        ]


def test_counts_are_whole_numbers_even_where_all_are_unknown() -> None:
    tables = build(make_sample(1_100))
    assert tables["sender_nics"].schema.field("tx_dropped").type == pa.int64()
    assert tables["sender_cpu"].schema.field("idle_ratio").type == pa.float64()
    for kind, table in tables.items():
        assert decode_series(kind, encode_series(kind, table)).equals(table)


@pytest.mark.parametrize("missing", [{}, dict.fromkeys(("nics", "softnet", "tcp", "qdiscs"))])
def test_a_host_that_shows_no_more_than_its_cores_has_no_other_series(missing: dict[str, None]) -> None:
    bare = {"time_ns": 1_100, "span_ns": 100, "cores": [{"core": 0, **CORE}], **missing}
    assert set(build(bare)) == {"sender_cpu"}


def test_an_unread_span_of_tcp_is_told_from_one_in_which_nothing_changed() -> None:
    tables = build(
        make_sample(1_100, tcp=None), make_sample(1_200, tcp={}), make_sample(1_300, tcp={"InSegs": 1})
    )
    assert tables["sender_tcp"].to_pylist() == [
        {"time_ns": 100, "span_ns": 100, "name": None, "value": None},
        {"time_ns": 300, "span_ns": 100, "name": "InSegs", "value": 1},
    ]


def test_without_a_start_no_times_are_known_and_nothing_is_kept() -> None:
    assert build_series(TrialData(sender_counters=[make_sample(1_100)])) == {}


def test_the_kernels_structs_are_kept_as_they_came() -> None:
    def raw(size: int, *structs: bytes) -> dict[str, Any]:
        return {"bytes": size, "base64": base64.b64encode(b"".join(structs)).decode()}

    worker = {"user_ns": 1, "system_ns": 2, "wake_ups": 3, "system_calls": 4}
    interval = {
        **{"type": "interval", "index": 0, "phase": "steady", "start_ns": 0, "end_ns": 9},
        **{"bytes": [1, 2], "tcp_info": {}, "workers": [worker]},
        "tcp_info_raw": raw(5, b"first", b"secon"),
    }
    tables = build_series(
        TrialData(
            sender=[interval, {"type": "result", "tcp_info_raw": raw(2, b"ab", b"cd")}],
            receiver=[{"type": "result", "tcp_info_raw": raw(0)}],  # no TCP there
        )
    )
    assert tables["sender_tcp_info_raw"].to_pylist() == [
        {"index": 0, "stream": 0, "tcp_info": b"first"},
        {"index": 0, "stream": 1, "tcp_info": b"secon"},
        {"index": None, "stream": 0, "tcp_info": b"ab"},
        {"index": None, "stream": 1, "tcp_info": b"cd"},
    ]
    assert "receiver_tcp_info_raw" not in tables
    (row,) = tables["sender_workers"].to_pylist()
    assert (row["wake_ups"], row["system_calls"]) == (3, 4)
