"""The HTTP/1.1 client against servers that break the protocol: each fault is named, none is measured."""

from pathlib import Path

import pytest

from tests.technologies.builds import build_adapter
from tests.technologies.hostile_server import BYTES, HostileServer, ask_once

OK = b"HTTP/1.1 200 OK\r\n"
LENGTH = b"Content-Length: 64\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n40\r\n" + b"x" * 64 + b"\r\n0\r\n\r\n"


@pytest.fixture
def http1() -> Path:
    return build_adapter("http1")


def is_whole(request: bytes) -> bool:
    return len(request.partition(b"\r\n\r\n")[2]) == BYTES


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (OK + b"Content-Length: 32\r\n\r\n" + b"x" * 32, "a reply of 32 bytes, expected 64"),
        (OK + b"Content-Length: 128\r\n\r\n" + b"x" * 128, "a reply of 128 bytes, expected 64"),
        (OK + b"Content-Length: 1" + b"0" * 20 + b"\r\n\r\n", "Content-Length '100000000000000000000'"),
        (OK + b"Content-Length: -1\r\n\r\n", "unusable Content-Length '-1'"),
        (OK + b"Content-Length: 64 bytes\r\n\r\nBODY", "unusable Content-Length '64 bytes'"),
        (OK + LENGTH + b"Content-Length: 4\r\n\r\nBODY", "unusable Content-Length '4'"),
        (OK + b"\r\nBODY", "the reply has no Content-Length"),
        (OK + LENGTH + b"\r\nBODY" + OK, "17 bytes follow the reply"),
        (OK + CHUNKED, "the reply is sent in chunks, without Content-Length"),
        (OK + b"Connection: close\r\n" + LENGTH + b"\r\nBODY", "closes the connection after each reply"),
        (b"HTTP/1.1 500 Oops\r\n" + LENGTH + b"\r\nBODY", "expected HTTP/1.1 200, got 'HTTP/1.1 500 Oops'"),
        (b"HTTP/1.0 200 OK\r\n" + LENGTH + b"\r\nBODY", "expected HTTP/1.1 200, got 'HTTP/1.0 200 OK'"),
        (b"\r\n\r\n", "expected HTTP/1.1 200, got ''"),
        (OK + b"X: " + b"x" * 9000, "no end of the reply's head in"),
    ],
)  # fmt: skip
def test_a_broken_reply_ends_the_trial_with_its_fault(http1: Path, reply: bytes, text: str) -> None:
    with HostileServer(reply, is_whole) as server:
        record = ask_once(http1, server)
    assert (record["type"], record["stage"], text in record["text"]) == ("error", "reply", True), record


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (b"", "closed the connection in the reply's head, after 0 bytes"),
        (OK + LENGTH, "closed the connection in the reply's head, after 37 bytes"),
        (OK + LENGTH + b"\r\n" + b"x" * 40, "closed the connection in the reply's body, after 79 bytes"),
    ],
)
def test_a_connection_that_is_closed_within_a_reply_is_an_error(http1: Path, reply: bytes, text: str) -> None:
    with HostileServer(reply, is_whole, closes=True) as server:
        record = ask_once(http1, server)
    assert (record["type"], record["stage"], text in record["text"]) == ("error", "reply", True), record


@pytest.mark.parametrize("head", [LENGTH, b"CONTENT-length:64\r\n", b"A: b\r\nContent-Length: \t064\r\n"])
def test_a_reply_may_come_byte_by_byte(http1: Path, head: bytes) -> None:
    with HostileServer(OK + head + b"\r\nBODY", is_whole, piece=1) as server:
        record = ask_once(http1, server)
    assert record["type"] == "ready", record
    assert record["adapter"]["settings"]["no_delay"] is True
