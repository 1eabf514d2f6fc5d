"""Setting a congestion control is tried on a socket, here and by the agent alike."""

import socket

import pytest

from pathlab.agents.congestion import may_set_congestion
from pathlab.agents.probes.tcp import read_tcp
from pathlab.agents.source import Source
from pathlab.runner.events import Event, RunNotice
from pathlab.runner.hosts.environment import Environment
from tests.builders.campaigns import make_sample


def test_reno_may_always_be_set_and_an_unknown_name_never() -> None:
    assert may_set_congestion("reno")  # ip-sysctl: reno is always allowed
    assert not may_set_congestion("nosuch")


def test_the_agent_and_a_run_without_its_lab_refuse_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing(socket.socket):
        def setsockopt(self, *_given: object) -> None:
            raise PermissionError

    monkeypatch.setattr(socket, "socket", Refusing)
    assert read_tcp(Source("/"))["congestion_settable"] == []
    events: list[Event] = []
    campaign = make_sample(factors={"streams": 1, "congestion": ["reno"]})
    environment = Environment(campaign, events.append)
    (text,) = environment._drop_refused_congestion()
    assert events == [RunNotice(text=text)]
    assert environment.usable_congestion("reno") is None
