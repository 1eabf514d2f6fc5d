"""What a peer of the Redis server of a trial may do: what both ends and redis-benchmark send, and no more."""

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pathlab.agents.adapters.manifest import Manifest, read_manifests
from pathlab.agents.adapters.needs import fill_placeholders
from pathlab.remote.local import LocalTransport
from pathlab.remote.session import Session
from tests.patience import PATIENCE_S
from tests.require import require, require_engine
from tests.technologies.builds import require_needs

pytestmark = pytest.mark.engine

MANIFEST = read_manifests([Path(__file__).resolve().parents[2] / "agents" / "adapters"])["redis-echo"]
SCOPE = "q7f3"
REFUSED = (
    "CONFIG SET dir /tmp", "CONFIG REWRITE", "SAVE", "BGSAVE", "SHUTDOWN NOSAVE", "EVAL return(1) 0",
    "REPLICAOF 127.0.0.1 1", "SLAVEOF 127.0.0.1 1", "MODULE LOAD /x.so", "DEBUG SLEEP 0",
    "FLUSHALL", "MONITOR",
)  # fmt: skip
#: From Redis 6 on nothing else is there either.
REFUSED_BY_ACCESS_CONTROL = (
    "ACL SETUSER default +@all", "FUNCTION LIST", "RPUSH other 1", "BLPOP other 1", "GET other", "KEYS *",
    "RPUSH pathlab:request:0 1",
)  # fmt: skip


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server of technology redis-echo."""
    require_needs(MANIFEST)
    with Session(LocalTransport(engine=Path(require_engine())), host="local") as agent:
        settings = {"address": "127.0.0.1", "bytes": 64, "scope": SCOPE}
        server = agent.start_adapter(MANIFEST.name, "answer", settings, seconds=600)
        yield server.wait_for("listening", PATIENCE_S)["port"]
        server.command("stop")
        assert server.wait(PATIENCE_S).status == 0


def ask(port: int, command: str, password: str = SCOPE) -> str:
    """The first line of the reply to an inline command of a client that knows the scope, or does not."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection:
        connection.sendall(f"AUTH {password}\r\n{command}\r\n".encode())
        with contextlib.closing(connection.makefile("rb")) as reply:
            first, second = reply.readline(), reply.readline().decode().rstrip()
            assert first.startswith(b"+OK" if password == SCOPE else b"-WRONGPASS")
            return second


def test_who_does_not_know_the_scope_may_do_nothing(port: int) -> None:
    for command in ("PING", "ECHO text", "RPUSH q7f3:request:0 1", "INFO"):
        assert ask(port, command, password="pathlab").startswith("-NOAUTH"), command


def test_memory_is_limited(port: int) -> None:
    """The list of commands lets a client read it."""
    limits = {"maxmemory": str(256 << 20), "maxmemory-policy": "noeviction", "proto-max-bulk-len": "1048576"}
    for name, value in limits.items():
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection:
            connection.sendall(f"AUTH {SCOPE}\r\nCONFIG GET {name}\r\nPING\r\n".encode())
            with contextlib.closing(connection.makefile("r", newline="\r\n")) as reply:
                lines = [line.rstrip() for line in iter(reply.readline, "+PONG\r\n")]
        assert value in lines, lines


@pytest.mark.parametrize("command", [*REFUSED, *REFUSED_BY_ACCESS_CONTROL])
def test_commands_that_no_end_sends_are_refused(port: int, command: str) -> None:
    reply = ask(port, command)
    assert reply.startswith(("-NOPERM", "-ERR unknown command")) or "command not allowed" in reply, reply
    assert ask(port, "PING") == "+PONG"


@pytest.mark.parametrize(
    ("command", "reply"),
    [
        ("RPUSH q7f3:request:0 1", ":1"),
        ("BLPOP q7f3:request:0 1", "*2"),
        ("ECHO text", "$4"),
        ("CONFIG GET save", "*2"),
    ],
)
def test_commands_of_both_ends_are_there(port: int, command: str, reply: str) -> None:
    assert ask(port, command) == reply


def test_the_benchmark_of_redis_has_its_command(port: int) -> None:
    """With the options of benchmarks/technologies.py."""
    require(shutil.which("redis-benchmark"), "redis-benchmark (apt-get install redis-tools)")
    words = ["redis-benchmark", "-h", "127.0.0.1", "-p", str(port), "-a", SCOPE]
    words += ["-c", "1", "-n", "1000", "--csv"]
    done = subprocess.run(
        [*words, "ECHO", "x" * 64], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    rows = done.stdout.strip().splitlines()
    assert rows[-1].startswith('"ECHO')
    assert float(rows[-1].split(",")[1].strip('"')) > 0


def prepare(manifest: Manifest, version: str, folder: Path) -> list[str]:
    """The lines about commands for a server of ``version``."""
    program = folder / "redis-server"
    program.write_text(f"#!/bin/sh\necho Redis server v={version} sha=00000000:0 malloc=libc bits=64\n")
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    for words in manifest.prepare:
        filled = [fill_placeholders(word, {"folder": str(folder), "scope": SCOPE}) for word in words]
        subprocess.run(filled, env=environment, timeout=PATIENCE_S, check=True)
    return (folder / "commands.conf").read_text(encoding="ascii").splitlines()


@pytest.mark.parametrize("version", ["6.0.16", "7.0.15", "8.0.2", "15.0.1"])
def test_access_control_leaves_a_list_of_commands(tmp_path: Path, version: str) -> None:
    assert prepare(MANIFEST, version, tmp_path) == [
        "user default reset on >q7f3 ~q7f3:* +rpush +blpop +echo +info +ping +config|get"
    ]


def test_a_server_without_access_control_lacks_the_commands_that_change_it(tmp_path: Path) -> None:
    """Redis 5. ``rename-command NAME ''`` takes a command away."""
    lines = prepare(MANIFEST, "5.0.14", tmp_path)
    lacked = {command.split()[0].lower() for command in REFUSED}
    assert {f"rename-command {name} ''" for name in lacked} <= set(lines)
    assert all(line.startswith("rename-command ") for line in lines)
