"""Peers of a flow of messages that do not follow the protocol: one clear line, in time, and within bounds."""

import contextlib
import fcntl
import mmap
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.native.engine import (
    LONG_NS,
    MS,
    TOKEN,
    Ending,
    Engine,
    Flag,
    assert_complete,
    assert_cut,
    assert_refused,
    receiving,
    sending,
)
from tests.native.messages import OPEN, name_end
from tests.native.peers import (
    ANSWER,
    FORWARD,
    HELLO,
    REVERSE,
    answering,
    build_answer,
    build_hello,
    call,
    listening,
    read_busy,
    read_exactly,
    read_to_end,
)
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.engine

PEER, ENDED = 4, 5
REPLIES = 4
QUEUE = 2**18
UDP, PIPE, RING, EVENT = 1, 3, 4, 5
#: Where a queue in shared memory has its counts, and its size before the data.
WRITTEN, READ, HEAD_BYTES = 0, 128, 512
NO_MESSAGE, PART, UNASKED, COUNTS = "not a message", "part of a message", "not sent", "counts"
ALL_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


def assert_broken(ending: Ending, breach: str) -> None:
    """The peer of stream 0 is named, and what it did."""
    assert_cut(ending, "stream 0: the peer does not follow the protocol")
    assert breach in ending.last["reason"]


@contextlib.contextmanager
def answering_tcp(**flags: Flag) -> Iterator[tuple[Engine, socket.socket]]:
    """A sender of messages over IP whose stream is admitted by this test."""
    with (
        listening() as (listener, port),
        sending(port, message_bytes=64, **flags) as sender,
        answering(listener, build_answer()) as (stream, _),
    ):
        yield sender, stream


@contextlib.contextmanager
def calling_unix(name: str, hello: bytes) -> Iterator[socket.socket]:
    """An admitted stream of a Unix receiver of this name."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE_S)
        connection.connect("\0" + name[1:])
        connection.sendall(hello)
        assert read_exactly(connection, ANSWER.size) == build_answer()
        yield connection


@contextlib.contextmanager
def answering_unix(**flags: Flag) -> Iterator[tuple[Engine, socket.socket]]:
    """A sender of messages whose stream is admitted by this test."""
    name = name_end("unix")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0" + name[1:])
        listener.listen()
        listener.settimeout(PATIENCE_S)
        with sending(1, address=name, message_bytes=64, queue_bytes=QUEUE, **flags) as sender:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(PATIENCE_S)
                assert len(read_exactly(connection, HELLO.size)) == HELLO.size
                connection.sendall(build_answer())
                yield sender, connection


def make_queue(*, seals: int = ALL_SEALS, size: int = HEAD_BYTES + QUEUE) -> int:
    descriptor = os.memfd_create("queue", os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor


# Hellos that no sender of messages sends

#: Flags of a hello, and its size, encoding, carrier and queue.
IMPOSSIBLE_HELLOS = [
    (1, (3, 0, 0, 2**20)),  # too small
    (1, (65537, 0, 0, 2**20)),
    (1, (64, 2, 0, 2**20)),  # no such encoding
    (1, (64, 0, 6, 2**20)),  # no such carrier
    (1, (64, 0, 3, 2**20)),  # a pipe over TCP
    (1, (64, 0, 0, 2**20 + 1)),  # not a power of two
    (1, (64, 0, 0, 2**31)),
    (3, (64, 0, 0, 2**20)),  # both ways without replies
    (5, (64, 0, 0, 2**20)),  # replies one way
    (7, (0, 0, 0, 0)),  # replies to bytes
    (1, (0, 0, 1, 0)),
]


def test_hellos_with_impossible_messages_are_rejected() -> None:
    with receiving() as (receiver, port):
        for flags, messages in IMPOSSIBLE_HELLOS:
            with call(port, build_hello(flags=flags, messages=messages)) as connection:
                assert read_to_end(connection) == b"", messages
        receiver.close_stdin()
        assert receiver.finish().last["type"] == "error"


@pytest.mark.parametrize(("flags", "status"), [(1, 0), (2, None), (7, None)])
@pytest.mark.parametrize("limit", ["rate_bits_per_s", "stream_rate_bits_per_s"])
def test_a_receiver_with_a_rate_limit_sends_no_messages(flags: int, status: int | None, limit: str) -> None:
    """They are not paced, so that the limit would not hold."""
    with receiving(direction="any", **{limit: 1000}) as (receiver, port):
        with call(port, build_hello(flags=flags, messages=(64, 0, 0, 2**20))) as connection:
            answer = connection.recv(12)
            assert answer == b"" if status is None else int.from_bytes(answer[6:8], "big") == status
        receiver.close_stdin()
        receiver.finish()


def test_streams_that_state_other_messages_are_rejected() -> None:
    with receiving() as (receiver, port):
        with (
            call(port, build_hello(streams=2, messages=(64, 0, 0, 2**20))),
            call(port, build_hello(stream=1, streams=2, messages=(128, 0, 0, 2**20))) as other,
        ):
            assert read_busy(other) == (1, 1, 2)  # it may be another sender's
        receiver.close_stdin()
        receiver.finish()


# Datagrams


@contextlib.contextmanager
def sending_datagrams(port: int, total_bytes: int = 0) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A stream and a UDP socket of one sender of messages of 64 bytes, both connected to the receiver."""
    messages = (64, 0, UDP, 2**20)
    with (
        call(port, build_hello(messages=messages, total_bytes=total_bytes)) as stream,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as data,
    ):
        assert read_exactly(stream, ANSWER.size) == build_answer()
        data.bind(("127.0.0.1", 0))
        yield stream, data


def connect_data(stream: socket.socket, data: socket.socket) -> None:
    stream.sendall(struct.pack(">H", data.getsockname()[1]))
    (to,) = struct.unpack(">H", read_exactly(stream, 2))
    data.connect(("127.0.0.1", to))


def send_numbers(data: socket.socket, numbers: range) -> None:
    for number in numbers:
        data.send(struct.pack(">I", number) + bytes(60))


def insist(port: int) -> None:
    """Datagrams of another sender, until the receiver's socket has taken some."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.connect(("127.0.0.1", port))
        end_s = time.monotonic() + PATIENCE_S
        taken = 0
        while taken < 4 and time.monotonic() < end_s:
            try:
                other.send(b"" if taken % 2 else b"unwanted" * 8)
                taken += 1
            except ConnectionRefusedError:
                taken = 0
        assert taken == 4


def test_datagrams_of_other_senders_are_dropped() -> None:
    with receiving(**OPEN) as (receiver, port):
        with sending_datagrams(port, total_bytes=640) as (stream, data):
            insist(port)
            connect_data(stream, data)
            receiver.expect("ready")
            send_numbers(data, range(10))
            data.send(b"")
            assert read_to_end(stream) == struct.pack(">Q", 640)
        ending = receiver.finish()
    assert_complete(ending)
    assert ending.last["messages"]["received"] == [10]
    assert ending.last["messages"]["missing"] == ending.last["messages"]["out_of_order"] == [0]


def test_the_datagram_that_states_the_end_may_be_lost() -> None:
    with receiving(**OPEN) as (receiver, port):
        with sending_datagrams(port, total_bytes=640) as (stream, data):
            connect_data(stream, data)
            send_numbers(data, range(1, 11))
            stream.shutdown(socket.SHUT_WR)
            assert read_to_end(stream) == struct.pack(">Q", 640)
        ending = receiver.finish()
    assert_complete(ending)
    assert ending.last["messages"]["missing"] == [1]


def test_a_sender_of_datagrams_states_the_end_over_the_stream_as_well() -> None:
    with (
        answering_tcp(transport="udp", bytes=640) as (sender, stream),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as data,
    ):
        data.bind(("127.0.0.1", 0))
        connect_data(stream, data)
        sender.expect("ready")
        sender.send_line("go")
        assert read_to_end(stream) == b""
        stream.sendall(struct.pack(">Q", 640))
        stream.shutdown(socket.SHUT_WR)
        assert sender.finish().last["complete"]


def test_a_datagram_with_half_a_message_ends_the_trial() -> None:
    with receiving(duration_ns=LONG_NS) as (receiver, port), sending_datagrams(port) as (stream, data):
        connect_data(stream, data)
        send_numbers(data, range(3))
        data.send(b"half")
        ending = receiver.finish()
    assert_broken(ending, PART)
    assert ending.last["messages"]["received"] == [3]


@pytest.mark.parametrize("rate", [0, 1000])
def test_a_flood_of_other_answers_does_not_keep_the_sender(rate: int) -> None:
    """Answers to nothing that was asked come without a pause: the sender still ends after its time."""
    over = threading.Event()

    def flood(data: socket.socket) -> None:
        while not over.is_set():
            with contextlib.suppress(OSError):
                data.send(struct.pack(">I", 0) + bytes(60))

    flags: dict[str, Flag] = {"transport": "udp", "reply": "yes", "messages_per_s": rate}
    with (
        answering_tcp(drain_timeout_ns=200 * MS, **flags) as (sender, stream),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as data,
    ):
        data.bind(("127.0.0.1", 0))
        connect_data(stream, data)
        sender.expect("ready")
        sender.send_line("go")
        sender.wait_for("interval")
        flooding = threading.Thread(target=flood, args=[data])
        flooding.start()
        try:
            ending = sender.finish()
        finally:
            over.set()
            flooding.join()
    assert ending.last["type"] == "result"


# Streams


@pytest.mark.parametrize("number", [5000, 2**31 + 5, 2**32 - 1])
def test_an_answer_to_what_was_never_sent_ends_the_trial(number: int) -> None:
    with answering_tcp(duration_ns=LONG_NS, reply="yes", messages_per_s=1) as (sender, stream):
        sender.expect("ready")
        sender.send_line("go")
        assert read_exactly(stream, 64)[:4] == bytes(4)
        stream.sendall(struct.pack(">I", number) + bytes(60))
        ending = sender.finish()
    assert_broken(ending, UNASKED)
    assert ending.last["messages"]["round_trip_ns"]["count"] == 0


@pytest.mark.parametrize("reply", [False, True])
@pytest.mark.parametrize(
    ("data", "breach"), [(b"\xff" * 64, NO_MESSAGE), (b"\x03\x12\x09a", NO_MESSAGE), (b"\x05\x08", PART)]
)
def test_bytes_that_are_no_message_end_the_trial(data: bytes, breach: str, reply: bool) -> None:
    flags = FORWARD | REVERSE | REPLIES if reply else FORWARD
    hello = build_hello(flags=flags, messages=(64, 1, 0, 2**20))
    with receiving(duration_ns=LONG_NS) as (receiver, port), call(port, hello + data) as stream:
        stream.shutdown(socket.SHUT_WR)
        ending = receiver.finish()
    assert_broken(ending, breach)


# Shared memory


@pytest.mark.parametrize("carrier", [RING, EVENT])
@pytest.mark.parametrize("written", [QUEUE + 1, 2**63, 2**64 - 1])
def test_a_sender_that_writes_nonsense_into_the_queue(carrier: int, written: int) -> None:
    name = name_end("unix")
    with receiving(bind=name, transport="unix", duration_ns=LONG_NS) as (receiver, _):
        hello = build_hello(messages=(64, 0, carrier, QUEUE))
        with calling_unix(name, hello) as stream:
            count, handed, _, _ = socket.recv_fds(stream, 1, 4)
            assert count == bytes([len(handed)])
            receiver.expect("ready")
            with mmap.mmap(handed[0], HEAD_BYTES + QUEUE) as queue:
                queue[WRITTEN : WRITTEN + 8] = struct.pack("=Q", written)
                ending = receiver.finish()
            for descriptor in handed:
                os.close(descriptor)
    assert_broken(ending, COUNTS)
    assert ending.last["messages"]["received"] == [0]


@pytest.mark.parametrize("wait", ["block", "poll"])
@pytest.mark.parametrize("read", [1, 2**63, 2**64 - QUEUE - 1])
def test_a_receiver_that_writes_nonsense_into_the_queue(wait: str, read: int) -> None:
    with answering_unix(transport="shared-memory", wait=wait, duration_ns=LONG_NS) as (sender, stream):
        queues = [make_queue(), make_queue()]
        with mmap.mmap(queues[0], HEAD_BYTES + QUEUE) as queue:
            queue[READ : READ + 8] = struct.pack("=Q", read)
            socket.send_fds(stream, [b"\x02"], queues)
            sender.expect("ready")
            sender.send_line("go")
            ending = sender.finish()
        for descriptor in queues:
            os.close(descriptor)
    assert_broken(ending, COUNTS)


def open_wrong(kind: str, path: Path) -> list[int]:
    """Descriptors that are not what a peer has to hand over."""
    path.write_bytes(bytes(HEAD_BYTES + QUEUE))
    makers: dict[str, list[Callable[[], int]]] = {
        "files": [lambda: os.open(path, os.O_RDWR)] * 2,
        "one": [make_queue],
        "unsealed": [lambda: make_queue(seals=0)] * 2,
        "small": [lambda: make_queue(size=HEAD_BYTES)] * 2,
        "many": [make_queue] * 9,
    }
    return [make() for make in makers[kind]]


@pytest.mark.parametrize("transport", ["shared-memory", "eventfd", "pipe", "unix-datagram"])
@pytest.mark.parametrize("kind", ["files", "one", "unsealed", "small", "many"])
def test_descriptors_that_are_not_what_was_agreed(transport: str, kind: str, tmp_path: Path) -> None:
    with answering_unix(transport=transport) as (sender, stream):
        wrong = open_wrong(kind, tmp_path / "file")
        socket.send_fds(stream, [bytes([len(wrong)])], wrong)
        ending = sender.finish()
        for descriptor in wrong:
            os.close(descriptor)
    assert ending.status == PEER, ending.last
    assert ending.last["type"] == "error"


@pytest.mark.parametrize("transport", ["shared-memory", "pipe", "unix-datagram", "udp"])
def test_a_peer_that_dies_before_it_has_shared_the_channel(transport: str) -> None:
    if transport == "udp":
        with answering_tcp(transport=transport) as (sender, stream):
            read_exactly(stream, 2)
            stream.close()
            ending = sender.finish()
    else:
        with answering_unix(transport=transport) as (sender, stream):
            stream.close()
            ending = sender.finish()
    assert_refused(ending, PEER, "channel")


def test_a_peer_that_never_shares_the_channel_is_given_up() -> None:
    with answering_unix(transport="pipe", token=TOKEN) as (sender, _):
        ending = sender.finish()
    assert_refused(ending, 3, "channel", errno_name="ETIMEDOUT")


@pytest.mark.parametrize("carrier", [UDP, PIPE])
def test_a_sender_that_dies_once_it_is_admitted(carrier: int) -> None:
    hello = build_hello(messages=(64, 0, carrier, QUEUE))
    if carrier == UDP:
        with receiving() as (receiver, port):
            with call(port, hello) as stream:
                read_exactly(stream, ANSWER.size)
            ending = receiver.finish()
        assert_refused(ending, PEER, "channel")
        return
    name = name_end("unix")
    with receiving(bind=name, transport="unix") as (receiver, _):
        with calling_unix(name, hello):
            pass
        ending = receiver.finish()
    assert ending.status in (3, ENDED)
