"""Latency of messages by size and offered rate, its knee, and the names of what carried them."""

import pytest

from pathlab.study.analyses import Study
from pathlab.study.messages.message_latency import MessageLatency
from tests.builders.messages import SETUPS, Setup, make_message_results


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(make_message_results())


def find_latency(study: Study, name: str, size: int, rate: int | None) -> MessageLatency:
    found = {
        (one.result.setup.name, one.result.message_bytes, one.result.offered_messages_per_s): one.result
        for one in study.message_latency()
    }
    return found[name, size, rate]


def test_quantiles_are_those_of_the_model(study: Study) -> None:
    found = find_latency(study, "tcp", 64, 50_000)
    truth = (10_000 + 64) / (1 - 50 / 120)
    assert (found.trials, found.missed) == (8, 0)
    assert found.median_ns.median == pytest.approx(truth, rel=0.02)
    assert found.p99_ns.interval.contains(3 * truth)
    assert found.p99_9_ns.interval.contains(5 * truth)
    assert (found.clock_cost_ns, found.record_cost_ns) == (22.0, 9.5)


def test_results_without_replies_give_no_answer() -> None:
    one_way = Setup({"reply": False})
    study = Study(make_message_results((one_way, *SETUPS[:1]), sizes=(64,), rates=(1000,), cycles=1))
    assert [one.result.setup.name for one in study.message_latency()] == ["tcp"]
    assert not Study(make_message_results((one_way,), sizes=(64,), cycles=1)).message_latency()
