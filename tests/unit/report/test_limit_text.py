"""The limit of one trial in a sentence, and remarks on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.evidence import weigh
from pathlab.analysis.verdicts.limits import FlowReading, Limit, LimitVerdict, StreamReading
from pathlab.report.limit_text import format_limit
from pathlab.report.trial_notes import list_remarks
from pathlab.study.trial_limit import SingleLimit
from tests.builders.results import make_quickstart

READING = FlowReading(
    streams=(StreamReading(),),
    throughput_bits_per_s=13e6,
    window_requested_bytes=65536,
    requested_bits_per_s=13.1e6,
    line_bits_per_s=13.5e6,
)
FOUND = SingleLimit(
    verdict=LimitVerdict(evidence=()),
    reading=READING,
    windows_bits_per_s=13.1072e6,
    windows_rtt_ns=40e6,
    receiver_held_ratio=0.93,
    buffer_full_ratio=0.8,
    idle_ratio=0.6,
    resent_ratio=0.003,
    smoothed_rtt_ns=100e3,
    offered_bytes=6e6,
    congestion_bytes=3e6,
)
FOUR = replace(READING, streams=(StreamReading(),) * 4)
AUTOTUNED = {"windows_bits_per_s": None, "reading": replace(READING, window_requested_bytes=None)}


def make_limit(limit: Limit | None, *evidence: tuple[str, float, float], **change: Any) -> SingleLimit:
    weighed = tuple(weigh(name, value, threshold) for name, value, threshold in evidence)
    undecided = Undecided.NO_EVIDENCE if limit is None else None
    verdict = LimitVerdict(limit=limit, evidence=weighed, undecided=undecided)
    return replace(FOUND, verdict=verdict, **change)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (make_limit(Limit.WINDOW), "the window (64 KiB / 40 ms = 13.1 Mbit/s)"),
        (
            make_limit(
                Limit.RECEIVER_WINDOW,
                ("windows_share_ratio", 0.98, 0.9),
                reading=FOUR,
                windows_bits_per_s=52.4e6,
            ),
            "the receiver's window (4 × 64 KiB / 40 ms = 52.4 Mbit/s)",
        ),
        (
            make_limit(Limit.RECEIVER_WINDOW, **AUTOTUNED),
            "the receiver's window (it held the sender 93 % of the time)",
        ),
        (
            make_limit(Limit.RECEIVER_WINDOW, ("windows_share_ratio", 0.02, 0.9)),
            "the receiver's window (it held the sender 93 % of the time)",
        ),
        (
            make_limit(Limit.SEND_BUFFER, ("windows_share_ratio", 0.02, 0.9), buffer_full_ratio=0.0),
            "the sender's buffer (the requested 64 KiB were in flight)",
        ),
        (make_limit(Limit.SEND_BUFFER, **AUTOTUNED), "the sender's buffer (it was full 80 % of the time)"),
        (
            make_limit(Limit.CONGESTION),
            "congestion control after losses (0.3 % of the data were retransmitted, and no queue grew)",
        ),
        (
            make_limit(Limit.PATH_CAPACITY, ("line_share_ratio", 0.96, 0.9)),
            "the path's capacity (13 Mbit/s of 13.5 Mbit/s that the lab's link leaves for data)",
        ),
        (
            make_limit(Limit.PATH_CAPACITY, ("probe_rtt_rise_ns", 12e6, 2e5)),
            "the path's capacity (at a steady rate, a queue adds 12 ms to the RTT)",
        ),
        (
            make_limit(Limit.APPLICATION, ("requested_share_ratio", 0.99, 0.9)),
            "the requested rate (13 Mbit/s of 13.1 Mbit/s)",
        ),
        (
            make_limit(Limit.APPLICATION),
            "the sending application (it had nothing to send 60 % of the time)",
        ),
        (
            make_limit(
                Limit.HOST_CPU,
                ("busiest_core_ratio", 0.99, 0.95),
                ("waiting_ratio", 0.1, 0.25),
                ("engine_core_ratio", 0.5, 0.25),
            ),
            "a host's CPU (the busiest core was 99 % busy and a thread of the traffic used 50 % of a core)",
        ),
        (
            make_limit(None, ("windows_share_ratio", 0.5, 0.9)),
            "undecided (no evidence; the rate is 50 % of what the windows carry). Measure with twice the "
            "streams: more rate points to windows or losses, the same to the path.",
        ),
    ],
)
def test_a_limit_is_said_with_its_figures(found: SingleLimit, text: str) -> None:
    assert format_limit(found) == f"Limited by: {text}"


def test_every_limit_has_a_sentence() -> None:
    for limit in Limit:
        assert format_limit(make_limit(limit)).startswith("Limited by: ")


ALIKE: Mapping[str, Any] = {
    "loaded_rtt_median_ns": 100e3,
    "loaded_rtt_mean_ns": 100e3,
    "unloaded_rtt_mean_ns": 90e3,
}


def list_lines(change: Mapping[str, Any] = ALIKE, direction: str = "forward") -> list[str]:
    record = replace(make_quickstart().records[0], **{**ALIKE, **change})
    return list(list_remarks(record, FOUND, direction))


def test_a_plain_trial_has_its_limit_alone() -> None:
    assert list_lines() == [format_limit(FOUND)]


def test_messages_at_an_offered_rate_are_limited_by_it_unless_they_missed_it() -> None:
    assert list_lines({"offered_messages_per_s": 2_000}) == ["Limited by: the offered rate of 2 k/s."]
    missed = list_lines({"offered_messages_per_s": 2_000, "flags": ("rate-missed",)})
    assert missed == ["The offered rate of 2 k/s was missed by more than 1 %.", format_limit(FOUND)]


def test_direction_windows_and_round_trips_are_said_where_they_matter() -> None:
    assert list_lines(direction="reverse")[0].startswith("Direction: reverse, from ")
    both = list_lines({"throughput_bits_per_s": 20e6, "throughput_reverse_bits_per_s": 8e6}, "both")
    assert both[0].startswith("Both directions at once: 20 Mbit/s from ")
    assert "8 Mbit/s back" in both[0]
    grown = list_lines({"window_requested_bytes": None})
    assert (
        grown[0] == "Autotuning: a stream's windows grew to receiver's window 6 MB, congestion window 3 MB."
    )


@pytest.mark.parametrize(("probes_ns", "said"), [(34e3, False), (33e3, True), (299e3, False), (301e3, True)])
def test_the_rtt_used_is_said_from_the_stated_factor_on(probes_ns: float, said: bool) -> None:
    lines = list_lines({"loaded_rtt_median_ns": probes_ns})
    assert any("dRTT and effective window use the probes" in line for line in lines) == said


def test_a_negative_increase_is_explained() -> None:
    idle = list_lines({"unloaded_rtt_mean_ns": 103e3})
    assert idle[0] == "dRTT below 0: no queue; an idle CPU wakes more slowly for a probe than a busy one."
    assert "other traffic" in list_lines({"unloaded_rtt_mean_ns": 9e6})[0]
