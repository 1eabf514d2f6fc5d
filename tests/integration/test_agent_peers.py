"""iperf3 through a true agent: it runs, what is no program is refused, and it never outlives its agent."""

import contextlib
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pathlab.errors import HostError
from pathlab.remote.local import LocalTransport
from pathlab.remote.session import Session
from tests.integration.processes import assert_all_end, parent_of, watching
from tests.patience import PATIENCE_S
from tests.require import require

SERVER = ["-s", "-1", "-J", "-i", "0.1", "-B", "127.0.0.1"]
LISTEN = {"argument": "-p", "address": "127.0.0.1", "ports": "0"}


@contextlib.contextmanager
def start_agent(fake_engine: Path, agent_zip: Path) -> Iterator[Session]:
    require(shutil.which("iperf3"), "iperf3 (apt-get install iperf3)")
    with Session(LocalTransport(engine=fake_engine, agent=agent_zip), host="local") as opened:
        yield opened


@pytest.fixture(scope="module")
def peers(fake_engine: Path, agent_zip: Path) -> Iterator[Session]:
    """One agent for all tests that leave it alive."""
    with start_agent(fake_engine, agent_zip) as opened:
        yield opened


def test_server_and_client_end_with_what_they_printed(peers: Session) -> None:
    """The client ends after a fixed number of bytes: a receiver that is stopped leaves some unread."""
    server = peers.start_peer("iperf3", SERVER, listen=LISTEN, seconds=60)
    port = server.wait_for("listening", PATIENCE_S)["port"]
    arguments = ["-c", "127.0.0.1", "-p", str(port), "-J", "-R", "-n", "1000000", "-l", "100000"]
    client = peers.start_peer("iperf3", arguments, seconds=60)
    ends = []
    for job in (client, server):
        output = job.wait_for("output", PATIENCE_S)
        ends.append(output["json"]["end"])
        assert output["ended_ns"] > 0
        assert job.wait_for("result", PATIENCE_S)["complete"] is True
        assert job.wait(PATIENCE_S).status == 0
    at_client, at_server = ends
    assert at_client["sum_sent"]["bytes"] == at_server["sum_sent"]["bytes"]
    assert 1_000_000 <= at_client["sum_received"]["bytes"] <= at_client["sum_sent"]["bytes"]


def test_a_closed_port_is_said_in_iperf3s_words(peers: Session) -> None:
    job = peers.start_peer("iperf3", ["-c", "127.0.0.1", "-p", "1", "-J", "-t", "1"], seconds=60)
    with pytest.raises(HostError, match="unable to connect to server"):
        job.wait_for("output", PATIENCE_S)


def test_a_program_is_found_by_its_name_alone(peers: Session) -> None:
    with pytest.raises(HostError, match="must be the name of a program") as caught:
        peers.start_peer("/bin/sh", ["-c", "id"], seconds=60)
    assert caught.value.stage == "engine"
    job = peers.start_peer("no-such-program", [], seconds=60)
    with pytest.raises(HostError, match="no-such-program is not installed on this host"):
        job.wait_for("output", PATIENCE_S)


def test_no_shell_reads_the_arguments(peers: Session, tmp_path: Path) -> None:
    job = peers.start_peer("echo", ['{"said": "', f"$(touch {tmp_path}/made)", '"}'], seconds=60)
    assert job.wait_for("output", PATIENCE_S)["json"] == {"said": f" $(touch {tmp_path}/made) "}
    assert not (tmp_path / "made").exists()


# What an engine's table of limits says of iperf3, by the program itself: at a limit, and beyond it.
@pytest.mark.parametrize(
    ("argument", "most"), [("-P", 128), ("-w", 512 * 2**20), ("-l", 2**20), ("-M", 9216), ("-t", 86400)]
)
def test_the_limits_of_iperf3_are_those_that_it_states(peers: Session, argument: str, most: int) -> None:
    for value, said in ((most, "unable to connect to server"), (most + 1, f"maximum = {most}")):
        words = ["-c", "127.0.0.1", "-p", "1", "-J", argument, str(value)]
        job = peers.start_peer("iperf3", words, seconds=60)
        with pytest.raises(HostError, match=said):
            job.wait_for("output", PATIENCE_S)


@pytest.mark.parametrize("victim", ["agent", "wrapper", "session"])
def test_iperf3_ends_with_whoever_started_it(fake_engine: Path, agent_zip: Path, victim: str) -> None:
    with start_agent(fake_engine, agent_zip) as session:
        job = session.start_peer("iperf3", SERVER, listen=LISTEN, seconds=60)
        program, wrapper = job.wait_for("peer", PATIENCE_S)["pid"], job.pid
        with watching(program, wrapper) as descriptors:
            if victim == "session":
                session.close()
            else:
                os.kill(parent_of(wrapper) if victim == "agent" else wrapper, signal.SIGKILL)
            assert_all_end(descriptors)


def test_a_stop_ends_it_early_and_says_so(peers: Session) -> None:
    job = peers.start_peer("iperf3", SERVER, listen=LISTEN, seconds=60)
    job.wait_for("listening", PATIENCE_S)
    job.command("stop")
    with pytest.raises(HostError):
        job.wait_for("output", PATIENCE_S)
    assert job.wait(PATIENCE_S).status != 0
