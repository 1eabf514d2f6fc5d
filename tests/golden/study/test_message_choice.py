"""The setup that meets targets with the least CPU time, why others fail, and the front."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pathlab.errors import UsageError
from pathlab.report.message_text import describe_choice, list_choice_rows
from pathlab.store.records import TrialRecord
from pathlab.study.analyses import Study
from pathlab.study.message_choice import Shortcoming
from tests.builders.messages import BATCHED, SHARED, TCP, Setup, make_message_results
from tests.golden.conftest import Say
from tests.unit.study.test_message_choice import change, choose


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(make_message_results())


def test_equal_cpu_time_is_not_told_apart(say: Say) -> None:
    setups = (TCP, Setup({"transport": "unix"}))
    found = choose(Study(make_message_results(setups, sizes=(64,))), 5000, 50_000)
    say(describe_choice(found)[1])


def test_a_rate_between_measured_ones_needs_both_of_them(say: Say) -> None:
    """Batches that wait for company are slow where there is little traffic."""
    study = Study(make_message_results((TCP, BATCHED), sizes=(64,)))

    def slow_down(record: TrialRecord) -> TrialRecord:
        idle = record.offered_messages_per_s == 5000 and (record.sender_cpu_ns_per_message or 0) < 1000
        return replace(record, round_trip_p99_ns=1e6) if idle else record

    assert [one.meets for one in choose(study, 7000, 100_000).candidates] == [True, True]
    found = choose(change(make_message_results((TCP, BATCHED), sizes=(64,)), slow_down), 7000, 100_000)
    say([(one.setup.name, one.meets) for one in found.candidates])
    say(list_choice_rows(found)[1][-1])
    say(describe_choice(found))


def test_nothing_meets_the_targets(say: Say, study: Study) -> None:
    slow = choose(study, 100_000, 5_000)
    assert slow.recommended is None
    assert slow.nearest is not None
    assert slow.nearest.setup.name == "shared-memory"
    (text,) = describe_choice(slow)
    say(text)
    fast = choose(study, 1_000_000, 50_000)
    reasons = {one.setup.name: one.shortcoming for one in fast.candidates}
    say(reasons)
    say(list_choice_rows(fast)[-1][-1])
    say(describe_choice(fast)[0])


def test_a_rate_that_nothing_carried_is_no_rate_that_was_carried(say: Say) -> None:
    slow = Setup(capacity_per_s=500.0)
    found = choose(Study(make_message_results((slow,), sizes=(64,), rates=(1000, 2000))), 5000, 50_000)
    say(list_choice_rows(found)[0][-1])


def test_a_rate_that_was_not_offered_is_not_missed(say: Say) -> None:
    found = choose(Study(make_message_results((SHARED, BATCHED), sizes=(64,))), 300_000, 10**6)
    text = describe_choice(found)
    say(text[0])
    say(text[1])


def test_others_are_ruled_out_undecided_or_named_by_medians(say: Say, study: Study) -> None:
    alone = choose(study, 5000, 20_000)
    say(describe_choice(alone))
    say(describe_choice(alone)[-1])
    single = choose(Study(make_message_results((TCP,), sizes=(64,))), 5000, 50_000)
    say(describe_choice(single)[1:])
    tcp = next(one for one in choose(study, 5000, 50_000).candidates if one.setup.name == "tcp")
    at_its_median = round(tcp.figures.p99_ns.median or 0)
    found = describe_choice(choose(study, 5000, at_its_median))
    say(found)


def test_few_trials_recommend_tentatively(say: Say) -> None:
    found = choose(Study(make_message_results(cycles=2)), 5000, 50_000)
    assert found.tentative
    text = describe_choice(found)
    say(text[0])
    say(text[1])
    say(text[-1])


def test_without_cpu_time_the_least_p99_is_recommended(say: Say) -> None:
    def forget(record: TrialRecord) -> TrialRecord:
        return replace(record, sender_cpu_ns_per_message=None)

    found = choose(change(make_message_results(), forget), 5000, 100_000)
    say([one.setup.name for one in found.candidates])
    say(describe_choice(found)[1])


def test_sizes_are_not_extrapolated(say: Say, study: Study) -> None:
    with pytest.raises(UsageError) as refused:
        choose(study, 5000, 50_000, size=100)
    say(refused.value)
    say(refused.value.hint)


def test_a_rate_that_was_missed_is_not_met_whatever_its_latency(say: Say, study: Study) -> None:
    found = choose(study, 200_000, 10**9)
    (tcp,) = (one for one in found.candidates if one.setup.name == "tcp")
    assert tcp.shortcoming is Shortcoming.RATE_MISSED
    assert tcp.figures.p99_ns.median is None
    say(list_choice_rows(found)[-1][-1])
