"""The HTTP/1.1 client against servers that break the protocol: each fault is named, none is measured."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.native.adapter_builds import HARNESS, ROOT, fill_build, list_compiled, require_needs
from tests.require import require

BYTES = 64
OK = b"HTTP/1.1 200 OK\r\n"
LENGTH = b"Content-Length: 64\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n40\r\n" + b"x" * 64 + b"\r\n0\r\n\r\n"


@pytest.fixture(scope="module")
def http1(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (manifest,) = [found for found in list_compiled() if found.name == "http1"]
    require_needs(manifest)
    require(HARNESS.is_file(), f"the harness at {HARNESS} (make -C native harness)")
    folder = tmp_path_factory.mktemp("http1")
    for words in fill_build(manifest, folder, harness=["-I", str(ROOT / "native" / "src"), str(HARNESS)]):
        subprocess.run(words, check=True)
    return folder / "program"


class HostileServer:
    """Answers the first request with given bytes, then closes the connection if ``closes``.

    ``BODY`` in the answer stands for the request's body; ``piece`` is the size of each write.
    """

    def __init__(self, reply: bytes, *, closes: bool = False, piece: int = 1 << 20) -> None:
        self._reply = reply
        self._closes = closes
        self._piece = piece
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(10)
        self.port = self._listener.getsockname()[1]
        self._thread = Thread(target=self._serve)

    def __enter__(self) -> HostileServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        connection, _peer = self._listener.accept()
        with connection:
            connection.settimeout(10)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            request = b""
            while len(request.partition(b"\r\n\r\n")[2]) < BYTES:
                request += connection.recv(65536)
            reply = self._reply.replace(b"BODY", request[-BYTES:])
            for start in range(0, len(reply), self._piece):
                connection.sendall(reply[start : start + self._piece])
            if not self._closes:
                with suppress(ConnectionResetError):  # a client that has not read all
                    connection.recv(1)  # until the client closes


def ask(program: Path, server: HostileServer) -> Iterator[dict[str, Any]]:
    """The records of the asking end, which is told to end once it is ready."""
    settings = json.dumps({"name": "http1", "port": server.port, "bytes": BYTES, "stall_ns": 5_000_000_000})
    words = [str(program), "ask", settings]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in process.stdout:
            yield json.loads(line)
            if '"ready"' in line:
                process.stdin.close()


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
    with HostileServer(reply) as server:
        records = list(ask(http1, server))
    (error,) = [record for record in records if record["type"] == "error"]
    assert (error["stage"], text in error["text"]) == ("reply", True), error
    assert not any(record["type"] == "ready" for record in records)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (b"", "closed the connection in the reply's head, after 0 bytes"),
        (OK + LENGTH, "closed the connection in the reply's head, after 37 bytes"),
        (OK + LENGTH + b"\r\n" + b"x" * 40, "closed the connection in the reply's body, after 79 bytes"),
    ],
)
def test_a_connection_that_is_closed_within_a_reply_is_an_error(http1: Path, reply: bytes, text: str) -> None:
    with HostileServer(reply, closes=True) as server:
        records = list(ask(http1, server))
    (error,) = [record for record in records if record["type"] == "error"]
    assert (error["stage"], text in error["text"]) == ("reply", True), error


@pytest.mark.parametrize("head", [LENGTH, b"CONTENT-length:64\r\n", b"A: b\r\nContent-Length: \t064\r\n"])
def test_a_reply_may_come_byte_by_byte(http1: Path, head: bytes) -> None:
    with HostileServer(OK + head + b"\r\nBODY", piece=1) as server:
        records = list(ask(http1, server))
    (ready,) = [record for record in records if record["type"] == "ready"]
    assert ready["adapter"]["settings"]["no_delay"] is True
