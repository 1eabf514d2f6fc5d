"""The limit of one trial in a sentence, and remarks on it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.evidence import weigh
from pathlab.analysis.verdicts.flow_reading import FlowReading, StreamReading
from pathlab.analysis.verdicts.limits import Limit, LimitVerdict
from pathlab.report.trials.limit_text import format_limit
from pathlab.report.trials.trial_notes import list_remarks
from pathlab.study.flows.trial_limit import SingleLimit
from tests.builders.results import make_quickstart
from tests.golden.conftest import Say

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
    loss_ratio=0.003,
    smoothed_rtt_ns=100e3,
    offered_bytes=6e6,
    congestion_bytes=3e6,
    offered_usual_bytes=None,
)
FOUR = replace(READING, streams=(StreamReading(),) * 4)
AUTOTUNED = {"windows_bits_per_s": None, "reading": replace(READING, window_requested_bytes=None)}
#: Name, value and threshold.
Evidence = tuple[str, float, float]
LOSSES: list[Evidence] = [("resent_segments", 42, 10)]
BUSY: list[Evidence] = [("busiest_core_ratio", 0.99, 0.95), ("waiting_ratio", 0.1, 0.25)]


@pytest.mark.parametrize(
    ("limit", "evidence", "change"),
    [
        (Limit.WINDOW, [], {}),
        (
            Limit.RECEIVER_WINDOW,
            [("windows_share_ratio", 0.98, 0.9)],
            {"reading": FOUR, "windows_bits_per_s": 52400000.0},
        ),
        (Limit.RECEIVER_WINDOW, [], AUTOTUNED),
        (Limit.RECEIVER_WINDOW, [("windows_share_ratio", 0.02, 0.9)], {}),
        (Limit.SEND_BUFFER, [("windows_share_ratio", 0.02, 0.9)], {"buffer_full_ratio": 0.0}),
        (Limit.SEND_BUFFER, [], AUTOTUNED),
        (Limit.CONGESTION, LOSSES, {}),
        (Limit.CONGESTION, [*LOSSES, ("probe_rtt_rise_ns", 68e6, 2e6)], {}),
        (Limit.RATE_LIMIT, LOSSES, {}),
        (Limit.RATE_LIMIT, [*LOSSES, ("line_share_ratio", 0.96, 0.9)], {}),
        (Limit.RETURN_PATH, [("probe_rtt_rise_ns", 199e6, 2e6), ("forward_share_ratio", 0.01, 0.5)], {}),
        (Limit.RECEIVING_APPLICATION, [], {"offered_usual_bytes": 12e3}),
        (Limit.PATH_CAPACITY, [("line_share_ratio", 0.96, 0.9)], {}),
        (Limit.PATH_CAPACITY, [("probe_rtt_rise_ns", 12000000.0, 200000.0)], {}),
        (Limit.PATH_CAPACITY, [("probe_rtt_rise_ns", 12e6, 2e5), ("forward_share_ratio", 0.9, 0.5)], {}),
        (Limit.APPLICATION, [("requested_share_ratio", 0.99, 0.9)], {}),
        (Limit.APPLICATION, [], {}),
        (Limit.HOST_CPU, [*BUSY, ("engine_core_ratio", 0.5, 0.25)], {}),
        (None, [("windows_share_ratio", 0.5, 0.9)], {}),
        (None, [("probe_rtt_rise_ns", 68e6, 2e6), ("forward_share_ratio", 0.4, 0.5)], {}),
    ],
)
def test_a_limit_is_said_with_its_figures(
    say: Say, limit: Limit | None, evidence: list[Evidence], change: dict[str, Any]
) -> None:
    undecided = Undecided.NO_EVIDENCE if limit is None else None
    weighed = tuple(weigh(*one) for one in evidence)
    verdict = LimitVerdict(limit=limit, evidence=weighed, undecided=undecided)
    say(format_limit(replace(FOUND, verdict=verdict, **change)))


ALIKE: Mapping[str, Any] = {
    "loaded_rtt_median_ns": 100e3,
    "loaded_rtt_mean_ns": 100e3,
    "unloaded_rtt_mean_ns": 90e3,
}


@pytest.mark.parametrize(
    ("change", "direction"),
    [
        ({}, "forward"),
        ({"offered_messages_per_s": 2000}, "forward"),
        ({"offered_messages_per_s": 2_000, "flags": ("rate-missed",)}, "forward"),
        ({}, "reverse"),
        ({"throughput_bits_per_s": 20e6, "throughput_reverse_bits_per_s": 8e6}, "both"),
        ({"window_requested_bytes": None}, "forward"),
        *(({"loaded_rtt_median_ns": probes_ns}, "forward") for probes_ns in (34e3, 33e3, 299e3, 301e3)),
        ({"unloaded_rtt_mean_ns": 103e3}, "forward"),
        ({"unloaded_rtt_mean_ns": 9e6}, "forward"),
    ],
)
def test_remarks_are_made_where_they_matter(say: Say, change: dict[str, Any], direction: str) -> None:
    record = replace(make_quickstart().records[0], **{**ALIKE, **change})
    say(list_remarks(record, FOUND, direction))
