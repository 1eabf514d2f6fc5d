# pathlab-adapter
# {
#   "contract": 1, "name": "tcp-python", "title": "TCP in Python", "language": "python", "beneath": "tcp",
#   "lacks": ["a format of messages"], "needs": [{"module": "socket"}], "port": "own", "protocol": "tcp"
# }
# end
"""TCP by Python's standard library alone: the baseline of all technologies in Python."""

from __future__ import annotations

import platform
import socket
import threading
from typing import Any, Callable, Dict, Optional, Tuple

import harness


class TcpConnection:
    def __init__(self, settings: Any) -> None:
        local = find_place(settings.local_address, 0) if settings.local_address else None
        self.socket = socket.create_connection((settings.address, settings.port), source_address=local)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._view = memoryview(bytearray(settings.bytes))

    def ask(self, request: bytearray) -> memoryview:
        self.socket.sendall(request)
        have = self.socket.recv_into(self._view)
        while have < len(self._view):
            count = self.socket.recv_into(self._view[have:])
            if count == 0:
                raise harness.AdapterError("reply", "the server has closed the connection")
            have += count
        return self._view

    def close(self) -> None:
        self.socket.close()


def find_place(address: str, port: int) -> "Tuple[Any, ...]":
    """A numeric address as ``bind`` takes it, with the zone of a link-local one."""
    result = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    return result[0][4]


def answer(settings: Any, ready: Callable[[int], None]) -> None:
    family = socket.AF_INET6 if ":" in settings.address else socket.AF_INET
    try:
        where = find_place(settings.address, settings.port)
        listener = socket.create_server(where, family=family, backlog=settings.streams)
    except OSError as error:
        raise harness.AdapterError(
            "port", f"{settings.address} port {settings.port}: {error.strerror}"
        ) from error
    ready(listener.getsockname()[1])
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


def serve(connection: socket.socket) -> None:
    view = memoryview(bytearray(65536))
    with connection:
        try:
            while count := connection.recv_into(view):
                connection.sendall(view[:count])
        except ConnectionError:
            pass


def describe(connection: Optional[TcpConnection]) -> Tuple[str, Dict[str, Any]]:
    settings = {}
    if connection is not None:
        option = connection.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        settings["no_delay"] = bool(option)
    return f"Python {platform.python_version()}", settings


if __name__ == "__main__":
    harness.run(connect=TcpConnection, answer=answer, describe=describe)
