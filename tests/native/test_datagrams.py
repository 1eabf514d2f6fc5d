"""Flows of datagrams by UDP: counts of both ends, offered rates, super-packets, marks and text."""

import contextlib
import socket

import pytest

from tests.native.datagrams import (
    assert_intervals_agree,
    assert_sent_agrees,
    carry_datagrams,
    datagrams_of,
    total,
)
from tests.native.engine import (
    MS,
    Ending,
    Flag,
    assert_complete,
    assert_counters_agree,
    assert_cut,
    both_ready,
    go,
    receiving,
    sending,
)

pytestmark = pytest.mark.engine

RATE = 5000
WARMUP_NS, WINDOW_NS = 40 * MS, 160 * MS
DUE = ("sent", "refused", "given_up")


def count_received(end: Ending) -> int:
    """In the warm-up and the steady window."""
    return total(end, "received") + total(end, "received", "warmup")


@pytest.mark.parametrize("streams", [1, 7])
@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
def test_both_ends_count_every_datagram(direction: str, streams: int) -> None:
    accepting, connecting = carry_datagrams(
        direction=direction,
        datagram_bytes=200,
        packets_per_s=RATE,
        sender_flags={"streams": streams},
        warmup_ns=WARMUP_NS,
        duration_ns=WINDOW_NS,
    )
    assert_complete(accepting, connecting)
    for end in (accepting, connecting):
        assert_counters_agree(end, streams)
    forward, reverse = (connecting, accepting), (accepting, connecting)
    ways = {"forward": [forward], "reverse": [reverse], "both": [forward, reverse]}
    for sender, receiver in ways[direction]:
        assert_sent_agrees(sender, receiver)
        assert_intervals_agree(sender, DUE)
        assert_intervals_agree(receiver, ("received", "duplicate", "reordered"))
        assert count_received(receiver) > 0
        # A late datagram counts in the phase in which it was sent, so the plan holds for both together.
        counts = [total(sender, name, phase) for name in DUE for phase in ("warmup", "steady")]
        assert sum(counts) == pytest.approx(RATE * (WARMUP_NS + WINDOW_NS) / 1e9, abs=1)
        assert datagrams_of(receiver)["foreign"] == 0
        assert datagrams_of(sender)["icmp_unreachable"] == 0


def test_ready_states_what_is_carried() -> None:
    sizes: dict[str, Flag] = {"gso": "yes", "datagram_bytes": 1472, "direction": "both"}
    with both_ready({"gro": "yes"}, sizes, transport="udp") as ends:
        for end, merges in zip(ends, (True, False), strict=True):
            ready = end.latest
            assert ready["datagrams"] == {
                **{"bytes": 1472, "gro": merges, "gso": True, "segments": 44},
                **{"pacing": "off", "offered_packets_per_s": None},
            }
            assert (ready["transport"], ready["unsent_limited"], ready["congestion"]) == ("udp", False, None)


@pytest.mark.parametrize(
    ("flags", "segments", "offered"),
    [
        ({"packets_per_s": 1000}, 1, 1000.0),
        ({"packets_per_s": 100_000}, 44, 100_000.0),
        ({"rate_bits_per_s": 118_000_000}, 10, 118e6 / 8 / 1472),
        ({"stream_rate_bits_per_s": 118_000_000}, 10, 2 * 118e6 / 8 / 1472),
        ({"packets_per_s": 100_000, "rate_bits_per_s": 118_000_000}, 10, 118e6 / 8 / 1472),
        ({"packets_per_s": 1000, "rate_bits_per_s": 118_000_000}, 1, 1000.0),
    ],
    ids=["few", "many", "by bits", "of each stream", "limited", "below the limit"],
)
def test_a_paced_super_packet_has_at_most_a_millisecond(
    flags: dict[str, Flag], segments: int, offered: float
) -> None:
    streams = 2 if "stream_rate_bits_per_s" in flags else 1
    shape: dict[str, Flag] = {"streams": streams, "gso": "yes", "datagram_bytes": 1472, **flags}
    with both_ready({}, shape, transport="udp") as (receiver, sender):
        ready = sender.latest["datagrams"]
        assert "segments" not in receiver.latest["datagrams"]
    assert (ready["gso"], ready["segments"], ready["pacing"]) == (segments > 1, segments, "user")
    assert ready["offered_packets_per_s"] == pytest.approx(offered)


@pytest.mark.parametrize(
    ("gso", "gro", "size"),
    [
        *[("no", "no", 32), ("no", "no", 8972), ("yes", "no", 1472)],
        *[("no", "yes", 32), ("yes", "yes", 32), ("yes", "yes", 1472)],
    ],
)
def test_as_fast_as_possible(gso: str, gro: str, size: int) -> None:
    """What the receiver does not take in time is lost, and is counted exactly."""
    accepting, connecting = carry_datagrams(
        receiver_flags={"gro": gro}, datagram_bytes=size, gso=gso, sender_flags={"streams": 2}
    )
    assert_complete(accepting, connecting)
    assert_sent_agrees(connecting, accepting)
    assert count_received(accepting) > 0
    assert accepting.last["total_bytes"] == connecting.last["confirmed_bytes"]
    if gro == "no" and datagrams_of(accepting)["host_lost"]["socket"] is not None:
        # Loopback loses nothing: what is lost was dropped by the socket, but for its other window.
        lost = total(accepting, "lost") + total(accepting, "lost", "warmup")
        dropped = sum(sum(interval["datagrams"]["socket_dropped"]) for interval in accepting.of("interval"))
        assert lost == dropped
        assert datagrams_of(accepting)["host_lost"]["socket"] <= dropped


def test_many_streams() -> None:
    """As many as there can be; each of them is counted by itself."""
    streams = 4096
    accepting, connecting = carry_datagrams(
        datagram_bytes=64,
        packets_per_s=20_000,
        receiver_flags={"interval_ns": 200 * MS},  # a record has a number of each stream
        sender_flags={"streams": streams, "interval_ns": 200 * MS},
        duration_ns=300 * MS,
    )
    assert_complete(accepting, connecting)
    assert_sent_agrees(connecting, accepting)
    assert len(datagrams_of(accepting, "steady")["received"]) == streams
    assert count_received(accepting) > 0


def test_the_largest_payload_fits_the_path() -> None:
    """Loopback's MTU carries the largest datagram that UDP has."""
    with both_ready(transport="udp") as ends:
        assert {end.latest["datagrams"]["bytes"] for end in ends} == {65507}


def test_a_port_that_another_program_has_is_left_to_it() -> None:
    with receiving(transport="udp") as (receiver, port), socket.socket(type=socket.SOCK_DGRAM) as other:
        with contextlib.suppress(OSError):  # then another program has it already
            other.bind(("127.0.0.1", port))
        with sending(port, transport="udp", datagram_bytes=100, packets_per_s=1000) as sender:
            ready = sender.expect("ready")
            assert receiver.expect("ready")["sockets"][0]["local_port"] != port
            accepting, connecting = go(receiver, sender)
    assert ready["sockets"][0]["remote_port"] != port
    assert_sent_agrees(connecting, accepting)


def test_marks_are_set_and_counted_on_request() -> None:
    accepting, connecting = carry_datagrams(datagram_bytes=100, packets_per_s=1000, ecn=1, dscp=46)
    marks = datagrams_of(accepting)["ecn"]
    assert marks == {"not_ect": 0, "ect1": count_received(accepting), "ect0": 0, "ce": 0}
    assert connecting.of("ready")[0]["sockets"][0]["traffic_class"] == 46 << 2 | 1
    accepting, _ = carry_datagrams(datagram_bytes=100, packets_per_s=1000)
    assert datagrams_of(accepting)["ecn"] is None


def test_the_accepting_end_caps_what_it_sends() -> None:
    accepting, connecting = carry_datagrams(
        receiver_flags={"rate_bits_per_s": 1_600_000},
        direction="reverse",
        datagram_bytes=200,
        packets_per_s=10_000,
        warmup_ns=WARMUP_NS,
        duration_ns=WINDOW_NS,
    )
    assert accepting.of("ready")[0]["datagrams"]["offered_packets_per_s"] == 1000.0
    assert 0 < count_received(connecting) <= 1000 * (WARMUP_NS + WINDOW_NS) / 1e9 + 1
    assert_sent_agrees(accepting, connecting)


def test_a_limit_of_bytes_holds() -> None:
    accepting, connecting = carry_datagrams(
        sender_flags={"volume_limit_bytes": 100_000}, datagram_bytes=1000, packets_per_s=10_000
    )
    assert_cut(connecting, "--volume-limit-bytes")
    assert 100_000 <= sum(connecting.last["total_bytes"]) <= 100_000 + 64_000
    assert_sent_agrees(connecting, accepting)
