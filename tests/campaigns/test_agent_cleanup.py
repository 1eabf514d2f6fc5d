"""Who dies, and when: of a trial with true engines nothing is left on the host, soon after.

Rows are the party that ends, columns the stage that the trial has reached. Over SSH the same is tested apart.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from tests.integration.processes import assert_all_end, watching
from tests.require import require_engine

pytestmark = pytest.mark.engine

# Brings a trial to a stage, says who takes part, and stays there until its input ends.
CONTROLLER = """
import json, os, sys
from pathlib import Path
from pathlab.remote.local import LocalTransport
from pathlab.remote.session import Session
stage, token = sys.argv[3], "00112233445566778899aabbccddeeff"
transport = LocalTransport(engine=Path(sys.argv[1]), agent=Path(sys.argv[2]))
session = Session(transport, host="local")
agent, jobs, port = session.open()["pid"], [], None
if stage != "open":
    options = {"bind": "127.0.0.1", "port": 0, "streams": 3, "interval-ns": 20_000_000}
    receiver = session.start_engine("receive", options, seconds=600, token=token)
    port = receiver.wait_for("listening", 60)["port"]
    jobs.append(receiver)
if stage not in ("open", "listening"):
    options = {"address": "127.0.0.1", "port": port, "streams": 3, "rate-bits-per-s": 10**7}
    options["duration-ns"] = 600 * 10**9
    sender = session.start_engine("send", options, seconds=600, token=token)
    receiver.wait_for("ready", 60)
    sender.wait_for("ready", 60)
    jobs.append(sender)
if stage == "traffic":
    sender.command("go")
    receiver.wait_for("interval", 60)
print(json.dumps({"agent": agent, "engines": [job.pid for job in jobs], "port": port}), flush=True)
sys.stdin.read()
session._channel._input.close()  # without a word: what a broken connection looks like to the agent
sys.stdout.write("hung up\\n")
sys.stdout.flush()
import signal
signal.pause()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Everybody of one trial at one stage."""

    controller: subprocess.Popen[str]
    agent: int
    engines: tuple[int, ...]
    port: int | None

    def kill(self, *pids: int, number: signal.Signals = signal.SIGKILL) -> None:
        for pid in pids:
            os.kill(pid, number)

    def hang_up(self) -> None:
        """Close the agent's stdin while everybody lives."""
        stdin: IO[str] | None = self.controller.stdin
        stdin.close()


def _stop_engines_and_kill(cast: Cast, pid: int) -> None:
    cast.kill(*cast.engines, number=signal.SIGSTOP)
    cast.kill(pid)


PARTIES: dict[str, Callable[[Cast], None]] = {
    "agent killed": lambda cast: cast.kill(cast.agent),
    "agent terminated": lambda cast: cast.kill(cast.agent, number=signal.SIGTERM),
    "channel closed": lambda cast: cast.hang_up(),
    "controller killed": lambda cast: cast.kill(cast.controller.pid),
    "controller, then agent killed": lambda cast: cast.kill(cast.controller.pid, cast.agent),
    "agent, then controller killed": lambda cast: cast.kill(cast.agent, cast.controller.pid),
    "agent killed while engines stand still": lambda cast: _stop_engines_and_kill(cast, cast.agent),
    "controller killed while engines stand still": lambda cast: _stop_engines_and_kill(
        cast, cast.controller.pid
    ),
}


@contextlib.contextmanager
def _stage(stage: str, agent_zip: Path, folder: Path) -> Iterator[Cast]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(folder)}
    command = [sys.executable, "-c", CONTROLLER, require_engine(), str(agent_zip), stage]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**environment, "HOME": str(folder), "XDG_CACHE_HOME": ""},
        text=True,
    ) as controller:
        try:
            said = json.loads(controller.stdout.readline())
            yield Cast(
                controller=controller, agent=said["agent"], engines=tuple(said["engines"]), port=said["port"]
            )
        finally:
            controller.kill()


def _list_listeners(port: int | None) -> set[str]:
    """Inodes of the sockets that listen on a port."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    return {row[9] for row in rows if row[3] == "0A" and int(row[1].partition(":")[2], 16) == port}


STAGES = ("open", "listening", "ready", "traffic")
EVERYWHERE = ("agent killed", "controller killed")  # the other cells of the early stages only with --long
CELLS = [
    pytest.param(party, stage, marks=() if party in EVERYWHERE else pytest.mark.long)
    for stage in STAGES[:-1]
    for party in PARTIES
] + [pytest.param(party, "traffic") for party in PARTIES]


@pytest.mark.parametrize(("party", "stage"), CELLS)
def test_nothing_is_left(party: str, stage: str, agent_zip: Path, tmp_path: Path) -> None:
    with _stage(stage, agent_zip, tmp_path) as cast:
        listeners = _list_listeners(cast.port)  # others may get the port in a moment
        with watching(cast.agent, *cast.engines) as descriptors:
            PARTIES[party](cast)
            assert_all_end(descriptors)
        assert listeners.isdisjoint(_list_listeners(cast.port))
    assert list(tmp_path.iterdir()) == []  # home and temporary folder of controller, agent and engines
