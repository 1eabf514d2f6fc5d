"""Messages: every transport, order and number at both ends, batches, rates, round trips, and bad ends."""

from __future__ import annotations

import os
import signal
import uuid
from pathlib import Path

import pytest

from tests.native.engine import (
    MS,
    TOKEN,
    Ending,
    Flag,
    Record,
    assert_counters_agree,
    assert_refused,
    receiving,
    run,
    sending,
    start,
)
from tests.native.peers import build_hello, call, read_to_end
from tests.require import require_engine

pytestmark = pytest.mark.engine

DONE, USAGE, SETUP, ENDED = 0, 2, 3, 5
LONG_NS = 60_000 * MS
#: What carries messages, by its name and by the transport on which its streams are admitted.
CARRIERS = {
    "tcp": "tcp",
    "unix": "unix",
    "udp": "tcp",
    "unix-datagram": "unix",
    "pipe": "unix",
    "shared-memory": "unix",
    "eventfd": "unix",
}
IN_ORDER = [name for name in CARRIERS if name != "udp"]


def name_end(transport: str) -> str:
    """An address for both ends: the loopback, or a name that no other test has."""
    return "127.0.0.1" if CARRIERS[transport] == "tcp" else f"@pathlab-test-{uuid.uuid4()}"


def exchange(
    transport: str = "tcp", receiver_flags: dict[str, Flag] | None = None, /, **flags: Flag
) -> tuple[Ending, Ending]:
    """One complete trial with messages; how the receiver and the sender ended."""
    address = name_end(transport)
    accepting: dict[str, Flag] = {"bind": address, "transport": CARRIERS[transport], "warmup_ns": -1}
    with receiving(**{**accepting, "duration_ns": -1, **(receiver_flags or {})}) as (receiver, port):
        settings: dict[str, Flag] = {"message_bytes": 64, "duration_ns": 120 * MS, "warmup_ns": 40 * MS}
        where: dict[str, Flag] = {"address": address, "transport": transport}
        with sending(port or 1, **{**where, **settings, **flags}) as sender:
            sender.expect("ready")
            receiver.expect("ready")
            sender.send_line("go")
            sent = sender.finish()
        return receiver.finish(), sent


def assert_complete(accepted: Ending, connected: Ending, streams: int = 1) -> tuple[Record, Record]:
    """What both results say about messages; both are complete, and all that was sent came, in order."""
    for end in (accepted, connected):
        assert end.status == DONE, end.stderr
        assert end.last["complete"], end.last
        assert_counters_agree(end, streams)
    received, sent = accepted.last["messages"], connected.last["messages"]
    assert received["missing"] == received["out_of_order"] == [0] * streams
    assert received["received"] == sent["sent"]
    assert min(received["received"]) > 0
    by_phase = [phase["messages"] for phase in accepted.last["phases"].values()]
    assert [sum(counts) for counts in zip(*by_phase, strict=True)] == received["received"]
    return received, sent


@pytest.mark.parametrize("transport", CARRIERS)
def test_every_transport_carries_messages_in_order(transport: str) -> None:
    # By UDP as fast as possible, datagrams are lost: see below.
    flags: dict[str, Flag] = {"messages_per_s": 2000} if transport == "udp" else {}
    accepted, connected = exchange(transport, **flags)
    received, _ = assert_complete(accepted, connected)
    assert accepted.last["total_bytes"] == [64 * received["received"][0]]
    assert connected.last["confirmed_bytes"] == accepted.last["total_bytes"]
    (first,), (last,) = received["first_arrival_ns"], received["last_arrival_ns"]
    assert 0 <= first < last < 10**10


@pytest.mark.parametrize("transport", CARRIERS)
@pytest.mark.parametrize("wait", ["block", "poll"])
def test_every_transport_returns_messages(transport: str, wait: str) -> None:
    accepted, connected = exchange(transport, {"wait": wait}, wait=wait, reply="yes")
    _, sent = assert_complete(accepted, connected)
    assert sent["received"] == sent["sent"] == accepted.last["messages"]["sent"]
    trips = connected.of("round_trips")
    counted = sum(record["round_trip_ns"]["count"] for record in trips)
    assert counted == sent["received"][0]
    steady = [record["round_trip_ns"] for record in trips if record["phase"] == "steady"]
    total = connected.last["messages"]["round_trip_ns"]
    assert total["count"] == sum(part["count"] for part in steady)
    assert total["min"] == min(part["min"] for part in steady)
    assert total["max"] == max(part["max"] for part in steady)
    ready = connected.of("ready")[0]["messages"]
    assert ready["replies"]
    assert ready["wait"] == wait
    assert ready["carrier"] == (None if transport in ("tcp", "unix") else transport)
    assert 0 < ready["clock_ns"] < 10_000
    assert 0 < ready["record_ns"] < 10_000


@pytest.mark.parametrize("size", [4, 5, 1000, 65536])
@pytest.mark.parametrize("encoding", ["fixed", "protobuf"])
@pytest.mark.parametrize("batch_bytes", [0, 30_000])
def test_sizes_encodings_and_batches(size: int, encoding: str, batch_bytes: int) -> None:
    accepted, connected = exchange(message_bytes=size, encoding=encoding, batch_bytes=batch_bytes)
    received, sent = assert_complete(accepted, connected)
    if encoding == "fixed":
        assert accepted.last["total_bytes"][0] == size * received["received"][0]
    calls = sent["sent"][0] / sent["send_calls"][0]
    assert calls == 1 if batch_bytes < 2 * size else calls > 2


@pytest.mark.parametrize("wait", ["block", "poll"])
def test_an_offered_rate_is_kept(wait: str) -> None:
    accepted, connected = exchange(
        "tcp", {"wait": wait}, wait=wait, reply="yes", messages_per_s=1000, no_delay="yes"
    )
    _, sent = assert_complete(accepted, connected)
    assert 140 <= sent["sent"][0] <= 162  # of 160 ms
    assert connected.of("ready")[0]["messages"]["offered_per_s"] == 1000
    assert 0 <= sent["send_error_ns"]["median"] <= sent["send_error_ns"]["max"]


def test_a_message_that_is_sent_late_was_under_way_since_it_was_due() -> None:
    """A rate that nothing reaches: all that is sent was due in the warm-up, and the last of it long ago."""
    accepted, connected = exchange(reply="yes", messages_per_s=10**9)
    _, sent = assert_complete(accepted, connected)
    assert sent["sent"][0] < 10**9 * 0.04
    assert sent["send_error_ns"]["max"] > 80 * MS
    trips = connected.of("round_trips")
    assert {record["phase"] for record in trips} == {"warmup"}
    assert max(record["round_trip_ns"]["max"] for record in trips) > 80 * MS
    steady = sent["round_trip_ns"]
    assert (steady["count"], steady["min"], steady["mean"], steady["max"]) == (0, None, None, None)


def test_a_delay_fills_batches_and_is_part_of_the_round_trip() -> None:
    delay: dict[str, Flag] = {"batch_min_delay_ns": 4 * MS, "batch_max_delay_ns": 8 * MS}
    accepted, connected = exchange(reply="yes", messages_per_s=5000, batch_bytes=60_000, **delay)
    _, sent = assert_complete(accepted, connected)
    assert sent["sent"][0] / sent["send_calls"][0] > 8
    trips = connected.last["messages"]["round_trip_ns"]
    assert trips["mean"] > 1.5 * MS  # half of 4 ms on average


def test_streams_are_sinks_in_turn() -> None:
    accepted, connected = exchange(streams=5, messages_per_s=5000)
    received, _ = assert_complete(accepted, connected, streams=5)
    assert max(received["received"]) - min(received["received"]) <= 1
    assert connected.of("ready")[0]["workers"] == 1
    assert accepted.of("ready")[0]["workers"] == 5


def test_several_receivers_share_the_streams() -> None:
    waiting: dict[str, Flag] = {"duration_ns": -1, "warmup_ns": -1}
    with receiving(**waiting) as (one, first_port), receiving(**waiting) as (two, second_port):
        with start(
            "send",
            receivers=f"127.0.0.1:{first_port},127.0.0.1:{second_port}",
            token=TOKEN,
            streams=4,
            message_bytes=64,
            duration_ns=100 * MS,
        ) as sender:
            sent = sender.finish()
        ends = one.finish(), two.finish()
    counts = sent.last["messages"]["sent"]
    for place, end in enumerate(ends):
        assert end.last["complete"]
        assert end.last["messages"]["received"] == counts[place::2]
        assert sum(end.last["messages"]["missing"]) == 0


@pytest.mark.parametrize("placement", ["fused", "threaded"])
@pytest.mark.parametrize("encoding", ["fixed", "protobuf"])
def test_source_and_sink_in_one_process(placement: str, encoding: str) -> None:
    ending = run("send", placement=placement, encoding=encoding, message_bytes=64, duration_ns=100 * MS)
    assert ending.status == DONE, ending.stderr
    found = ending.last["messages"]
    assert found["sent"] == found["received"]
    assert found["received"][0] > 1000
    assert found["missing"] == found["out_of_order"] == [0]
    assert ending.of("ready")[0]["messages"]["placement"] == placement
    assert ending.of("ready")[0]["workers"] == (1 if placement == "fused" else 2)


def test_reverse_carries_messages_from_the_listening_end() -> None:
    accepted, connected = exchange(direction="reverse")
    assert accepted.last["complete"]
    assert connected.last["complete"]
    received = connected.last["messages"]
    assert received["received"] == accepted.last["messages"]["sent"]
    assert received["missing"] == [0]


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ({"message_bytes": 3}, "--message-bytes must be at least 4"),
        ({"message_bytes": 65537}, "--message-bytes: '65537' is not a size such as"),
        ({"reply": "yes"}, "--reply, --placement, --messages-per-s and --batch-bytes need --message-bytes"),
        ({"transport": "pipe"}, "--transport: pipe carries messages: give --message-bytes"),
        ({"message_bytes": 64, "queue_bytes": 300_000}, "--queue-bytes must be a power of two"),
        ({"message_bytes": 64, "batch_bytes": 2**20}, "--batch-bytes must be at most half of --queue-bytes"),
        ({"message_bytes": 64, "direction": "both"}, "--direction both is for streams of bytes"),
        ({"message_bytes": 64, "streams": 257}, "--message-bytes allows 256 streams at most"),
        (
            {"message_bytes": 65400, "transport": "udp"},
            "--message-bytes and --batch-bytes: a datagram carries",
        ),
        ({"message_bytes": 64, "batch_max_delay_ns": 5}, "delays of batches need --batch-bytes"),
        ({"message_bytes": 64, "placement": "fused", "reply": "yes"}, "--placement: threads of one process"),
        ({"message_bytes": 64, "placement": "threaded"}, "--placement threaded has source and sink in this"),
        ({"message_bytes": 64, "bytes": 100, "streams": 2}, "--bytes must be at least 64 for each of the 2"),
        ({"message_bytes": 64, "encoding": "json"}, "--encoding:"),
        ({"message_bytes": 64, "wait": "sleep"}, "--wait:"),
        ({"message_bytes": 64, "receivers": "127.0.0.1:1"}, "--receivers needs --message-bytes, and takes"),
    ],
)
def test_flags_that_contradict_each_other(flags: dict[str, Flag], named: str) -> None:
    ending = run("send", address="127.0.0.1", **flags)
    assert_refused(ending, USAGE, "options")
    assert named in ending.last["text"]


@pytest.mark.parametrize("listed", ["10.0.0.1", "::1:5000", "[::1]", "10.0.0.1:0", "[]:1", "10.0.0.1:1,"])
def test_lists_of_receivers_that_are_wrong(listed: str) -> None:
    ending = run("send", receivers=listed, message_bytes=64)
    assert_refused(ending, USAGE, "options")
    assert "--receivers: " in ending.last["text"]


@pytest.mark.parametrize(
    ("flags", "messages"),
    [
        (1, (3, 0, 0, 2**20)),  # too small
        (1, (65537, 0, 0, 2**20)),
        (1, (64, 2, 0, 2**20)),  # no such encoding
        (1, (64, 0, 6, 2**20)),  # no such carrier
        (1, (64, 0, 3, 2**20)),  # a pipe over TCP
        (1, (64, 0, 0, 2**20 + 1)),  # not a power of two
        (1, (64, 0, 0, 2**31)),
        (3, (64, 0, 0, 2**20)),  # both ways without replies
        (5, (64, 0, 0, 2**20)),  # replies one way
        (7, (0, 0, 0, 0)),  # replies to bytes
        (1, (0, 0, 1, 0)),
    ],
)
def test_a_hello_with_impossible_messages_is_rejected(
    flags: int, messages: tuple[int, int, int, int]
) -> None:
    with receiving() as (receiver, port):
        with call(port, build_hello(flags=flags, messages=messages)) as connection:
            assert read_to_end(connection) == b""
        receiver.close_stdin()
        assert receiver.finish().last["type"] == "error"


def test_streams_that_state_other_messages_are_rejected() -> None:
    with receiving() as (receiver, port):
        with (
            call(port, build_hello(streams=2, messages=(64, 0, 0, 2**20))),
            call(port, build_hello(stream=1, streams=2, messages=(128, 0, 0, 2**20))) as other,
        ):
            assert read_to_end(other) == b""
        receiver.close_stdin()
        receiver.finish()


def find_leftovers(name: str) -> list[str]:
    """Unix sockets of this name, and anything of ours in the shared memory of this machine."""
    sockets = Path("/proc/net/unix").read_text()
    shared = [path.name for path in Path("/dev/shm").iterdir() if "pathlab" in path.name]
    return [line for line in sockets.splitlines() if name in line] + shared


@pytest.mark.parametrize("transport", CARRIERS)
@pytest.mark.parametrize("victim", ["sender", "receiver"])
@pytest.mark.parametrize("reply", ["no", "yes"])
def test_an_end_that_dies_ends_the_other_and_leaves_nothing(transport: str, victim: str, reply: str) -> None:
    address = name_end(transport)
    accepting: dict[str, Flag] = {"bind": address, "transport": CARRIERS[transport]}
    with receiving(**{**accepting, "duration_ns": LONG_NS}) as (receiver, port):
        where: dict[str, Flag] = {"address": address, "transport": transport, "duration_ns": LONG_NS}
        with sending(port or 1, message_bytes=64, reply=reply, **where) as sender:
            sender.expect("ready")
            receiver.expect("ready")
            sender.send_line("go")
            sender.wait_for("interval", phase="steady")
            dying, other = (sender, receiver) if victim == "sender" else (receiver, sender)
            os.kill(dying.process.pid, signal.SIGKILL)
            ending = other.finish()
    assert ending.status == ENDED
    assert not ending.last["complete"]
    assert ending.last["reason"]
    if CARRIERS[transport] == "unix":
        assert find_leftovers(address) == []


@pytest.mark.parametrize("transport", IN_ORDER)
@pytest.mark.parametrize("reply", ["no", "yes"])
def test_a_sink_that_stalls_is_given_up_after_the_drain(transport: str, reply: str) -> None:
    address = name_end(transport)
    accepting: dict[str, Flag] = {"bind": address, "transport": CARRIERS[transport]}
    with receiving(**{**accepting, "duration_ns": LONG_NS}) as (receiver, port):
        where: dict[str, Flag] = {"address": address, "transport": transport}
        short: dict[str, Flag] = {"duration_ns": 100 * MS, "drain_timeout_ns": 100 * MS}
        with sending(port or 1, message_bytes=64, reply=reply, **where, **short) as sender:
            sender.expect("ready")
            receiver.expect("ready")
            os.kill(receiver.process.pid, signal.SIGSTOP)
            sender.send_line("go")
            ending = sender.finish()
    assert ending.status in (DONE, ENDED)
    assert ending.last["complete"] == (ending.last["reason"] is None)
    if not ending.last["complete"]:
        assert "--drain-timeout-ns" in ending.last["reason"]


def test_a_limit_of_bytes_ends_a_flow_of_messages() -> None:
    accepted, connected = exchange(volume_limit_bytes=64_000, duration_ns=LONG_NS)
    assert connected.last["reason"] == "the limit of --volume-limit-bytes was reached"
    assert accepted.last["messages"]["received"] == connected.last["messages"]["sent"]
    assert 1000 <= connected.last["messages"]["sent"][0] < 2000


@pytest.mark.parametrize("reply", ["no", "yes"])
@pytest.mark.parametrize("encoding", ["fixed", "protobuf"])
def test_a_number_of_bytes_is_that_of_whole_messages(reply: str, encoding: str) -> None:
    flags: dict[str, Flag] = {"bytes": 6450, "streams": 2, "reply": reply}
    accepted, connected = exchange(encoding=encoding, **flags)
    received, sent = assert_complete(accepted, connected, streams=2)
    assert sent["sent"] == received["received"] == [50, 50]


def test_a_priority_that_is_not_permitted_is_stated() -> None:
    require_engine()
    _, connected = exchange(priority=10)
    granted = connected.of("ready")[0]["messages"]["priority"]
    assert granted in (10, None)
    assert granted == 10 or os.geteuid() != 0 or not os.sched_getparam(0)
