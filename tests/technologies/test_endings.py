"""However a technology ends, what goes wrong is named and nothing is ever left."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pathlab.agents.listeners import list_descendants
from pathlab.remote.local import agent_command, start_process
from pathlab.remote.process import ProcessChannel
from pathlab.remote.session import Session
from pathlab.remote.transport import Transport
from tests.integration.adapter_jobs import SEGMENT_BYTES, find_process, start
from tests.integration.processes import assert_all_end, parent_of, watching
from tests.patience import PATIENCE_S
from tests.require import require

VICTIMS = {"runner": None, "init": (), "server": ("\0serve\0",), "responder": ("\0answer\0",)}


@pytest.mark.parametrize("victim", ["agent", "session", *VICTIMS])
def test_whoever_is_killed_nothing_is_left(doomed: Session, victim: str) -> None:
    server = start(doomed, "stub-server")
    server.wait_for("listening", PATIENCE_S)
    server.command("go")
    server.wait_for("server_cpu", PATIENCE_S)
    pids = list_descendants(server.pid)
    assert len(pids) == 5, "runner, first process, server, its daemon, responder"
    assert not Path(f"/dev/shm/pathlab-stub-{SEGMENT_BYTES}").exists()  # but in the sandbox's own
    words = VICTIMS.get(victim)
    target = server.pid if words is None else find_process(server, *words)
    with watching(*pids) as descriptors:
        if victim == "session":
            doomed.close()
        else:
            os.kill(parent_of(server.pid) if victim == "agent" else target, signal.SIGKILL)
        assert_all_end(descriptors)
    if words is not None:
        end = server.wait(PATIENCE_S)
        error, result = end.records[-2:]
        assert (error["stage"], end.status) == ("exit", 5)
        assert "was killed" in error["text"]
        assert (result["complete"], result["reason"]) == (False, error["text"])
    elif victim == "runner":
        assert server.wait(PATIENCE_S).signal == "SIGKILL"


def test_a_server_that_is_told_to_end_states_so(host: Session) -> None:
    server = start(host, "stub-server")
    server.wait_for("listening", PATIENCE_S)
    with watching(*list_descendants(server.pid)) as descriptors:
        server.kill()
        assert_all_end(descriptors)
    end = server.wait(PATIENCE_S)
    assert (end.status, end.records[-1]["reason"]) == (5, "ended by a signal before the end")


def test_a_killed_asking_end_is_reported_and_the_server_goes_on(host: Session) -> None:
    server = start(host, "stub")
    port = server.wait_for("listening", PATIENCE_S)["port"]
    asking = start(host, "stub", "ask", port=port)
    asking.wait_for("ready", PATIENCE_S)
    os.kill(asking.pid, signal.SIGKILL)
    assert asking.wait(PATIENCE_S).signal == "SIGKILL"
    server.command("stop")
    assert server.wait(PATIENCE_S).status == 0


def test_a_server_that_stands_still_stalls_the_asking_end(host: Session) -> None:
    """With our own harness at both ends."""
    server = start(host, "tcp-python")
    port = server.wait_for("listening", PATIENCE_S)["port"]
    pid = find_process(server, "\0answer\0")
    asking = start(host, "tcp-python", "ask", port=port, stall_ns=200_000_000, duration_ns=60_000_000_000)
    asking.wait_for("ready", PATIENCE_S)
    asking.command("go")
    asking.wait_for("start", PATIENCE_S)
    os.kill(pid, signal.SIGSTOP)
    end = asking.wait(PATIENCE_S)
    assert end.status == 4
    assert [record["stage"] for record in end.records if record["type"] == "error"] == ["stall"]
    assert end.records[-1]["type"] == "result"  # what was measured stays
    server.command("stop")
    assert server.wait(PATIENCE_S).status == 0


CONTROLLER = """
import json, signal, sys
from pathlib import Path
from pathlab.remote.local import LocalTransport
from pathlab.remote.session import Session
session = Session(LocalTransport(engine=Path(sys.argv[1]), agent=Path(sys.argv[2])), host="local")
pid = session.open()["pid"]
job = session.start_adapter("stub-server", "answer", {"address": "127.0.0.1"}, seconds=60)
job.wait_for("listening", 60)
sys.stdout.write(json.dumps([pid, job.pid]) + "\\n")
sys.stdout.flush()
signal.pause()
"""


def test_a_killed_controller_leaves_nothing(tidy: None, fake_engine: Path, stub_zip: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", CONTROLLER, str(fake_engine), str(stub_zip)],
        stdout=subprocess.PIPE,
        env=environment,
    ) as controller:
        try:
            agent, runner = json.loads(controller.stdout.readline())
            with watching(agent, *list_descendants(runner)) as descriptors:
                controller.kill()
                assert_all_end(descriptors)
        finally:
            controller.kill()


class WithoutNamespaces(Transport):
    """An agent in a user namespace that may have so few below it: a sandbox needs two, one in the other."""

    def __init__(self, engine: Path, agent: Path, most: int) -> None:
        self._command, self._most = agent_command(agent, engine), most

    def open(self) -> ProcessChannel:
        script = f'echo {self._most} > /proc/sys/user/max_user_namespaces && exec "$@"'
        return start_process(["unshare", "-Ur", "sh", "-c", script, "sh", *self._command], host="local")


@pytest.fixture(params=[0, 1])
def plain(tidy: None, fake_engine: Path, stub_zip: Path, request: pytest.FixtureRequest) -> Iterator[Session]:
    require(shutil.which("unshare"), "unshare (apt-get install util-linux)")
    with Session(WithoutNamespaces(fake_engine, stub_zip, request.param), host="local") as opened:
        yield opened


def test_without_user_namespaces_a_server_runs_and_leaves_nothing(plain: Session) -> None:
    server = start(plain, "stub-server")
    assert server.wait_for("listening", PATIENCE_S)["sandbox"] is False
    assert plain.check_adapters(["stub"])["stub"]["sandbox"] is False
    Path(f"/dev/shm/pathlab-stub-{SEGMENT_BYTES}").unlink()  # nobody can tell whose it is
    pids = list_descendants(server.pid)
    assert len(pids) == 4, "runner, server, its daemon, responder"
    with watching(*pids) as descriptors:
        server.command("go")
        server.command("stop")
        assert server.wait(PATIENCE_S).status == 0
        assert_all_end(descriptors)


def test_a_folder_left_without_namespaces_is_removed_by_the_next(plain: Session, cache: Path) -> None:
    server = start(plain, "stub")
    server.wait_for("listening", PATIENCE_S)
    (folder,) = cache.glob("adapter-run-*")
    with watching(*list_descendants(server.pid)) as descriptors:
        os.kill(server.pid, signal.SIGKILL)
        assert_all_end(descriptors)
    assert folder.exists()
    other = start(plain, "stub")
    other.wait_for("listening", PATIENCE_S)
    assert not folder.exists()
    other.command("stop")
    other.wait(PATIENCE_S)
