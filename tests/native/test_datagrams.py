"""Flows of datagrams by UDP: counts of both ends, offered rates, super-packets, marks and text."""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess

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
    TOKEN,
    Flag,
    assert_counters_agree,
    build_command,
    receiving,
    sending,
)
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.engine

RATE = 5000
WARMUP_NS, WINDOW_NS = 100 * MS, 300 * MS
DUE = ("sent", "refused", "given_up")


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
    for end in (accepting, connecting):
        assert (end.status, end.stderr, end.last["complete"]) == (0, "", True)
        assert_counters_agree(end, streams)
    ways = []
    if direction != "reverse":
        ways.append((connecting, accepting))
    if direction != "forward":
        ways.append((accepting, connecting))
    for sender, receiver in ways:
        assert_sent_agrees(sender, receiver)
        assert_intervals_agree(sender, ("sent", "refused", "given_up"))
        assert_intervals_agree(receiver, ("received", "duplicate", "reordered"))
        assert total(receiver, "received") + total(receiver, "received", "warmup") > 0
        # A late datagram counts in the phase in which it was sent, so the plan holds for both together.
        counts = [total(sender, name, phase) for name in DUE for phase in ("warmup", "steady")]
        assert sum(counts) == pytest.approx(RATE * (WARMUP_NS + WINDOW_NS) / 1e9, abs=1)
        assert datagrams_of(receiver)["foreign"] == 0
        assert datagrams_of(sender)["icmp_unreachable"] == 0


def test_ready_states_what_is_carried() -> None:
    with (
        receiving(transport="udp", gro="yes") as (receiver, port),
        sending(port, transport="udp", gso="yes", datagram_bytes=1472, direction="both") as sender,
    ):
        connecting, accepting = sender.expect("ready"), receiver.expect("ready")
    sends = {"gso": True, "segments": 44, "pacing": "off", "offered_packets_per_s": None}
    assert connecting["datagrams"] == {"bytes": 1472, "gro": False, **sends}
    assert accepting["datagrams"] == {"bytes": 1472, "gro": True, **sends}
    for ready in (connecting, accepting):
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
    with (
        receiving(transport="udp") as (receiver, port),
        sending(port, transport="udp", streams=streams, gso="yes", datagram_bytes=1472, **flags) as sender,
    ):
        ready = sender.expect("ready")["datagrams"]
        assert "segments" not in receiver.expect("ready")["datagrams"]
    assert (ready["gso"], ready["segments"], ready["pacing"]) == (segments > 1, segments, "user")
    assert ready["offered_packets_per_s"] == pytest.approx(offered)


@pytest.mark.parametrize("gro", ["no", "yes"])
@pytest.mark.parametrize("gso", ["no", "yes"])
@pytest.mark.parametrize("size", [32, 1472, 8972])
def test_as_fast_as_possible(gso: str, gro: str, size: int) -> None:
    """What the receiver does not take in time is lost, and is counted exactly."""
    accepting, connecting = carry_datagrams(
        receiver_flags={"gro": gro}, datagram_bytes=size, gso=gso, sender_flags={"streams": 2}
    )
    for end in (accepting, connecting):
        assert (end.status, end.stderr) == (0, "")
    assert_sent_agrees(connecting, accepting)
    assert total(accepting, "received") + total(accepting, "received", "warmup") > 0
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
        datagram_bytes=64, packets_per_s=20_000, sender_flags={"streams": streams}, duration_ns=500 * MS
    )
    for end in (accepting, connecting):
        assert (end.status, end.stderr) == (0, "")
    assert_sent_agrees(connecting, accepting)
    assert len(datagrams_of(accepting, "steady")["received"]) == streams
    assert total(accepting, "received") + total(accepting, "received", "warmup") > 0


def test_the_largest_payload_fits_the_path() -> None:
    """Loopback's MTU carries the largest datagram that UDP has."""
    with receiving(transport="udp") as (receiver, port), sending(port, transport="udp") as sender:
        sizes = {end.expect("ready")["datagrams"]["bytes"] for end in (sender, receiver)}
    assert sizes == {65507}


def test_a_port_that_another_program_has_is_left_to_it() -> None:
    with receiving(transport="udp") as (receiver, port), socket.socket(type=socket.SOCK_DGRAM) as other:
        with contextlib.suppress(OSError):  # then another program has it already
            other.bind(("127.0.0.1", port))
        with sending(port, transport="udp", datagram_bytes=100, packets_per_s=1000) as sender:
            ready = sender.expect("ready")
            assert receiver.expect("ready")["sockets"][0]["local_port"] != port
            sender.send_line("go")
            connecting, accepting = sender.finish(), receiver.finish()
    assert ready["sockets"][0]["remote_port"] != port
    assert_sent_agrees(connecting, accepting)


def test_marks_are_set_and_counted() -> None:
    accepting, connecting = carry_datagrams(datagram_bytes=100, packets_per_s=1000, ecn=1, dscp=46)
    marks = datagrams_of(accepting)["ecn"]
    came = total(accepting, "received") + total(accepting, "received", "warmup")
    assert marks == {"not_ect": 0, "ect1": came, "ect0": 0, "ce": 0}
    assert connecting.of("ready")[0]["sockets"][0]["traffic_class"] == 46 << 2 | 1


def test_without_marks_none_are_counted() -> None:
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
    received = total(connecting, "received") + total(connecting, "received", "warmup")
    assert 0 < received <= 1000 * (WARMUP_NS + WINDOW_NS) / 1e9 + 1
    assert_sent_agrees(accepting, connecting)


def test_a_limit_of_bytes_holds() -> None:
    accepting, connecting = carry_datagrams(
        sender_flags={"volume_limit_bytes": 100_000}, datagram_bytes=1000, packets_per_s=10_000
    )
    assert connecting.status == 5
    assert connecting.last["reason"] == "the limit of --volume-limit-bytes was reached"
    assert 100_000 <= sum(connecting.last["total_bytes"]) <= 100_000 + 64_000
    assert_sent_agrees(connecting, accepting)


@pytest.mark.parametrize("direction", ["forward", "both"])
def test_text_for_people(direction: str) -> None:
    flags: dict[str, Flag] = {"transport": "udp", "direction": direction, "datagram_bytes": 64}
    timing: dict[str, Flag] = {"packets_per_s": 2000, "warmup_ns": 0, "duration_ns": 200 * MS}
    with receiving(transport="udp", warmup_ns=0) as (receiver, port):
        flags |= {"address": "127.0.0.1", "port": port, "token": TOKEN, "output": "human", **timing}
        command = build_command("send", **flags)
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE_S)
        assert receiver.finish().status == 0
    assert (done.returncode, done.stderr) == (0, "")
    assert f"127.0.0.1 port {port} udp, 1 stream," in done.stdout
    assert "datagrams of 64 bytes, 2000/s offered, paced by this process\n" in done.stdout
    lost = r"\d+/s sent, \d+/s received, \d+ of \d+ lost \([\d.e-]+ %\), 0 reordered, 0 duplicated\n"
    assert re.search(rf"^datagrams to the peer: {lost}", done.stdout, re.MULTILINE)
    found = re.search(rf"^datagrams from the peer: {lost}", done.stdout, re.MULTILINE)
    assert (found is not None) == (direction == "both")
    assert "retransmits" not in done.stdout
