"""What a host states besides a trial's traffic: the schema refuses it, or every reader reads it."""

from collections.abc import Callable
from typing import Any

import pytest

from pathlab.errors import HostError
from pathlab.remote.record_checker import find_answer_fault
from pathlab.runner.hosts.calibration import read_calibration
from pathlab.runner.hosts.facts_check import check_facts
from pathlab.runner.hosts.technology_check import check_technologies
from tests.builders.spoiling import list_taken, list_taken_records
from tests.unit.remote.scripted_agent import Message
from tests.unit.runner.hosts.test_facts_check import facts
from tests.unit.runner.trial.test_background import FakeJob, FakeSession, load_records, make_plan
from tests.unit.runner.trial.test_background import run as run_load

CALIBRATED: list[Message] = [
    {"type": "clock", "clock": "monotonic", "resolution_ns": 1, "read_ns": 20.5},
    {"type": "timer", "late_ns": {"median": 1, "p99": 2, "max": 3}},
    {"type": "loopback", "streams": 2, "transfer": "copy", "congestion": "cubic", "bits_per_s": 1e9}
    | {"tcp_info_read_ns": 300.0},
]
MISSING_PACKAGE = {"what": "nats.h", "debian": "libnats-dev", "pip": None}
CHECKED: Message = {
    "type": "technologies",
    "technologies": {"nats": {"missing": [MISSING_PACKAGE], "sandbox": True, "versions": "1.2"}},
}
LOADED = load_records(100, [1.0, 1.0], 500, complete=True, reason=None, start_ns=0, end_ns=2 * 10**9)
LOADED[0]["realtime_ns"] = None
LOADED[-1] |= {
    "cpu_ns": [1, 1],
    "disk": {"written_bytes": 5, "read_bytes": 5},
    "quiet": True,
    "quiet_after_ns": 7,
}


def read_load(records: list[Message]) -> None:
    """Its rates, or a failure of the load."""
    host = FakeSession("b", [100, 102], {"load": FakeJob("load", records)})
    try:
        run_load(make_plan("cpu disk", host), 0, 2)
    except (HostError, StopIteration):  # the fake job does not wait for a record that never comes
        return


def read_technologies(records: list[Message]) -> None:
    """What the host lacks."""
    session: Any = FakeSession("b", [], {})
    session.check_adapters = lambda _names: dict(records[0]["technologies"])
    check_technologies(session, ["nats"])


PROGRAMS: dict[str, tuple[list[Message], Callable[[list[Message]], object]]] = {
    "calibrate": (CALIBRATED, read_calibration),
    "technologies": ([CHECKED], read_technologies),
    "load": (LOADED, read_load),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_records_that_the_schema_takes_are_read(program: str) -> None:
    records, read = PROGRAMS[program]
    forms = list_taken_records(program, records)
    assert forms
    for number, taken in forms:
        read([*records[:number], taken, *records[number + 1 :]])


ANSWERS: dict[str, Message] = {
    "facts": facts(),
    "activity": {"cores": 8, "span_ns": 5, "busy_ratio": 0.5, "steal_ratio": 0.0, "waiting_ratio": None}
    | {"busiest": {"name": "x", "pid": 1, "cores": 0.5}},
    "host.lock": {"held": False, "owner": {"run": "x", "user": "me"}, "reason": None},
    "engine.start": {"job": 1, "pid": 11, "limits": {"seconds": 5.0}, "engine_sha256": "ab"},
    "counters.start": {"watch": 4, "interval_ns": 10**7, "monotonic_ns": 5, "absent": {"tcp": "no"}},
    "capture.read": {"size_bytes": 5, "base64": "AAAA"},
    "ping": {"monotonic_ns": 3, "realtime_ns": 4, "read_bytes": 1, "written_bytes": 1},
}


@pytest.mark.parametrize("operation", ANSWERS)
def test_answers_that_the_schema_takes_are_read(operation: str) -> None:
    valid = ANSWERS[operation]
    assert find_answer_fault(operation, valid) is None
    taken = list_taken(valid, lambda one: find_answer_fault(operation, one) is None)
    for one in taken if operation == "facts" else ():
        check_facts(one, nic=None)
