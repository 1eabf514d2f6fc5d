"""Probes over a TCP connection, and the echo's handshake: admitted and refused connections."""

import contextlib
import socket
import time
from collections.abc import Iterator

import pytest

from tests.native.engine import MS, TOKEN, Flag, assert_refused, run, start
from tests.native.peers import call, is_open, listening, read_exactly, read_to_end
from tests.native.pinging import check_all_answered, echoing, end_echo
from tests.native.probes import (
    CHALLENGE_BYTES,
    HEAD_BYTES,
    MAGIC,
    REPLY,
    VERSION,
    Head,
    build_challenge,
    build_probe,
    build_response,
    parse_probe,
    reply_to,
)

pytestmark = pytest.mark.engine

PLACES = 64
HANDSHAKE_S = 2.0  # then a pending handshake is closed (PROTOCOL.md)
OTHER_TOKEN = "ff" * 16


def tcp_flags(port: int, **flags: Flag) -> dict[str, Flag]:
    return {
        **{"address": "127.0.0.1", "method": "tcp", "port": port, "token": TOKEN},
        **{"interval_ns": MS, "timeout_ns": 60_000 * MS},
        **flags,
    }


def read_challenge(connection: socket.socket) -> bytes:
    challenge = read_exactly(connection, CHALLENGE_BYTES)
    assert challenge == build_challenge(challenge[8:])
    return challenge


@contextlib.contextmanager
def admitted(port: int, size: int) -> Iterator[socket.socket]:
    """An admitted connection for messages of this size."""
    with call(port) as connection:
        connection.sendall(build_response(read_challenge(connection), size))
        yield connection


def test_tcp_probes_are_answered_and_the_time_held_is_stated() -> None:
    with echoing() as (echo, port):
        ended = run("ping", **tcp_flags(port, count=50))
        assert end_echo(echo) == (50, 0)
    check_all_answered(ended, 50)
    begun = ended.of("start")[0]
    assert (begun["method"], begun["payload_bytes"]) == ("tcp", 100)
    probes = ended.of("probe")
    assert [probe["sequence"] for probe in probes] == list(range(50))
    assert all(probe["rtt_ns"] > 0 and probe["held_ns"] > 0 for probe in probes)
    assert not any(probe["reordered"] for probe in probes)  # a stream keeps its order


def test_messages_return_complete_from_any_fragments() -> None:
    probes = [build_probe(Head(sequence=number), padding=bytes([number]) * 60) for number in range(1, 6)]
    with echoing() as (echo, port), call(port) as peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        first_bytes = build_response(read_challenge(peer), 100) + b"".join(probes)
        for at in range(0, len(first_bytes), 7):
            peer.sendall(first_bytes[at : at + 7])
        answers = read_exactly(peer, 500)
        for number, probe in enumerate(probes):
            answer = answers[100 * number : 100 * (number + 1)]
            held_ns = parse_probe(answer).held_ns
            assert 0 < held_ns < 60 * 1000 * MS
            assert answer == reply_to(probe, held_ns=held_ns)
        peer.shutdown(socket.SHUT_WR)
        assert read_to_end(peer) == b""
        assert end_echo(echo) == (5, 0)


def test_an_unauthenticated_peer_is_closed_and_counted() -> None:
    overheard: list[bytes] = []

    def responses(challenge: bytes) -> list[bytes]:
        """Each is invalid in another way; the first one is of another connection."""
        wrong = [build_response(challenge, size) for size in (0, HEAD_BYTES - 1, 65001, 65535)]
        wrong += [build_response(challenge, 100, token=OTHER_TOKEN), b"GET / HTTP/1.1\r\n\r\n"]
        return [*overheard, *wrong, build_response(challenge, 100)[:8] + bytes(8)]

    with echoing() as (echo, port):
        with call(port) as first:
            overheard.append(build_response(read_challenge(first), 100))
            first.sendall(overheard[0] + build_probe())
            assert read_exactly(first, 100)
        for number in range(8):
            with call(port) as peer:
                peer.sendall(responses(read_challenge(peer))[number])
                assert read_to_end(peer) == b""
        assert end_echo(echo) == (1, 8)


@pytest.mark.parametrize(
    "message",
    [build_probe(token=OTHER_TOKEN), build_probe(kind=REPLY), build_probe(size=99) + b"x", bytes(100)],
)
def test_an_admitted_peer_without_the_token_is_closed(message: bytes) -> None:
    """A hijacked connection cannot continue without the token."""
    with echoing() as (echo, port), admitted(port, 100) as peer:
        peer.sendall(build_probe() + message)
        assert read_exactly(peer, 100)[5] == REPLY
        assert read_to_end(peer) == b""
        assert end_echo(echo) == (1, 1)


def test_other_versions_are_told_apart() -> None:
    with echoing() as (echo, port):
        with call(port) as newer:
            newer.sendall(build_response(read_challenge(newer), 100, version=VERSION + 1))
            assert read_to_end(newer) == b""
        with call(port) as older:  # before version 2 the token came first, without a challenge
            older.sendall(bytes.fromhex(TOKEN) + (100).to_bytes(4, "big"))
            read_challenge(older)
            assert read_to_end(older) == b""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
            peer.connect(("127.0.0.1", port))
            peer.send(bytes.fromhex(TOKEN) + bytes(84))
            peer.send(build_probe(version=VERSION + 1))
        echo.send_line("stop")
        ended = echo.finish()
    assert [ended.last[name] for name in ("echoed", "refused", "other_version")] == [0, 4, 4]


@pytest.mark.parametrize(
    ("first_bytes", "named"),
    [
        (build_challenge(bytes(16), version=3), "version 3 of the probes"),
        (b"", "does not answer as an echo"),
        (MAGIC + bytes(10), "does not answer as an echo"),
        (b"SSH-2.0-OpenSSH_9.2p1 Debian", "does not answer as an echo"),
    ],
)
def test_another_kind_of_peer_is_named(first_bytes: bytes, named: str) -> None:
    with listening() as (listener, port), start("ping", **tcp_flags(port, count=1)) as ping:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(first_bytes)
            with contextlib.suppress(OSError):  # ping may have refused these bytes and closed already
                connection.shutdown(socket.SHUT_WR)
            ended = ping.finish()
    assert_refused(ended, 4, "handshake")
    assert named in ended.last["text"]
    assert f"127.0.0.1 port {port}" in ended.last["text"]


def test_a_wrong_token_ends_the_probing_and_is_named() -> None:
    with echoing() as (echo, port):
        ended = run("ping", **tcp_flags(port, token=OTHER_TOKEN, count=0))
        assert end_echo(echo) == (0, 1)
    assert ended.status == 5
    assert "another --token" in ended.last["reason"]


def test_an_incomplete_handshake_ends_by_itself() -> None:
    with echoing() as (echo, port):
        with call(port) as slow:
            slow.sendall(build_response(read_challenge(slow), 100)[:-1])
            assert read_to_end(slow) == b""
        assert end_echo(echo) == (0, 1)


def test_pending_handshakes_do_not_block_a_prober() -> None:
    with echoing() as (echo, port), contextlib.ExitStack() as stack:
        began_s = time.monotonic()
        peers = [stack.enter_context(call(port, b"x")) for _ in range(PLACES)]
        for peer in peers:
            read_challenge(peer)
        with admitted(port, HEAD_BYTES) as prober:
            prober.sendall(build_probe(size=HEAD_BYTES))
            assert read_exactly(prober, HEAD_BYTES)[5] == REPLY
        assert read_to_end(peers[0]) == b""  # the oldest was closed
        last_is_open = is_open(peers[-1])
        echoed, refused = end_echo(echo)
    assert echoed == 1
    assert refused >= 1
    if time.monotonic() - began_s < HANDSHAKE_S:
        assert (refused, last_is_open) == (1, True)


def test_a_peer_that_never_reads_is_closed() -> None:
    probe = build_probe(size=65000)
    with echoing() as (echo, port), admitted(port, 65000) as deaf:
        with contextlib.suppress(ConnectionError, TimeoutError):
            for _ in range(2000):  # far more than any buffer holds
                deaf.sendall(probe)
            raise AssertionError("the echo took everything and still holds it")
        echoed, refused = end_echo(echo)
    assert refused == 0
    assert echoed < 2000


@pytest.mark.parametrize("transport", ["udp", "tcp", "both"])
def test_an_unused_echo_ends_by_itself(transport: str) -> None:
    ended = run("echo", bind="127.0.0.1", port=0, transport=transport, idle_timeout_ns=MS)
    assert (ended.status, ended.stderr, ended.last["complete"]) == (5, "", False)
    assert "no admitted peer for 1ms" in ended.last["reason"]


def test_an_echo_ends_once_its_last_peer_has_gone() -> None:
    """An admitted connection keeps it running; unauthenticated peers do not."""
    with echoing(idle_timeout_ns=1000 * MS) as (echo, port):
        with admitted(port, 100) as peer:
            peer.sendall(build_probe())
            assert read_exactly(peer, 100)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
                other.sendto(build_probe(token=OTHER_TOKEN), ("127.0.0.1", port))
            assert echo.process.poll() is None
        ended = echo.finish()
    assert (ended.status, ended.last["complete"]) == (5, False)
    assert [ended.last[name] for name in ("echoed", "refused")] == [1, 1]


def test_an_echo_that_ends_ends_the_probing() -> None:
    with echoing() as (echo, port), start("ping", **tcp_flags(port, count=0)) as ping:
        ping.wait_for("probe", sequence=3)
        echo.process.kill()
        ended = ping.finish()
    assert ended.status == 5
    assert ended.last["reason"] == "the echo ended the connection"


def test_only_one_transport_where_only_one_is_asked_for() -> None:
    with echoing(transport="udp") as (_, port):
        refused = run("ping", **tcp_flags(port, count=1))
    assert_refused(refused, 3, "connect", errno_name="ECONNREFUSED")
    assert f"127.0.0.1 port {port}" in refused.last["text"]
