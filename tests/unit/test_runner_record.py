"""The way back of traffic in both directions: its own columns, and nothing where it was not measured."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from pathlab.runner.record import Outcome, build_record
from pathlab.runner.spec import TrialPath, TrialSettings, TrialSpec
from pathlab.runner.trial import TrialData
from pathlab.store.records import TrialRecord

PATH = TrialPath(source="a", destination="b", source_address="127.0.0.1", destination_address="127.0.0.1")
STARTED = datetime.datetime(2026, 1, 5, tzinfo=datetime.UTC)


def make_spec(direction: str) -> TrialSpec:
    return TrialSpec(
        row=0,
        cycle=0,
        path=PATH,
        streams=2,
        window_bytes=None,
        congestion=None,
        warmup_ns=0,
        duration_ns=1_000_000_000,
        interval_ns=100_000_000,
        drain_ns=0,
        probe_interval_ns=100_000_000,
        probe_payload_bytes=56,
        probe_timeout_ns=1_000_000_000,
        unloaded_count=0,
        settings=TrialSettings(direction=direction),
    )


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
    return build_record(make_spec(direction), data, Outcome(status="complete", attempt=1, started=STARTED))


def test_the_way_back_is_what_the_sending_end_received_in_its_own_window() -> None:
    record = build("both", [make_result([300, 100], 2_000_000_000)], [make_result([700, 300], 10**9)])
    assert record.throughput_bits_per_s == 8_000.0
    assert record.received_back_steady_bytes == 400
    assert record.throughput_back_bits_per_s == 1_600.0


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_traffic_one_way_has_no_way_back(direction: str) -> None:
    """What a sending end alone states as bytes is what its kernel took."""
    record = build(direction, [make_result([300, 100], 10**9)], [make_result([700, 300], 10**9)])
    assert record.throughput_bits_per_s == 8_000.0
    assert (record.received_back_steady_bytes, record.throughput_back_bits_per_s) == (None, None)


@pytest.mark.parametrize("sender", [[], [make_result([0, 0], 0)]])
def test_a_way_back_that_ended_early_is_not_reported(sender: list[dict[str, Any]]) -> None:
    record = build("both", sender, [make_result([700, 300], 10**9)])
    assert record.throughput_bits_per_s == 8_000.0
    assert (record.received_back_steady_bytes, record.throughput_back_bits_per_s) == (None, None)
