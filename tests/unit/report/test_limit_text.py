"""The limit of one trial in a sentence, and remarks on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

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


def make_limit(limit: Limit | None, *evidence: tuple[str, float, float], **change: Any) -> SingleLimit:
    weighed = tuple(weigh(name, value, threshold) for name, value, threshold in evidence)
    undecided = Undecided.NO_EVIDENCE if limit is None else None
    verdict = LimitVerdict(limit=limit, evidence=weighed, undecided=undecided)
    return replace(FOUND, verdict=verdict, **change)


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
