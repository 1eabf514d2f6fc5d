"""What is stored of a trial: the way back, flags, undelivered bytes; nothing where not measured."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from pathlab.campaign.factor import Level
from pathlab.engines.spec import TrialPath, TrialSpec
from pathlab.runner.trial.choreography import TrialData
from pathlab.store.records import TrialRecord
from tests.builders import campaigns
from tests.builders.trials import record_trial

PATH = TrialPath(source="a", destination="b", source_address="127.0.0.1", destination_address="127.0.0.1")


def make_spec(**levels: Level) -> TrialSpec:
    times: dict[str, Level] = {"warmup_ns": 0, "duration_ns": 1_000_000_000}
    return campaigns.make_spec({"interval": "100ms"}, **{"streams": 2, **times, **levels})


def make_result(received: list[int], length_ns: int) -> dict[str, Any]:
    steady = {"start_ns": 5_000_000, "end_ns": 5_000_000 + length_ns, "bytes": received}
    return {
        "type": "result",
        "phases": {"steady": steady},
        "total_bytes": received,
        "total_sent_bytes": [900, 900],
        "workers": [],
        "tcp_info": {},
    }


def build(direction: str, sender: list[dict[str, Any]], receiver: list[dict[str, Any]]) -> TrialRecord:
    data = TrialData(sender=sender, receiver=receiver)
    return record_trial(make_spec(direction=direction), data, {})


BACK = [make_result([300, 100], 800_000_000)]
#: A second in which 1000 bytes came.
THERE = [make_result([700, 300], 10**9)]


@pytest.mark.parametrize(
    ("direction", "sender", "received", "rate"),
    [
        ("both", BACK, 400, 4_000.0),  # in the window of the end that sends
        ("forward", BACK, None, None),  # what such an end alone states as bytes is what its kernel took
        ("reverse", BACK, None, None),
        ("both", [], None, None),
        ("both", [make_result([0, 0], 0)], None, None),  # it ended early
    ],
)
def test_the_way_back_is_what_the_sending_end_received(
    direction: str, sender: list[dict[str, Any]], received: int | None, rate: float | None
) -> None:
    record = build(direction, sender, THERE)
    assert record.throughput_bits_per_s == 8_000.0
    assert (record.received_reverse_steady_bytes, record.throughput_reverse_bits_per_s) == (received, rate)


@pytest.mark.parametrize(
    ("address", "mss_bytes", "payload_bits_per_s"),
    [
        ("198.18.0.2", 1448, 28.96e6),
        ("198.18.0.2", 1460, 29.2e6),
        ("fd00::2", 1428, 28.56e6),
        ("fd00::2", None, 28.56e6),
    ],
)
def test_what_is_over_the_links_payload_rate_is_flagged_by_its_own_headers(
    address: str, mss_bytes: int | None, payload_bits_per_s: float
) -> None:
    """A link of 30 Mbit/s: IPv6 leaves 1.4 % less for data than IPv4 does."""
    flagged = []
    for excess_ratio in (1.002, 1.01):
        received = [int(payload_bits_per_s / 8 * excess_ratio)]
        ready = {"type": "ready", "sockets": [{"mss_bytes": mss_bytes}]}
        data = TrialData(sender=[ready], receiver=[make_result(received, 10**9)])
        spec = replace(make_spec(direction="forward"), path=replace(PATH, destination_address=address))
        record = record_trial(spec, data, {}, lab_rate_bits_per_s=30_000_000, lab_mtu_bytes=1500)
        flagged.append("over-line-rate" in record.flags)
    assert flagged == [False, True]


def make_interval(phase: str, again: list[int | None]) -> dict[str, Any]:
    info = {"total_retrans_segments": again, "unacked_segments": [None] * 2, "snd_mss_bytes": [None] * 2}
    times = {"start_ns": 0, "end_ns": 1, "workers": [], "bytes": [0, 0]}
    return {"type": "interval", "phase": phase, "tcp_info": info, **times}


@pytest.mark.parametrize(
    ("readings", "again"),
    [
        ([("warmup", [7, 2]), ("steady", [7, 3]), ("steady", [9, 4]), ("drain", [20, 20])], 4),
        ([("steady", [3, 1]), ("steady", [5, 2])], 7),  # without a warm-up it counts from the start
        ([("warmup", [7, 2]), ("steady", [7, None])], None),
        ([("warmup", [7, None]), ("steady", [7, 3])], None),
        ([("warmup", [7, 2])], None),
        ([("steady", [])], None),
    ],
)
def test_what_was_sent_again_in_the_steady_window(
    readings: list[tuple[str, list[int | None]]], again: int | None
) -> None:
    """The kernel's counter goes on over the whole trial; the column of the whole trial stays as it was."""
    intervals = [make_interval(phase, counts) for phase, counts in readings]
    final = {**make_result([900, 900], 10**9), "tcp_info": {"total_retrans_segments": [20, 20]}}
    record = build("forward", [*intervals, final], THERE)
    assert (record.retransmitted_steady_segments, record.retransmitted_segments) == (again, 40)


UNDELIVERED = ("undelivered-data",)


@pytest.mark.parametrize(
    ("direction", "sender", "receiver", "missing_bytes", "flags"),
    [
        *((direction, BACK, THERE, 1800 - 1000, UNDELIVERED) for direction in ("forward", "reverse")),
        ("both", BACK, THERE, 1800 - 1000 + 1800 - 400, UNDELIVERED),
        ("forward", [make_result([1, 1], 10**9)], [make_result([900, 900], 10**9)], 0, ()),
        ("forward", THERE, [], None, ()),
        ("forward", [], THERE, None, ()),
    ],
)
def test_undelivered_bytes_are_those_sent_and_not_received(
    direction: str,
    sender: list[dict[str, Any]],
    receiver: list[dict[str, Any]],
    missing_bytes: int | None,
    flags: tuple[str, ...],
) -> None:
    record = build(direction, sender, receiver)
    assert (record.undelivered_bytes, record.flags) == (missing_bytes, flags)


def test_undelivered_bytes_are_no_flag_of_a_failed_trial_and_unknown_of_iperf3() -> None:
    """iperf3 does not wait for what is under way."""
    data = TrialData(sender=THERE, receiver=THERE)
    ended = {"status": "failed", "stage": "engine", "reason": "it did"}
    failed = record_trial(make_spec(), data, {}, **ended)
    assert (failed.undelivered_bytes, failed.flags) == (800, ())
    assert record_trial(make_spec(engine="iperf3"), data, {}).undelivered_bytes is None


@pytest.mark.parametrize(
    ("mss_bytes", "rtt_ns", "expected_bytes"),
    [
        (1448, 20_000_000, 25_000.0),
        (1448, 18_000, None),  # the probes saw no queue: 22 B a stream is no window
        (None, 18_000, 22.5),
        (1448, None, None),
    ],
)
def test_less_than_a_segment_is_no_effective_window(
    mss_bytes: int | None, rtt_ns: int | None, expected_bytes: float | None
) -> None:
    ready = {"type": "ready", "sockets": [{"mss_bytes": mss_bytes}]}
    flow = [make_result([1_250_000, 1_250_000], 10**9)]
    probes = pa.table(
        {
            "sent_ns": pa.array([6_000_000], pa.int64()),
            "rtt_ns": pa.array([rtt_ns], pa.int64()),
            "waited_ns": pa.array([None], pa.int64()),
        }
    )
    record = record_trial(
        make_spec(direction="forward"),
        TrialData(sender=[ready, *flow], receiver=flow),
        {"loaded_probes": probes},
    )
    assert record.window_effective_bytes == expected_bytes
