"""Floods of unauthenticated peers during a trial: its counters stay exact, its descriptors bounded."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from tests.native.engine import MS, Ending, Engine, Flag, assert_complete, assert_counters_agree, both_ready
from tests.native.peers import REVERSE, build_answer, build_hello, call, read_to_end
from tests.patience import PATIENCE_S

# Alone: an engine that waits for a core serves unauthenticated peers too seldom for a trial of 1.25 s.
pytestmark = pytest.mark.engine

STREAMS = 16
STREAM_BYTES = 1_250_000
RATE_BITS_PER_S = 128_000_000  # all streams: the bytes take 1.25 s
SPARE = 64  # pending handshakes during a trial (PROTOCOL.md)
PEERS = 200
OTHER_TOKEN = "ff" * 16
RESET = b"\1\0\0\0\0\0\0\0"  # struct linger: close() resets
PROCESSES, CONNECTS = 3, 400
# Connects to a port as often as argv says, holds the last ten, and prints how often the kernel accepted it.
FLOOD = """
import collections, socket, sys
print("here", flush=True)
port = int(sys.stdin.readline())
held, begun = collections.deque(), 0
for _ in range(int(sys.argv[1])):
    peer = socket.socket()
    peer.setblocking(False)
    if peer.connect_ex(("127.0.0.1", port)) in (0, 115):  # EINPROGRESS
        begun += 1
    held.append(peer)
    if len(held) > 10:
        held.popleft().close()
print(begun)
"""


@dataclass(slots=True, kw_only=True)
class Trial:
    """A running trial: paced, by bytes, with every stream admitted.

    ``receiver`` listens, and unauthenticated peers connect to it; in direction "reverse" it sends.
    """

    receiver: Engine
    sender: Engine
    port: int
    at_start: int  # descriptors of the receiver before any unauthenticated peer
    most: int = 0  # their maximum since
    peers: list[socket.socket] = field(default_factory=list)

    def count_descriptors(self) -> None:
        """Update the maximum of the receiver's descriptors; nothing once it has ended."""
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            self.most = max(self.most, _count_descriptors(self.receiver))

    def close_peers(self) -> None:
        """Close the unauthenticated peers' sockets."""
        for peer in self.peers:
            peer.close()

    def each_interval(self, act: Callable[[], None] = lambda: None) -> None:
        """Act at every record of the steady window, until it is over."""
        while (record := self.receiver.take()) is not None and record["type"] == "interval":
            self.count_descriptors()
            if record["phase"] == "steady":
                act()


def _count_descriptors(engine: Engine) -> int:
    return len(os.listdir(f"/proc/{engine.process.pid}/fd"))  # noqa: PTH208 - counted, not used as paths


@contextlib.contextmanager
def _running_trial(direction: str = "forward") -> Iterator[Trial]:
    flags: dict[str, Flag] = {"streams": STREAMS, "bytes": STREAMS * STREAM_BYTES, "warmup_ns": 0}
    flags |= {"interval_ns": 20 * MS, "direction": direction}
    pace: dict[str, Flag] = {"rate_bits_per_s": RATE_BITS_PER_S, "pacing": "user"}
    accepting, connecting = (pace, {}) if direction == "reverse" else ({}, pace)
    with both_ready(accepting, connecting, **flags) as (receiver, sender), contextlib.ExitStack() as stack:
        ready = receiver.latest
        assert ready["rejected"] == 0
        # Each worker opens one more at its start: the statistics of its waits for a core.
        at_start = _count_descriptors(receiver) + ready["workers"]
        port = ready["sockets"][0]["local_port"]
        trial = Trial(receiver=receiver, sender=sender, port=port, at_start=at_start)
        stack.callback(trial.close_peers)
        sender.send_line("go")
        receiver.expect("start")
        yield trial


def _finish(trial: Trial, *, connects: int) -> Ending:
    """Checks that no unauthenticated peer changed the trial; how the receiver ended."""
    trial.each_interval()
    sent, received = trial.sender.finish(), trial.receiver.finish()
    assert_complete(sent, received)
    for end in (sent, received):
        assert_counters_agree(end, STREAMS)
        assert end.last["total_bytes"] == [STREAM_BYTES] * STREAMS
    confirmed = next(end.last["confirmed_bytes"] for end in (sent, received) if "confirmed_bytes" in end.last)
    assert confirmed == received.last["total_bytes"]
    # Peers in the kernel's queue at the end were neither admitted nor rejected.
    assert 1 <= received.last["rejected"] <= connects
    # One more: a peer is accepted before the oldest is closed.
    assert 0 < trial.most <= trial.at_start + SPARE + 1
    return received


def _connect_peer(trial: Trial, data: bytes = b"") -> None:
    """One more unauthenticated peer, as long as the receiver listens."""
    with contextlib.suppress(ConnectionRefusedError, ConnectionResetError, BrokenPipeError):
        trial.peers.append(call(trial.port, data))
        trial.count_descriptors()


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_unauthenticated_peers_that_never_send(direction: str) -> None:
    with _running_trial(direction) as trial:
        for _ in range(PEERS):
            _connect_peer(trial)
        # More than the receiver's limit: the first ones are closed while the others stay.
        for peer in trial.peers[: PEERS - SPARE]:
            assert read_to_end(peer) == b""
            trial.count_descriptors()
        _finish(trial, connects=PEERS)
        assert trial.most > trial.at_start, "no pending handshake was seen"
        for peer in trial.peers:
            assert read_to_end(peer) == b""


def test_unauthenticated_peers_that_send_byte_by_byte() -> None:
    """Each sends one byte of a valid hello at every interval, and none sends its last byte."""
    hello = build_hello(streams=STREAMS, total_bytes=STREAMS * STREAM_BYTES)
    slow = 40
    with _running_trial() as trial:
        for _ in range(slow):
            _connect_peer(trial)
        rest = iter(hello[:-1])

        def send_byte() -> None:
            if (byte := next(rest, None)) is None:
                return
            for peer in trial.peers:
                with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                    peer.sendall(bytes([byte]))

        trial.each_interval(send_byte)
        _finish(trial, connects=slow)
        assert trial.most > trial.at_start, "no pending handshake was seen"
        for peer in trial.peers:
            assert read_to_end(peer) == b""


SIZE = STREAMS * STREAM_BYTES


@pytest.mark.parametrize(
    ("direction", "hello"),
    [
        ("forward", build_hello(streams=STREAMS, token=OTHER_TOKEN, total_bytes=SIZE)),
        ("reverse", build_hello(streams=STREAMS, token=OTHER_TOKEN, total_bytes=SIZE, flags=REVERSE)),
    ],
    ids=["another token", "another token in reverse"],
)
def test_unauthenticated_peers_that_send_a_hello(direction: str, hello: bytes) -> None:
    with _running_trial(direction) as trial:
        for _ in range(PEERS):
            _connect_peer(trial, hello)
        for peer in trial.peers:
            assert read_to_end(peer) == b"", "an unauthenticated peer gets no answer"
        _finish(trial, connects=PEERS)


def test_peers_with_the_token_after_every_stream_is_admitted() -> None:
    """They hear that the receiver is busy; what they sent too early may reset their connection before."""
    with _running_trial() as trial:
        for _ in range(PEERS):
            _connect_peer(trial, build_hello(streams=STREAMS, stream=3, total_bytes=SIZE) + b"x" * 1000)
        answers = {read_to_end(peer) for peer in trial.peers}
        assert {answer[:12] for answer in answers} <= {b"", build_answer(stream=3, status=2)}
        _finish(trial, connects=PEERS)


def test_unauthenticated_peers_that_reset_at_once() -> None:
    with _running_trial() as trial:
        for number in range(PEERS):
            _connect_peer(trial, b"P" * (number % 3))
            while trial.peers:
                peer = trial.peers.pop()
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                peer.close()
        _finish(trial, connects=PEERS)


@contextlib.contextmanager
def _floods() -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that wait for a port on their stdin."""
    command = [sys.executable, "-I", "-S", "-c", FLOOD, str(CONNECTS)]
    with contextlib.ExitStack() as stack:
        floods = []
        for _ in range(PROCESSES):
            flood = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            floods.append(stack.enter_context(flood))
            stack.callback(flood.kill)
        for flood in floods:
            assert flood.stdout.readline() == "here\n"
        yield floods


def test_flood_of_connects_from_several_processes() -> None:
    with _floods() as floods, _running_trial() as trial:
        for flood in floods:
            flood.stdin.write(f"{trial.port}\n")
            flood.stdin.flush()
        trial.each_interval()
        begun = 0
        for flood in floods:
            said, _ = flood.communicate(timeout=PATIENCE_S)
            assert flood.returncode == 0
            begun += int(said)
        assert begun > SPARE
        _finish(trial, connects=begun)
        assert trial.most > trial.at_start, "no pending handshake was seen"
