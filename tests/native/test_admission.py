"""Admission of streams: tokens, stream numbers, versions, directions, and unauthenticated peers."""

import contextlib
import re
import socket
import time

import pytest

from tests.native.engine import (
    LONG_NS,
    MS,
    TOKEN,
    Flag,
    assert_complete,
    assert_counters_agree,
    assert_cut,
    assert_refused,
    both_ready,
    go,
    receiving,
    sending,
)
from tests.native.peers import (
    ANSWER,
    CONFIRMATION,
    HELLO,
    VERSION,
    answering,
    build_answer,
    build_hello,
    call,
    is_open,
    listening,
    read_busy,
    read_exactly,
    read_to_end,
)

pytestmark = pytest.mark.engine

OTHER_TOKEN = "ff" * 16
EARLY_END = "ended before the steady window"
HANDSHAKE_S = 2.0  # a hello must be complete within this time (PROTOCOL.md)
SPARE = 64  # pending handshakes beyond the expected ones

INVALID_HELLOS = {
    "wrong token": build_hello(token=OTHER_TOKEN),
    "token of which one bit differs": build_hello(token=TOKEN[:-1] + "e"),
    "no token": build_hello(token="00" * 16),
    "number outside the count": build_hello(stream=1),
    "largest number": build_hello(stream=2**32 - 1),
    "another count": build_hello(streams=2),
    "no streams": build_hello(streams=0),
    "flags that version 2 does not have": build_hello(flags=5),
    "no direction": build_hello(flags=0),
    "a time that no trial takes": build_hello(duration_ns=2**63),
    "another magic": b"PLDD" + build_hello()[4:],
    "a web browser": b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
    "zeros": bytes(4096),
}
INCOMPLETE_HELLOS = (b"", b"P", build_hello()[:-1])


def _assert_rejected(port: int, data: bytes) -> None:
    with call(port, data) as peer:
        if data in INCOMPLETE_HELLOS:
            peer.shutdown(socket.SHUT_WR)
        assert read_to_end(peer) == b"", "an unauthenticated peer gets no answer"


def test_unauthenticated_peers_before_the_flow_are_closed_and_counted() -> None:
    with receiving(streams=1) as (receiver, port):
        for hello in INVALID_HELLOS.values():
            _assert_rejected(port, hello)
        with sending(port, streams=1) as sender:
            sender.expect("ready")
            assert receiver.expect("ready")["rejected"] == len(INVALID_HELLOS)
            received, sent = go(receiver, sender)
    assert_complete(received, sent)
    assert received.last["rejected"] == len(INVALID_HELLOS)


def test_unauthenticated_peers_during_a_trial_are_counted_and_change_nothing() -> None:
    with both_ready(streams=2, duration_ns=LONG_NS) as (receiver, sender):
        assert receiver.latest["rejected"] == 0
        port = receiver.latest["sockets"][0]["local_port"]
        sender.send_line("go")
        receiver.expect("start")
        # The right token does not help once every stream is admitted.
        late = [build_hello(stream=stream, streams=2) for stream in (0, 1)]
        hellos = [*INVALID_HELLOS.values(), *INCOMPLETE_HELLOS, *late]
        for hello in hellos:
            if hello not in late:
                _assert_rejected(port, hello)
            else:
                with call(port, hello) as refused:
                    assert read_busy(refused) == (late.index(hello), 2, 2)
        sender.send_line("stop")
        sent, received = sender.finish(), receiver.finish()
    assert_cut(sent, "stopped by the controller")
    assert_cut(received, EARLY_END)
    assert received.last["rejected"] == len(hellos)
    assert_counters_agree(received, 2)
    assert received.last["total_bytes"] == sent.last["total_bytes"]


def test_sender_with_another_token_is_told_that_it_was_rejected() -> None:
    with receiving(streams=2) as (receiver, port):
        with sending(port, streams=2, token=OTHER_TOKEN) as sender:
            refused = sender.finish()
        receiver.send_line("stop")
        assert receiver.finish().status == 5
    assert_refused(refused, 4, "handshake")
    assert "another token" in refused.stderr
    assert OTHER_TOKEN not in refused.stderr


def test_duplicate_stream_number_is_rejected() -> None:
    with receiving(streams=2) as (receiver, port):
        with call(port, build_hello(stream=0, streams=2)) as first:
            assert read_exactly(first, ANSWER.size) == build_answer(stream=0)
            with call(port, build_hello(stream=0, streams=2)) as again:
                assert read_busy(again) == (0, 1, 2)
            with call(port, build_hello(stream=1, streams=2)) as second:
                assert read_exactly(second, ANSWER.size) == build_answer(stream=1)
                assert receiver.expect("ready")["rejected"] == 1
                first.sendall(b"a" * 1000)
                second.sendall(b"b" * 10)
                for stream, count in ((first, 1000), (second, 10)):
                    stream.shutdown(socket.SHUT_WR)
                    assert read_to_end(stream) == CONFIRMATION.pack(count)
        received = receiver.finish()
    assert received.last["total_bytes"] == [1000, 10]
    assert received.last["rejected"] == 1


def test_hello_may_arrive_in_pieces_and_data_at_once() -> None:
    with receiving(streams=1) as (receiver, port), call(port) as slow:
        slow.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in build_hello():
            slow.sendall(bytes([byte]))
        assert read_exactly(slow, ANSWER.size) == build_answer()
        receiver.expect("ready")
    with receiving(streams=1) as (receiver, port), call(port, build_hello() + b"x" * 777) as eager:
        eager.shutdown(socket.SHUT_WR)
        assert read_exactly(eager, ANSWER.size) == build_answer()
        assert read_to_end(eager) == CONFIRMATION.pack(777)
        assert receiver.finish().last["total_bytes"] == [777]


@pytest.mark.parametrize("message_bytes", [0, 64])
def test_hello_that_stays_incomplete_is_closed_after_two_seconds(message_bytes: int) -> None:
    """Two unauthenticated peers, a silent one and one with half a hello, while bytes or messages flow."""
    flags: dict[str, Flag] = {"message_bytes": message_bytes} if message_bytes else {}
    with both_ready({}, flags, streams=1, duration_ns=LONG_NS, window_bytes=65536) as (receiver, sender):
        port = receiver.latest["sockets"][0]["local_port"]
        sender.send_line("go")
        receiver.wait_for("start")
        began_s = time.monotonic()
        with call(port) as silent, call(port, build_hello()[:-1]) as slow:
            assert read_to_end(silent) == b""
            silent_s = time.monotonic() - began_s
            assert read_to_end(slow) == b""
        assert silent_s >= HANDSHAKE_S
        assert receiver.process.poll() is None, "they were closed with the trial"
        sender.send_line("stop")
        sent, received = sender.finish(), receiver.finish()
    assert_cut(received, EARLY_END)
    assert received.last["rejected"] == 2
    assert received.last["total_bytes"] == sent.last["total_bytes"]


def test_slow_unauthenticated_peers_do_not_block_the_flow() -> None:
    """More pending handshakes than allowed: the oldest is closed, and the flow is admitted at once."""
    streams, over = 2, 5
    with receiving(streams=streams) as (receiver, port), contextlib.ExitStack() as stack:
        began_s = time.monotonic()
        peers = [stack.enter_context(call(port, build_hello()[:7])) for _ in range(streams + SPARE + over)]
        for peer in peers[:over]:
            assert read_to_end(peer) == b""
        with sending(port, streams=streams) as sender:
            sender.expect("ready")
            # Each stream replaced the oldest; on a machine that takes longer, the others time out as well.
            rejected = receiver.expect("ready")["rejected"]
            newest_first = [is_open(peer) for peer in reversed(peers)]
            assert newest_first == sorted(newest_first, reverse=True)
            assert rejected >= over + streams
            if time.monotonic() - began_s < HANDSHAKE_S:
                assert rejected == newest_first.count(False) == over + streams
            received, sent = go(receiver, sender)
    assert_complete(received, sent)
    assert received.last["total_bytes"] == sent.last["total_bytes"]


@pytest.mark.parametrize("more", [0, 2, 50, 90])
def test_sender_of_another_version_is_told_this_version(more: int) -> None:
    """The answer does not depend on the length of the other version's hello, and the flow continues."""
    hello = build_hello(version=VERSION + 1)[:6] + bytes(more)
    short: dict[str, Flag] = {"streams": 1, "bytes": 1000, "warmup_ns": 0}
    with receiving(**short) as (receiver, port):
        with call(port, hello) as newer:
            assert read_exactly(newer, ANSWER.size) == build_answer(status=1)
            assert newer.recv(1) == b""
            newer.shutdown(socket.SHUT_WR)  # fails after a reset, which could overtake the answer
        with sending(port, **short) as sender:
            sender.expect("ready")
            assert receiver.expect("ready")["rejected"] == 1
            assert_complete(*go(receiver, sender))


@pytest.mark.parametrize("status", [0, 1])
def test_sender_names_both_versions(status: int) -> None:
    with listening() as (listener, port), sending(port) as sender:
        with answering(listener, build_answer(version=7, status=status)) as (_, hello):
            refused = sender.finish()
        assert hello == build_hello()
    assert_refused(refused, 4, "handshake")
    assert re.findall(r"\d+", refused.last["text"]) == ["7", str(VERSION)]


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "not a pathlab-engine receiver"),
        (build_answer(status=9), "status 9"),
        (build_answer(stream=3), "stream 3"),
        (b"", "rejected stream 0"),
        (build_answer()[:11], "rejected stream 0"),
        (build_answer(status=2) + bytes(27), "rejected stream 0"),
        (build_answer(status=2) + bytes(28), "busy with another flow of 0 streams, for less than 1s"),
        (
            build_answer(status=2) + bytes.fromhex("0000003c 00000002 00000008 fe80") + bytes(13) + b"\x01",
            "busy with another flow of 8 streams from fe80::1, 2 of them connected, for 1min: try again",
        ),
    ],
)
def test_sender_refuses_an_invalid_answer(answer: bytes, named: str) -> None:
    with (
        listening() as (listener, port),
        sending(port) as sender,
        answering(listener, answer) as (connection, hello),
    ):
        assert len(hello) == HELLO.size
        with contextlib.suppress(OSError):  # the sender may have refused and closed already
            connection.shutdown(socket.SHUT_WR)
        refused = sender.finish()
    assert_refused(refused, 4, "handshake")
    assert named in refused.last["text"]


def test_receiver_is_not_ready_before_the_last_stream() -> None:
    with (
        receiving(streams=3) as (receiver, port),
        call(port, build_hello(stream=0, streams=3)) as first,
        call(port, build_hello(stream=2, streams=3)) as third,
    ):
        assert read_exactly(first, ANSWER.size) == build_answer(stream=0)
        assert read_exactly(third, ANSWER.size) == build_answer(stream=2)
        receiver.send_line("stop")
        received = receiver.finish()
    assert received.of("ready") == []
    assert_refused(received, 5, "accept")


def test_sender_is_not_ready_before_the_last_answer() -> None:
    with (
        listening() as (listener, port),
        sending(port, streams=2) as sender,
        answering(listener, build_answer(stream=0)) as (_, hello),
    ):
        assert hello == build_hello(stream=0, streams=2)
        second, _ = listener.accept()
        with second:
            sender.send_line("stop")
            sent = sender.finish()
    assert sent.of("ready") == []
    assert_refused(sent, 5, "connect")


@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
def test_a_receiver_without_flags_takes_all_settings_from_the_hello(direction: str) -> None:
    settings: dict[str, Flag] = {"streams": 5, "warmup_ns": 20 * MS, "duration_ns": 40 * MS}
    open_to_all: dict[str, Flag] = {"streams": 0, "direction": "any", "warmup_ns": -1, "duration_ns": -1}
    with both_ready(open_to_all, direction=direction, **settings) as (receiver, sender):
        stated = {"direction": direction, "bytes": None, **settings}
        assert stated.items() <= receiver.latest.items()
        assert_complete(*go(receiver, sender))


@pytest.mark.parametrize(
    ("allowed", "requested"), [("forward", "reverse"), ("reverse", "both"), ("both", "forward")]
)
def test_another_direction_is_rejected(allowed: str, requested: str) -> None:
    with receiving(streams=1, direction=allowed) as (receiver, port):
        with sending(port, streams=1, direction=requested) as sender:
            refused = sender.finish()
        receiver.send_line("stop")
        assert receiver.finish().status == 5
    assert_refused(refused, 4, "handshake")
    assert "direction" in refused.last["text"]
