"""Latency of messages by size and offered rate, its knee, and the names of what carried them."""

from __future__ import annotations

import pytest

from pathlab.study.analyses import Study
from tests.builders.messages import RATES, SETUPS, TCP, Setup, make_message_results
from tests.golden.conftest import Say


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(make_message_results())


def test_setups_are_named_by_transport_and_what_differs(say: Say, study: Study) -> None:
    names = dict.fromkeys(one.result.setup.name for one in study.message_latency())
    say(list(names))
    assert len(study.message_latency()) == len(SETUPS) * 2 * (len(RATES) + 1)


def test_streams_waits_and_switches_are_named_where_they_differ(say: Say) -> None:
    setups = (TCP, Setup({"wait": "poll"}), Setup({"cork": True}), Setup({"streams": 4}))
    results = make_message_results(setups, sizes=(64,), rates=(1000,), cycles=1)
    names = [one.result.setup.name for one in Study(results).message_latency()]
    say(sorted(names))
