"""The explorer's server on a free port of loopback, in a thread of the tests, and a client for it."""

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pathlab.serve.access import AccessKeys
from pathlab.serve.app import build_app
from pathlab.serve.broadcast import Broadcaster
from pathlab.serve.event_hub import EventHub
from pathlab.serve.library import ResultsLibrary
from pathlab.serve.server import ExplorerServer, Listener, bind_listener
from pathlab.serve.service import ExplorerService
from tests.patience import PATIENCE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a server answered."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    port: int, path: str, method: str = "GET", *, headers: Mapping[str, str], body: bytes | None = None
) -> Answer:
    """One request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    with contextlib.closing(connection):
        connection.request(method, path, body, dict(headers))
        answer = connection.getresponse()
        named = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(status=answer.status, headers=named, body=answer.read())


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedExplorer:
    """A running server with its secrets; ``fresh_tokens`` are those that it announced."""

    listener: Listener
    keys: AccessKeys
    library: ResultsLibrary
    fresh_tokens: list[str]
    server: ExplorerServer

    @property
    def port(self) -> int:
        return self.listener.address.port

    @property
    def address(self) -> str:
        """The address that opens its page once, in one browser."""
        return self.listener.format_access_url(self.keys.token)

    @property
    def access(self) -> dict[str, str]:
        """The header that programs send."""
        return {"Authorization": f"Bearer {self.keys.key}"}

    def request(
        self,
        path: str,
        method: str = "GET",
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> Answer:
        """One request on a connection of its own; ``headers`` None: with access."""
        return ask(self.port, path, method, headers=self.access if headers is None else headers, body=body)

    def cut_connections(self) -> None:
        """End every connection without a word, as a network does that is gone."""
        self.visit_connections(lambda connection: connection.transport.abort())

    def visit_connections(self, act: Callable[[Any], None]) -> None:
        """Do something with every connection, in the server's thread."""
        done, loop = threading.Event(), self.server._running

        def visit() -> None:
            for connection in list(self.server.server_state.connections):
                act(connection)
            done.set()

        loop.call_soon_threadsafe(visit)
        assert done.wait(PATIENCE_S)

    def send_raw(self, data: bytes) -> bytes:
        """What a server answers to these bytes until it closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S) as connection:
            connection.sendall(data)
            return b"".join(iter(lambda: connection.recv(65536), b""))


@contextlib.contextmanager
def serving(*places: Path, run: Broadcaster | None = None) -> Iterator[ServedExplorer]:
    """Serve results, or a folder of results, while the block runs."""
    fresh: list[str] = []
    library, keys = ResultsLibrary.find(places), AccessKeys(fresh.append)
    listener = bind_listener()
    service = ExplorerService(library=library, events=EventHub(run))
    server = ExplorerServer(build_app(service, keys, listener.address), service, listener)
    with contextlib.closing(listener.socket), server.run_in_thread():
        yield ServedExplorer(listener=listener, keys=keys, library=library, fresh_tokens=fresh, server=server)
