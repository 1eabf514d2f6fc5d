"""Whoever dies at whatever stage of a trial between two hosts: engines end, and so do agents."""

from __future__ import annotations

import itertools
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pathlab.remote.deploy import build_agent_zip
from pathlab.remote.local import agent_command, start_process
from tests.integration.processes import assert_all_end, parent_of, watching
from tests.require import require_engine
from tests.ssh import lab as ssh_lab_module
from tests.ssh.lab import BASE, PORT, Program, SshLab

pytestmark = pytest.mark.netns

STAGES = ("connect", "prepare", "traffic", "drain")
ENGINES = {"connect": 0, "prepare": 1, "traffic": 2, "drain": 2}
PARTIES = ("controller", "agent", "engine", "sshd")
PROGRAM = Path(ssh_lab_module.__file__).with_name("controller.py")
# As in test_agent_cleanup.py: the other cells of the stages around the traffic are `long`.
EVERYWHERE = ("controller", "sshd")
TABLE = [
    pytest.param(party, stage, marks=() if party in EVERYWHERE or stage == "traffic" else pytest.mark.long)
    for party, stage in itertools.product(PARTIES, STAGES)
    if (party, stage) not in {("engine", "connect")}  # no engine runs yet
]


def shape_way(lab: SshLab, verb: str, *, rate: str, latency: str) -> None:
    """Add or change the queue of the way to b."""
    shape = ["tbf", "rate", rate, "burst", "15kb", "latency", latency]
    lab.run(None, "tc", "qdisc", verb, "dev", "p2", "root", *shape)


@pytest.fixture(scope="module")
def slow_lab(ssh_lab: SshLab) -> Iterator[SshLab]:
    """The way to b is slow, and slower with a long queue while a trial drains, so that this takes seconds."""
    shape_way(ssh_lab, "add", rate="8mbit", latency="100ms")
    yield ssh_lab
    ssh_lab.run(None, *["tc", "qdisc", "del", "dev", "p2", "root"])


@pytest.fixture
def shaped_lab(slow_lab: SshLab, stage: str) -> Iterator[SshLab]:
    """The lab as this stage of a trial needs it."""
    if stage == "drain":
        shape_way(slow_lab, "change", rate="2mbit", latency="2s")
    yield slow_lab
    if stage == "drain":
        shape_way(slow_lab, "change", rate="8mbit", latency="100ms")


def start_course(lab: SshLab, stage: str) -> Program:
    """The controller at that stage."""
    folder = lab.write_user_folder()
    tables = {
        name: {"address": lab.address(name), "port": PORT, "user": user, "key": str(BASE / lab.key.name)}
        for name, user in (("a", "sh"), ("b", "bash"))
    }
    reported = {"stage": stage, "hosts": tables, "user_folder": str(BASE / folder.name)}
    engine = f"PATHLAB_ENGINE={Path(os.environ['PATHLAB_ENGINE']).absolute()}"
    program = lab.spawn_program(str(PROGRAM), json.dumps(reported), more=[engine])
    line = program.read_line()
    if line != f"at {stage}":
        with program:
            raise AssertionError(line + program.read_rest())
    return program


def of_account(numbers: list[int], account: str) -> list[int]:
    """Those processes that run as an account."""
    mark = f"\0USER={account}\0".encode()
    return [number for number in numbers if mark in b"\0" + Path(f"/proc/{number}/environ").read_bytes()]


def kill_party(lab: SshLab, party: str) -> None:
    """SIGKILL for the controller or a party of the sending host (the receiving one if it has none)."""
    if party == "controller":
        (number,) = lab.processes("controller.py")
    elif party == "engine":
        engines = lab.processes("pathlab-engine-")
        engines = [number for number in engines if number not in lab.processes("--engine")]
        (number,) = of_account(engines, "sh") or of_account(engines, "bash")
    else:
        (agent,) = of_account(lab.processes("--engine"), "sh")
        number = agent if party == "agent" else parent_of(agent)
    os.kill(number, signal.SIGKILL)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATHLAB_ENGINE", require_engine())


@pytest.mark.parametrize(("party", "stage"), TABLE)
def test_whoever_is_killed_nothing_is_left(shaped_lab: SshLab, engine: None, party: str, stage: str) -> None:
    with start_course(shaped_lab, stage) as program:
        there = shaped_lab.processes("pathlab-engine-")
        agents = shaped_lab.processes("--engine")
        assert len(agents) == 2
        assert len(set(there) - set(agents)) == ENGINES[stage]
        with watching(*set(there) | set(agents)) as ends:
            kill_party(shaped_lab, party)
            assert_all_end(ends)
        reported = program.read_rest()
        if party != "controller":
            assert reported.startswith("failed "), reported
            assert reported.count("\n") == 1
        if party in ("agent", "sshd"):
            assert " a: " in reported
    assert shaped_lab.processes("pathlab-engine-") == []


def test_a_pulled_cable_ends_engines_and_the_wait_for_them(slow_lab: SshLab, engine: None) -> None:
    """Nothing tells either side: both notice the silence."""
    with start_course(slow_lab, "traffic") as program:
        there = slow_lab.processes("pathlab-engine-")
        with watching(*there) as ends:
            slow_lab.cut_cable("controller")
            try:
                assert_all_end(ends)
                reported = program.read_rest()
            finally:
                slow_lab.mend_cable("controller")
        assert reported.startswith("failed connect "), reported
        assert "nothing came from the host" in reported


def test_an_agent_whose_controller_falls_silent_ends_by_itself(tmp_path: Path) -> None:
    agent = tmp_path / "agent.zip"
    agent.write_bytes(build_agent_zip())
    command = [*agent_command(agent, None), "--silence-s", "0.2"]
    channel = start_process(command, host="local")
    try:
        with watching(channel.pid) as ends:
            assert_all_end(ends)
    finally:
        channel.close()
