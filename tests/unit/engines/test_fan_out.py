"""Records of several receivers as those of one: order of streams, sums, spans, and what is missing."""

import base64
from typing import Any

from pathlab.engines.fan_out import merge_receivers

MS = 10**6
Records = list[dict[str, Any]]


def make_receiver(first: int, *, drains: int = 1, late_ns: int = 0) -> Records:
    """A receiver of two streams that count ``first`` and ``first`` + 10 bytes in each interval."""
    counts = [first, first + 10]

    def make_interval(number: int, phase: str) -> dict[str, Any]:
        raw = b"".join(bytes([value]) * 4 for value in counts)
        return {
            "type": "interval",
            "index": number,
            "phase": phase,
            "start_ns": number * MS + late_ns,
            "end_ns": (number + 1) * MS + late_ns,
            "bytes": counts,
            "messages": [1, 2],
            "tcp_info": {"rtt_us": counts},
            "tcp_info_raw": {"bytes": 4, "base64": base64.b64encode(raw).decode("ascii")},
            "workers": [{"user_ns": first, "system_ns": 1}],
        }

    phases = ["warmup", "steady", "steady", *["drain"] * drains]
    intervals = [make_interval(number, phase) for number, phase in enumerate(phases)]
    window = {"start_ns": MS + late_ns, "end_ns": 3 * MS + late_ns}
    return [
        {"type": "hello", "version": "1"},
        {"type": "listening", "port": first},
        {
            "type": "ready",
            "streams": 2,
            "rejected": 1,
            "workers": 2,
            "cores": [first, None],
            "messages": {"bytes": 64, "wait": "block", "priority": 5 if first == 1 else None},
            "sockets": [{"stream": number, "rcvbuf_bytes": first + number} for number in (0, 1)],
        },
        {"type": "start", "monotonic_ns": first},
        *intervals,
        {
            "type": "result",
            "complete": True,
            "reason": None,
            "phases": {"steady": {**window, "bytes": [2 * count for count in counts], "messages": [2, 4]}},
            "total_bytes": [len(phases) * count for count in counts],
            "reset_streams": 1,
            "rejected": 2,
            "workers": [{"user_ns": first, "system_ns": 0}],
            "messages": {"received": [first, 0], "first_arrival_ns": [first, None]},
        },
    ]


def of_kind(records: Records, kind: str) -> Records:
    return [record for record in records if record["type"] == kind]


def test_streams_are_in_the_senders_order_and_counts_are_summed() -> None:
    merged = merge_receivers([make_receiver(1), make_receiver(2), make_receiver(3, late_ns=7)], 6)
    assert [record["type"] for record in merged] == [
        *("hello", "listening", "ready", "start"),
        *["interval"] * 4,
        "result",
    ]
    (ready,), (result,) = of_kind(merged, "ready"), of_kind(merged, "result")
    assert (ready["streams"], ready["rejected"], ready["workers"]) == (6, 3, 6)
    assert ready["cores"] == [1, None, 2, None, 3, None]
    assert [(socket["stream"], socket["rcvbuf_bytes"]) for socket in ready["sockets"]] == [
        *((0, 1), (1, 2), (2, 3), (3, 2), (4, 3), (5, 4))
    ]
    assert ready["messages"] == {"bytes": 64, "wait": "block", "priority": None}  # not granted by all
    assert result["total_bytes"] == [4, 8, 12, 44, 48, 52]
    assert (result["reset_streams"], result["rejected"]) == (3, 6)
    assert sum(worker["user_ns"] for worker in result["workers"]) == 6
    assert result["messages"]["received"] == [1, 2, 3, 0, 0, 0]
    assert result["messages"]["first_arrival_ns"] == [1, 2, 3, None, None, None]
    steady = result["phases"]["steady"]
    assert (steady["start_ns"], steady["end_ns"]) == (MS + 7, 3 * MS + 7)
    assert steady["bytes"] == [2, 4, 6, 22, 24, 26]
    assert steady["spans_ns"] == [2 * MS] * 6
    before, interval, *_ = of_kind(merged, "interval")
    assert before["end_ns"] == interval["start_ns"] == MS + 7
    assert (interval["index"], interval["phase"], interval["bytes"]) == (1, "steady", [1, 2, 3, 11, 12, 13])
    assert interval["tcp_info"]["rtt_us"] == [1, 2, 3, 11, 12, 13]
    assert interval["workers"] == [{"user_ns": number, "system_ns": 1} for number in (1, 2, 3)]
    raw = interval["tcp_info_raw"]
    assert (raw["bytes"], base64.b64decode(raw["base64"])[::4]) == (4, bytes([1, 2, 3, 11, 12, 13]))


def test_a_receiver_that_drained_faster_counts_nothing_more() -> None:
    merged = of_kind(merge_receivers([make_receiver(1), make_receiver(2, drains=3)], 4), "interval")
    assert [(record["index"], record["phase"]) for record in merged] == [
        *((0, "warmup"), (1, "steady"), (2, "steady"), (3, "drain"), (4, "drain"), (5, "drain"))
    ]
    last = merged[-1]
    assert (last["bytes"], last["messages"]) == ([0, 2, 0, 12], [0, 1, 0, 2])
    assert last["tcp_info"]["rtt_us"] == [1, 2, 11, 12]  # its latest state
    assert last["workers"] == [{"user_ns": 0, "system_ns": 0}, {"user_ns": 2, "system_ns": 1}]
    assert "tcp_info_raw" not in last or last["tcp_info_raw"] is None
    totals = [sum(counts) for counts in zip(*(record["bytes"] for record in merged), strict=True)]
    assert totals == [4, 12, 44, 72]


def test_each_stream_keeps_the_length_of_its_own_window() -> None:
    shorter = make_receiver(2)
    shorter[-1]["phases"]["steady"] |= {"start_ns": MS // 2, "end_ns": 2 * MS}
    (result,) = of_kind(merge_receivers([make_receiver(1), shorter], 4), "result")
    steady = result["phases"]["steady"]
    assert (steady["start_ns"], steady["end_ns"]) == (MS, 3 * MS)
    assert steady["spans_ns"] == [2 * MS, 3 * MS // 2] * 2


def test_what_a_receiver_that_failed_has_not_stated_is_left_out() -> None:
    failed: Records = [{"type": "hello", "version": "1"}, {"type": "error", "text": "no route"}]
    merged = merge_receivers([make_receiver(1), failed], 4)
    assert [record["type"] for record in merged] == ["hello", *["interval"] * 4, "error"]
    assert merged[1]["bytes"] == [1, 0, 11, 0]
    assert merged[1]["tcp_info"]["rtt_us"] == [1, None, 11, None]
    ended = make_receiver(2)
    ended[-1] |= {"complete": False, "reason": "stopped"}
    (result,) = of_kind(merge_receivers([make_receiver(1), ended], 4), "result")
    assert (result["complete"], result["reason"]) == (False, "stopped")
    assert merge_receivers([[], []], 4) == []


def test_structs_of_different_kernels_are_not_joined() -> None:
    older = make_receiver(2)
    for record in of_kind(older, "interval"):
        record["tcp_info_raw"]["bytes"] = 8
    for record in of_kind(merge_receivers([make_receiver(1), older], 4), "interval"):
        assert record["tcp_info_raw"] is None


def test_subflows_bear_the_streams_numbers_at_the_sender() -> None:
    def make_interval(*streams: int) -> Records:
        subflows = [{"stream": stream, "id": 1, "bytes_sent": 5} for stream in streams]
        span = {"start_ns": 0, "end_ns": MS, "bytes": [1, 1], "workers": []}
        return [{"type": "interval", "phase": "steady", **span, "subflows": subflows}]

    (merged,) = merge_receivers([make_interval(0, 0, 1), make_interval(0)], 4)
    assert [subflow["stream"] for subflow in merged["subflows"]] == [0, 0, 1, 2]
    (unknown,) = merge_receivers([[{**make_interval()[0], "subflows": None}], make_interval(1)], 4)
    assert [subflow["stream"] for subflow in unknown["subflows"]] == [3]
