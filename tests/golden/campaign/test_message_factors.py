"""What messages exclude is refused with the plan, by file and key, as the engine would refuse it later."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders.campaigns import list_mistakes, make_sample
from tests.golden.conftest import Say

HOSTS: dict[str, Any] = {"far": {"transport": "local"}}
THERE = {"source": "local", "destination": "far"}
BACK = {"source": "far", "destination": "local", "connect_from": "receiver"}
STAR = {"source": "local", "destination": "far", "sinks": ["c", "d"]}
SINKS: dict[str, Any] = {name: {"transport": "local"} for name in ("far", "c", "d")}


def test_messages_are_sent_by_the_end_that_connects(say: Say) -> None:
    (mistake,) = list_mistakes(factors={"streams": 1, "message": 64}, hosts=HOSTS, paths=[THERE, BACK])
    say(mistake)


@pytest.mark.parametrize(
    "factors",
    [
        {"streams": 3},
        {"streams": [3, 4], "message": 64},
        {"streams": 3, "message": 64, "transfer": "1MB"},
        {"streams": 3, "message": 64, "placement": "process"},
    ],
)
def test_what_sinks_exclude_is_refused(say: Say, factors: dict[str, Any]) -> None:
    say(list_mistakes(factors=factors, hosts=SINKS, paths=[STAR]))


@pytest.mark.parametrize(
    "path",
    [{"sinks": ["c", "e"]}, {"sinks": ["far"]}, {"sinks": ["c", "c"]}, {"source_address": "127.0.0.1"}],
)
def test_sinks_that_are_wrong_are_named(say: Say, path: dict[str, Any]) -> None:
    factors = {"streams": 6, "message": 64}
    (found,) = list_mistakes(factors=factors, hosts=SINKS, paths=[{**STAR, **path}])
    say(found)


def test_sinks_in_a_lab_are_joined_to_the_source(say: Say) -> None:
    lab = {"hosts": ["a", "b", "c", "d"], "links": [{"between": ["a", "b"]}, {"between": ["c", "d"]}]}
    path = {"source": "a", "destination": "b", "sinks": ["c"]}
    factors = {"streams": 2, "message": 64}
    (found,) = list_mistakes(factors=factors, lab=lab, paths=[path])
    say(found)
    (found,) = list_mistakes(factors=factors, lab=lab, paths=[{**path, "sinks": ["local"]}])
    say(found)


def test_iperf3_has_no_messages(say: Say) -> None:
    (mistake,) = list_mistakes(factors={"streams": 1, "engine": ["native", "iperf3"], "message": 64})
    say(mistake)


@pytest.mark.parametrize("transport", ["unix", "unix-datagram", "pipe", "shared-memory", "eventfd"])
def test_local_transports_need_one_host(say: Say, transport: str) -> None:
    factors = {"streams": 1, "message": [64, 128], "transport": ["tcp", transport]}
    near = {"source": "local", "destination": "local"}
    assert make_sample(factors=factors, paths=[near])
    (mistake,) = list_mistakes(factors=factors, hosts=HOSTS, paths=[near, THERE])
    say(mistake)
    factors["placement"] = "process"
    assert make_sample(factors=factors, hosts=HOSTS, paths=[near, THERE])
