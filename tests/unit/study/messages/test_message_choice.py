"""The setup that meets targets with the least CPU time, why others fail, and the front."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from pathlab.store.records import TrialRecord
from pathlab.study.analyses import Study
from pathlab.study.messages.message_choice import MessageChoice, MessageTarget, Shortcoming, choose_setups
from tests.builders.messages import BATCHED, SHARED, TCP, Setup, make_message_results
from tests.builders.results import SyntheticResults


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(make_message_results())


def choose(study: Study, rate: int, p99_ns: int, size: int = 64) -> MessageChoice:
    target = MessageTarget(rate_per_s=rate, size_bytes=size, p99_ns=p99_ns)
    (found,) = choose_setups(study.study_table(), target)
    return found


def change(results: SyntheticResults, edit: Callable[[TrialRecord], TrialRecord]) -> Study:
    results.change_trials(edit)
    return Study(results)


def test_the_least_cpu_time_of_those_that_meet_the_targets_is_recommended(study: Study) -> None:
    """Batching needs the least of all, and takes 60 µs."""
    found = choose(study, 5000, 50_000)
    assert (found.recommended.setup.name, found.runner_up.setup.name) == ("shared-memory", "tcp")
    assert not found.tentative
    interval = found.runner_up.cpu_ratio_interval
    assert interval.contains(TCP.cpu_ns / SHARED.cpu_ns)
    assert [one.shortcoming for one in found.candidates] == [None, None, Shortcoming.TOO_SLOW]


def test_a_rate_that_was_missed_at_times_is_not_shown_to_be_met() -> None:
    def miss(record: TrialRecord) -> TrialRecord:
        return replace(record, flags=("rate-missed",)) if record.cycle == 3 else record

    found = choose(change(make_message_results((TCP,), sizes=(64,)), miss), 5000, 50_000)
    assert found.tentative
    assert found.candidates[0].shortcoming is Shortcoming.RATE_UNSURE


def test_the_front_changes_hands_where_batching_carries_more() -> None:
    points = [one.result for one in Study(make_message_results((TCP, BATCHED), sizes=(64,))).message_front()]
    names = {one.figures.offered_messages_per_s: one.setup.name for one in points}
    assert names[50_000] == "tcp"
    assert names[100_000] == names[200_000] == "tcp, batch 8 KiB"
    assert 200_000 not in {one.figures.offered_messages_per_s for one in points if one.setup.name == "tcp"}


def test_rivals_of_the_front_are_named() -> None:
    setups = (TCP, Setup({"transport": "unix"}))
    points = [one.result for one in Study(make_message_results(setups, sizes=(64,))).message_front()]
    assert any(one.rivals for one in points)
    assert not any(one.setup.name in one.rivals for one in points)


def test_setups_without_a_usable_trial_are_named() -> None:
    """Trials in a lab that could not keep up say nothing of what they carried."""

    def overload(record: TrialRecord) -> TrialRecord:
        batched = (record.sender_cpu_ns_per_message or 0) < 700
        return replace(record, flags=("lab-limited",)) if batched else record

    study = change(make_message_results((TCP, BATCHED), sizes=(64,)), overload)
    found = choose(study, 5000, 50_000)
    assert [one.setup.name for one in found.candidates] == ["tcp", "tcp, batch 8 KiB"]
    assert found.candidates[1].figures.p99_ns.median is None
    latency = [one for one in study.message_latency() if one.result.setup.name == "tcp, batch 8 KiB"]
    assert {one.result.trials for one in latency} == {0}
    assert {count.reason for one in latency for count in one.selection.excluded} == {"lab-limited"}
    assert {one.result.setup.name for one in study.message_knee()} == {"tcp"}
