"""Strangers in numbers while a trial runs: its account stays exact, its descriptors stay bounded."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from tests.native.engine import (
    MS,
    WAIT_S,
    Ending,
    Engine,
    Flag,
    assert_account_holds,
    receiving,
    sending,
)
from tests.native.peers import FORWARD, REVERSE, build_hello, call, read_to_end
from tests.native.test_directions import assert_complete

pytestmark = pytest.mark.engine

STREAMS = 16
STREAM_BYTES = 1_250_000
RATE_BITS_PER_S = 128_000_000  # all streams: so many bytes take a second and a quarter
SPARE = 64  # half-greeted connections while a trial runs (PROTOCOL.md)
STRANGERS = 200
OTHER_TOKEN = "ff" * 16
RESET = b"\1\0\0\0\0\0\0\0"  # struct linger: close() resets
PROCESSES, CONNECTS = 3, 400
# Told a port, connects so often, holds the last ten, and says how often the kernel took it.
FLOOD = """
import collections, socket, sys
print("here", flush=True)
port = int(sys.stdin.readline())
held, begun = collections.deque(), 0
for _ in range(int(sys.argv[1])):
    stranger = socket.socket()
    stranger.setblocking(False)
    if stranger.connect_ex(("127.0.0.1", port)) in (0, 115):  # EINPROGRESS
        begun += 1
    held.append(stranger)
    if len(held) > 10:
        held.popleft().close()
print(begun)
"""


@dataclass(slots=True, kw_only=True)
class Trial:
    """A trial in its midst: paced, by bytes, with every stream in.

    ``receiver`` listens, at which strangers knock; in direction "reverse" it is the end that sends.
    """

    receiver: Engine
    sender: Engine
    port: int
    at_start: int  # descriptors of the receiver before any stranger
    most: int = 0  # of them since
    strangers: list[socket.socket] = field(default_factory=list)

    def count_descriptors(self) -> None:
        """Take note of what the receiver has open; nothing once it has ended."""
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            self.most = max(self.most, _count_descriptors(self.receiver))

    def dismiss(self) -> None:
        """Close what the test holds of strangers."""
        for stranger in self.strangers:
            stranger.close()

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
    flags: dict[str, Flag] = {
        "streams": STREAMS,
        "bytes": STREAMS * STREAM_BYTES,
        "warmup_ns": 0,
        "interval_ns": 20 * MS,
        "direction": direction,
    }
    pace: dict[str, Flag] = {"rate_bits_per_s": RATE_BITS_PER_S, "pacing": "user"}
    turned = direction == "reverse"
    with (
        receiving(**flags, **(pace if turned else {})) as (receiver, port),
        sending(port, **flags, **({} if turned else pace)) as sender,
        contextlib.ExitStack() as stack,
    ):
        sender.expect("ready")
        ready = receiver.expect("ready")
        assert ready["rejected"] == 0
        # Each worker opens one more when it begins: the account of its waits for a core.
        at_start = _count_descriptors(receiver) + ready["workers"]
        trial = Trial(receiver=receiver, sender=sender, port=port, at_start=at_start)
        stack.callback(trial.dismiss)
        sender.say("go")
        receiver.expect("start")
        yield trial


def _finish(trial: Trial, *, knocked: int) -> Ending:
    """The trial's end, which no stranger has changed; how the receiver ended."""
    trial.each_interval()
    sent, received = trial.sender.finish(), trial.receiver.finish()
    assert_complete(sent, received)
    for end in (sent, received):
        assert_account_holds(end, STREAMS)
        assert end.last["total_bytes"] == [STREAM_BYTES] * STREAMS
    confirmed = next(end.last["confirmed_bytes"] for end in (sent, received) if "confirmed_bytes" in end.last)
    assert confirmed == received.last["total_bytes"]
    # Who is still in the kernel's queue at the end was neither let in nor turned away.
    assert 1 <= received.last["rejected"] <= knocked
    # One more: a stranger is accepted before the oldest goes in its place.
    assert 0 < trial.most <= trial.at_start + SPARE + 1
    return received


def _knock(trial: Trial, data: bytes = b"") -> None:
    """One more stranger, as long as there is a door."""
    with contextlib.suppress(ConnectionRefusedError, ConnectionResetError, BrokenPipeError):
        trial.strangers.append(call(trial.port, data))
        trial.count_descriptors()


DIRECTIONS = pytest.mark.parametrize("direction", ["forward", "reverse"])


@DIRECTIONS
def test_strangers_that_never_speak(direction: str) -> None:
    with _running_trial(direction) as trial:
        for _ in range(STRANGERS):
            _knock(trial)
        # More than the receiver has room for: the first ones are closed while the others stay.
        for stranger in trial.strangers[: STRANGERS - SPARE]:
            assert read_to_end(stranger) == b""
            trial.count_descriptors()
        _finish(trial, knocked=STRANGERS)
        assert trial.most > trial.at_start, "no stranger was seen inside"
        for stranger in trial.strangers:
            assert read_to_end(stranger) == b""


def test_strangers_that_speak_byte_by_byte() -> None:
    """Each sends one byte of a true hello at every interval, and none ever gets to its last byte."""
    hello = build_hello(streams=STREAMS, total_bytes=STREAMS * STREAM_BYTES)
    slow = 40
    with _running_trial() as trial:
        for _ in range(slow):
            _knock(trial)
        rest = iter(hello[:-1])

        def speak() -> None:
            if (byte := next(rest, None)) is None:
                return
            for stranger in trial.strangers:
                with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                    stranger.sendall(bytes([byte]))

        trial.each_interval(speak)
        _finish(trial, knocked=slow)
        assert trial.most > trial.at_start, "no stranger was seen inside"
        for stranger in trial.strangers:
            assert read_to_end(stranger) == b""


@DIRECTIONS
def test_strangers_with_another_token(direction: str) -> None:
    size = STREAMS * STREAM_BYTES
    flags = REVERSE if direction == "reverse" else FORWARD
    hello = build_hello(streams=STREAMS, token=OTHER_TOKEN, flags=flags, total_bytes=size)
    with _running_trial(direction) as trial:
        for _ in range(STRANGERS):
            _knock(trial, hello)
        for stranger in trial.strangers:
            assert read_to_end(stranger) == b"", "a stranger gets no answer"
        _finish(trial, knocked=STRANGERS)


def test_strangers_with_the_right_token_come_too_late() -> None:
    """Every stream is in: whoever knows the token as well is a stranger now."""
    hello = build_hello(stream=3, streams=STREAMS, total_bytes=STREAMS * STREAM_BYTES)
    with _running_trial() as trial:
        for _ in range(STRANGERS):
            _knock(trial, hello + b"x" * 1000)
        for stranger in trial.strangers:
            assert read_to_end(stranger) == b""
        _finish(trial, knocked=STRANGERS)


def test_strangers_that_reset_at_once() -> None:
    with _running_trial() as trial:
        for number in range(STRANGERS):
            _knock(trial, b"P" * (number % 3))
            while trial.strangers:
                stranger = trial.strangers.pop()
                stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                stranger.close()
        _finish(trial, knocked=STRANGERS)


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
            assert flood.stdout is not None
            assert flood.stdout.readline() == "here\n"
        yield floods


def test_flood_of_connects_from_several_processes() -> None:
    with _floods() as floods, _running_trial() as trial:
        for flood in floods:
            assert flood.stdin is not None
            flood.stdin.write(f"{trial.port}\n")
            flood.stdin.flush()
        trial.each_interval()
        begun = 0
        for flood in floods:
            said, _ = flood.communicate(timeout=WAIT_S)
            assert flood.returncode == 0
            begun += int(said)
        assert begun > SPARE
        _finish(trial, knocked=begun)
        assert trial.most > trial.at_start, "no stranger was seen inside"
