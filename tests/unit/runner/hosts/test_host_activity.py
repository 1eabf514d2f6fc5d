"""Whether a host is busy: by its cores, by stolen time, by waiting; two looks before it is said."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from pathlab.agents.activity import ActivityMeter
from pathlab.errors import HostError, Stage
from pathlab.runner.hosts import host_activity
from pathlab.runner.hosts.host_activity import (
    CHECK_FIX,
    GLANCE_S,
    LOOK_S,
    HostActivity,
    Measure,
    check_activity,
    measure_activity,
)
from tests.require import require

IDLE: dict[str, Any] = {"cores": 2, "span_ns": 1, "busiest": None}
IDLE |= {"busy_ratio": 0.02, "steal_ratio": 0.0, "waiting_ratio": 0.01}
HOG = {"name": "stress", "pid": 7, "cores": 0.98}


def play(*answers: dict[str, Any]) -> Measure:
    """An agent that gives these answers after its first one."""
    left = iter([IDLE, *answers])
    return lambda: next(left)


@pytest.mark.parametrize(
    ("name", "most"), [("busy_ratio", 0.35), ("steal_ratio", 0.03), ("waiting_ratio", 0.25)]
)
def test_each_limit_alone_makes_a_host_busy(name: str, most: float) -> None:
    figures: dict[str, Any] = {"busy_ratio": 0.1, "steal_ratio": 0.0, "waiting_ratio": 0.0}
    assert not HostActivity(cores=2, **{**figures, name: most}).busy
    assert HostActivity(cores=2, **{**figures, name: most + 0.001}).busy
    assert not HostActivity(cores=2, busy_ratio=None, steal_ratio=None, waiting_ratio=None).busy


def test_a_host_with_idle_cores_enough_is_not_busy() -> None:
    figures: dict[str, Any] = {"busy_ratio": 0.5, "steal_ratio": 0.0, "waiting_ratio": 0.9}
    assert HostActivity(cores=6, **figures).busy
    assert not HostActivity(cores=8, **figures).busy
    assert HostActivity(cores=8, **{**figures, "steal_ratio": 0.1}).busy


def test_an_idle_host_costs_a_glance() -> None:
    pauses: list[float] = []
    found = measure_activity({"a": play(IDLE), "b": play(IDLE)}, pauses.append)
    assert pauses == [GLANCE_S]
    assert [one.busy for one in found.values()] == [False, False]
    check = check_activity(found["a"])
    assert (check.state, check.fix) == ("ok", None)


def test_a_moments_work_is_not_load() -> None:
    pauses: list[float] = []
    busy = {**IDLE, "busy_ratio": 0.9, "busiest": HOG}
    (found,) = measure_activity({"a": play(busy, busy, IDLE)}, pauses.append).values()
    assert pauses == [GLANCE_S, LOOK_S]
    assert not found.busy
    (found,) = measure_activity({"a": play(busy, busy, busy)}, lambda _s: None).values()
    assert (found.busy, found.busiest, found.busiest_cores) == (True, "stress, PID 7", 0.98)
    check = check_activity(found)
    assert check.state == "limited"
    assert CHECK_FIX in str(check.fix)  # the checking commands lack the option of a run


def test_a_host_that_cannot_tell_is_left_out() -> None:
    def fail() -> dict[str, Any]:
        raise HostError("no", host="b", stage=Stage.AGENT)

    found = measure_activity({"a": play(IDLE), "b": fail}, lambda _s: None)
    assert list(found) == ["a"]
    assert check_activity(None).state == "limited"
    assert measure_activity({}) == {}


#: Ends with the process that started it.
LOOP = """import os
os.nice(19)
parent = os.getppid()
print("running", flush=True)
while os.getppid() == parent:
    pass
"""


@contextmanager
def load_cores() -> Iterator[None]:
    """Busy loops of the least priority on every core; each runs when this begins."""
    with ExitStack() as stack:
        for _core in range(os.cpu_count() or 1):
            loop = stack.enter_context(
                subprocess.Popen([sys.executable, "-c", LOOP], stdout=subprocess.PIPE, text=True)
            )
            stack.callback(loop.kill)
            assert loop.stdout.readline() == "running\n"
        yield


def has_cpu_quota() -> bool:
    """Whether a cgroup (v1 or v2) of this process limits its CPU time, so that no load fills the cores."""
    mount, lines = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    groups = {Path(line.split(":", 2)[2].lstrip("/")) for line in lines}
    folders = {part for group in groups for part in (group, *group.parents)}
    limits = [mount / part / "cpu.max" for part in folders]
    limits += [mount / "cpu" / part / "cpu.cfs_quota_us" for part in folders]
    return any(one.is_file() and one.read_text().split()[0] not in ("max", "-1") for one in limits)


def test_true_load_is_found_and_its_process_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_activity, "GLANCE_S", 0.1)
    monkeypatch.setattr(host_activity, "LOOK_S", 0.2)
    require(not has_cpu_quota(), "all the time of its cores (a cgroup limits the CPU time)")
    meter = ActivityMeter(own=2**30)  # so that the loops of this test are not its own
    with load_cores():
        (found,) = measure_activity({"here": meter.measure}).values()
    assert found.busy
    # Time that another machine takes from the loops is load as well.
    assert (found.busy_ratio or 0.0) + (found.steal_ratio or 0.0) > 0.5
    assert found.busiest
