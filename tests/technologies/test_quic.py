"""QUIC in C and in Python: lost, doubled and exchanged datagrams, other senders, a server that is gone."""

from __future__ import annotations

import importlib.util
import json
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import pytest

from tests.require import require
from tests.technologies.builds import ROOT, build_adapter
from tests.technologies.programs import read_until, start_program, tell

ADDRESS = "127.0.0.1"
NAMES = ("quic", "quic-aioquic")
REQUESTS = 60
Words = list[str]


@pytest.fixture(params=NAMES)
def program(request: pytest.FixtureRequest) -> Words:
    """The words that start either one."""
    if request.param == "quic":
        return [str(build_adapter("quic"))]
    require(importlib.util.find_spec("aioquic"), "aioquic (pip install aioquic)")
    return [sys.executable, str(ROOT / "agents" / "adapters" / "quic_aioquic.py")]


def start(program: Words, role: str, **settings: Any) -> AbstractContextManager[subprocess.Popen[str]]:
    return start_program([*program, role, json.dumps(settings)])


@contextmanager
def answering(program: Words) -> Iterator[tuple[subprocess.Popen[str], int]]:
    with start(program, "answer", address=ADDRESS) as server:
        yield server, read_until(server, "listening")["port"]


def ask(program: Words, port: int, message_bytes: int) -> dict[str, Any]:
    """The result of some requests, one after the other."""
    settings = {"port": port, "bytes": message_bytes, "requests": REQUESTS, "stall_ns": 6 * 10**10}
    with start(program, "ask", address=ADDRESS, **settings) as client:
        first = read_until(client, "ready", "error")
        assert first["type"] == "ready", first
        tell(client, "go")
        return read_until(client, "result")


class BadPath:
    """A relay of one client's datagrams: of each direction it loses every 20th and doubles every 7th one.

    Every 11th one is held back until the next one has been sent.
    """

    def __init__(self, port: int) -> None:
        self._inner, self._outer = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        self._inner.bind((ADDRESS, 0))
        self._outer.connect((ADDRESS, port))
        self.port: int = self._inner.getsockname()[1]
        self.lost = 0
        self._wake, self._woken_by = os.pipe()
        self._thread = threading.Thread(target=self._relay)

    def __enter__(self) -> BadPath:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._woken_by)
        self._thread.join()
        os.close(self._wake)
        self._inner.close()
        self._outer.close()

    def _relay(self) -> None:
        counts, held = {self._inner: 0, self._outer: 0}, dict[socket.socket, bytes]()
        client = None
        while True:
            watched = [self._inner.fileno(), self._outer.fileno(), self._wake]
            readable, _, _ = select.select(watched, [], [])
            if self._wake in readable:
                return
            for source in (one for one in (self._inner, self._outer) if one.fileno() in readable):
                with suppress(ConnectionRefusedError):
                    datagram, peer = source.recvfrom(65536)
                    if source is self._inner:
                        client = peer
                    counts[source] += 1
                    for one in self._spoil(counts[source], datagram, held, source):
                        if source is self._inner:
                            self._outer.send(one)
                        elif client is not None:
                            self._inner.sendto(one, client)

    def _spoil(
        self, count: int, datagram: bytes, held: dict[socket.socket, bytes], source: socket.socket
    ) -> list[bytes]:
        if count % 20 == 0:
            self.lost += 1
            return []
        if count % 11 == 0:
            held[source] = datagram
            return []
        late = [held.pop(source)] if source in held else []
        return [datagram] * (2 if count % 7 == 0 else 1) + late


@pytest.mark.parametrize("message_bytes", [64, 20_000])
def test_every_reply_comes_over_a_path_that_loses_and_exchanges_datagrams(
    program: Words, message_bytes: int
) -> None:
    with answering(program) as (_, port), BadPath(port) as path:
        result = ask(program, path.port, message_bytes)
        messages = result["messages"]
        assert (result["complete"], messages["received"], messages["missing"]) == (True, [REQUESTS], [0])
        assert path.lost > 0


def test_datagrams_of_other_senders_do_not_disturb_the_answering_end(program: Words) -> None:
    with answering(program) as (_, port), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        for size in (0, 1, 40, 1200, 1472):
            other.sendto(os.urandom(size), (ADDRESS, port))
        version_1 = b"\xc0\x00\x00\x00\x01"  # of a packet that begins a connection
        other.sendto(version_1 + b"\x08" + os.urandom(1200), (ADDRESS, port))
        assert ask(program, port, 64)["complete"]


def test_that_nobody_listens_is_told_at_once(program: Words) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as closed:
        # Connected to itself it receives nothing else, and no other process gets its port.
        closed.bind((ADDRESS, 0))
        closed.connect(closed.getsockname())
        with start(program, "ask", address=ADDRESS, port=closed.getsockname()[1]) as client:
            error = read_until(client, "ready", "error")
    assert (error["type"], error["stage"]) == ("error", "connect")
    assert "refused" in error["text"]


def test_a_server_that_is_killed_ends_the_trial(program: Words) -> None:
    with answering(program) as (server, port):
        settings = {"port": port, "duration_ns": 60 * 10**9, "interval_ns": 10**7, "stall_ns": 6 * 10**10}
        with start(program, "ask", address=ADDRESS, **settings) as client:
            assert read_until(client, "ready", "error")["type"] == "ready"
            tell(client, "go")
            read_until(client, "round_trips")
            server.kill()
            error = read_until(client, "error", "result")
            assert (error["type"], error["stage"]) == ("error", "reply")
            assert "refused" in error["text"]
            assert not read_until(client, "result")["complete"]
