"""Bad input of flows of datagrams: peers that vanish, stall or break the protocol."""

import contextlib
import os
import signal
import socket
import struct
from collections.abc import Iterator

import pytest

from tests.native.datagrams import datagrams_of, total
from tests.native.engine import LONG_NS, MS, Engine, Flag, assert_cut, assert_refused, both_ready, receiving
from tests.native.peers import ANSWER, FORWARD, REVERSE, build_answer, build_hello, call, read_exactly

pytestmark = pytest.mark.engine

RATE = 2000
BYTES = 200
PORT = struct.Struct(">H")
#: Of a receiver whose sender the test plays, and which waits for it.
HOSTILE: dict[str, Flag] = {"transport": "udp", "warmup_ns": 0, "drain_timeout_ns": LONG_NS}
HEADER = struct.Struct(">QqIB")
END = struct.Struct(">cQQ")
#: PROTOCOL.md: of TOKEN, stream 0, forward.
CHECK_FORWARD = 0x04415FB4


@contextlib.contextmanager
def _running(direction: str = "forward", **flags: Flag) -> Iterator[dict[str, Engine]]:
    """The ends of a flow in its steady window; ``flags`` go to both."""
    shape: dict[str, Flag] = {"datagram_bytes": BYTES, "packets_per_s": RATE, "direction": direction}
    with both_ready({}, shape, **{"transport": "udp", "duration_ns": LONG_NS, **flags}) as (receiver, sender):
        sender.send_line("go")
        for end in (sender, receiver):
            end.wait_for("interval", phase="steady")
        yield {"receiver": receiver, "sender": sender}


OTHER = {"receiver": "sender", "sender": "receiver"}


@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
@pytest.mark.parametrize("victim", OTHER)
def test_an_end_that_dies_ends_the_other(victim: str, direction: str) -> None:
    with _running(direction) as ends:
        ends[victim].process.kill()
        ending = ends[OTHER[victim]].finish()
    assert_cut(ending, "stream 0: the peer")
    steady = datagrams_of(ending, "steady")
    if "sent" in steady:
        assert steady["sent"][0] > 0
        assert datagrams_of(ending)["confirmed"]["received"] == [None]
    if "received" in steady:
        assert steady["received"][0] + datagrams_of(ending, "warmup")["received"][0] > 0
        assert (steady["lost"], steady["peer_sent"]) == ([None], [None])


@pytest.mark.parametrize("victim", OTHER)
def test_an_end_that_stalls_is_waited_for_no_longer_than_asked(victim: str) -> None:
    with _running(duration_ns=300 * MS, drain_timeout_ns=100 * MS) as ends:
        os.kill(ends[victim].process.pid, signal.SIGSTOP)
        ending = ends[OTHER[victim]].finish()
    name = "sent" if victim == "receiver" else "received"
    assert total(ending, name) + total(ending, name, "warmup") > 0
    assert ending.status in (0, 5)


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
        stream.sendall(PORT.pack(udp.getsockname()[1]))
        (theirs,) = PORT.unpack(read_exactly(stream, PORT.size))
        assert theirs == port
        udp.connect(("127.0.0.1", theirs))
        yield stream, udp


def _datagram(number: int, *, check: int = CHECK_FORWARD, phase: int = 1, size: int = 100) -> bytes:
    return (HEADER.pack(number, 5, check, phase) + bytes(size))[:size]


def test_the_receiver_counts_by_the_protocol_and_sends_no_datagram() -> None:
    """Loss, copies and order of a sender that the test plays, and foreign datagrams beside them."""
    with receiving(**HOSTILE, duration_ns=50 * MS) as (receiver, port), _hostile(port) as (stream, udp):
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
        ending = receiver.finish()
        udp.setblocking(False)
        with pytest.raises(BlockingIOError):
            udp.recv(1)
    assert struct.unpack(">cQQQQ", receipt) == (b"r", 500, 5, 1, 1)  # a copy is no throughput
    assert ending.status == 0
    steady = datagrams_of(ending, "steady")
    counts = [steady[name] for name in ("received", "lost", "duplicate", "reordered")]
    assert counts == [[5], [3], [1], [1]]
    found = datagrams_of(ending)
    assert found["foreign"] == 5
    assert found["histograms"]["loss_runs"] == [[1, 1, 1], [2, 2, 1]]


@pytest.mark.parametrize("received", [0, 2**63 + 1, 2**64 - 1])
def test_what_comes_after_the_receipt_is_not_counted(received: int) -> None:
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
        stream.sendall(struct.pack(">cQQQQ", b"r", 0, received, 0, 0))
        ending = receiver.finish()
    assert datagrams_of(ending, "warmup")["received"] == [0]
    assert (datagrams_of(ending, "steady")["received"], datagrams_of(ending, "steady")["lost"]) == ([1], [1])
    confirmed = datagrams_of(ending)["confirmed"]
    assert confirmed["received"] == [received if received < 2**63 else None]
    assert (confirmed["lost"] == [0]) == (received > 0)


def test_numbers_beyond_32_bits() -> None:
    """As after 2^32 datagrams: they are counted like the first ones."""
    first = 2**32 - 2
    with receiving(**HOSTILE, duration_ns=50 * MS) as (receiver, port), _hostile(port) as (stream, udp):
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
    assert_cut(ending, "stream 0: the peer does not follow the protocol")


IMPOSSIBLE: list[dict[str, object]] = [
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
]


def test_impossible_hellos_are_rejected() -> None:
    with receiving(transport="udp") as (receiver, port):
        for changes in IMPOSSIBLE:
            with call(port, _hello(**changes)) as stream:
                assert stream.recv(1) == b"", changes
        with _hostile(port):
            assert receiver.expect("ready")["rejected"] == len(IMPOSSIBLE)


def test_streams_of_bytes_are_not_mistaken_for_datagrams() -> None:
    """A receiver whose transport carries no datagrams rejects them."""
    with receiving(transport="mptcp", accept_timeout_ns=1500 * MS) as (receiver, port):
        with call(port, _hello()) as stream:
            assert stream.recv(1) == b""
        ending = receiver.finish()
    assert_refused(ending, 5, "accept")
    assert ending.last["text"].endswith("rejected: 1")
