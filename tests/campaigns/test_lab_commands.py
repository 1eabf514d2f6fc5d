"""``pathlab lab``: a lab that stays between commands, and goes with whoever is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import Said, call
from tests.patience import PATIENCE_S
from tests.require import require_engine, require_namespaces

pytestmark = [pytest.mark.netns, pytest.mark.engine]

TOPOLOGY = """
[lab]
hosts = ["east", "west"]
routers = ["middle"]
links = [
    { between = ["east", "middle"], rate = "50Mbit/s", delay = "3ms", reverse = { delay = "5ms" } },
    { between = ["middle", "west"], rate = "20Mbit/s", delay = "1ms", queue_time = "50ms" },
]
"""


class Labs:
    """``pathlab lab`` with a runtime folder of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys
        self.running: list[subprocess.Popen[str]] = []

    def ask(self, *words: str) -> Said:
        """A command of this process: ``show``, ``list``, ``change``, ``down``."""
        return call(["lab", *words], self._capsys)

    def run(self, *words: str, stdin: str = "") -> Said:
        """A process of its own: ``up``, which leaves a daemon, and ``exec``."""
        process = self.start(*words)
        out, err = process.communicate(stdin, timeout=PATIENCE_S)
        return Said(status=process.returncode, out=out, err=err)

    def start(self, *words: str) -> subprocess.Popen[str]:
        pipe, command = subprocess.PIPE, [sys.executable, "-m", "pathlab", "lab", *words]
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        self.running.append(process)
        return process

    def describe(self, name: str) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads(self.ask("show", "--name", name, "--json").out)
        return facts

    def sockets(self) -> list[str]:
        return sorted(path.name for path in self.folder.rglob("*.sock"))


@pytest.fixture
def labs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Labs]:
    require_namespaces()
    require_engine()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    made = Labs(tmp_path, capsys)
    yield made
    for process in made.running:
        process.kill()
        process.communicate(timeout=PATIENCE_S)
    for socket in made.sockets():
        made.ask("down", "--name", socket.removeprefix("lab-").removesuffix(".sock"))


@pytest.fixture
def topology(tmp_path: Path) -> str:
    path = tmp_path / "two-legs.toml"
    path.write_text(TOPOLOGY)
    return str(path)


def read_line(process: subprocess.Popen[str]) -> str:
    return process.stdout.readline().strip()


def wait_until(condition: Callable[[], bool]) -> None:
    """Each condition is a command that takes its time, so this is no busy loop."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "did not come about"


def test_up_exec_show_down(labs: Labs, topology: str) -> None:
    made = labs.run("up", topology)
    assert made.status == 0, made.err
    assert "lab 'two-legs' is up" in made.out
    assert "next: pathlab lab exec east -- ping -c 3 198.18.0.6" in made.out

    pinged = labs.run("exec", "east", "--", require_engine(), "ping", "198.18.0.6", "--count", "3")
    assert pinged.status == 0, pinged.err
    probes = [json.loads(line) for line in pinged.out.splitlines()]
    rtts_ns = [probe["rtt_ns"] for probe in probes if probe["type"] == "probe"]
    assert min(rtts_ns) >= 10_000_000  # 3 + 1 there, 1 + 5 back

    echoed = labs.run("exec", "west", "--", "sh", "-c", "cat; echo to-stderr >&2; exit 7", stdin="given")
    assert (echoed.status, echoed.out, echoed.err) == (7, "given", "to-stderr\n")

    facts = labs.describe("two-legs")
    assert facts["lab"]["routers"] == ["middle"]
    assert facts["counters"][0]["forward"]["delivered_packets"] == 3
    shown = labs.ask("show").out
    assert "privilege" in shown
    assert "Round trip without load: 10 ms (" in shown
    assert "east to middle: 3 packets delivered" in shown
    assert "two-legs" in labs.ask("list").out

    changed = labs.ask("change", "middle", "east", "delay=30ms", "rate=none")
    assert changed.out == "middle to east: not limited, 30 ms one way\n", changed.err
    first = labs.describe("two-legs")["lab"]["links"][0]
    assert (first["rate_bits_per_s"], first["delay_ns"]) == (50_000_000, 3_000_000)
    assert (first["reverse"]["rate_bits_per_s"], first["reverse"]["delay_ns"]) == (None, 30_000_000)
    apart = labs.ask("change", "east", "west", "delay=30ms")
    assert apart.err.splitlines()[-1] == "  fix: name a link: east-middle, middle-west"

    assert labs.ask("down").out == "lab 'two-legs' is down\n"
    assert labs.sockets() == []


def test_two_labs_at_once(labs: Labs, topology: str) -> None:
    for name in ("one", "two"):
        assert labs.run("up", topology, "--name", name).status == 0
    unclear = labs.run("exec", "east", "--", "true")
    assert (unclear.status, unclear.out) == (3, "")
    assert "several labs are up: one, two" in unclear.err
    again = labs.run("up", topology, "--name", "one")
    assert again.status == 3
    assert "a lab 'one' is up already" in again.err
    labs.run("exec", "--name", "one", "east", "--", require_engine(), "ping", "198.18.0.6", "--count", "2")
    counted = {
        name: labs.describe(name)["counters"][0]["forward"]["arrived_packets"] for name in ("one", "two")
    }
    assert counted == {"one": 2, "two": 0}


def test_a_signal_goes_to_the_command(labs: Labs, topology: str) -> None:
    labs.run("up", topology)
    running = labs.start(
        "exec", "east", "--", "sh", "-c", "trap 'exit 9' INT; echo here; while :; do sleep 0.05; done"
    )
    assert read_line(running) == "here"
    running.send_signal(signal.SIGINT)
    running.wait(timeout=PATIENCE_S)
    assert running.returncode == 9


def test_a_killed_client_takes_its_command_along(labs: Labs, topology: str) -> None:
    labs.run("up", topology)
    running = labs.start("exec", "east", "--", "sh", "-c", "echo $$; exec sleep 600")
    pid = read_line(running)
    running.kill()
    running.wait(timeout=PATIENCE_S)
    wait_until(lambda: labs.run("exec", "east", "--", "kill", "-0", pid).status != 0)


@pytest.mark.parametrize("victim", ["daemon", "emulator", "first process"])
def test_kill_9_leaves_nothing(victim: str, labs: Labs, topology: str) -> None:
    labs.run("up", topology)
    running = labs.start("exec", "east", "--", "sh", "-c", "echo here; exec sleep 600")
    assert read_line(running) == "here"
    daemon_pid = labs.describe("two-legs")["pid"]
    unshare_pid = _only_child(daemon_pid)
    first_pid = _only_child(unshare_pid)
    pid = {"daemon": daemon_pid, "first process": first_pid}.get(victim)
    if pid is None:
        pid = next(child for child in _children(first_pid) if b"emulate" in _command_line(child))
    namespaces = _children(first_pid)
    os.kill(pid, signal.SIGKILL)
    running.wait(timeout=PATIENCE_S)  # its pipes are closed: the command is gone
    assert running.returncode != 0
    if victim == "emulator":
        ended = "the lab 'two-legs' ended by itself: link east-middle: the emulator was killed by SIGKILL"
        wait_until(lambda: ended in labs.ask("list").out)
    wait_until(lambda: "lab 'two-legs' is not up" in labs.ask("show", "--name", "two-legs").err)
    wait_until(lambda: not any(Path(f"/proc/{process}/cmdline").exists() for process in namespaces))
    assert labs.sockets() == []
    assert labs.run("up", topology).status == 0


def test_a_lab_whose_maker_was_interrupted_does_not_stay(labs: Labs) -> None:
    words = [sys.executable, "-m", "pathlab.lab.daemon", "lone", "auto", require_engine()]
    ours, theirs = os.pipe2(os.O_CLOEXEC)
    os.close(ours)  # as when whoever waits for the answer is gone
    facts = json.loads(labs.ask("show", "lan", "--json").out)["lab"]
    try:
        done = subprocess.run(
            words, input=json.dumps(facts), stdout=theirs, text=True, timeout=PATIENCE_S, check=False
        )
    finally:
        os.close(theirs)
    assert done.returncode == 0
    assert labs.sockets() == []


def _children(pid: int) -> list[int]:
    words = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(word) for word in words]


def _only_child(pid: int) -> int:
    (child,) = _children(pid)
    return child


def _command_line(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def test_a_lab_or_a_host_that_is_not_there(labs: Labs, topology: str) -> None:
    ended = labs.run("exec", "east", "--", "true")
    assert (ended.status, "no lab is up" in ended.err) == (3, True)
    labs.run("up", topology)
    ended = labs.run("exec", "north", "--", "true")
    assert ended.status == 3
    error, fix = ended.err.splitlines()
    assert "'north'" in error
    assert fix == "  fix: name one of: east, west, middle"
    missing = labs.run("exec", "east", "--", "no-such-program")
    assert missing.status == 3
    assert "no-such-program" in missing.err


def test_drawn_as_a_picture(labs: Labs, tmp_path: Path) -> None:
    path = tmp_path / "lab.pdf"
    drawn = labs.ask("show", "bufferbloat", "--figure", str(path))
    assert drawn.status == 0
    assert "server" in drawn.out
    assert path.read_bytes().startswith(b"%PDF")
