"""Bad input of flows of datagrams: calls that fail, peers that vanish or break the protocol."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.native.datagrams import assert_sent_agrees, datagrams_of, total
from tests.native.engine import MS, TOKEN, Ending, Engine, Flag, assert_refused, receiving, sending
from tests.native.faulty import assert_orderly, start_faulty
from tests.native.peers import ANSWER, FORWARD, HELLO, REVERSE, build_answer, build_hello, call, read_exactly
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.engine

USAGE, SETUP, PEER, ENDED = 2, 3, 4, 5
RATE = 2000
BYTES = 200
LONG_NS = 60_000 * MS
PORT = struct.Struct(">H")
#: Of a receiver whose sender the test plays, and which waits for it.
HOSTILE: dict[str, Flag] = {"transport": "udp", "warmup_ns": 0, "drain_timeout_ns": LONG_NS}
HEADER = struct.Struct(">QqIB")
END = struct.Struct(">cQQ")
#: PROTOCOL.md: of TOKEN, stream 0, forward.
CHECK_FORWARD = 0x04415FB4


def _carry_faulty(tmp_path: Path, faults: str, **flags: Flag) -> tuple[Ending, Ending]:
    """A flow whose connecting end's calls fail: the accepting end, and that one."""
    settings: dict[str, Flag] = {
        "address": "127.0.0.1",
        "token": TOKEN,
        "transport": "udp",
        "datagram_bytes": BYTES,
        "packets_per_s": RATE,
        "warmup_ns": 60 * MS,
        "duration_ns": 250 * MS,
        "control": "stdin",
    }
    with (
        receiving(transport="udp") as (receiver, port),
        start_faulty("send", faults, tmp_path / "applied", **{**settings, "port": port, **flags}) as sender,
    ):
        sender.wait_for("ready")
        sender.send_line("go")
        sent = sender.finish()
        return receiver.finish(), sent


def _was_applied(tmp_path: Path) -> bool:
    return (tmp_path / "applied").exists()


@pytest.mark.parametrize("cause", ["ENOBUFS", "ENOMEM", "EPERM"])
def test_datagrams_that_the_kernel_refuses_are_counted(tmp_path: Path, cause: str) -> None:
    # So few that they all have room in the receiver's socket.
    accepting, connecting = _carry_faulty(tmp_path, f"sendmmsg:{cause}@5x20", packets_per_s=500)
    assert (connecting.status, connecting.stderr) == (0, "")
    assert sum(datagrams_of(connecting)["refused"]) == 20
    assert total(accepting, "lost") == 0  # a number is used again
    assert_sent_agrees(connecting, accepting)


def test_unreachable_peers_are_counted(tmp_path: Path) -> None:
    accepting, connecting = _carry_faulty(tmp_path, "sendmmsg:ECONNREFUSED@5x3")
    assert (connecting.status, connecting.stderr) == (0, "")
    assert datagrams_of(connecting)["icmp_unreachable"] == 3
    assert sum(datagrams_of(connecting)["refused"]) == 3
    assert_sent_agrees(connecting, accepting)


@pytest.mark.parametrize(
    "flags", [{}, {"packets_per_s": 0}, {"streams": 3}], ids=["paced", "fast", "streams"]
)
@pytest.mark.parametrize(
    "faults", ["sendmmsg:short@1+", "sendmmsg:EAGAIN@1/2", "sendmmsg:EINTR@1/3", "recvmmsg:EINTR@1/2"]
)
def test_calls_that_do_less(tmp_path: Path, faults: str, flags: dict[str, Flag]) -> None:
    direction = "both" if faults.startswith("recv") else "forward"
    accepting, connecting = _carry_faulty(tmp_path, faults, direction=direction, **flags)
    assert (connecting.status, connecting.stderr) == (0, "")
    assert _was_applied(tmp_path)
    assert sum(datagrams_of(connecting)["refused"]) == 0
    assert_sent_agrees(connecting, accepting)


@pytest.mark.parametrize("streams", [1, 3])
def test_what_was_due_and_not_sent_is_given_up(tmp_path: Path, streams: int) -> None:
    """A socket without room from early in the warm-up on: all that was due is in one of three counts."""
    _, connecting = _carry_faulty(tmp_path, "sendmmsg:EAGAIN@5+", streams=streams, duration_ns=240 * MS)
    counts = [
        total(connecting, name, phase)
        for name in ("sent", "refused", "given_up")
        for phase in ("warmup", "steady")
    ]
    assert sum(counts) == RATE * (60 + 240) // 1000
    assert min(datagrams_of(connecting, "steady")["given_up"]) > 0


def test_a_path_whose_mtu_shrinks_ends_the_trial(tmp_path: Path) -> None:
    _, connecting = _carry_faulty(tmp_path, "sendmmsg:EMSGSIZE@50+")
    assert connecting.status == ENDED
    reason = f"stream 0: the path's MTU does not carry --datagram-bytes {BYTES}: use fewer"
    assert connecting.last["reason"] == reason
    assert connecting.stderr == f"pathlab-engine: ended early: {reason}\n"


@pytest.mark.parametrize("direction", ["forward", "both"])
@pytest.mark.parametrize("gso", ["no", "yes"])
def test_a_device_that_does_not_send_is_not_the_peers_fault(tmp_path: Path, gso: str, direction: str) -> None:
    """As one without checksum offload refuses super-packets."""
    _, connecting = _carry_faulty(tmp_path, "sendmmsg:EIO@5+", gso=gso, direction=direction)
    assert connecting.status == ENDED
    hint = ": leave out --gso, which not every device can do" if gso == "yes" else ""
    reason = f"stream 0: this end could not send a datagram: {os.strerror(errno.EIO)}{hint}"
    assert connecting.last["reason"] == reason
    assert connecting.stderr == f"pathlab-engine: ended early: {reason}\n"


@pytest.mark.parametrize("nth", range(1, 15))
@pytest.mark.parametrize("failing", ["setsockopt:EINVAL", "socket:EMFILE", "bind:EINVAL", "connect:EPERM"])
def test_a_set_up_that_fails_is_stated_in_one_line(tmp_path: Path, failing: str, nth: int) -> None:
    """Each call in turn; those that the flow can do without are done without."""
    flags: dict[str, Flag] = {
        "address": "127.0.0.1",
        "token": TOKEN,
        "transport": "udp",
        "datagram_bytes": 100,
    }
    with (
        receiving(transport="udp", accept_timeout_ns=2000 * MS) as (_, port),
        start_faulty(
            "send", f"{failing}@{nth}", tmp_path / "applied", port=port, duration_ns=50 * MS, **flags
        ) as sender,
    ):
        assert_orderly(sender.finish(), failing)


@pytest.mark.parametrize("nth", range(1, 25))
@pytest.mark.parametrize("failing", ["calloc:ENOMEM", "malloc:ENOMEM", "aligned_alloc:ENOMEM"])
def test_memory_that_runs_out_is_stated_in_one_line(tmp_path: Path, failing: str, nth: int) -> None:
    flags: dict[str, Flag] = {
        "address": "127.0.0.1",
        "token": TOKEN,
        "transport": "udp",
        "datagram_bytes": 100,
        "packets_per_s": 1000,
        "direction": "both",
    }
    with (
        receiving(transport="udp", accept_timeout_ns=2000 * MS) as (_, port),
        start_faulty(
            "send", f"{failing}@{nth}", tmp_path / "applied", port=port, duration_ns=50 * MS, **flags
        ) as sender,
    ):
        assert_orderly(sender.finish(), failing)


# Peers


@contextlib.contextmanager
def _meeting(**flags: Flag) -> Iterator[tuple[Engine, Engine]]:
    """The ends of a long flow in its steady window: receiver and sender."""
    settings: dict[str, Flag] = {"transport": "udp", "datagram_bytes": BYTES, "packets_per_s": RATE, **flags}
    with (
        receiving(transport="udp", duration_ns=LONG_NS) as (receiver, port),
        sending(port, duration_ns=LONG_NS, **settings) as sender,
    ):
        sender.expect("ready")
        receiver.expect("ready")
        sender.send_line("go")
        for end in (sender, receiver):
            end.wait_for("interval", phase="steady")
        yield receiver, sender


@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
@pytest.mark.parametrize("victim", ["sender", "receiver"])
def test_an_end_that_dies_ends_the_other(victim: str, direction: str) -> None:
    with _meeting(direction=direction) as (receiver, sender):
        dying, other = (sender, receiver) if victim == "sender" else (receiver, sender)
        os.kill(dying.process.pid, signal.SIGKILL)
        dying.process.wait()
        ending = other.finish()
    assert ending.status == ENDED
    assert ending.last["reason"].startswith("stream 0: the peer ended it: ")
    steady = datagrams_of(ending, "steady")
    if "sent" in steady:
        assert steady["sent"][0] > 0
        assert datagrams_of(ending)["confirmed"]["received"] == [None]
    if "received" in steady:
        assert steady["received"][0] + datagrams_of(ending, "warmup")["received"][0] > 0
        assert (steady["lost"], steady["peer_sent"]) == ([None], [None])


@pytest.mark.parametrize("victim", ["sender", "receiver"])
def test_an_end_that_stalls_is_waited_for_no_longer_than_asked(victim: str) -> None:
    flags: dict[str, Flag] = {"transport": "udp", "duration_ns": 800 * MS, "drain_timeout_ns": 300 * MS}
    with (
        receiving(**flags) as (receiver, port),
        sending(port, datagram_bytes=BYTES, packets_per_s=RATE, **flags) as sender,
    ):
        sender.expect("ready")
        receiver.expect("ready")
        sender.send_line("go")
        for end in (sender, receiver):
            end.wait_for("interval", phase="steady")
        stalling, other = (sender, receiver) if victim == "sender" else (receiver, sender)
        os.kill(stalling.process.pid, signal.SIGSTOP)
        ending = other.finish()
    name = "sent" if victim == "receiver" else "received"
    assert total(ending, name) + total(ending, name, "warmup") > 0
    assert ending.status in (0, ENDED)


def _hello(**changes: object) -> bytes:
    settings: dict[str, object] = {
        "flags": FORWARD,
        "messages": (0, 0, 1, 0),
        "datagrams": (100, 0, 0, 0),
        **changes,
    }
    return build_hello(**settings)  # type: ignore[arg-type] # every value is of its parameter's type


@contextlib.contextmanager
def _hostile(port: int, **changes: object) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A connecting end of the test: its stream and its UDP socket."""
    with call(port, _hello(**changes)) as stream, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        assert read_exactly(stream, ANSWER.size) == build_answer()
        udp.bind(("127.0.0.1", 0))
        udp.settimeout(1.0)
        stream.sendall(PORT.pack(udp.getsockname()[1]))
        (theirs,) = PORT.unpack(read_exactly(stream, PORT.size))
        assert theirs == port
        udp.connect(("127.0.0.1", theirs))
        yield stream, udp


def _datagram(number: int, *, check: int = CHECK_FORWARD, phase: int = 1, size: int = 100) -> bytes:
    return (HEADER.pack(number, 5, check, phase) + bytes(size))[:size]


def test_the_receiver_counts_by_the_protocol_and_sends_no_datagram() -> None:
    """Loss, copies and order of a sender that the test plays, and foreign datagrams beside them."""
    with (
        receiving(**HOSTILE, duration_ns=50 * MS) as (receiver, port),
        _hostile(port) as (stream, udp),
    ):
        receiver.expect("ready")
        stream.sendall(b"g")
        receiver.expect("start")
        for number in (0, 1, 1, 3, 2, 6):
            udp.send(_datagram(number))
        for foreign in (_datagram(4, check=1), _datagram(4, phase=2), _datagram(4, size=99), b"", b"x"):
            udp.send(foreign)
        receiver.wait_for("interval", phase="drain")
        stream.sendall(END.pack(b"e", 0, 8))
        receipt = read_exactly(stream, 33)
        with pytest.raises(TimeoutError):
            udp.recv(1)
        ending = receiver.finish()
    assert struct.unpack(">cQQQQ", receipt) == (b"r", 500, 5, 1, 1)  # a copy is no throughput
    assert ending.status == 0
    steady = datagrams_of(ending, "steady")
    assert (steady["received"], steady["lost"], steady["duplicate"], steady["reordered"]) == (
        [5],
        [3],
        [1],
        [1],
    )
    found = datagrams_of(ending)
    assert found["foreign"] == 5
    assert found["histograms"]["loss_runs"] == [[1, 1, 1], [2, 2, 1]]


def test_what_comes_after_the_receipt_is_not_counted() -> None:
    """In both directions the stream stays open: a late datagram of the window is none of the warm-up."""
    with (
        receiving(**HOSTILE, duration_ns=1000 * MS) as (receiver, port),
        _hostile(port, flags=FORWARD | REVERSE) as (stream, udp),
    ):
        receiver.expect("ready")
        stream.sendall(b"g")
        udp.send(_datagram(0))
        stream.sendall(END.pack(b"e", 0, 2))
        assert struct.unpack(">cQQQQ", read_exactly(stream, 33)) == (b"r", 100, 1, 0, 0)
        udp.send(_datagram(1))
        for _ in range(2):
            receiver.wait_for("interval")
        assert read_exactly(stream, END.size)[:1] == b"e"
        stream.sendall(struct.pack(">cQQQQ", b"r", 0, 0, 0, 0))
        ending = receiver.finish()
    assert datagrams_of(ending, "warmup")["received"] == [0]
    assert (datagrams_of(ending, "steady")["received"], datagrams_of(ending, "steady")["lost"]) == ([1], [1])


def test_numbers_beyond_32_bits() -> None:
    """As after 2^32 datagrams: they are counted like the first ones."""
    first = 2**32 - 2
    with (
        receiving(**HOSTILE, duration_ns=50 * MS) as (receiver, port),
        _hostile(port) as (stream, udp),
    ):
        receiver.expect("ready")
        stream.sendall(b"g")
        for number in range(first, first + 5):
            udp.send(_datagram(number))
        receiver.wait_for("interval", phase="drain")
        stream.sendall(END.pack(b"e", first, 5))
        ending = receiver.finish()
    steady = datagrams_of(ending, "steady")
    assert (steady["received"], steady["lost"], steady["peer_sent"]) == ([5], [0], [5])
    assert datagrams_of(ending, "warmup")["lost"] == [first]


@pytest.mark.parametrize(
    "said",
    [b"x", b"gg", END.pack(b"e", 0, 0) * 2, b"r" + bytes(32), END.pack(b"e", 2**64 - 1, 1)],
    ids=["unknown", "twice started", "twice ended", "receipt of nothing", "too many"],
)
def test_a_statement_that_has_no_place_ends_the_trial(said: bytes) -> None:
    with receiving(transport="udp", duration_ns=LONG_NS) as (receiver, port), _hostile(port) as (stream, _):
        receiver.expect("ready")
        stream.sendall(said)
        ending = receiver.finish()
    assert ending.status == ENDED
    breach = "the peer does not follow the protocol of datagrams: it stated what has no place there"
    assert ending.last["reason"] == f"stream 0: {breach}"


@pytest.mark.parametrize(
    "changes",
    [
        {"datagrams": (31, 0, 0, 0)},
        {"datagrams": (65508, 0, 0, 0)},
        {"datagrams": (100, 4, 0, 0)},
        {"datagrams": (100, 0, 4, 0)},
        {"datagrams": (100, 0, 0, 2**63)},
        {"datagrams": (0, 1, 0, 0)},
        {"messages": (0, 0, 0, 0)},
        {"messages": (64, 0, 1, 2**18)},
        {"total_bytes": 5000},
        {"flags": FORWARD | REVERSE | 4},
    ],
)
def test_an_impossible_hello_is_rejected(changes: dict[str, object]) -> None:
    with receiving(transport="udp") as (receiver, port):
        with call(port, _hello(**changes)) as stream:
            assert stream.recv(1) == b""
        with _hostile(port):
            assert receiver.expect("ready")["rejected"] == 1


def test_streams_of_bytes_are_not_mistaken_for_datagrams() -> None:
    """A receiver whose transport carries no datagrams rejects them."""
    with receiving(transport="mptcp", accept_timeout_ns=3000 * MS) as (receiver, port):
        with call(port, _hello()) as stream:
            assert stream.recv(1) == b""
        ending = receiver.finish()
    assert_refused(ending, ENDED, "accept")
    assert ending.last["text"].endswith("unauthenticated peers rejected: 1")


def test_hello_struct_covers_the_datagrams() -> None:
    assert len(_hello()) == HELLO.size == 84


def test_an_older_receiver_gets_the_usual_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE_S)
        with sending(listener.getsockname()[1], transport="udp", datagram_bytes=64) as sender:
            connection, _ = listener.accept()
            with connection:
                read_exactly(connection, HELLO.size)
                connection.sendall(build_answer(version=3, status=1))
                ending = sender.finish()
    assert_refused(ending, PEER, "handshake")
    assert ending.last["text"] == "the receiver uses protocol 3, this sender 4"
