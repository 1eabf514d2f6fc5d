"""Forward, reverse and both directions, by time and by bytes: both ends count every byte."""

from __future__ import annotations

import pytest

from tests.native.engine import (
    LONGER_NS,
    MS,
    SHORTER_NS,
    Ending,
    Flag,
    assert_counters_agree,
    carry,
    receiving,
    sending,
)

pytestmark = pytest.mark.engine

STREAMS = (1, 3, 64)


def assert_complete(*ends: Ending) -> None:
    for end in ends:
        assert end.stderr == ""
        assert end.status == 0
        assert (end.last["complete"], end.last["reason"]) == (True, None)


def assert_both_counters_agree(end: Ending, streams: int) -> None:
    """The counters of received bytes, and those of sent bytes."""
    assert_counters_agree(end, streams)
    sums = [0] * streams
    for phase in end.last["phases"].values():
        sums = [a + b for a, b in zip(sums, phase["sent_bytes"], strict=True)]
    assert sums == end.last["total_sent_bytes"]
    for name, phase in end.last["phases"].items():
        steps = [record["sent_bytes"] for record in end.of("interval") if record["phase"] == name]
        assert phase["sent_bytes"] == [sum(column) for column in zip(*steps, strict=True)] if steps else True


# A receiver's steady window ends before its sender's, as in tests/native/engine.py.
REVERSE: dict[str, dict[str, Flag]] = {
    "receiver_flags": {"duration_ns": LONGER_NS},
    "sender_flags": {"direction": "reverse", "duration_ns": SHORTER_NS},
}


@pytest.mark.parametrize("streams", STREAMS)
def test_reverse(streams: int) -> None:
    accepted, connected = carry(
        streams=streams, receiver_flags=REVERSE["receiver_flags"], sender_flags=REVERSE["sender_flags"]
    )
    assert_complete(accepted, connected)
    for end in (accepted, connected):
        assert_counters_agree(end, streams)
        assert end.of("ready")[0]["direction"] == "reverse"
    assert connected.last["total_bytes"] == accepted.last["total_bytes"]
    assert accepted.last["confirmed_bytes"] == connected.last["total_bytes"]
    assert sum(connected.last["total_bytes"]) > 0
    assert "confirmed_bytes" not in connected.last


@pytest.mark.parametrize("streams", STREAMS)
def test_both_at_once(streams: int) -> None:
    accepted, connected = carry(
        streams=streams, receiver_flags={"duration_ns": LONGER_NS}, sender_flags={"direction": "both"}
    )
    assert_complete(accepted, connected)
    for end in (accepted, connected):
        assert_both_counters_agree(end, streams)
        assert end.of("ready")[0]["direction"] == "both"
    assert connected.last["total_bytes"] == accepted.last["total_sent_bytes"]
    assert accepted.last["total_bytes"] == connected.last["total_sent_bytes"]


@pytest.mark.parametrize("streams", STREAMS)
def test_forward_is_confirmed_by_the_receiver(streams: int) -> None:
    received, sent = carry(streams=streams)
    assert_complete(received, sent)
    assert sent.last["confirmed_bytes"] == received.last["total_bytes"] == sent.last["total_bytes"]


@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
@pytest.mark.parametrize(("streams", "total"), [(1, 1), (3, 3), (3, 10_000_001), (64, 1_000_000)])
def test_exactly_the_requested_bytes(direction: str, streams: int, total: int) -> None:
    shares = [total // streams + (stream < total % streams) for stream in range(streams)]
    by_bytes: dict[str, Flag] = {"bytes": total, "warmup_ns": 0}
    accepted, connected = carry(
        streams=streams, receiver_flags=by_bytes, sender_flags={**by_bytes, "direction": direction}
    )
    assert_complete(accepted, connected)
    for end in (accepted, connected):
        assert_counters_agree(end, streams)
        assert end.last["total_bytes"] == shares
        if direction == "both":
            assert end.last["total_sent_bytes"] == shares
    reader = accepted if direction == "forward" else connected
    assert reader.last["phases"]["drain"]["bytes"] == [0] * streams


def test_a_receiver_without_flags_takes_all_settings_from_the_hello() -> None:
    with receiving(streams=0, warmup_ns=-1, duration_ns=-1) as (receiver, port):
        with sending(port, streams=5, direction="reverse", warmup_ns=20 * MS, duration_ns=100 * MS) as sender:
            ready = receiver.expect("ready")
            sender.expect("ready")
            sender.send_line("go")
            sender.finish()
        receiver.finish()
    assert (ready["streams"], ready["direction"]) == (5, "reverse")
    assert (ready["warmup_ns"], ready["duration_ns"], ready["bytes"]) == (20 * MS, 100 * MS, None)


@pytest.mark.parametrize(
    ("allowed", "requested"), [("forward", "reverse"), ("reverse", "both"), ("both", "forward")]
)
def test_another_direction_is_rejected(allowed: str, requested: str) -> None:
    with receiving(streams=1, direction=allowed) as (receiver, port):
        with sending(port, streams=1, direction=requested) as sender:
            refused = sender.finish()
        receiver.send_line("stop")
        received = receiver.finish()
    assert refused.status == 4
    assert "direction" in refused.last["text"]
    assert received.status == 5


def test_a_peer_that_ends_before_its_start_is_no_trial() -> None:
    """With both directions the accepting side waits for the first byte; an end of file arrives instead."""
    with receiving(streams=1, direction="both") as (receiver, port):
        with sending(port, streams=1, direction="both") as sender:
            sender.expect("ready")
            receiver.expect("ready")
            sender.send_line("stop")
            assert sender.finish().status == 5
        received = receiver.finish()
    assert received.status == 5
    assert received.last["complete"] is False
    assert received.last["total_bytes"] == [0]
