"""`ping` and `echo`: every probe is reported, as answered or as lost, and nobody else's answer counts."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pathlab.lab.namespaces import Namespaces
from tests.native.engine import MS, TOKEN, WAIT_S, Ending, Engine, Flag, run, start
from tests.require import require, require_engine, require_namespaces

pytestmark = pytest.mark.engine

RAW: dict[str, Flag] = {"address": "127.0.0.1", "method": "icmp-raw", "interval_ns": 2 * MS}


def require_root() -> None:
    require(os.geteuid() == 0, "root, for raw ICMP sockets")


def udp_flags(port: int, **flags: Flag) -> dict[str, Flag]:
    return {
        "address": "127.0.0.1",
        "method": "udp",
        "port": port,
        "token": TOKEN,
        "interval_ns": 2 * MS,
        "timeout_ns": 500 * MS,
        **flags,
    }


@contextmanager
def echoing(bind: str = "127.0.0.1") -> Iterator[tuple[Engine, int]]:
    with start("echo", bind=bind, token=TOKEN, control="stdin") as echo:
        echo.expect("hello")
        yield echo, echo.expect("listening")["port"]


@contextmanager
def answering(answer: Callable[[socket.socket, bytes, tuple[str, int]], None]) -> Iterator[int]:
    """A UDP peer of our own that does with each probe what it is told; its port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.bind(("127.0.0.1", 0))

        def serve() -> None:
            while True:
                data, sender = peer.recvfrom(65536)
                if data == b"end":
                    return
                answer(peer, data, sender)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield peer.getsockname()[1]
        finally:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ender:
                ender.sendto(b"end", peer.getsockname())
            thread.join(WAIT_S)


def check_books(ending: Ending, sent: int) -> None:
    """Every probe once, in its place; the result's sums are the probes'."""
    probes = ending.of("probe")
    assert sorted(probe["sequence"] for probe in probes) == list(range(sent))
    assert ending.last["sent"] == sent
    assert ending.last["received"] == sum(probe["rtt_ns"] is not None for probe in probes)
    assert all((probe["stamps"] is None) == (probe["rtt_ns"] is None) for probe in probes)
    assert all(probe["sent_ns"] >= probe["intended_ns"] for probe in probes)


def test_raw_icmp_over_loopback_with_kernel_stamps() -> None:
    require_root()
    ending = run("ping", **RAW, count=50)
    assert ending.status == 0
    check_books(ending, 50)
    (begin,) = ending.of("start")
    assert (begin["method"], begin["stamps"], begin["payload_bytes"]) == ("icmp-raw", "kernel", 56)
    assert ending.last["received"] == 50
    assert sum(probe["stamps"] == "kernel" for probe in ending.of("probe")) >= 45
    assert all(0 < probe["rtt_ns"] < 1000 * MS for probe in ending.of("probe"))
    assert [probe["intended_ns"] for probe in ending.of("probe")] == [2 * MS * n for n in range(50)]


def test_a_thousand_a_second_keep_their_time() -> None:
    require_root()
    ending = run("ping", **{**RAW, "interval_ns": MS}, count=1000)
    check_books(ending, 1000)
    assert ending.last["received"] == 1000
    assert ending.last["send_error_ns"]["median"] < 5 * MS


@pytest.mark.netns
def test_datagram_icmp_where_the_group_is_admitted() -> None:
    require_namespaces()
    with Namespaces() as lab:
        lab.add_node("a")
        lab.set_sysctl("a", "net.ipv4.ping_group_range", f"{os.getegid()} {os.getegid()}")
        words = ["ping", "--address", "127.0.0.1", "--count", "3", "--interval-ns", str(2 * MS)]
        said = lab.run("a", require_engine(), *words)
    assert '"method":"icmp-datagram"' in said
    assert '"received":3' in said


def test_without_rights_udp_is_taken_and_without_an_echo_the_way_out_is_named(tmp_path: Path) -> None:
    require_root()
    engine = Path("/var/tmp") / f"pathlab-engine-{os.getpid()}"
    shutil.copy2(require_engine(), engine)
    drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
    words = [*drop, str(engine), "ping", "--address", "127.0.0.1", "--count", "2", "--interval-ns", str(2 * MS)]
    allowed = Path("/proc/sys/net/ipv4/ping_group_range").read_text().split()
    require(int(allowed[0]) > int(allowed[1]) or int(allowed[1]) < 65534, "a closed ping_group_range")
    try:
        with echoing() as (_, port):
            more = ["--port", str(port), "--token", TOKEN]
            done = subprocess.run([*words, *more], capture_output=True, text=True, timeout=WAIT_S, check=False)
        refused = subprocess.run(words, capture_output=True, text=True, timeout=WAIT_S, check=False)
    finally:
        engine.unlink()
    assert done.returncode == 0
    assert '"method":"udp"' in done.stdout
    assert '"received":2' in done.stdout
    assert refused.returncode == 3
    assert "give --port and --token of an echo" in refused.stderr


@pytest.mark.parametrize("bind", ["127.0.0.1", "::1"])
def test_udp_to_the_echo(bind: str) -> None:
    require(":" not in bind or Path("/proc/net/if_inet6").exists(), "IPv6")
    with echoing(bind) as (echo, port):
        ending = run("ping", **udp_flags(port, address=bind, count=20, payload_bytes=1000))
        check_books(ending, 20)
        assert ending.last["received"] == 20
        echo.say("stop")
        said = echo.finish()
    assert said.status == 0
    assert (said.last["complete"], said.last["echoed"], said.last["refused"]) == (True, 20, 0)


def test_a_wrong_token_gets_no_answer_and_is_counted() -> None:
    with echoing() as (echo, port):
        ending = run("ping", **udp_flags(port, token="ff" * 16, count=5, timeout_ns=50 * MS))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            stranger.connect(("127.0.0.1", port))
            stranger.send(b"short")
            stranger.send(bytes.fromhex(TOKEN))
            stranger.settimeout(WAIT_S)
            assert stranger.recv(65536) == bytes.fromhex(TOKEN)
        echo.say("stop")
        said = echo.finish()
    assert ending.status == 0
    assert ending.last["received"] == 0
    assert (said.last["echoed"], said.last["refused"]) == (1, 6)


def test_nobody_there_is_loss_and_no_failure() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    ending = run("ping", **udp_flags(port, count=5, timeout_ns=50 * MS))
    assert ending.status == 0
    check_books(ending, 5)
    assert ending.last["received"] == 0


def test_answers_twice_and_foreign_ones() -> None:
    def twice(peer: socket.socket, data: bytes, sender: tuple[str, int]) -> None:
        peer.sendto(data[:16] + bytes(8) + data[24:], sender)  # another's cookie
        peer.sendto(data[:40], sender)  # cut short
        peer.sendto(data, sender)
        peer.sendto(data, sender)

    with answering(twice) as port:
        ending = run("ping", **udp_flags(port, count=10))
    check_books(ending, 10)
    assert ending.last["received"] == 10
    assert 9 <= ending.last["duplicates"] <= 10  # the last one may come after the end


def test_an_answer_after_the_time_out_is_late() -> None:
    held: list[tuple[bytes, tuple[str, int]]] = []

    def one_behind(peer: socket.socket, data: bytes, sender: tuple[str, int]) -> None:
        held.append((data, sender))
        if len(held) > 1:
            peer.sendto(*held[-2])

    with answering(one_behind) as port:
        ending = run("ping", **udp_flags(port, count=4, interval_ns=60 * MS, timeout_ns=20 * MS))
    check_books(ending, 4)
    assert ending.last["received"] == 0
    assert ending.last["late"] == 3


@pytest.mark.parametrize("ending_by", ["stop", "hang up", "SIGTERM"])
@pytest.mark.parametrize("interval_ns", [100_000, 20 * MS])
def test_it_ends_when_told_even_when_it_is_behind(ending_by: str, interval_ns: int) -> None:
    with echoing() as (_, port):
        flags = udp_flags(port, interval_ns=interval_ns, control="stdin")
        with start("ping", **flags) as ping:
            ping.wait_for("probe")
            if ending_by == "stop":
                ping.say("stop")
            elif ending_by == "hang up":
                ping.hang_up()
            else:
                ping.process.send_signal(signal.SIGTERM)
            ending = ping.finish()
    assert ending.last["type"] == "result"
    complete = ending_by == "stop"
    assert (ending.status, ending.last["complete"]) == ((0, True) if complete else (5, False))
    if complete:
        check_books(ending, ending.last["sent"])


@pytest.mark.parametrize(
    ("flags", "status", "named"),
    [
        ({"method": "tcp"}, 2, "--method: 'tcp'"),
        ({"method": "udp"}, 2, "--method udp needs --port"),
        ({"method": "udp", "port": 9, "token": TOKEN, "payload_bytes": 31}, 2, "at least 32 for udp"),
        ({"port": 9, "token": "xyz"}, 2, "--token"),
        ({"interval_ns": 100_000, "timeout_ns": 3600 * 1000 * MS, "method": "udp", "port": 9, "token": TOKEN}, 2, "--timeout-ns"),
        ({"address": "localhost"}, 2, "--address: 'localhost'"),
        ({"bind": "192.0.2.77", "method": "udp", "port": 9, "token": TOKEN}, 3, "--bind"),
    ],
)
def test_refusals_are_one_line(flags: dict[str, Flag], status: int, named: str) -> None:
    ending = run("ping", **{"address": "127.0.0.1", "count": 1, **flags})
    assert ending.status == status
    assert named in ending.stderr
    assert len(ending.stderr.splitlines()) == 1
    assert ending.last["type"] == "error"


@pytest.mark.netns
def test_no_way_to_an_address_is_named() -> None:
    require_namespaces()
    with Namespaces() as lab:
        lab.add_node("a")
        command = f"{require_engine()} ping --address 198.18.7.7 --count 1; echo status $?"
        said = lab.run("a", "sh", "-c", f"({command}) 2>&1")
    assert "no way to 198.18.7.7: Network is unreachable" in said
    assert "status 3" in said


def test_an_echo_port_already_taken() -> None:
    with echoing() as (_, port):
        ending = run("echo", bind="127.0.0.1", port=port, token=TOKEN)
    assert ending.status == 3
    assert f"port {port} of 127.0.0.1 is already taken" in ending.stderr
