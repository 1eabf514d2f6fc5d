"""Readings of single streams: all of few, the extremes of many, not more often than people read."""

import math

from pathlab.runner.campaign.stream_readings import REPORT_S, STREAMS_SHOWN, StreamReadings
from pathlab.runner.events import Event, StreamsNow


def collect() -> tuple[StreamReadings, list[Event], list[float]]:
    events: list[Event] = []
    now_s = [0.0]
    return StreamReadings(3, events.append, clock=lambda: now_s[0]), events, now_s


def test_each_of_few_streams_is_reported_from_low_to_high() -> None:
    readings, events, _ = collect()
    readings("bits_per_s", [3e6, None, 1e6, 2e6], 10**8)
    assert events == [
        StreamsNow(
            row=3,
            measure="bits_per_s",
            elapsed_ns=10**8,
            count=3,
            median=2e6,
            streams=((2, 1e6), (3, 2e6), (0, 3e6)),
        )
    ]


def test_of_many_streams_the_lowest_and_the_highest_are_reported() -> None:
    readings, events, _ = collect()
    readings("rtt_ns", [float(value) for value in range(2**20)], 1)
    (event,) = events
    assert isinstance(event, StreamsNow)
    half = STREAMS_SHOWN // 2
    assert [stream for stream, _ in event.streams] == [*range(half), *range(2**20 - half, 2**20)]
    assert (event.count, event.median) == (2**20, (2**20 - 1) / 2)


def test_readings_of_a_kind_are_apart() -> None:
    readings, events, now_s = collect()
    for measure in ("bits_per_s", "bits_per_s", "rtt_ns"):
        readings(measure, [1.0], 1)
    now_s[0] = REPORT_S
    readings("bits_per_s", [math.nan], 1)  # nothing known: nothing to report
    readings("bits_per_s", [2.0], 1)
    measures = [event.measure for event in events if isinstance(event, StreamsNow)]
    assert measures == ["bits_per_s", "rtt_ns", "bits_per_s"]
