"""What the page reads of a run's events: trials under way, and the time that is left."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scripts.host import ScriptHost

#: Events in their order; what is known then of each trial under way, by results and row.
TAKE = """(events) => {
  const { trialsNow } = pathlabExplorer;
  const told = { results: "A", row: 0, time_utc: "2026-01-01T00:00:00Z" };
  for (const one of events) trialsNow.takeEvent({ ...told, ...one });
  return Object.fromEntries(trialsNow.trialsUnderWay);
}"""
STARTED = {"event": "trial-started", "attempt": 1, "estimate_ns": 2e9}
RUN = {"results": "A", "state": "running", "left": {"expected_ns": 250e9, "at_most_ns": 390e9}}


def test_of_a_trials_readings_the_latest_are_kept(scripts: ScriptHost) -> None:
    rates: list[dict[str, Any]] = [{"event": "rate", "bits_per_s": number} for number in range(5000)]
    others: list[dict[str, Any]] = [
        {"event": "rtt", "rtt_ns": 5e6},
        {"event": "retransmissions", "segments": 7},
        {"event": "losses", "lost_packets": 1, "received_packets": 3},
        {"event": "rate", "bits_per_s": 1, "row": 1},  # of a trial that is not known
    ]
    found = scripts.evaluate(TAKE, [STARTED, *rates, *others])
    assert found.keys() == {"A 0"}
    trial = found["A 0"]
    assert trial["rates"] == [*range(4940, 5000)]
    assert (trial["rtt"], trial["retransmitted"], trial["loss"]) == (5e6, 7, 0.25)
    said = scripts.evaluate("(rtts) => rtts.map(pathlabExplorer.trialsNow.formatRtt)", [5e6, None])
    assert said == ["RTT 5 ms", "RTT no answer"]  # a late probe is not lost


def test_a_trial_or_campaign_that_ended_is_under_way_no_more(scripts: ScriptHost) -> None:
    further = {**STARTED, "row": 1}
    ended = {"event": "trial-ended", "row": None, "record": {"plan_row": 0}}
    assert scripts.evaluate(TAKE, [STARTED, further, ended]).keys() == {"A 1"}
    assert scripts.evaluate(TAKE, [{"event": "campaign-ended"}]) == {}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "about 4:10 left, at most 6:30"),
        ({"left": {"expected_ns": 250e9, "at_most_ns": 250.4e9}}, "about 4:10 left"),
        ({"left": None}, "time left not known"),
        ({"state": "ended"}, ""),
    ],
)
def test_the_time_left_has_its_range(scripts: ScriptHost, change: dict[str, Any], said: str) -> None:
    assert scripts.evaluate("(run) => pathlabExplorer.progress.describeLeft(run)", {**RUN, **change}) == said


def test_a_trial_under_way_is_time_over_up_to_its_estimate(scripts: ScriptHost) -> None:
    scripts.evaluate(TAKE, [STARTED])  # it began long ago
    said = scripts.evaluate("(run) => pathlabExplorer.progress.describeLeft(run)", RUN)
    assert said == "about 4:08 left, at most 6:28"
