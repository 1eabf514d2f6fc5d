"""Zero-copy: spliced pages and discarded bytes are counted like any others."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.native.engine import (
    MS,
    TOKEN,
    Engine,
    Flag,
    Record,
    assert_counters_agree,
    build_command,
    carry,
    receiving,
    sending,
    start_command,
)
from tests.native.peers import CONFIRMATION, answering, build_answer, listening, read_exactly
from tests.native.test_directions import assert_complete
from tests.require import require_mptcp

pytestmark = pytest.mark.engine

DISCARDS = {"tcp": "truncate", "mptcp": "truncate", "unix": "copy"}
NO_DISCARD = "only TCP can discard received bytes in the kernel"
NO_PIPES = "no pipes to splice from"


def _describe(transport: str, *, sends: bool, receives: bool) -> Record:
    """The transfer record of an end with zero-copy."""
    receive = DISCARDS[transport] if receives else None
    return {
        "requested": "zero-copy",
        "send": "splice" if sends else None,
        "receive": receive,
        "reason": NO_DISCARD if receive == "copy" else None,
    }


def _name_ends(transport: str, name: str) -> tuple[dict[str, Flag], dict[str, Flag]]:
    """Flags of a listening receiver and of its sender."""
    if transport == "unix":
        return {"bind": f"@{name}"}, {"address": f"@{name}", "port": 1}
    return {}, {}


@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
@pytest.mark.parametrize("transport", ["tcp", "mptcp", "unix"])
def test_every_byte_is_counted_without_a_copy(transport: str, direction: str) -> None:
    if transport == "mptcp":
        require_mptcp()
    streams, total = 3, 50_000_002
    to_receiver, to_sender = _name_ends(transport, f"pathlab-{os.getpid()}-{direction}")
    accepted, connected = carry(
        receiver_flags=to_receiver,
        sender_flags={**to_sender, "direction": direction},
        streams=streams,
        transport=transport,
        transfer="zero-copy",
        bytes=total,
        warmup_ns=0,
    )
    assert_complete(accepted, connected)
    forward, reverse = direction != "reverse", direction != "forward"
    for end, sends, receives in ((connected, forward, reverse), (accepted, reverse, forward)):
        assert_counters_agree(end, streams)
        expected = _describe(transport, sends=sends, receives=receives)
        assert end.of("ready")[0]["transfer"] == end.last["transfer"] == expected
        assert end.last["total_bytes"] == [16_666_668, 16_666_667, 16_666_667]
        if direction == "both":
            assert end.last["total_sent_bytes"] == end.last["total_bytes"]


@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
@pytest.mark.parametrize("requested", ["copy", "zero-copy"])
def test_ends_choose_apart(requested: str, direction: str) -> None:
    """Only one end copies; by time, so that streams end within a page."""
    other = {"copy": "zero-copy", "zero-copy": "copy"}[requested]
    accepted, connected = carry(
        streams=5,
        receiver_flags={"transfer": requested, "duration_ns": 200 * MS},
        sender_flags={"transfer": other, "direction": direction, "duration_ns": 200 * MS},
    )
    forward, reverse = direction != "reverse", direction != "forward"
    for end in (accepted, connected):
        assert end.of("result"), end.stderr
        assert_counters_agree(end, 5)
    assert (accepted.last["transfer"]["requested"], connected.last["transfer"]["requested"]) == (
        requested,
        other,
    )
    if forward:
        sent = connected.last["total_sent_bytes" if reverse else "total_bytes"]
        assert sent == accepted.last["total_bytes"]
        assert sum(sent) > 0
    if reverse:
        sent = accepted.last["total_sent_bytes" if forward else "total_bytes"]
        assert sent == connected.last["total_bytes"]
        assert sum(sent) > 0


@pytest.mark.parametrize(("write_bytes", "read_bytes"), [(1, 1), (777, 4096), (3_000_001, 2_000_003)])
def test_sizes_of_calls_lose_nothing(write_bytes: int, read_bytes: int) -> None:
    accepted, connected = carry(
        streams=2,
        transfer="zero-copy",
        write_bytes=write_bytes,
        read_bytes=read_bytes,
        receiver_flags={"bytes": 100_001, "warmup_ns": 0},
        sender_flags={"bytes": 100_001, "warmup_ns": 0},
    )
    assert_complete(accepted, connected)
    assert accepted.last["total_bytes"] == connected.last["total_bytes"] == [50_001, 50_000]
    assert connected.last["transfer"]["send"] == "splice"


def test_spliced_data_does_not_repeat() -> None:
    """A peer of plain sockets reads as many bytes as were counted, and they are incompressible."""
    total = 200_000
    with (
        listening() as (listener, port),
        sending(port, transfer="zero-copy", bytes=total, warmup_ns=0) as sender,
    ):
        with answering(listener, build_answer()) as (connection, _):
            sender.expect("ready")
            sender.send_line("go")
            data = read_exactly(connection, total)
            assert connection.recv(1) == b""
            connection.sendall(CONFIRMATION.pack(total))
        sent = sender.finish()
    assert_complete(sent)
    assert sent.last["transfer"]["send"] == "splice"
    assert sent.last["total_bytes"] == sent.last["confirmed_bytes"] == [total]
    pages = {data[at : at + 4096] for at in range(0, 65536 - 4096, 4096)}
    assert len(pages) == 15
    assert all(len(set(page)) > 200 for page in pages)


def test_copy_is_the_default() -> None:
    received, sent = carry(streams=1)
    assert received.last["transfer"] == {"requested": "copy", "send": None, "receive": "copy", "reason": None}
    assert sent.last["transfer"] == {"requested": "copy", "send": "copy", "receive": None, "reason": None}


# Without pipes

LIMIT = 128  # descriptors; the engine requires 64 more than it needs
_LAUNCHER = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[1])))
for _ in range(int(sys.argv[2])):
    os.set_inheritable(os.dup(0), True)
os.execv(sys.argv[3], sys.argv[3:])
"""


@contextlib.contextmanager
def _sending_among(held: int, port: int, workers: int) -> Iterator[Engine]:
    """A sender that inherits ``held`` descriptors, of at most LIMIT."""
    command = build_command(
        "send",
        address="127.0.0.1",
        port=port,
        token=TOKEN,
        streams=workers,
        workers=workers,
        transfer="zero-copy",
        duration_ns=100 * MS,
        control="stdin",
    )
    launcher = [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(LIMIT), str(held)]
    with start_command([*launcher, *command]) as sender:
        sender.expect("hello")
        yield sender


def _descriptors(engine: Engine) -> list[str]:
    return [str(link.readlink()) for link in Path(f"/proc/{engine.process.pid}/fd").iterdir()]


@pytest.mark.parametrize("free", [2, 3])
@pytest.mark.parametrize("workers", [1, 2])
def test_without_pipes_it_copies_and_states_it(workers: int, free: int) -> None:
    """Descriptors for all but the pipes of the last worker; the other workers then copy as well."""
    with receiving(streams=0, flows=2, duration_ns=-1, warmup_ns=-1) as (receiver, port):
        with _sending_among(0, port, workers) as sender:
            assert sender.expect("ready")["transfer"]["reason"] is None
            receiver.expect("ready")
            used = len(_descriptors(sender))
            sender.send_line("go")
            assert sender.finish().last["transfer"]["send"] == "splice"
        receiver.wait_for("result")
        # The last worker's four pipe ends and its two other descriptors are the last of `used`.
        with _sending_among(LIMIT - (used - 6) - free, port, workers) as sender:
            ready = sender.expect("ready")
            pipes = [link for link in _descriptors(sender) if link.startswith("pipe:")]
            sender.send_line("go")
            sent = sender.finish()
        received = receiver.finish()
    expected = {"requested": "zero-copy", "send": "copy", "receive": None, "reason": NO_PIPES}
    assert ready["transfer"] == sent.last["transfer"] == expected
    assert len(set(pipes)) <= 3, "stdin, stdout and stderr alone"
    assert_complete(sent, received)
    assert sent.last["total_bytes"] == received.last["total_bytes"]
