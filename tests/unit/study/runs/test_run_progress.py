"""Progress of a run as it is read from its trials and its journal."""

import dataclasses
import datetime

import pytest

from pathlab.campaign.plan_times import PLAN_TIMES, TimeLeft
from pathlab.errors import Stage
from pathlab.store.following import TrialOutcome
from pathlab.store.records import JournalRecord
from pathlab.study.runs.run_progress import RunFollower, RunState, Signs, read_budget

NOON = datetime.datetime(2026, 1, 5, 12, tzinfo=datetime.UTC)
TIMES = {"groups": [[10, 15, "0-3"]], "at_once_ratio": 1.0}
RUNNING = Signs(writer=7)


def at(seconds: float) -> str:
    return (NOON + datetime.timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


def entry(kind: str, seconds: float, **facts: object) -> JournalRecord:
    return JournalRecord(recorded_utc=at(seconds), kind=kind, plan_row=None, text=f"it {kind}", facts=facts)


def trial(row: int, seconds: float, status: str = "complete", stage: str | None = None) -> TrialOutcome:
    return TrialOutcome(
        plan_row=row, status=status, failed_stage=stage, started_utc=at(seconds), sent_bytes=100
    )


def follow(*steps: JournalRecord | TrialOutcome) -> RunFollower:
    follower = RunFollower(4)
    for step in steps:
        follower.add_entry(step) if isinstance(step, JournalRecord) else follower.add_trial(step)
    return follower


def test_rows_time_left_and_bytes_follow_the_trials() -> None:
    follower = follow(
        entry("started", 0, **{PLAN_TIMES: TIMES}),
        trial(0, 1),
        trial(1, 2, "failed", "engine"),
        trial(2, 3, "failed", Stage.SAFETY_LIMIT),
        trial(1, 4),
        trial(1, 5, "interrupted", "controller"),  # measured before: stays so
    )
    progress = follower.describe(follower.find_state(RUNNING), NOON + datetime.timedelta(seconds=6))
    assert (progress.rows, progress.planned, progress.complete, progress.failed_trials) == ("ccsp", 4, 2, 2)
    assert progress.left == TimeLeft(expected_ns=10, at_most_ns=15)
    assert (progress.sent_bytes, progress.sent_today_bytes, progress.measuring_s) == (500, 500, 6)


def test_a_pause_is_no_time_of_measuring_and_no_progress() -> None:
    steps = (entry("started", 0, **{PLAN_TIMES: TIMES}), trial(0, 1), entry("paused", 10))
    follower = follow(*steps)
    assert follower.find_state(RUNNING) == RunState.PAUSED
    for seconds in (11, 3611):
        progress = follower.describe(RunState.PAUSED, NOON + datetime.timedelta(seconds=seconds))
        assert progress.left == TimeLeft(expected_ns=30, at_most_ns=45)
        assert (progress.measuring_s, progress.paused_s) == (10, seconds - 10)
    follower.add_entry(entry("continued", 3610, paused_s=3600))
    follower.add_entry(entry("ended", 3630))
    progress = follower.describe(follower.find_state(Signs(writer=None)), NOON + datetime.timedelta(days=1))
    assert (progress.measuring_s, progress.paused_s, progress.sent_today_bytes) == (30, 3600, 0)


@pytest.mark.parametrize(
    ("kinds", "signs", "state"),
    [
        ([], Signs(writer=None), "stored"),
        ([], RUNNING, "running"),
        (["started"], RUNNING, "running"),
        (["started"], Signs(writer=7, pause_requested=True), "pausing"),
        (["started"], Signs(writer=7, stop_requested=True), "stopping"),
        (["started", "paused"], Signs(writer=7, pause_requested=True), "paused"),
        (["started", "paused"], Signs(writer=7, pause_requested=True, stop_requested=True), "stopping"),
        (["started", "paused", "continued"], RUNNING, "running"),
        (["started"], Signs(writer=None), "killed"),
        (["started", "paused"], Signs(writer=None, pause_requested=True), "killed"),
        (["started", "ended"], Signs(writer=None), "ended"),
        (["started", "ended", "resumed"], RUNNING, "running"),
        (["started", "finished"], Signs(writer=None), "finished"),
        (["started", "finished"], RUNNING, "finished"),  # it is about to end
    ],
)
def test_the_state_follows_journal_lock_and_requests(kinds: list[str], signs: Signs, state: str) -> None:
    assert follow(*(entry(kind, 1) for kind in kinds)).find_state(signs) == state


def test_a_killed_run_counts_until_its_last_sign() -> None:
    follower = follow(entry("started", 0), trial(0, 20), entry("resumed", 1000), trial(1, 1005))
    progress = follower.describe(RunState.KILLED, NOON + datetime.timedelta(days=1))
    assert progress.measuring_s == 25
    assert progress.left is None  # of a program that kept no times


def test_rows_that_a_stop_rule_left_out_are_no_time_left() -> None:
    follower = follow(entry("started", 0, **{PLAN_TIMES: TIMES}), trial(0, 1), entry("finished", 2))
    assert follower.describe(RunState.FINISHED, NOON).left == TimeLeft(expected_ns=0, at_most_ns=0)


def test_a_search_adds_rows() -> None:
    follower = follow(entry("started", 0))
    follower.extend_plan(6)
    follower.add_trial(trial(5, 1))
    assert follower.describe(RunState.RUNNING, NOON).rows == "pppppc"


def test_damaged_times_and_rows_count_nothing() -> None:
    follower = follow(entry("started", 0))
    follower.add_trial(dataclasses.replace(trial(99, 1), started_utc="yesterday"))
    assert follower.describe(RunState.RUNNING, NOON).sent_bytes == 0


def test_the_budget_is_what_the_campaign_limits() -> None:
    budget: dict[str, object] = {"bytes_per_campaign": 10, "bytes_per_day": None, "hours": []}
    assert read_budget({"budget": budget}) == {"bytes_per_campaign": 10}
    assert read_budget({}) == {}
