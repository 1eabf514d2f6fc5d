"""Warnings: each is stated once, with its scope."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pathlab.report.text import count_flags
from pathlab.store.records import JournalRecord
from pathlab.study.analyses import Study
from tests.builders.results import SyntheticResults, make_quickstart
from tests.builders.trials import make_failed
from tests.golden.conftest import Say
from tests.unit.report.sections.test_notices import notices


def test_few_cycles_failures_and_missing_rows_are_said(say: Say) -> None:
    results = make_quickstart(cycles=2)
    results.records[0] = make_failed(results.records[0])
    del results.records[-1]
    found = notices(results)
    assert set(found) == {"small-sample", "failures", "partial"}
    say(found["failures"].text)
    say(found["partial"].text)
    say(found["small-sample"].text)


def test_what_the_latest_run_left_out_is_said(say: Say) -> None:
    def journal(*entries: tuple[str, str]) -> SyntheticResults:
        results = make_quickstart(cycles=6)
        now = "2026-01-05T12:00:00+00:00"
        results.journal().extend(
            JournalRecord(recorded_utc=now, kind=kind, plan_row=None, text=text, facts={})
            for kind, text in entries
        )
        return results

    first = (("started", ""), ("left-out", "4 trials are left out: a lacks grpc"), ("finished", ""))
    say(notices(journal(*first))["left-out"].text)
    assert "left-out" not in notices(journal(*first, ("resumed", ""), ("finished", "")))


@pytest.mark.parametrize(
    ("kind", "facts", "missing"),
    [("finished", {}, 0), ("ended", {"missing": 3}, 3), ("resumed", {}, 4)],  # the last was killed
)
def test_rows_that_a_stop_rule_left_out_are_not_missing(
    say: Say, kind: str, facts: dict[str, int], missing: int
) -> None:
    results = make_quickstart(cycles=6)
    del results.records[-4:]
    results.journal().append(
        JournalRecord(
            recorded_utc="2026-01-05T12:00:00+00:00", kind=kind, plan_row=None, text="", facts=facts
        )
    )
    found = notices(results)
    assert ("partial" in found) == (missing > 0)
    if missing:
        say(found["partial"].text)


def test_nothing_measured_and_a_fallback_are_grave(say: Say) -> None:
    results = make_quickstart(cycles=1, levels=[(1, None)], environment={"fallback": "no namespaces."})
    say(notices(results)["fallback"].text)
    results.records = []
    assert "No trial completed" in notices(results)["empty"].text


def test_a_run_that_began_on_a_busy_machine_says_what_was_measured(say: Say) -> None:
    results = make_quickstart(cycles=6)
    text = "90 % of 2 cores in use (stress: 0.98 cores)"
    entry = JournalRecord(
        recorded_utc="2026-01-01T00:00:00.000+00:00",
        kind="busy",
        plan_row=None,
        text="",
        facts={"found": {"this machine": text}},
    )
    results = SyntheticResults(results.campaign, results.plan(), results.records, {}, journal=[entry])
    say(notices(results)["busy"].text)


def test_an_interrupted_trial_is_not_said_to_have_failed(say: Say) -> None:
    results = make_quickstart(cycles=6)
    stopped = make_failed(results.records[0])
    results.records[0] = replace(stopped, status="interrupted", failed_stage="controller")
    found = notices(results)
    assert "failures" not in found
    say(found["interrupted"].text)
    (condition,) = Study(results).conditions()
    assert count_flags(condition) == "1 interrupted"
    results.records[1] = make_failed(results.records[1])
    found = notices(results)
    say(found["failures"].text)
    (condition,) = Study(results).conditions()
    assert count_flags(condition) == "1 failed, 1 interrupted"
