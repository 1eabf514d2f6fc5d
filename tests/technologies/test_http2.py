"""The HTTP/2 client against servers that break the protocol: each fault is named, none is measured."""

import struct
from pathlib import Path

import pytest

from tests.technologies.builds import build_adapter
from tests.technologies.hostile_server import BYTES, HostileServer, ask_once

PREFACE_BYTES = 24
DATA, HEADERS, RESET, SETTINGS, GOAWAY = 0, 1, 3, 4, 7
END_STREAM, END_HEADERS = 1, 4
STREAM = 1
INTERNAL_ERROR = struct.pack(">I", 2)
STATUS_200, STATUS_500 = b"\x88", b"\x8e"  # entries of HPACK's static table


def frame(kind: int, payload: bytes = b"", flags: int = 0, stream: int = STREAM) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


HELLO = frame(SETTINGS, stream=0)
HEAD = HELLO + frame(HEADERS, STATUS_200, END_HEADERS)


def is_whole(request: bytes) -> bool:
    """Whether the last frame is one of data."""
    at, kind = PREFACE_BYTES, SETTINGS
    while at + 9 <= len(request):
        kind = request[at + 3]
        at += 9 + int.from_bytes(request[at : at + 3], "big")
    return kind == DATA and at == len(request)


@pytest.fixture
def http2() -> Path:
    return build_adapter("http2")


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (HEAD + frame(DATA, b"x" * 32, END_STREAM), "a reply of 32 bytes, expected 64"),
        (HEAD + frame(DATA, b"x" * 99, END_STREAM), "a reply of 99 bytes, expected 64"),
        (HELLO + frame(HEADERS, STATUS_200, END_HEADERS | END_STREAM), "a reply of 0 bytes, expected 64"),
        (HELLO + frame(HEADERS, STATUS_500, END_HEADERS | END_STREAM), "expected status 200, got 500"),
        (HEAD + frame(RESET, INTERNAL_ERROR), "the server ended the stream: INTERNAL_ERROR"),
        (HELLO + frame(GOAWAY, bytes(4) + INTERNAL_ERROR, stream=0), "the server ended"),
        (HELLO + frame(DATA, b"x" * 64, END_STREAM), "the server does not follow HTTP/2"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\nBODY", "the server does not follow HTTP/2"),
        (frame(DATA, b"x", stream=2), "the server does not follow HTTP/2"),
    ],
)
def test_a_broken_reply_ends_the_trial_with_its_fault(http2: Path, reply: bytes, text: str) -> None:
    with HostileServer(reply, is_whole) as server:
        record = ask_once(http2, server)
    assert (record["type"], record["stage"], text in record["text"]) == ("error", "reply", True), record


def test_a_connection_that_is_closed_within_a_reply_is_an_error(http2: Path) -> None:
    with HostileServer(HEAD + frame(DATA, b"x" * 40), is_whole, closes=True) as server:
        record = ask_once(http2, server)
    assert record["stage"] == "reply"
    assert "closed the connection after 40 bytes of the reply" in record["text"]


@pytest.mark.parametrize("piece", [1, 1 << 20])
def test_a_reply_may_come_in_pieces(http2: Path, piece: int) -> None:
    data = struct.pack(">I", BYTES)[1:] + struct.pack(">BBI", DATA, END_STREAM, STREAM) + b"BODY"
    with HostileServer(HEAD + frame(DATA) + data, is_whole, piece=piece) as server:
        record = ask_once(http2, server)
    assert record["type"] == "ready", record
