"""A host that states what no prober sends: a path is refused with the reason, or found, and nothing else."""

import itertools
import json
from dataclasses import asdict

import pytest

from pathlab.discover.capacity import CapacityOptions
from pathlab.discover.path import PathOptions, discover_path
from pathlab.discover.probes import ProbePlan
from pathlab.errors import HostError
from tests.builders.paths import OPENED, SimulatedPath, probe
from tests.builders.spoiling import list_taken_records
from tests.length import LENGTH
from tests.unit.discover.test_text import render
from tests.unit.remote.scripted_agent import (
    STARTED,
    Message,
    answer,
    ended,
    open_session,
    record,
    reply_plainly,
)

OPEN = {"type": "open", **OPENED, "source_ports": [53100]}
#: The next hop of the path itself is the end: the first probe of a batch always is one of these.
PROBE = {"type": "probe", **asdict(probe(1, 1000))}
END = {"type": "batch-end", "late": 0, "ambiguous": 0}
ERROR = {"type": "error", "stage": "socket", "errno": 1, "errno_name": "EPERM", "text": "no"}
CAPACITY = CapacityOptions(repeats=8, budget_packets=300)


def try_path(opening: Message, further: Message, end: Message, batch: int) -> str:
    """How a path of two hops is found whose opening, and a batch's first probe and end, are these."""
    way = SimulatedPath([1e9, 1e9])
    batches = itertools.count()

    def reply(request: Message) -> list[Message]:
        if request["op"] == "discovery.start":
            return [answer(request, **STARTED), record(**opening)]
        if request["op"] == "engine.kill":
            return [answer(request), ended()]
        if request["op"] != "engine.command":
            return reply_plainly(request)
        given = json.loads(request["line"])
        del given["batch"]
        stated = [{"type": "probe", **asdict(one)} for one in way.send(ProbePlan(**given)).probes]
        if next(batches) != batch:
            return [answer(request), *(record(**one) for one in (*stated, END))]
        changed = {key: value for key, value in further.items() if value != PROBE.get(key)}
        return [answer(request), *(record(**one) for one in ({**stated[0], **changed}, *stated[1:], end))]

    session, _ = open_session(reply)
    try:
        options = PathOptions(methods=("udp", "icmp"), flows=1, capacity=CAPACITY)
        return render(discover_path(session, "198.18.0.10", options))
    except HostError as error:
        return str(error)
    finally:
        session.close(0.0)


SOUND = {"opening": OPEN, "further": PROBE, "end": END}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "2 hops"),
        ({"opening": {**OPEN, "source_ports": [1, 2]}}, "2 ports for 1 flows"),
        ({"opening": {**OPEN, "source_ports": 7}}, "'open.source_ports' is 7, not a list"),
        ({"opening": {**OPEN, "address": "x"}}, "'open.address' is a text, not an address"),
        ({"opening": {key: OPEN[key] for key in OPEN if key != "privilege"}}, "has no key 'privilege'"),
        ({"opening": {key: ERROR[key] for key in ERROR if key != "errno_name"}}, "network: no"),
        ({"further": {**PROBE, "ttl": 200}}, "2 probes, not the 2 of the batch"),
        ({"further": {**PROBE, "flow": 9}}, "contradicts the request"),
        ({"further": {**PROBE, "rtt_ns": None}}, "'probe' has only a part of an answer"),
        ({"further": {**PROBE, "unsent": "x"}}, "'probe' was answered, and not sent"),
    ],
)
def test_what_contradicts_the_request_is_refused(changes: dict[str, Message], said: str) -> None:
    assert said in try_path(**{**SOUND, **changes}, batch=0)


def test_what_is_taken_is_read() -> None:
    parts = (("opening", OPEN), ("opening", ERROR), ("further", PROBE), ("end", END))
    taken = [(part, one) for part, valid in parts for _, one in list_taken_records("discovery", [valid])]
    for number, (part, one) in enumerate(taken[:: 3 if LENGTH == "short" else 1]):
        assert try_path(**{**SOUND, part: one}, batch=number % 9)
