"""Retransmissions and reordering as TCP saw them: streams summed up, MPTCP by subflow, what is not stated."""

from typing import Any

import pytest

from pathlab.runner.trial.choreography import TrialData
from pathlab.runner.trial.retransmission_record import measure_retransmissions
from pathlab.runner.trial.series import build_series

Record = dict[str, Any]


def make_info(retransmitted: int, duplicates: int | None, seen: int = 0, early: int = 0) -> Record:
    """TCP_INFO of one stream."""
    return {
        "total_retrans_segments": [retransmitted],
        "bytes_retrans": [1448 * retransmitted],
        "dsack_dups_segments": [duplicates],
        "reord_seen_events": [seen],
        "rcv_ooopack_segments": [early],
    }


def make_interval(phase: str, info: Record, subflows: list[Record] | None = None) -> Record:
    span = {"index": 0, "start_ns": 0, "end_ns": 1, "bytes": [0], "workers": []}
    more = {} if subflows is None else {"subflows": subflows}
    return {"type": "interval", "phase": phase, **span, "tcp_info": info, **more}


def make_result(info: Record, **more: Any) -> Record:
    return {"type": "result", "tcp_info": info, **more}


def make_subflow(port: int, retransmitted: int, duplicates: int) -> Record:
    addresses = {"local": "10.0.0.1", "local_port": port, "remote": "10.0.0.2", "remote_port": 5210}
    counts = {name: values[0] for name, values in make_info(retransmitted, duplicates).items()}
    return {"stream": 0, "id": port, **addresses, **counts}


def measure(sender: list[Record], receiver: list[Record] | None = None) -> dict[str, Any]:
    return measure_retransmissions(TrialData(sender=sender, receiver=receiver or []))


def test_spurious_are_those_that_the_receiver_had_already() -> None:
    found = measure([make_result(make_info(40, 30, seen=7))], [make_result(make_info(0, 0, early=90))])
    assert found == {
        "spurious_retransmission_ratio": 0.75,
        "retransmitted_segments": 40,
        "retransmitted_bytes": 40 * 1448,
        "retransmitted_steady_segments": None,
        "dsack_duplicate_segments": 30,
        "reordering_seen_events": 7,
        "out_of_order_segments": 90,
    }


@pytest.mark.parametrize(
    ("info", "ratio"),
    [
        (make_info(0, 0), None),
        (make_info(5, None), None),
        (make_info(5, 0), 0.0),
        (make_info(2, 3), 1.5),
        ({"dsack_dups_segments": [3, 4, None], "total_retrans_segments": [10, 18, None]}, 7 / 28),
        ({}, None),
    ],
)
def test_without_retransmissions_or_counter_there_is_no_ratio(info: Record, ratio: float | None) -> None:
    assert measure([make_result(info)])["spurious_retransmission_ratio"] == ratio


def test_nothing_measured_is_not_zero() -> None:
    assert set(measure([]).values()) == {None}
    assert set(measure([make_interval("steady", {})]).values()) == {None}


def test_a_trial_that_ended_early_has_its_last_interval() -> None:
    intervals = [make_interval("warmup", make_info(5, 1)), make_interval("steady", make_info(9, 3))]
    found = measure(intervals)
    assert (found["retransmitted_segments"], found["retransmitted_steady_segments"]) == (9, 4)
    assert found["dsack_duplicate_segments"] == 3


def test_of_mptcp_all_subflows_count_also_closed_ones() -> None:
    first, second = make_subflow(4000, 10, 2), make_subflow(4001, 20, 4)
    sender = [
        make_interval("warmup", make_info(10, 2), [first]),
        make_interval("steady", make_info(10, 2), [first, second]),
        make_interval("steady", make_info(12, 2), [make_subflow(4000, 12, 2)]),
        make_result(make_info(12, 2), subflows=None),
    ]
    found = measure(sender)
    assert found["retransmitted_segments"] == 12 + 20
    assert found["retransmitted_steady_segments"] == 12 + 20 - 10
    assert found["spurious_retransmission_ratio"] == (2 + 4) / 32


def test_subflows_are_a_series_of_either_end() -> None:
    interval = make_interval("steady", make_info(1, 0), [make_subflow(4000, 10, 2)])
    interval |= {"index": 3, "end_ns": 9}
    start = {"type": "start", "monotonic_ns": 0}
    plain = [start, make_interval("steady", make_info(1, 0))]
    tables = build_series(TrialData(sender=[start, interval], receiver=plain))
    (row,) = tables["sender_subflows"].to_pylist()
    assert (row["index"], row["end_ns"], row["local"], row["local_port"]) == (3, 9, "10.0.0.1", 4000)
    assert (row["total_retrans_segments"], row["dsack_dups_segments"], row["rtt_us"]) == (10, 2, None)
    assert "receiver_subflows" not in tables
