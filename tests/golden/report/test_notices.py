"""Warnings: each is stated once, with its scope."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from pathlab.report.base.trial_flags import count_flags
from pathlab.report.runs.notices import list_notices
from pathlab.store.records import JournalRecord, TrialRecord
from pathlab.study.analyses import Study
from tests.builders.results import SyntheticResults, make_quickstart
from tests.builders.trials import make_failed
from tests.golden.conftest import Say

KIB = 1024


@cache
def make_whole(cycles: int) -> SyntheticResults:
    """Made once: the series cost time and no warning reads them."""
    return make_quickstart(cycles=cycles)


def make_run(
    *,
    cycles: int = 6,
    missing: int = 0,
    failed: int = 0,
    interrupted: int = 0,
    journal: Mapping[str, dict[str, Any]] | None = None,
) -> SyntheticResults:
    """A run whose last rows are missing, and whose first failed or were interrupted."""
    results = make_whole(cycles).copy(series={})
    del results.records[len(results.records) - missing :]
    for place in range(failed + interrupted):
        record = make_failed(results.records[place])
        stopped = replace(record, status="interrupted", failed_stage="controller")
        results.records[place] = record if place < failed else stopped
    results.journal().extend(
        JournalRecord(
            recorded_utc="2026-01-01T00:00:00.000+00:00",
            kind=kind,
            plan_row=None,
            text=facts.get("text", ""),
            facts=facts,
        )
        for kind, facts in (journal or {}).items()
    )
    return results


def change_run(change: Callable[[TrialRecord], TrialRecord]) -> SyntheticResults:
    results = make_run()
    results.change_trials(change)
    return results


def flag(name: str) -> Callable[[], SyntheticResults]:
    """The trials of a stream have this flag."""
    return lambda: change_run(lambda one: replace(one, flags=("lab", name)) if one.streams == 1 else one)


def make_paths(limited: int) -> SyntheticResults:
    """Five paths, all trials of some of them lab-limited."""
    results = make_quickstart(levels=[(1, 64 * KIB)])
    results.records = [
        replace(
            record,
            path_destination=f"east{number}",
            flags=("lab-limited",) if number < limited else record.flags,
        )
        for number in range(5)
        for record in results.records
    ]
    return results


FLAGS = (
    *("lab-limited", "host-limited", "over-line-rate", "undelivered-data", "route-changed"),
    *("changed-since-start", "workers-not-granted"),
)
LEFT_OUT = {"started": {}, "left-out": {"text": "4 trials are left out: a lacks grpc"}, "finished": {}}
BUSY = {"busy": {"found": {"this machine": "90 % of 2 cores in use (stress: 0.98 cores)"}}}
RUNS: Mapping[str, Callable[[], SyntheticResults]] = {
    "sound": make_run,
    "few cycles, a failure and a missing row": lambda: make_run(cycles=2, missing=1, failed=1),
    "a trial was interrupted": lambda: make_run(interrupted=1),
    "a failure and an interruption": lambda: make_run(failed=1, interrupted=1),
    "the run left trials out": lambda: make_run(journal=LEFT_OUT),
    "a later run left nothing out": lambda: make_run(journal={**LEFT_OUT, "resumed": {}}),
    "a stop rule ended the run": lambda: make_run(missing=4, journal={"finished": {}}),
    "a budget ended the run": lambda: make_run(missing=4, journal={"ended": {"missing": 3}}),
    "the run was killed": lambda: make_run(missing=4, journal={"resumed": {}}),
    "hosts were busy": lambda: make_run(journal=BUSY),
    "loopback instead of the lab": lambda: make_quickstart(
        cycles=1, levels=[(1, None)], environment={"fallback": "no namespaces."}
    ),
    "nothing was measured": lambda: make_run(missing=48),
    "windows were not granted": lambda: change_run(
        lambda one: replace(one, window_granted_receiver_bytes=65_536)
    ),
    "several paths": lambda: make_paths(0),
    "some paths are lab-limited": lambda: make_paths(4),
    **{name: flag(name) for name in FLAGS},
}


@pytest.mark.parametrize("name", RUNS)
def test_each_warning_is_stated_once_with_its_scope(say: Say, name: str) -> None:
    found = list_notices(Study(RUNS[name]()))
    assert len({notice.kind for notice in found}) == len(found)
    for notice in found:
        say(f"{notice.kind} ({notice.path or 'all paths'}): {notice.text}")


def test_failed_and_interrupted_trials_are_counted_apart(say: Say) -> None:
    (condition,) = Study(make_run(failed=1, interrupted=1)).conditions()
    say(count_flags(condition))
