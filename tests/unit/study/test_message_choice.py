"""The setup that meets targets with the least CPU time, why others fail, and the front."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from pathlab.errors import UsageError
from pathlab.report.message_text import describe_choice, list_choice_rows
from pathlab.store.records import TrialRecord
from pathlab.study.analyses import Study
from pathlab.study.message_choice import MessageChoice, MessageTarget, Shortcoming, choose_setups
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
    assert found.recommended is not None
    assert found.runner_up is not None
    assert (found.recommended.setup.name, found.runner_up.setup.name) == ("shared-memory", "tcp")
    assert not found.tentative
    interval = found.runner_up.cpu_ratio_interval
    assert interval is not None
    assert interval.contains(TCP.cpu_ns / SHARED.cpu_ns)
    assert [one.shortcoming for one in found.candidates] == [None, None, Shortcoming.TOO_SLOW]
    wide = choose(study, 5000, 100_000)
    assert wide.recommended is not None
    assert wide.recommended.setup.name == "tcp, batch 8 KiB"


def test_equal_cpu_time_is_not_told_apart() -> None:
    setups = (TCP, Setup({"transport": "unix"}))
    found = choose(Study(make_message_results(setups, sizes=(64,))), 5000, 50_000)
    assert "is not shown to differ from it" in describe_choice(found)[1]


def test_a_rate_between_measured_ones_needs_both_of_them() -> None:
    """Batches that wait for company are slow where there is little traffic."""
    study = Study(make_message_results((TCP, BATCHED), sizes=(64,)))

    def slow_down(record: TrialRecord) -> TrialRecord:
        idle = record.offered_messages_per_s == 5000 and (record.sender_cpu_ns_per_message or 0) < 1000
        return replace(record, round_trip_p99_ns=1e6) if idle else record

    assert [one.meets for one in choose(study, 7000, 100_000).candidates] == [True, True]
    found = choose(change(make_message_results((TCP, BATCHED), sizes=(64,)), slow_down), 7000, 100_000)
    assert [(one.setup.name, one.meets) for one in found.candidates] == [
        ("tcp", True),
        ("tcp, batch 8 KiB", False),
    ]
    assert list_choice_rows(found)[1][-1] == "p99 at 5 k/s is 10 times the target"
    assert "7 k/s was not measured; it was judged at 5 k/s and 20 k/s." in describe_choice(found)


def test_nothing_meets_the_targets(study: Study) -> None:
    slow = choose(study, 100_000, 5_000)
    assert slow.recommended is None
    assert slow.nearest is not None
    assert slow.nearest.setup.name == "shared-memory"
    (text,) = describe_choice(slow)
    assert text.startswith("Nothing meets 100 k/s of 64 B messages at a p99 of 5 µs. Nearest: shared-memory")
    fast = choose(study, 1_000_000, 50_000)
    reasons = {one.setup.name: one.shortcoming for one in fast.candidates}
    assert reasons == {
        "shared-memory": Shortcoming.NOT_OFFERED,
        "tcp, batch 8 KiB": Shortcoming.NOT_OFFERED,
        "tcp": Shortcoming.RATE_MISSED,
    }
    assert list_choice_rows(fast)[-1][-1] == "missed 200 k/s, carried 120 k/s"
    assert describe_choice(fast)[0].startswith("Nothing is shown to meet 1 M/s")


def test_a_rate_that_nothing_carried_is_no_rate_that_was_carried() -> None:
    slow = Setup(capacity_per_s=500.0)
    found = choose(Study(make_message_results((slow,), sizes=(64,), rates=(1000, 2000))), 5000, 50_000)
    assert list_choice_rows(found)[0][-1] == "missed 2 k/s, carried 500 /s"


def test_a_rate_that_was_not_offered_is_not_missed() -> None:
    found = choose(Study(make_message_results((SHARED, BATCHED), sizes=(64,))), 300_000, 10**6)
    text = describe_choice(found)
    assert text[0].startswith("300 k/s was not offered; rates are not extrapolated. Nearest:")
    assert text[1] == "Measure it: pathlab run relay-latency --set factors.message_rate=[300000]"


def test_others_are_ruled_out_undecided_or_named_by_medians(study: Study) -> None:
    alone = choose(study, 5000, 20_000)
    assert "No other combination meets the targets." in describe_choice(alone)
    assert describe_choice(alone)[-1] == (
        "The intervals of p99 are not corrected for the 3 combinations that were compared."
    )
    single = choose(Study(make_message_results((TCP,), sizes=(64,))), 5000, 50_000)
    assert describe_choice(single)[1:] == ("No other combination was measured.",)
    tcp = next(one for one in choose(study, 5000, 50_000).candidates if one.setup.name == "tcp")
    at_its_median = round(tcp.figures.p99_ns.median or 0)
    found = describe_choice(choose(study, 5000, at_its_median))
    assert any(text.startswith("No other combination is shown to meet the targets") for text in found)


def test_a_rate_that_was_missed_is_not_met_whatever_its_latency(study: Study) -> None:
    found = choose(study, 200_000, 10**9)
    (tcp,) = (one for one in found.candidates if one.setup.name == "tcp")
    assert tcp.shortcoming is Shortcoming.RATE_MISSED
    assert tcp.figures.p99_ns.median is None
    assert "misses the rate in 8 of 8 trials, carries 120 k/s" in list_choice_rows(found)[-1][-1]


def test_a_rate_that_was_missed_at_times_is_not_shown_to_be_met() -> None:
    def miss(record: TrialRecord) -> TrialRecord:
        return replace(record, flags=("rate-missed",)) if record.cycle == 3 else record

    found = choose(change(make_message_results((TCP,), sizes=(64,)), miss), 5000, 50_000)
    assert found.tentative
    assert found.candidates[0].shortcoming is Shortcoming.RATE_UNSURE


def test_few_trials_recommend_tentatively() -> None:
    found = choose(Study(make_message_results(cycles=2)), 5000, 50_000)
    assert found.tentative
    text = describe_choice(found)
    assert text[0].startswith("Tentatively, use shared-memory: 5 k/s of 64 B messages at a p99 of")
    assert "too few trials to tell the two apart" in text[1]
    assert text[-1] == "Confidence: low - chosen by medians of 2 trials, not shown by intervals."


def test_without_cpu_time_the_least_p99_is_recommended() -> None:
    def forget(record: TrialRecord) -> TrialRecord:
        return replace(record, sender_cpu_ns_per_message=None)

    found = choose(change(make_message_results(), forget), 5000, 100_000)
    assert [one.setup.name for one in found.candidates] == ["shared-memory", "tcp", "tcp, batch 8 KiB"]
    assert describe_choice(found)[1] == "tcp meets the targets too; CPU time per message was not compared."


def test_sizes_are_not_extrapolated(study: Study) -> None:
    with pytest.raises(UsageError, match="100 B were not measured; sizes are not extrapolated") as refused:
        choose(study, 5000, 50_000, size=100)
    assert refused.value.hint == "name a measured size: 64B, 1KiB"


def test_the_front_has_the_least_p99_at_each_rate(study: Study) -> None:
    points = [one.result for one in study.message_front() if one.result.message_bytes == 64]
    assert {one.setup.name for one in points} == {"shared-memory"}
    rates = [one.figures.offered_messages_per_s for one in points]
    assert rates == sorted(rates)
    assert max(rates) == 200_000
    latencies = [one.figures.p99_ns.median or 0 for one in points]
    assert latencies == sorted(latencies)


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
        return (
            replace(record, flags=("lab-limited",))
            if (record.sender_cpu_ns_per_message or 0) < 700
            else record
        )

    study = change(make_message_results((TCP, BATCHED), sizes=(64,)), overload)
    found = choose(study, 5000, 50_000)
    assert [one.setup.name for one in found.candidates] == ["tcp", "tcp, batch 8 KiB"]
    assert list_choice_rows(found)[1][-1] == "no usable trial"
    latency = [one for one in study.message_latency() if one.result.setup.name == "tcp, batch 8 KiB"]
    assert {one.result.trials for one in latency} == {0}
    assert {count.reason for one in latency for count in one.selection.excluded} == {"lab-limited"}
    assert {one.result.setup.name for one in study.message_knee()} == {"tcp"}


def test_a_rate_that_one_trial_missed_is_not_on_the_front() -> None:
    def miss(record: TrialRecord) -> TrialRecord:
        late = record.cycle == 3 and record.offered_messages_per_s == 100_000
        return replace(record, flags=("rate-missed",)) if late else record

    points = [one.result for one in change(make_message_results((TCP,), sizes=(64,)), miss).message_front()]
    assert max(one.figures.offered_messages_per_s for one in points) == 50_000


def test_messages_that_never_returned_are_the_slowest() -> None:
    """0.9 % are missing: p99 of all messages is about the p99.9 of those that returned."""

    def lose(record: TrialRecord, share: float) -> TrialRecord:
        sent = record.messages_total or 0
        lost = round(share * sent)
        return replace(record, messages_missing=lost, messages_total=sent - lost)

    def measure(share: float) -> Study:
        return change(make_message_results((TCP,), sizes=(64,)), lambda one: lose(one, share))

    whole, lossy = (choose(measure(share), 5000, 40_000).candidates[0] for share in (0.0, 0.0090092))
    median = (whole.figures.p99_ns.median or 0) / 3
    assert whole.meets
    assert lossy.shortcoming is Shortcoming.TOO_SLOW
    assert lossy.figures.p99_ns.median == pytest.approx(5 * median, rel=0.01)
    assert lossy.figures.missing_ratio == pytest.approx(0.009, rel=0.01)
    spared = choose(measure(0.001), 5000, 50_000)
    assert spared.recommended is not None
    assert "0.1 % of the messages never returned; p99 counts them as the slowest." in describe_choice(spared)
    assert 3 * median < (spared.recommended.figures.p99_ns.median or 0) < 3.3 * median
    gone = measure(0.02)
    assert choose(gone, 5000, 10**9).candidates[0].shortcoming is Shortcoming.RATE_MISSED
    assert not gone.message_front()
    (answer,) = (one for one in gone.message_latency() if one.result.offered_messages_per_s == 5000)
    assert {one.reason for one in answer.selection.excluded} == {"messages-missing"}
    (latency,) = (
        one.result for one in measure(0.005).message_latency() if one.result.offered_messages_per_s == 5000
    )
    assert latency.p99_9_ns.median is None
    assert latency.p99_ns.n == 8


def test_another_build_is_no_alternative() -> None:
    other = Setup({"build": "against"}, base_ns=1_000.0, cpu_ns=500.0)
    study = Study(make_message_results((Setup({"build": "this"}), other), sizes=(64,)))
    assert [one.setup.read("build") for one in choose(study, 5000, 50_000).candidates] == ["this"]
    assert {one.result.setup.read("build") for one in study.message_front()} == {"this"}
    assert {one.result.compared for one in study.message_front()} == {1}
