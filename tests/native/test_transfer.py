"""Zero-copy: spliced pages and discarded bytes are counted like any others."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.native.engine import (
    MS,
    TOKEN,
    Engine,
    Flag,
    assert_complete,
    assert_counters_agree,
    build_command,
    carry,
    go,
    receiving,
    sending,
    start_command,
)
from tests.native.messages import name_end
from tests.native.peers import CONFIRMATION, answering, build_answer, listening, read_exactly
from tests.require import require_mptcp

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
@pytest.mark.parametrize(
    ("transport", "discards"), [("tcp", "truncate"), ("mptcp", "truncate"), ("unix", "copy")]
)
def test_every_byte_is_counted_without_a_copy(transport: str, discards: str, direction: str) -> None:
    """Only TCP can discard received bytes in the kernel: elsewhere a reason is stated."""
    if transport == "mptcp":
        require_mptcp()
    streams, total, name = 3, 20_000_002, name_end(transport)
    flags: dict[str, Flag] = {"transfer": "zero-copy", "bytes": total, "warmup_ns": 0}
    accepted, connected = carry(
        receiver_flags={"bind": name},
        sender_flags={"address": name, "direction": direction},
        streams=streams,
        transport=transport,
        **flags,
    )
    assert_complete(accepted, connected)
    forward, reverse = direction != "reverse", direction != "forward"
    for end, sends, receives in ((connected, forward, reverse), (accepted, reverse, forward)):
        assert_counters_agree(end, streams)
        stated = end.of("ready")[0]["transfer"]
        assert stated == end.last["transfer"]
        assert (stated["reason"] is not None) == (receives and discards == "copy")
        sending_by, receiving_by = "splice" if sends else None, discards if receives else None
        assert (stated["send"], stated["receive"]) == (sending_by, receiving_by)
        assert stated["requested"] == "zero-copy"
        assert end.last["total_bytes"] == [6_666_668, 6_666_667, 6_666_667]
        if direction == "both":
            assert end.last["total_sent_bytes"] == end.last["total_bytes"]


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
    where: dict[str, Flag] = {"address": "127.0.0.1", "port": port, "token": TOKEN, "control": "stdin"}
    shape: dict[str, Flag] = {"streams": workers, "workers": workers, "duration_ns": 50 * MS}
    command = build_command("send", transfer="zero-copy", **where, **shape)
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
            received, sent = go(receiver, sender)
    assert ready["transfer"] == sent.last["transfer"]
    assert (ready["transfer"]["send"], ready["transfer"]["receive"]) == ("copy", None)
    assert "pipes" in ready["transfer"]["reason"]
    assert len(set(pipes)) <= 3, "stdin, stdout and stderr alone"
    assert_complete(sent, received)
    assert sent.last["total_bytes"] == received.last["total_bytes"]
