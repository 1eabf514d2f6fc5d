"""However a conversation ends, no agent outlives its controller and no engine its agent."""

import os
import signal
import threading
from pathlib import Path

import pytest

from pathlab.errors import HostError
from pathlab.remote.local import LocalTransport
from pathlab.remote.session import Session
from tests.integration.processes import assert_all_end, parent_of, watching
from tests.patience import PATIENCE_S


def test_closing_ends_agent_and_engines(fake_engine: Path, agent_zip: Path) -> None:
    session = Session(LocalTransport(engine=fake_engine, agent=agent_zip), host="local")
    agent_pid = session.open()["pid"]
    job = session.start_engine("ignore", {}, seconds=60)
    job.wait_for("start", PATIENCE_S)
    with watching(agent_pid, job.pid) as descriptors:
        session.close()
        assert_all_end(descriptors)
    with pytest.raises(HostError, match="the session is closed"):
        job.wait(1.0)


def test_a_command_to_an_engine_that_was_killed_says_so(fake_engine: Path, agent_zip: Path) -> None:
    with Session(LocalTransport(engine=fake_engine, agent=agent_zip), host="local") as session:
        job = session.start_engine("obey", {}, seconds=60)
        job.wait_for("arguments", PATIENCE_S)
        os.kill(job.pid, signal.SIGKILL)
        assert job.wait(PATIENCE_S).signal == "SIGKILL"
        with pytest.raises(HostError, match="SIGKILL") as caught:
            job.command("go")
        assert caught.value.stage == "engine"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_ends_the_agent_and_its_engines(fake_engine: Path, agent_zip: Path, name: str) -> None:
    with Session(LocalTransport(engine=fake_engine, agent=agent_zip), host="local") as session:
        job = session.start_engine("ignore", {}, seconds=60)
        job.wait_for("start", PATIENCE_S)
        agent_pid = parent_of(job.pid)
        with watching(agent_pid, job.pid) as descriptors:
            os.kill(agent_pid, signal.Signals[name])
            assert_all_end(descriptors)
        with pytest.raises(HostError, match="the agent is gone"):
            job.wait(PATIENCE_S)


def test_a_killed_agent_wakes_everyone_and_leaves_no_engine(fake_engine: Path, agent_zip: Path) -> None:
    session = Session(LocalTransport(engine=fake_engine, agent=agent_zip), host="local")
    agent_pid = session.open()["pid"]
    job = session.start_engine("obey", {}, seconds=60)
    job.wait_for("arguments", PATIENCE_S)
    errors: list[HostError] = []

    def wait_for_result() -> None:
        try:
            job.wait_for("result", PATIENCE_S)
        except HostError as error:
            errors.append(error)

    waiting = threading.Thread(target=wait_for_result)
    waiting.start()
    with watching(agent_pid, job.pid) as descriptors:
        os.kill(agent_pid, signal.SIGKILL)
        assert_all_end(descriptors)
    waiting.join(PATIENCE_S)
    assert [error.stage for error in errors] == ["agent"]
    with pytest.raises(HostError) as caught:
        session.clock()
    assert caught.value.stage == "agent"
    assert [record["type"] for record in job.records] == ["arguments"]  # what was measured stays
    session.close()


def test_a_frozen_agent_is_given_up_and_taken_down(
    fake_engine: Path, agent_zip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pathlab.remote.process.END_TIMEOUT_S", 0.5)
    transport = LocalTransport(engine=fake_engine, agent=agent_zip)
    session = Session(transport, host="local", request_timeout_s=0.2)
    agent_pid = session.open()["pid"]
    with watching(agent_pid) as descriptors:
        os.kill(agent_pid, signal.SIGSTOP)
        with pytest.raises(HostError, match=r"did not answer 'ping' within 0\.2 s"):
            session.clock()
        session.close(0.2)
        assert_all_end(descriptors)


def test_an_interpreter_that_cannot_run_the_agent_is_quoted(tmp_path: Path) -> None:
    broken = tmp_path / "agent.zip"
    broken.write_bytes(b"no zip")

    with pytest.raises(HostError, match=r"agent[\s\S]*last output"):
        Session(LocalTransport(engine=Path("/bin/true"), agent=broken), host="local").open()


def test_what_an_engine_leaves_behind_is_killed(session: Session) -> None:
    job = session.start_engine("leave-child", {}, seconds=30)
    child = job.wait_for("left", PATIENCE_S)["child"]
    end = job.wait(PATIENCE_S)  # does not wait for the child, which holds the pipes
    assert (end.status, end.fault) == (0, None)
    try:
        descriptor = os.pidfd_open(child)
    except ProcessLookupError:
        return  # gone and collected
    try:
        assert_all_end([descriptor])
    finally:
        os.close(descriptor)
