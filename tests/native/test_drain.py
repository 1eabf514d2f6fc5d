"""The end of a flow with undelivered data: resets, and the counters of both ends."""

from __future__ import annotations

import socket

import pytest

from tests.native.engine import MS, Engine, assert_counters_agree, receiving, sending
from tests.native.peers import (
    ANSWER,
    answering,
    build_answer,
    build_hello,
    call,
    listening,
    read_exactly,
)

pytestmark = pytest.mark.engine

DONE, ENDED = 0, 5
RESET_AT_CLOSE = b"\1\0\0\0\0\0\0\0"  # struct linger


def _read_to_reset(connection: socket.socket) -> int:
    """Bytes that can still be read; the end must be a reset."""
    count = 0
    with pytest.raises(ConnectionResetError):
        while piece := connection.recv(65536):
            count += len(piece)
    return count


def test_sender_gives_up_bytes_in_flight_after_the_drain_time() -> None:
    """A peer that reads, pauses while the sockets fill up, and reads a little after the stop.

    The least that a sender keeps unsent is 16 KiB, and far more than these receive buffers hold. So there are
    undelivered bytes, however slow the machine is.
    """
    with listening() as (listener, port):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1000)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with (
            sending(port, duration_ns=1000 * MS, drain_timeout_ns=500 * MS) as sender,
            answering(listener, build_answer()) as (connection, _),
        ):
            assert sender.expect("ready")["unsent_limited"] is True
            sender.send_line("go")
            count = len(read_exactly(connection, 200_000))
            sender.wait_for("interval", phase="drain")
            count += len(read_exactly(connection, 8_000))
            sent = sender.finish()
            count += _read_to_reset(connection)
    assert sent.status == DONE
    assert sent.last["complete"] is True
    assert sent.last["reset_streams"] == 1
    assert sent.last["confirmed_bytes"] == [None]
    # Everything that the peer could read was acknowledged, and the rest is stated as undelivered.
    assert sent.last["undelivered_bytes"] == [sum(sent.last["total_bytes"]) - count]
    assert sent.last["undelivered_bytes"][0] > 0
    assert_counters_agree(sent, 1)


def test_no_byte_is_undelivered_when_all_arrive() -> None:
    with receiving(streams=2) as (receiver, port), sending(port, streams=2) as sender:
        sender.expect("ready")
        sender.send_line("go")
        sent, received = sender.finish(), receiver.finish()
    assert sent.last["undelivered_bytes"] == [0, 0]
    assert sent.last["reset_streams"] == received.last["reset_streams"] == 0
    assert "undelivered_bytes" not in received.last


def _await_bytes(receiver: Engine, count: int) -> None:
    """Until the receiver has read so many bytes in all and its steady window is over."""
    phase = None
    while count > 0 or phase != "drain":
        interval = receiver.wait_for("interval")
        count, phase = count - interval["bytes"][0], interval["phase"]


def test_receiver_whose_sender_resets_after_the_steady_window_is_complete() -> None:
    with (
        receiving(streams=1) as (receiver, port),
        call(port, build_hello() + b"x" * 100) as held,
    ):
        assert read_exactly(held, ANSWER.size) == build_answer()
        held.sendall(b"x" * 50)
        _await_bytes(receiver, 150)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
        held.close()
        received = receiver.finish()
    assert received.status == DONE
    assert received.last["complete"] is True
    assert received.last["reset_streams"] == 1
    assert received.last["total_bytes"] == [150]
    assert_counters_agree(received, 1)


def test_receiver_ends_by_itself_while_data_arrive() -> None:
    """The sender's reset may be lost, or late behind a long queue."""
    with (
        receiving(streams=1, drain_timeout_ns=300 * MS) as (receiver, port),
        call(port, build_hello() + b"x" * 100) as held,
    ):
        assert read_exactly(held, ANSWER.size) == build_answer()
        receiver.wait_for("interval", phase="drain")
        with pytest.raises(ConnectionError):
            held.sendall(b"x" * 50)  # the receiver may have ended before
            receiver.finish()
            held.recv(1)
        received = receiver.finish()
    assert received.status == DONE
    assert received.last["complete"] is True
    assert received.last["reset_streams"] == 1
    assert received.last["total_bytes"] in ([150], [100])


def test_one_stream_that_does_not_end_leaves_the_others_complete() -> None:
    with (
        receiving(streams=2, drain_timeout_ns=1500 * MS) as (receiver, port),
        call(port, build_hello(stream=0, streams=2) + b"x" * 100) as held,
        call(port, build_hello(stream=1, streams=2) + b"x" * 70) as whole,
    ):
        assert read_exactly(held, ANSWER.size) == build_answer(stream=0)
        assert read_exactly(whole, ANSWER.size) == build_answer(stream=1)
        receiver.wait_for("interval", phase="drain")
        whole.shutdown(socket.SHUT_WR)
        assert read_exactly(whole, 9) == (70).to_bytes(8, "big")
        received = receiver.finish()
    assert received.last["complete"] is True
    assert (received.last["reset_streams"], received.last["total_bytes"]) == (1, [100, 70])


def test_a_flow_by_bytes_has_to_deliver_them_all() -> None:
    """Such a flow has to deliver its bytes: a time-out is a failure."""
    with listening() as (listener, port):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        with (
            sending(port, bytes=100_000, window_bytes=65536, drain_timeout_ns=200 * MS) as sender,
            answering(listener, build_answer()),
        ):
            sender.expect("ready")
            sender.send_line("go")
            sent = sender.finish()
    assert sent.status == ENDED
    assert sent.last["complete"] is False
    assert sent.last["reason"] == "the streams did not end within --drain-timeout-ns"
    assert sent.last["total_bytes"] == [100_000]
    assert sent.last["reset_streams"] == 1


@pytest.mark.parametrize(
    ("flags", "limited"),
    [({}, True), ({"rate_bits_per_s": 10**7}, True), ({"pacing": "user", "rate_bits_per_s": 10**7}, True)],
)
def test_unsent_bytes_are_limited_however_a_flow_is_paced(flags: dict[str, str | int], limited: bool) -> None:
    with receiving(streams=1) as (receiver, port), sending(port, **flags) as sender:
        assert sender.expect("ready")["unsent_limited"] is limited
        sender.send_line("go")
        assert sender.finish().status == receiver.finish().status == DONE


def test_a_transport_without_the_option_says_so(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = str(tmp_path_factory.mktemp("s") / "u")
    with receiving(streams=1, transport="unix", bind=path) as (receiver, port):
        del port
        with sending(5210, transport="unix", address=path) as sender:
            assert sender.expect("ready")["unsent_limited"] is False
            sender.send_line("go")
            sent = sender.finish()
        assert receiver.finish().status == DONE
    assert sent.last["undelivered_bytes"] == [0]
