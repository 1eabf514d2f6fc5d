"""Latency of messages by size and offered rate, its knee, and the names of what carried them."""

from dataclasses import replace

import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.study.analyses import Study
from pathlab.study.message_latency import MessageKnee, MessageLatency
from tests.builders.messages import RATES, SETUPS, TCP, Setup, make_message_results


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(make_message_results())


def find_latency(study: Study, name: str, size: int, rate: int | None) -> MessageLatency:
    found = {
        (one.result.setup.name, one.result.message_bytes, one.result.offered_messages_per_s): one.result
        for one in study.message_latency()
    }
    return found[name, size, rate]


def find_knee(study: Study, name: str, size: int) -> MessageKnee:
    found = [one.result for one in study.message_knee()]
    return next(one for one in found if (one.setup.name, one.message_bytes) == (name, size))


def test_quantiles_are_those_of_the_model(study: Study) -> None:
    found = find_latency(study, "tcp", 64, 50_000)
    truth = (10_000 + 64) / (1 - 50 / 120)
    assert (found.trials, found.missed) == (8, 0)
    assert found.median_ns.median == pytest.approx(truth, rel=0.02)
    assert found.p99_ns.interval.contains(3 * truth)
    assert found.p99_9_ns.interval.contains(5 * truth)
    assert (found.clock_cost_ns, found.record_cost_ns) == (22.0, 9.5)


def test_a_missed_rate_has_no_latency(study: Study) -> None:
    found = find_latency(study, "tcp", 64, 200_000)
    assert (found.trials, found.missed) == (0, 8)
    assert found.p99_ns.median is None
    assert found.undecided is Undecided.NOT_MEASURED
    (answer,) = (one for one in study.message_latency() if one.result is found)
    assert [(one.reason, one.trials) for one in answer.selection.excluded] == [("rate-missed", 8)]


def test_trials_that_missed_do_not_enter_a_median() -> None:
    results = make_message_results((TCP,), sizes=(64,), rates=(50_000,), cycles=8)
    slow = results.records[0].round_trip_median_ns or 0.0
    results.records[0] = replace(results.records[0], round_trip_median_ns=1000 * slow, flags=("rate-missed",))
    (found,) = (one.result for one in Study(results).message_latency())
    assert (found.trials, found.missed) == (7, 1)
    assert (found.median_ns.most or 0) < 2 * slow


def test_knees_are_those_of_the_model(study: Study) -> None:
    """Latency is twice that without load at half of the capacity: 60,000 and beyond what was offered."""
    found = find_knee(study, "tcp", 64).knee
    assert (found.rate_per_s, found.next_per_s) == (50_000, 100_000)
    assert (found.interval.low, found.interval.high) == (50_000, 50_000)
    assert found.base_ns == pytest.approx(3 * 10_064, rel=0.05)
    for name in ("tcp, batch 8 KiB", "shared-memory"):
        beyond = find_knee(study, name, 64).knee
        assert beyond.rate_per_s == max(RATES)
        assert beyond.undecided is Undecided.BEYOND_RANGE


def test_conditions_name_what_a_path_has_in_common(study: Study) -> None:
    conditions = {one.condition for one in study.message_latency()}
    for condition in conditions | {one.condition for one in study.message_knee()}:
        settings = dict(condition.settings)
        assert {"message_bytes", "message_rate_per_s", "transport", "batch_bytes"}.isdisjoint(settings)
        assert settings["reply"] is True


def test_results_without_replies_give_no_answer() -> None:
    one_way = Setup({"reply": False})
    study = Study(make_message_results((one_way, *SETUPS[:1]), sizes=(64,), rates=(1000,), cycles=1))
    assert [one.result.setup.name for one in study.message_latency()] == ["tcp"]
    assert not Study(make_message_results((one_way,), sizes=(64,), cycles=1)).message_latency()
