"""Peers other than the engine: plain sockets that send the data connection's hello, or something else."""

import contextlib
import select
import socket
import struct
from collections.abc import Iterator

from tests.native.engine import LONGER_NS, MS, TOKEN
from tests.patience import PATIENCE_S

#: Magic, version, flags, stream, streams, token, warm-up, duration, bytes;
#: of messages size, encoding, carrier, queue; of datagrams payload, flags, pacing, rate.
HELLO = struct.Struct(">4sHHII16sQQQIHHIIHHQ")
ANSWER = struct.Struct(">4sHHI")  # magic, version, status, stream
MAGIC = b"PLDC"
VERSION = 4
FORWARD, REVERSE = 1, 2
BUSY = struct.Struct(">III16s")  # seconds, admitted streams, all streams, address
CONFIRMATION = struct.Struct(">Q")  # bytes received, from a side that only receives


def build_hello(
    *,
    stream: int = 0,
    streams: int = 1,
    version: int = VERSION,
    flags: int = FORWARD,
    token: str = TOKEN,
    warmup_ns: int = 60 * MS,
    duration_ns: int = LONGER_NS,
    total_bytes: int = 0,
    messages: tuple[int, int, int, int] = (0, 0, 0, 0),
    datagrams: tuple[int, int, int, int] = (0, 0, 0, 0),
) -> bytes:
    """The hello of a sender of :func:`tests.native.engine.sending`, with changes."""
    secret = bytes.fromhex(token)
    head = (MAGIC, version, flags, stream, streams, secret, warmup_ns, duration_ns, total_bytes)
    return HELLO.pack(*head, *messages, *datagrams)


def read_busy(connection: socket.socket) -> tuple[int, int, int]:
    """Stream, admitted streams and all streams of an answer that names a busy flow from 127.0.0.1."""
    answer = read_to_end(connection)
    magic, version, status, stream = ANSWER.unpack(answer[: ANSWER.size])
    _, admitted, streams, address = BUSY.unpack(answer[ANSWER.size :])
    assert (magic, version, status) == (MAGIC, VERSION, 2)
    assert address == bytes(10) + b"\xff\xff" + socket.inet_aton("127.0.0.1")
    return stream, admitted, streams


def build_answer(*, stream: int = 0, version: int = VERSION, status: int = 0) -> bytes:
    return ANSWER.pack(MAGIC, version, status, stream)


def call(port: int, data: bytes = b"", *, address: str = "127.0.0.1") -> socket.socket:
    """A connection that has sent ``data``."""
    connection = socket.create_connection((address, port), timeout=PATIENCE_S)
    connection.sendall(data)
    return connection


def read_exactly(connection: socket.socket, count: int) -> bytes:
    """``count`` bytes, or fewer at the end of the connection."""
    got = bytearray()
    while len(got) < count and (piece := connection.recv(count - len(got))):
        got += piece
    return bytes(got)


def read_to_end(connection: socket.socket) -> bytes:
    """The bytes until the peer closes; a reset is an end as well (unread bytes were discarded)."""
    got = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            got += piece
    return bytes(got)


def is_open(connection: socket.socket) -> bool:
    """Whether neither bytes nor the end have arrived so far."""
    readable, _, _ = select.select([connection], [], [], 0)
    return not readable


@contextlib.contextmanager
def listening() -> Iterator[tuple[socket.socket, int]]:
    """A listening socket of the test and its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE_S)
        yield listener, listener.getsockname()[1]


@contextlib.contextmanager
def answering(listener: socket.socket, answer: bytes) -> Iterator[tuple[socket.socket, bytes]]:
    """Accept one sender, read its hello and answer it."""
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(PATIENCE_S)
        hello = read_exactly(connection, HELLO.size)
        connection.sendall(answer)
        yield connection, hello
