"""The limit of one trial in a sentence, and remarks on it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pathlab.analysis.verdicts.limits import Limit, StreamReading
from pathlab.report.limit_text import format_limit
from pathlab.study.trial_limit import SingleLimit
from tests.golden.conftest import Say
from tests.unit.report.test_limit_text import READING, list_lines, make_limit

FOUR = replace(READING, streams=(StreamReading(),) * 4)
AUTOTUNED = {"windows_bits_per_s": None, "reading": replace(READING, window_requested_bytes=None)}


@pytest.mark.parametrize(
    "found",
    [
        make_limit(Limit.WINDOW),
        make_limit(
            Limit.RECEIVER_WINDOW,
            ("windows_share_ratio", 0.98, 0.9),
            reading=FOUR,
            windows_bits_per_s=52400000.0,
        ),
        make_limit(Limit.RECEIVER_WINDOW, **AUTOTUNED),
        make_limit(Limit.RECEIVER_WINDOW, ("windows_share_ratio", 0.02, 0.9)),
        make_limit(Limit.SEND_BUFFER, ("windows_share_ratio", 0.02, 0.9), buffer_full_ratio=0.0),
        make_limit(Limit.SEND_BUFFER, **AUTOTUNED),
        make_limit(Limit.CONGESTION),
        make_limit(Limit.PATH_CAPACITY, ("line_share_ratio", 0.96, 0.9)),
        make_limit(Limit.PATH_CAPACITY, ("probe_rtt_rise_ns", 12000000.0, 200000.0)),
        make_limit(Limit.APPLICATION, ("requested_share_ratio", 0.99, 0.9)),
        make_limit(Limit.APPLICATION),
        make_limit(
            Limit.HOST_CPU,
            ("busiest_core_ratio", 0.99, 0.95),
            ("waiting_ratio", 0.1, 0.25),
            ("engine_core_ratio", 0.5, 0.25),
        ),
        make_limit(None, ("windows_share_ratio", 0.5, 0.9)),
    ],
)
def test_a_limit_is_said_with_its_figures(say: Say, found: SingleLimit) -> None:
    say(format_limit(found))


def test_messages_at_an_offered_rate_are_limited_by_it_unless_they_missed_it(say: Say) -> None:
    say(list_lines({"offered_messages_per_s": 2000}))
    missed = list_lines({"offered_messages_per_s": 2_000, "flags": ("rate-missed",)})
    say(missed)


def test_direction_windows_and_round_trips_are_said_where_they_matter(say: Say) -> None:
    assert list_lines(direction="reverse")[0].startswith("Direction: reverse, from ")
    both = list_lines({"throughput_bits_per_s": 20e6, "throughput_reverse_bits_per_s": 8e6}, "both")
    say(both[0])
    grown = list_lines({"window_requested_bytes": None})
    say(grown[0])


@pytest.mark.parametrize("probes_ns", [34000.0, 33000.0, 299000.0, 301000.0])
def test_the_rtt_used_is_said_from_the_stated_factor_on(say: Say, probes_ns: float) -> None:
    lines = list_lines({"loaded_rtt_median_ns": probes_ns})
    say(lines)


def test_a_negative_increase_is_explained(say: Say) -> None:
    idle = list_lines({"unloaded_rtt_mean_ns": 103e3})
    say(idle[0])
    assert "other traffic" in list_lines({"unloaded_rtt_mean_ns": 9e6})[0]
