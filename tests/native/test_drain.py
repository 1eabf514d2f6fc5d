"""The end of a flow with undelivered data: resets, and the counters of both ends."""

import socket

import pytest

from tests.native.engine import (
    MS,
    Ending,
    Engine,
    Flag,
    assert_counters_agree,
    assert_cut,
    both_ready,
    carry,
    receiving,
    sending,
)
from tests.native.messages import name_end
from tests.native.peers import (
    ANSWER,
    CONFIRMATION,
    answering,
    build_answer,
    build_hello,
    call,
    listening,
    read_exactly,
)

pytestmark = pytest.mark.engine

RESET_AT_CLOSE = b"\1\0\0\0\0\0\0\0"  # struct linger


def _read_to_reset(connection: socket.socket) -> int:
    """Bytes that can still be read; the end must be a reset."""
    count = 0
    with pytest.raises(ConnectionResetError):
        while piece := connection.recv(65536):
            count += len(piece)
    return count


def _assert_done(end: Ending, *, reset_streams: int) -> None:
    assert (end.status, end.last["complete"], end.last["reset_streams"]) == (0, True, reset_streams)
    assert_counters_agree(end, len(end.last["total_bytes"]))


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
    _assert_done(sent, reset_streams=1)
    assert sent.last["confirmed_bytes"] == [None]
    # Everything that the peer could read was acknowledged, and the rest is stated as undelivered.
    assert sent.last["undelivered_bytes"] == [sum(sent.last["total_bytes"]) - count]
    assert sent.last["undelivered_bytes"][0] > 0


def test_no_byte_is_undelivered_when_all_arrive() -> None:
    received, sent = carry(streams=2)
    assert sent.last["undelivered_bytes"] == [0, 0]
    assert "undelivered_bytes" not in received.last
    for end in (received, sent):
        _assert_done(end, reset_streams=0)


def _await_bytes(receiver: Engine, count: int) -> None:
    """Until the receiver has read so many bytes in all and its steady window is over."""
    phase = None
    while count > 0 or phase != "drain":
        interval = receiver.wait_for("interval")
        count, phase = count - interval["bytes"][0], interval["phase"]


def test_receiver_whose_sender_resets_after_the_steady_window_is_complete() -> None:
    with receiving(streams=1) as (receiver, port), call(port, build_hello() + b"x" * 100) as held:
        assert read_exactly(held, ANSWER.size) == build_answer()
        held.sendall(b"x" * 50)
        _await_bytes(receiver, 150)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
        held.close()
        received = receiver.finish()
    _assert_done(received, reset_streams=1)
    assert received.last["total_bytes"] == [150]


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
    _assert_done(received, reset_streams=1)
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
        assert read_exactly(whole, 9) == CONFIRMATION.pack(70)
        received = receiver.finish()
    _assert_done(received, reset_streams=1)
    assert received.last["total_bytes"] == [100, 70]


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
    assert_cut(sent, "--drain-timeout-ns")
    assert (sent.last["total_bytes"], sent.last["reset_streams"]) == ([100_000], 1)


RATE: dict[str, Flag] = {"rate_bits_per_s": 10**7}


@pytest.mark.parametrize("paced", [{}, RATE, {**RATE, "pacing": "user"}])
@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_unsent_bytes_are_limited_where_the_transport_can(paced: dict[str, Flag], transport: str) -> None:
    address = name_end(transport)
    with both_ready({"bind": address}, {"address": address, **paced}, transport=transport) as (_, sender):
        assert sender.latest["unsent_limited"] is (transport == "tcp")
