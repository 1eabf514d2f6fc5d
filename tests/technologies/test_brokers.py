"""Technologies whose server stands between the two programs: a responder that does nothing, and the store."""

import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pathlab.agents.adapters.build import find_manifest
from pathlab.agents.adapters.needs import find_program
from pathlab.agents.listeners import find_listeners, list_descendants
from pathlab.remote.jobs import EngineJob
from pathlab.remote.session import Session
from tests.patience import PATIENCE_S
from tests.technologies.builds import require_needs

BROKERS = ["mqtt", "mqtt-qos1", "nats", "postgresql", "redis"]
EXIT_PEER = 4


@contextlib.contextmanager
def answering(session: Session, name: str, **settings: Any) -> Iterator[tuple[EngineJob, EngineJob]]:
    """The answering end and an asking one that was told to go; the answering end must end well.

    Its server, brokers and databases included, listens on the address of the measurement alone.
    """
    require_needs(find_manifest(name))
    settings = {"address": "127.0.0.1", "interval_ns": 50_000_000, **settings}
    server = session.start_adapter(name, "answer", settings, seconds=120)
    port = server.wait_for("listening", PATIENCE_S)["port"]
    assert find_listeners("tcp", server.pid) == {(settings["address"], port)}
    client = session.start_adapter(name, "ask", {**settings, "port": port}, seconds=120)
    client.wait_for("ready", PATIENCE_S)
    for job in (server, client):
        job.command("go")
    yield server, client
    server.command("stop")
    assert server.wait_for("result", PATIENCE_S)["complete"] is True
    assert server.wait(PATIENCE_S).status == 0


def find_responder(server: EngineJob) -> int:
    """The process of the adapter's program at the answering end: its first argument is the role."""
    for pid in list_descendants(server.pid):
        with contextlib.suppress(OSError):  # a server's child that has ended meanwhile
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if words[1:2] == [b"answer"]:
                return pid
    raise AssertionError("there is no responder")


@pytest.mark.parametrize("name", BROKERS)
def test_a_responder_that_stands_still_is_a_stall(session: Session, name: str) -> None:
    """The broker lives and takes the request: nothing but the harness's watch can end the wait."""
    stall_ns = 4_000_000_000  # longer than a busy machine keeps any end waiting
    with answering(session, name, duration_ns=100 * 10**9, stall_ns=stall_ns) as (server, client):
        client.wait_for("round_trips", PATIENCE_S)
        os.kill(find_responder(server), signal.SIGSTOP)
        assert client.wait(PATIENCE_S).status == EXIT_PEER
        (error,) = (record for record in client.records if record["type"] == "error")
        assert error["stage"] == "stall"
        result = client.records[-1]
        assert result["type"] == "result"
        assert result["complete"] is False
        assert result["messages"]["received"][0] > 0
        assert result["messages"]["missing"] == [1]


def test_rmis_registry_and_object_share_a_port_and_streams_their_server(session: Session) -> None:
    with answering(session, "rmi", address="127.0.0.2", streams=3, requests=300) as (_server, client):
        result = client.wait_for("result", PATIENCE_S)
        assert result["messages"]["received"] == [100, 100, 100]
        assert client.records[1]["adapter"]["settings"]["no_delay"] is True


def read_mailbox_bytes(port: int) -> int:
    psql = find_program("psql")
    assert psql is not None
    words = [psql, "-XqAt", "-h", "127.0.0.1", "-p", str(port), "-U", "pathlab", "pathlab"]
    query = ["-c", "select pg_total_relation_size('mailbox')"]
    return int(subprocess.run([*words, *query], check=True, capture_output=True, text=True).stdout)


def test_postgresqls_table_stays_as_large_as_it_began(session: Session) -> None:
    """2,000 requests of 20,000 bytes leave 24,000 dead rows of 3.7 kB: 89 MB unless they are reused."""
    requests = {"bytes": 20_000, "requests": 2_000}
    with answering(session, "postgresql", **requests) as (server, client):
        port = server.wait_for("listening", PATIENCE_S)["port"]
        result = client.wait_for("result", PATIENCE_S)
        assert result["messages"]["received"] == [2_000]
        assert read_mailbox_bytes(port) < 256 * 1024


def test_postgresqls_superuser_cannot_connect_from_the_network(session: Session) -> None:
    psql = find_program("psql")
    with answering(session, "postgresql-select", duration_ns=10**7) as (server, client):
        port = server.wait_for("listening", PATIENCE_S)["port"]
        words = [str(psql), "-XqAt", "-h", "127.0.0.1", "-p", str(port), "-c", "select 1", "postgres"]
        refused = subprocess.run([*words, "-U", "owner"], capture_output=True, text=True, check=False)
        assert refused.returncode == 2
        assert "pg_hba.conf" in refused.stderr
        assert client.wait_for("result", PATIENCE_S)["complete"] is True


@pytest.mark.parametrize("name", [*BROKERS, "postgresql-select", "redis-echo", "rmi"])
def test_names_of_one_trial_are_none_of_another(session: Session, name: str) -> None:
    """Who knows the port and PathLab's sources, and not the trial's scope, gets no reply."""
    with answering(session, name, scope="q7f3", duration_ns=10**9) as (server, client):
        port = server.wait_for("listening", PATIENCE_S)["port"]
        stranger = {"address": "127.0.0.1", "port": port, "bytes": 64}
        for scope in ({}, {"scope": "q7f4"}):
            refused = session.start_adapter(name, "ask", stranger | scope, seconds=120)
            assert refused.wait(PATIENCE_S).status != 0
            assert "ready" not in [record["type"] for record in refused.records]
        assert client.wait_for("result", PATIENCE_S)["complete"] is True


@pytest.mark.parametrize("name", ["http1", "redis-echo", "mqtt"])
def test_connections_of_others_are_counted_and_memory_is_limited(session: Session, name: str) -> None:
    for strangers in (0, 3):
        with contextlib.ExitStack() as opened:
            with answering(session, name, streams=2, duration_ns=10**9) as (server, client):
                port = server.wait_for("listening", PATIENCE_S)["port"]
                server.wait_for("server_cpu", PATIENCE_S)  # what is open at "go" has been looked at
                for _ in range(strangers):
                    opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S))
                limits = {
                    line.split()[3]
                    for pid in list_descendants(server.pid)
                    if pid in find_owners(server.pid, port)
                    for line in Path(f"/proc/{pid}/limits").read_text(encoding="ascii").splitlines()
                    if line.startswith("Max data size")
                }
                assert limits == {str((1 << 30) + 2 * (12 << 20))}
                assert client.wait_for("result", PATIENCE_S)["complete"] is True
            assert server.records[-1]["foreign_connections"] == strangers


def find_owners(root: int, port: int) -> set[int]:
    """The processes below ``root`` that listen at a port."""
    return {pid for pid in list_descendants(root)[1:] if find_listeners("tcp", pid, port)}
