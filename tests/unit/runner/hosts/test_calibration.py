"""What the engine says of a host becomes its ceilings."""

from typing import Any

import pytest

from pathlab.runner.hosts.calibration import STREAM_COUNTS, choose_counts, read_calibration
from pathlab.study.flows.readings import find_ceiling

RECORDS: list[dict[str, Any]] = [
    {"type": "hello"},
    {"type": "clock", "resolution_ns": 1, "step_ns": 20, "read_ns": 25.5},
    {"type": "timer", "late_ns": {"median": 30_000, "p99": 90_000, "max": 400_000}},
    *(
        {
            "type": "loopback",
            "streams": streams,
            "transfer": transfer,
            "bits_per_s": rate,
            "congestion": "cubic",
            "tcp_info_read_ns": 700,
        }
        for streams, transfer, rate in (
            (1, "copy", 40e9),
            (1, "zero-copy", 80e9),
            (8, "copy", 100e9),
            (8, "zero-copy", 200e9),
        )
    ),
    {"type": "result", "complete": True},
]


@pytest.mark.parametrize("streams", [[1], [2], [3], [8], [64], [1, 4, 8], [1, 2]])
def test_calibrated_is_what_trials_are_compared_with(streams: list[int]) -> None:
    everything = {"loopback_bits_per_s": {f"{count} streams, copy": 1e9 * count for count in STREAM_COUNTS}}
    counts = choose_counts(streams)
    chosen = {"loopback_bits_per_s": {f"{count} streams, copy": 1e9 * count for count in counts}}
    for one in streams:
        assert find_ceiling([chosen], one) == find_ceiling([everything], one)
    needed = {find_ceiling([everything], one) for one in streams}
    assert {1e9 * count for count in counts} == needed


@pytest.mark.parametrize(
    ("streams", "ceiling"), [(1, 40e9), (2, 40e9), (3, 100e9), (8, 100e9), (4096, 100e9)]
)
def test_a_trial_is_compared_with_the_nearest_number_of_streams(streams: int, ceiling: float) -> None:
    assert find_ceiling([read_calibration(RECORDS)], streams) == ceiling


def test_the_facts_name_every_rate_and_its_condition() -> None:
    facts = read_calibration(RECORDS)
    assert facts["loopback_bits_per_s"] == {
        "1 stream, copy": 40e9,
        "1 stream, zero-copy": 80e9,
        "8 streams, copy": 100e9,
        "8 streams, zero-copy": 200e9,
    }
    assert facts["loopback_congestion"] == "cubic"
    assert facts["timer_late_ns"]["p99"] == 90_000
    assert facts["clock_read_ns"] == 25.5


def test_without_a_loopback_rate_there_is_no_ceiling() -> None:
    assert find_ceiling([read_calibration(RECORDS[:3]), None], 4) is None
