"""A server that breaks a protocol, and the asking end of an adapter that meets it."""

import json
import socket
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any, Self

from tests.patience import PATIENCE_S

BYTES = 64


class ListeningServer:
    """A server of one test on its own thread: listens on ``port`` while it is entered."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(PATIENCE_S)
        self.port = self._listener.getsockname()[1]
        self._thread = Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        self._listener.close()

    def _accept(self) -> socket.socket:
        connection, _peer = self._listener.accept()
        connection.settimeout(PATIENCE_S)
        return connection

    def _serve(self) -> None:
        raise NotImplementedError


class HostileServer(ListeningServer):
    """Answers the first request with given bytes, then closes its side of the connection if ``closes``.

    ``is_whole`` tells whether what was received is a whole request, which ends with its body. ``BODY`` in the
    reply stands for that body; ``piece`` is the size of each write.
    """

    def __init__(
        self, reply: bytes, is_whole: Callable[[bytes], bool], *, closes: bool = False, piece: int = 1 << 20
    ) -> None:
        self._reply = reply
        self._is_whole = is_whole
        self._closes = closes
        self._piece = piece
        super().__init__()

    def _serve(self) -> None:
        with self._accept() as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            request = b""
            while not self._is_whole(request):
                piece = connection.recv(65536)
                assert piece, f"closed after {request!r}"
                request += piece
            reply = self._reply.replace(b"BODY", request[-BYTES:])
            with suppress(ConnectionError):  # of a client that has seen enough
                for start in range(0, len(reply), self._piece):
                    connection.sendall(reply[start : start + self._piece])
                if self._closes:
                    connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass  # until the client closes


def ask_once(program: Path, server: HostileServer) -> dict[str, Any]:
    """The record that ends the first round trip: ``ready``, or an ``error``."""
    settings = json.dumps({"port": server.port, "bytes": BYTES, "stall_ns": 60_000_000_000})
    words = [str(program), "ask", settings]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        records = map(json.loads, process.stdout)
        found: dict[str, Any] = next(record for record in records if record["type"] in ("ready", "error"))
        process.stdin.close()
    return found
