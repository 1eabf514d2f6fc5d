"""Probes over a TCP connection, and the echo's door: who gets in, and who is let go."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator

import pytest

from tests.native.engine import MS, TOKEN, Engine, Flag, run, start
from tests.native.peers import call, is_open, read_exactly, read_to_end

pytestmark = pytest.mark.engine

GREETING = struct.Struct(">16sI")  # token, size of every message
PLACES = 64
HEAD, HELD = 16, 24  # cookie and sequence; with the time held


@contextlib.contextmanager
def echoing(**flags: Flag) -> Iterator[tuple[Engine, int]]:
    settings: dict[str, Flag] = {"bind": "127.0.0.1", "port": 0, "token": TOKEN, "control": "stdin"}
    with start("echo", **{**settings, **flags}) as echo:
        echo.expect("hello")
        yield echo, echo.expect("listening")["port"]


def counts(echo: Engine) -> tuple[int, int]:
    echo.say("stop")
    ended = echo.finish()
    assert (ended.status, ended.stderr) == (0, "")
    return ended.last["echoed"], ended.last["refused"]


def greet(size: int, token: str = TOKEN) -> bytes:
    return GREETING.pack(bytes.fromhex(token), size)


def test_tcp_probes_are_answered_and_the_time_held_is_told() -> None:
    with echoing() as (echo, port):
        ended = run(
            "ping", address="127.0.0.1", method="tcp", port=port, token=TOKEN, count=50, interval_ns=MS
        )
        assert counts(echo) == (50, 0)
    assert (ended.status, ended.stderr) == (0, "")
    begun = ended.of("start")[0]
    assert (begun["method"], begun["payload_bytes"]) == ("tcp", 100)
    probes = ended.of("probe")
    assert [probe["sequence"] for probe in probes] == list(range(50))
    assert all(probe["rtt_ns"] > 0 and probe["held_ns"] > 0 for probe in probes)
    assert not any(probe["reordered"] for probe in probes)  # a stream keeps its order
    assert ended.last["received"] == 50


@pytest.mark.parametrize("method", ["udp", "tcp"])
def test_a_probe_too_small_for_it_has_no_time_held(method: str) -> None:
    with echoing() as (_, port):
        size = (16 if method == "udp" else 0) + HELD - 1
        flags: dict[str, Flag] = {"method": method, "port": port, "token": TOKEN, "payload_bytes": size}
        ended = run("ping", address="127.0.0.1", count=3, interval_ns=MS, **flags)
    assert ended.last["received"] == 3
    assert [probe["held_ns"] for probe in ended.of("probe")] == [None] * 3


def test_messages_come_back_whole_however_they_were_cut() -> None:
    messages = [bytes([number]) * 40 for number in range(1, 6)]
    said = greet(40) + b"".join(messages)
    with echoing() as (echo, port), call(port) as peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(said), 7):
            peer.sendall(said[at : at + 7])
        answers = read_exactly(peer, 200)
        for number, message in enumerate(messages):
            answer = answers[40 * number : 40 * (number + 1)]
            assert answer[:HEAD] + answer[HELD:] == message[:HEAD] + message[HELD:]
            assert 0 < int.from_bytes(answer[HEAD:HELD], "big") < 60 * 1000 * MS
        peer.shutdown(socket.SHUT_WR)
        assert read_to_end(peer) == b""
        assert counts(echo) == (5, 0)


@pytest.mark.parametrize(
    "greeting",
    [greet(40, token="ff" * 16), greet(15), greet(65001), greet(2**32 - 1), b"GET / HTTP/1.1\r\n\r\n....."],
)
def test_a_stranger_is_closed_and_counted(greeting: bytes) -> None:
    with echoing() as (echo, port):
        with call(port, greeting) as stranger:
            assert read_to_end(stranger) == b""
        assert counts(echo) == (0, 1)


def test_a_greeting_that_is_never_whole_ends_by_itself() -> None:
    with echoing() as (echo, port):
        with call(port, greet(40)[:-1]) as slow:
            assert read_to_end(slow) == b""
        assert counts(echo) == (0, 1)


def test_half_greeted_strangers_do_not_keep_a_prober_out() -> None:
    with echoing() as (echo, port), contextlib.ExitStack() as stack:
        strangers = [stack.enter_context(call(port, b"x")) for _ in range(PLACES)]
        with call(port, greet(HEAD) + bytes(HEAD)) as prober:
            assert read_exactly(prober, HEAD) == bytes(HEAD)
        assert read_to_end(strangers[0]) == b""  # the oldest made room
        assert is_open(strangers[-1])
        assert counts(echo) == (1, 1)


def test_one_who_never_reads_is_let_go() -> None:
    with echoing() as (echo, port), call(port, greet(65000)) as deaf:
        with contextlib.suppress(ConnectionError, TimeoutError):
            for _ in range(2000):  # far more than any buffer holds
                deaf.sendall(bytes(65000))
            raise AssertionError("the echo took everything and still holds it")
        echoed, refused = counts(echo)
    assert refused == 0
    assert echoed < 2000


def test_an_echo_that_ends_ends_the_probing() -> None:
    flags: dict[str, Flag] = {"method": "tcp", "token": TOKEN, "count": 0, "interval_ns": MS}
    with echoing() as (echo, port), start("ping", address="127.0.0.1", port=port, **flags) as ping:
        ping.wait_for("probe", sequence=3)
        echo.process.kill()
        ended = ping.finish()
    assert ended.status == 5
    assert ended.last["reason"] == "the echo ended the connection"


def test_only_one_transport_where_only_one_is_asked_for() -> None:
    with echoing(transport="udp") as (_, port):
        refused = run("ping", address="127.0.0.1", method="tcp", port=port, token=TOKEN, count=1)
    assert refused.status == 3
    assert refused.last["stage"] == "connect"
    assert f"an echo at 127.0.0.1 port {port}" in refused.last["text"]
