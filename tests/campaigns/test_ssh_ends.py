"""Whoever dies at whatever stage of a trial between two hosts: engines end, and so do agents."""

import itertools
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pathlab
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


#: The unloaded probes of a trial last for seconds; what the agents count and the engines say waits meanwhile.
HELD_CAMPAIGN = """
format = 1
name = "held"
title = "Held records"
seed = 3
cycles = 2
paths = [{{ source = "a", destination = "b" }}]
[factors]
streams = [1, 2]
[trial]
warmup = "100ms"
duration = "500ms"
[probes]
interval = "20ms"
unloaded = {unloaded}
[hosts]
{hosts}
"""
UNLOADED = 150


def start_campaign(lab: SshLab, home: Path) -> Program:
    """``pathlab run`` of that campaign in the controller's node, or its continuation."""
    engine = f"PATHLAB_ENGINE={Path(os.environ['PATHLAB_ENGINE']).absolute()}"
    folder = BASE / home.name
    words = ["run", str(folder / "held.toml"), "--out", str(folder / "results"), "--json-events"]
    return lab.spawn_program("-m", "pathlab", *words, more=[engine, f"HOME={folder}", "SSH_AUTH_SOCK="])


def read_event(program: Program, name: str) -> dict[str, Any]:
    """The next event of that name; AssertionError where the program ends before."""
    passed = []
    while line := program.read_line():
        passed.append(line)
        if f'"event": "{name}"' in line:
            event: dict[str, Any] = json.loads(line)
            return event
    raise AssertionError("\n".join(passed[-20:]))


def test_a_controller_killed_while_records_wait_loses_one_trial_that_is_measured_again(
    slow_lab: SshLab, engine: None, tmp_path: Path
) -> None:
    lab, home = slow_lab, slow_lab.folder / f"home-{tmp_path.name}"
    home.mkdir()
    lab.write_user_folder().rename(home / ".ssh")
    hosts = "\n".join(
        f'{name} = {{ address = "{lab.address(name)}", user = "{user}", port = {PORT}, key = "{key}" }}'
        for name, user, key in (("a", "sh", BASE / lab.key.name), ("b", "bash", BASE / lab.key.name))
    )
    (home / "held.toml").write_text(HELD_CAMPAIGN.format(unloaded=UNLOADED, hosts=hosts))
    with start_campaign(lab, home) as program:
        first = read_event(program, "trial-ended")["record"]["plan_row"]
        killed = read_event(program, "trial-started")["row"]
        while not lab.processes(f"--count {UNLOADED}"):  # the traffic is over, and its records wait
            assert program.process.wait(0.02) is None, program.read_rest()
        there = lab.processes("pathlab-engine-")
        assert len(lab.processes("--engine")) == 2
        with watching(*there) as ends:
            (controller,) = lab.processes("--json-events")
            os.kill(controller, signal.SIGKILL)
            assert_all_end(ends)
        held = [json.loads(line) for line in program.read_rest().splitlines()]
    # No interval of the traffic had come, which was over: all of them were held.
    assert not [event for event in held if event["event"] in ("rate", "streams", "trial-ended")]
    assert lab.processes("pathlab-engine-") == []
    with start_campaign(lab, home) as program:
        again = read_event(program, "trial-started")["row"]
        outcome = read_event(program, "campaign-ended")
        program.read_rest()
    assert (again, outcome["complete"], outcome["rows"], outcome["reason"]) == (killed, 4, 4, None)
    assert lab.processes("pathlab-engine-") == []
    with pathlab.open(home / "results") as results:
        complete = results.records(status="complete")
        kinds = [entry.kind for entry in results.journal()]
        counted = [len(results.series(one, "receiver_intervals")) for one in results.records_by_id()]
    assert {record.plan_row for record in complete} == {0, 1, 2, 3}
    assert complete[0].plan_row == first
    assert all(record.unloaded_sent == UNLOADED for record in complete)
    assert min(counted) > 0
    assert (kinds.count("started"), kinds.count("resumed"), kinds[-1]) == (1, 1, "finished")
