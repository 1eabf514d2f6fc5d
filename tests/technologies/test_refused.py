"""Technologies that cannot start are named by stage, and wrong options are refused."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pathlab.errors import HostError
from pathlab.remote.local import LocalTransport
from pathlab.remote.session import Session
from tests.integration.adapter_jobs import fail, start
from tests.patience import PATIENCE_S


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
        ("stub-garbage", "contract", "printed a line that is not a record: b'Welcome!'"),
        ("stub-flood", "contract", "printed a line of more than 8388608 bytes"),
        ("stub-no-hello", "contract", "the first record of server is no 'hello'"),
        ("stub-needs", "needs", "stub-needs needs no_such_module, no-such-program (apt-get install"),
        ("stub-wildcard", "port", "but on 0.0.0.0 port"),
        ("../stub", "contract", "there is no technology '../stub' here"),
    ],
)
def test_what_goes_wrong_is_named_by_stage(host: Session, name: str, stage: str, text: str) -> None:
    given_stage, given_text, status = fail(start(host, name))
    assert (given_stage, text in given_text) == (stage, True), given_text
    assert status == 3


def test_go_before_the_server_listens_is_refused(host: Session) -> None:
    job = start(host, "stub-silent")
    job.command("go")
    assert fail(job) == ("contract", "'go' came before the server listened", 3)


RUNNER = """
import json, sys
from pathlab.agents.adapters import answering, runner
answering.FOLDER_BYTES = 1 << 20
settings = {"address": "127.0.0.1"}
options = {"name": sys.argv[1], "role": "answer", "settings": settings, "ports": "0"}
sys.exit(runner.run_adapter(json.dumps({**options, "seconds": float(sys.argv[2])})))
"""


def run_alone(name: str, seconds: float) -> tuple[list[dict[str, Any]], int]:
    """Records and exit status of an answering end without an agent, which would end it after its time."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", RUNNER, name, str(seconds)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as runner:
        records = [json.loads(line) for line in runner.stdout]
    return records, runner.returncode


@pytest.mark.usefixtures("tidy")
def test_a_server_that_never_listens_is_given_up() -> None:
    records, status = run_alone("stub-silent", 0.5)  # of the 10 s that it may have
    (error,) = (record for record in records if record["type"] == "error")
    assert (error["stage"], error["text"]) == ("port", "server does not listen within 0.5 s")
    assert (records[-1]["complete"], status) == (False, 3)


@pytest.mark.usefixtures("tidy")
def test_a_full_folder_is_named_as_a_limit() -> None:
    (error, result), status = run_alone("stub-full", 60)
    assert error["stage"] == "limit"
    said = "python3 ended with status 1: OSError: [Errno 28] No space left on device"
    assert error["text"] == f"{said}; its folder of 1048576 bytes is full"
    assert (result["complete"], status) == (False, 3)


def test_cores_that_are_not_there_are_named(host: Session) -> None:
    reason = "cannot use the processors 1022, 1023 of this host"
    assert fail(start(host, "stub", cores=[0, 1022, 1023])) == ("limit", reason, 3)


def test_a_taken_port_and_a_range_of_taken_ports_are_named(host: Session) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for ports in (f"{port}", f"{port}-{port}"):
            reason = f"port {port} of 127.0.0.1: Address already in use"
            assert fail(start(host, "stub-given", ports=ports)) == ("port", reason, 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"role": "sing"}, "is not a role"),
        ({"ports": "x"}, "is not a port or range"),
        ({"ports": "70000"}, "is not a port"),
        ({"ports": "9-5"}, "'9-5' is not a port or range"),
        ({"address": "127.0.0.1'\narchive_command = 'id"}, "is not an address"),
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
    assert words in end.fault


def test_a_host_that_caps_rate_refuses_technologies(tidy: None, fake_engine: Path, stub_zip: Path) -> None:
    transport = LocalTransport(engine=fake_engine, agent=stub_zip, arguments=["--max-rate", "1000"])
    with (
        Session(transport, host="local") as capped,
        pytest.raises(HostError, match="which other programs do not keep"),
    ):
        start(capped, "stub")
