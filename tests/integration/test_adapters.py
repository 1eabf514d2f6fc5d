"""Technologies through a true agent: both ends run, what goes wrong is named, and nothing is ever left.

The technology is a stub in Python, so no package is needed; it misbehaves as its variant says.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pathlab.agents.listeners import list_descendants
from pathlab.errors import HostError
from pathlab.remote.deploy import build_agent_zip
from pathlab.remote.jobs import EngineJob
from pathlab.remote.local import LocalTransport, agent_command, start_process
from pathlab.remote.process import ProcessChannel
from pathlab.remote.session import Session
from pathlab.remote.transport import Transport
from tests.integration.processes import PATIENCE_S, assert_all_end, parent_of, watching
from tests.require import require

SEGMENT_BYTES = 12345 + os.getpid()
SETTINGS = {"address": "127.0.0.1", "bytes": 64, "streams": 1}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of these tests alone, and a user's folder with the stub."""
    base = tmp_path_factory.mktemp("user")
    (base / "adapters").mkdir()
    shutil.copy(Path(__file__).with_name("stub_adapter.py"), base / "adapters" / "stub.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATHLAB_ADAPTERS", str(base / "adapters"))
        patch.setenv("XDG_CACHE_HOME", str(base / "cache"))
        patch.setenv("STUB_SEGMENT_BYTES", str(SEGMENT_BYTES))
        yield base / "cache" / "pathlab"


@pytest.fixture(scope="module")
def stub_zip(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("agent") / "agent.zip"
    path.write_bytes(build_agent_zip())
    return path


def describe_host(cache: Path, stub_zip: Path) -> dict[str, Any]:
    """All that a technology of these tests could leave, but the programs that are kept.

    A segment of System V shared memory is the stub's by its size. Other tests may run meanwhile.
    """
    running = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_text()
            if str(cache) in words or (str(stub_zip) in words and "--adapter" in words):
                running.append(words)
    segments = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    return {
        "processes": running,
        "segments": [words for words in segments if words[3] == str(SEGMENT_BYTES)],
        "files": sorted(
            str(path) for path in cache.rglob("*") if path.is_dir() or not path.name.startswith("adapter-")
        ),
    }


@pytest.fixture
def tidy(cache: Path, stub_zip: Path) -> Iterator[None]:
    """The host is afterwards as before."""
    (cache / "adapter-folder").mkdir(parents=True, exist_ok=True)
    cache.chmod(0o700)
    before = describe_host(cache, stub_zip)
    yield
    assert describe_host(cache, stub_zip) == before


@pytest.fixture(scope="module")
def shared(fake_engine: Path, stub_zip: Path) -> Iterator[Session]:
    with Session(LocalTransport(engine=fake_engine, agent=stub_zip), host="local") as opened:
        yield opened


@pytest.fixture
def host(tidy: None, shared: Session) -> Session:
    """One agent for all that leave it alive."""
    return shared


@pytest.fixture
def doomed(tidy: None, fake_engine: Path, stub_zip: Path) -> Iterator[Session]:
    with Session(LocalTransport(engine=fake_engine, agent=stub_zip), host="local") as opened:
        yield opened


def start(host: Session, name: str, role: str = "answer", ports: str = "0", **settings: Any) -> EngineJob:
    return host.start_adapter(name, role, {**SETTINGS, **settings}, ports=ports, seconds=60)


def fail(job: EngineJob) -> tuple[str, str, int | None]:
    """Stage and text of a technology that fails before it listens, and the exit status."""
    end = job.wait(PATIENCE_S)
    errors = [record for record in end.records if record["type"] == "error"]
    assert len(errors) == 1, end
    assert "listening" not in [record["type"] for record in end.records]
    return errors[0]["stage"], errors[0]["text"], end.status


def find_process(job: EngineJob, *words: str) -> int:
    """The process below a job whose command line has all words; the first process of its sandbox for none."""
    for pid in list_descendants(job.pid)[1:]:
        line = Path(f"/proc/{pid}/cmdline").read_text()
        if all(word in line for word in words) and (words or "--adapter" in line):
            return pid
    raise AssertionError(f"no process with {words}")


def test_both_ends_run_and_the_servers_cpu_time_is_stated(host: Session) -> None:
    server = start(host, "stub")
    listening = server.wait_for("listening", PATIENCE_S)
    assert listening["versions"].startswith("python3 3.")
    assert listening["versions"].endswith(", stub 1.0")
    assert (listening["settings"], listening["sandbox"]) == ({"role": "answer"}, True)
    assert 0 < listening["server_start_ns"] < PATIENCE_S * 1e9
    asking = start(host, "stub", "ask", port=listening["port"])
    given = asking.wait_for("ready", PATIENCE_S)["settings"]
    own = {"contract": 1, "name": "stub", "variant": "", "role": "ask"}
    assert given == {**SETTINGS, "port": listening["port"], **own}
    server.command("go")
    asking.command("stop")
    assert asking.wait(PATIENCE_S).status == 0
    server.command("stop")
    end = server.wait(PATIENCE_S)
    assert (end.status, end.fault) == (0, None)
    first, last = (record for record in end.records if record["type"] == "server_cpu")
    assert last["at_ns"] > first["at_ns"]
    assert last["parts"]["server"] == last["user_ns"] + last["system_ns"] >= 50_000_000
    assert last["parts"]["responder"] is None
    result = end.records[-1]
    assert (result["type"], result["complete"], result["reason"]) == ("result", True, None)
    assert result["parts"]["server"] == last["parts"]["server"] - first["parts"]["server"]
    assert result["user_ns"] + result["system_ns"] == result["parts"]["server"]


def test_a_server_is_prepared_and_has_its_responder_beside_it(host: Session) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = start(host, "stub-server", ports=f"{port}-{port + 50}")
        assert port < server.wait_for("listening", PATIENCE_S)["port"] <= port + 50
    server.command("go")
    server.command("stop")
    result = server.wait_for("result", PATIENCE_S)
    assert result["complete"]
    assert min(result["parts"].values()) >= 0
    assert server.wait(PATIENCE_S).status == 0


def test_a_server_that_chooses_its_port_is_found_by_its_socket(host: Session) -> None:
    server = start(host, "stub-alone")
    port = server.wait_for("listening", PATIENCE_S)["port"]
    with socket.create_connection(("127.0.0.1", port)):
        pass
    server.command("stop")  # before go
    result = server.wait_for("result", PATIENCE_S)
    assert (result["complete"], result["user_ns"], result["parts"]) == (False, None, None)
    assert result["reason"] == "ended by stop before the end"
    assert server.wait(PATIENCE_S).status == 0


@pytest.mark.parametrize(
    ("name", "stage", "text"),
    [
        ("stub-exits", "start", "server ended with status 1: no such device"),
        ("stub-fails", "connect", "no broker at all"),
        ("stub-dies", "start", "ended with status 1: die: ERROR: cannot be run as root"),
        ("stub-unprepared", "start", "ended with status 1: die: ERROR: cannot be run as root"),
        ("stub-absent", "needs", "no-such-server is not installed on this host"),
        ("stub-elsewhere", "port", "does not listen on 127.0.0.1 port"),
        ("stub-other-port", "port", "does not listen on 127.0.0.1 port"),
        ("stub-old", "contract", "stub keeps contract 2, this agent 1"),
        ("stub-clock", "contract", "the clock of stub is not CLOCK_MONOTONIC of this host"),
        ("stub-garbage", "contract", "printed a line that is no record: b'Welcome!'"),
        ("stub-flood", "contract", "printed a line of more than 8388608 bytes"),
        ("stub-no-hello", "contract", "the first record of server is no 'hello'"),
        ("stub-needs", "needs", "stub-needs needs no_such_module, no-such-program (apt-get install"),
        ("../stub", "contract", "there is no technology '../stub' here"),
    ],
)
def test_what_goes_wrong_is_named_by_stage(host: Session, name: str, stage: str, text: str) -> None:
    given_stage, given_text, status = fail(start(host, name))
    assert (given_stage, text in given_text) == (stage, True), given_text
    assert status == 3


def test_a_server_that_never_listens_is_given_up(host: Session) -> None:
    job = host.start_adapter("stub-silent", "answer", SETTINGS, seconds=0.5)  # of the 10 s that it may have
    assert fail(job) == ("port", "server does not listen within 0.5 s", 3)


def test_go_before_the_server_listens_is_refused(host: Session) -> None:
    job = start(host, "stub-silent")
    job.command("go")
    assert fail(job) == ("contract", "'go' came before the server listened", 3)


SMALL_FOLDER = """
import json, sys
from pathlab.agents.adapters import answering, runner
answering.FOLDER_BYTES = 1 << 20
settings = {"address": "127.0.0.1"}
options = {"name": "stub-full", "role": "answer", "settings": settings, "ports": "0", "seconds": 60}
sys.exit(runner.run_adapter(json.dumps(options)))
"""


@pytest.mark.usefixtures("tidy")
def test_a_full_folder_is_named_as_a_limit() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", SMALL_FOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as runner:
        assert runner.stdout is not None
        error, result = (json.loads(line) for line in runner.stdout)
    assert error["stage"] == "limit"
    said = "python3 ended with status 1: OSError: [Errno 28] No space left on device"
    assert error["text"] == f"{said}; its folder of 1048576 bytes is full"
    assert (result["complete"], runner.returncode) == (False, 3)


def test_all_processes_of_a_server_have_its_cores_and_its_priority(host: Session) -> None:
    core = min(os.sched_getaffinity(0))
    server = start(host, "stub-server", cores=[core], priority=7)
    granted = server.wait_for("listening", PATIENCE_S)["priority"]
    assert granted in (7, None)  # None: for an ordinary user
    policy = os.SCHED_OTHER if granted is None else os.SCHED_FIFO
    for word in ("\0serve\0", "\0answer\0"):
        pid = find_process(server, word)
        assert (os.sched_getaffinity(pid), os.sched_getscheduler(pid)) == ({core}, policy)
    assert os.sched_getscheduler(server.pid) == os.SCHED_OTHER
    server.command("stop")
    assert server.wait(PATIENCE_S).status == 0


def test_cores_that_are_not_there_are_named(host: Session) -> None:
    stage, text, status = fail(start(host, "stub", cores=[0, 1022, 1023]))
    assert (stage, status) == ("limit", 3)
    assert text == "cannot use the processors 1022, 1023 of this host"


def test_a_listener_on_all_addresses_is_refused(host: Session) -> None:
    stage, text, _status = fail(start(host, "stub-wildcard"))
    assert stage == "port"
    assert "but on 0.0.0.0 port" in text


def test_a_taken_port_and_a_range_of_taken_ports_are_named(host: Session) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for ports, words in ((f"{port}", f"port {port} of"), (f"{port}-{port}", f"port {port} of")):
            stage, text, status = fail(start(host, "stub-given", ports=ports))
            assert (stage, status) == ("port", 3)
            assert text == f"{words} 127.0.0.1: Address already in use"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"role": "sing"}, "is no role"),
        ({"ports": "x"}, "is no port or range"),
        ({"ports": "70000"}, "is no port"),
        ({"ports": "9-5"}, "'9-5' is no port or range"),
        ({"address": "127.0.0.1'\narchive_command = 'id"}, "is no address"),
    ],
)
def test_wrong_options_are_refused(host: Session, change: dict[str, str], words: str) -> None:
    options = {"role": "answer", "ports": "0", **change}
    stage, text, status = fail(start(host, "stub-server", **options))
    assert (stage, status) == ("contract", 2)
    assert words in text


@pytest.mark.parametrize(
    ("name", "words"), [("stub-old", "keeps contract 2"), ("stub-clock", "the clock of stub")]
)
def test_the_agent_itself_checks_the_asking_end(host: Session, name: str, words: str) -> None:
    job = start(host, name, "ask", port=1)
    end = job.wait(PATIENCE_S)
    assert end.fault is not None
    assert words in end.fault


def test_a_host_that_caps_rate_refuses_technologies(tidy: None, fake_engine: Path, stub_zip: Path) -> None:
    transport = LocalTransport(engine=fake_engine, agent=stub_zip, arguments=["--max-rate", "1000"])
    with (
        Session(transport, host="local") as capped,
        pytest.raises(HostError, match="which other programs do not keep"),
    ):
        start(capped, "stub")


def test_what_technologies_lack_is_listed(host: Session) -> None:
    answers = host.check_adapters(["stub", "stub-needs", "no-such"])
    assert list(answers) == ["stub", "stub-needs", "no-such"]
    assert answers["stub"]["missing"] == []
    assert answers["stub"]["sandbox"] is True
    assert answers["stub"]["versions"].startswith("python3 3.")
    assert answers["stub-needs"] == {
        "missing": [
            {"what": "no_such_module", "debian": "python3-none", "pip": "none"},
            {"what": "no-such-program", "debian": "none-server", "pip": None},
        ],
        "sandbox": True,
        "versions": None,
    }
    assert [need["what"] for need in answers["no-such"]["missing"]] == ["the technology 'no-such'"]


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
job.wait_for("listening", 20)
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
        assert controller.stdout is not None
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
