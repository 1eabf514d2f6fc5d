"""Flows of datagrams over a path of two hosts: its MTU, what ICMP says of it, and how it breaks."""

import contextlib
import shutil
from collections.abc import Iterator

import pytest

from tests.lab.captured import PORT, start_in
from tests.lab.wires import ADDRESS_A, ADDRESS_B, Wires
from tests.native.datagrams import assert_sent_agrees, datagrams_of, total
from tests.native.engine import MS, TOKEN, Engine, Flag, assert_refused
from tests.require import require

pytestmark = [pytest.mark.engine, pytest.mark.netns]

SETUP, ENDED = 3, 5
LONG_NS = 60_000 * MS


def _connect(wires: Wires, *, mtu: int = 1500) -> None:
    """A pair of devices, one in either host."""
    wires.a.run(
        "ip", "link", "add", "wan0", "type", "veth", "peer", "name", "wan0", "netns", str(wires.b.pid)
    )
    for host, address in ((wires.a, ADDRESS_A), (wires.b, ADDRESS_B)):
        host.run("ip", "address", "add", f"{address}/24", "dev", "wan0")
        host.run("ip", "link", "set", "dev", "wan0", "mtu", str(mtu), "up")


@contextlib.contextmanager
def _meet(wires: Wires, **flags: Flag) -> Iterator[tuple[Engine, Engine]]:
    """A receiver in b and a sender in a, which has begun to connect."""
    both: dict[str, Flag] = {
        "port": PORT,
        "token": TOKEN,
        "transport": "udp",
        "control": "stdin",
        "interval_ns": 20 * MS,
        "duration_ns": flags.pop("duration_ns", 300 * MS),
    }
    with start_in(wires.b, "receive", bind=ADDRESS_B, **both) as receiver:
        receiver.expect("listening")
        with start_in(wires.a, "send", address=ADDRESS_B, **{**both, **flags}) as sender:
            yield receiver, sender


def _go(receiver: Engine, sender: Engine) -> None:
    sender.expect("ready")
    receiver.expect("ready")
    sender.send_line("go")


@pytest.mark.parametrize(("mtu", "payload"), [(1500, 1472), (9000, 8972), (65535, 65507)])
def test_the_payload_follows_the_paths_mtu(wires: Wires, mtu: int, payload: int) -> None:
    _connect(wires, mtu=mtu)
    with _meet(wires, packets_per_s=500) as (receiver, sender):
        _go(receiver, sender)
        connecting, accepting = sender.finish(), receiver.finish()
    assert connecting.of("ready")[0]["datagrams"]["bytes"] == payload
    assert accepting.of("ready")[0]["datagrams"]["bytes"] == payload
    assert_sent_agrees(connecting, accepting)
    assert total(accepting, "received") > 0


def test_a_payload_above_the_mtu_is_refused_in_one_line(wires: Wires) -> None:
    _connect(wires)
    with _meet(wires, datagram_bytes=1473) as (_, sender):
        ending = sender.finish()
    assert_refused(ending, SETUP, "connect", errno_name="EMSGSIZE")
    assert {"--datagram-bytes", "1500", "1472"} <= set(ending.last["text"].split())


def test_a_path_whose_mtu_shrinks_ends_the_trial(wires: Wires) -> None:
    _connect(wires)
    with _meet(wires, packets_per_s=500, duration_ns=LONG_NS) as (receiver, sender):
        _go(receiver, sender)
        sender.wait_for("interval", phase="steady")
        wires.a.run("ip", "link", "set", "dev", "wan0", "mtu", "1400")
        ending = sender.finish()
    assert ending.status == ENDED
    assert "--datagram-bytes 1472" in ending.last["reason"]
    assert total(ending, "sent") > 0


def _filter(wires: Wires, verdict: str) -> None:
    """What the host b does with the datagrams from now on."""
    require(shutil.which("nft"), "the tool nft")
    wires.b.run("nft", "add table inet t; add chain inet t c { type filter hook input priority 0; }")
    wires.b.run("nft", f"add rule inet t c udp dport {PORT} {verdict}")


def test_datagrams_that_icmp_reports_are_counted(wires: Wires) -> None:
    """Each counts as sent and as lost; the sender goes on."""
    _connect(wires)
    wires.b.run("sh", "-c", "echo 0 > /proc/sys/net/ipv4/icmp_ratelimit")
    with _meet(wires, datagram_bytes=100, packets_per_s=200, duration_ns=1000 * MS) as (receiver, sender):
        _go(receiver, sender)
        sender.wait_for("interval", phase="steady")
        _filter(wires, "reject with icmpx type port-unreachable")
        connecting, accepting = sender.finish(), receiver.finish()
    assert (connecting.status, accepting.status) == (0, 0)
    assert_sent_agrees(connecting, accepting)
    lost, reported = total(accepting, "lost"), datagrams_of(connecting)["icmp_unreachable"]
    assert lost > 0
    assert 0.5 * lost <= reported <= lost


def test_datagrams_without_a_route_are_refused(wires: Wires) -> None:
    _connect(wires)
    with _meet(wires, datagram_bytes=100, packets_per_s=500, duration_ns=600 * MS) as (receiver, sender):
        _go(receiver, sender)
        sender.wait_for("interval", phase="steady")
        wires.a.run("ip", "route", "add", "unreachable", f"{ADDRESS_B}/32")
        sender.wait_for("interval", phase="steady")
        sender.wait_for("interval", phase="steady")
        wires.a.run("ip", "route", "del", "unreachable", f"{ADDRESS_B}/32")
        connecting, accepting = sender.finish(), receiver.finish()
    assert (connecting.status, accepting.status) == (0, 0)
    assert sum(datagrams_of(connecting)["refused"]) > 0
    assert_sent_agrees(connecting, accepting)


def test_a_path_that_breaks_ends_both_in_bounded_time(wires: Wires) -> None:
    """No word of the other end: each knows it by the end of the drain, with what it has counted."""
    _connect(wires)
    with _meet(wires, datagram_bytes=100, packets_per_s=500, drain_timeout_ns=100 * MS) as (receiver, sender):
        _go(receiver, sender)
        for end in (sender, receiver):
            end.wait_for("interval", phase="steady")
        wires.b.run("ip", "link", "set", "dev", "wan0", "down")
        connecting, accepting = sender.finish(), receiver.finish()
    for ending in (connecting, accepting):
        assert (ending.status, "--drain-timeout-ns" in ending.last["reason"]) == (ENDED, True)
    assert total(connecting, "sent") > 0
    assert datagrams_of(connecting)["confirmed"]["received"] == [None]
    assert datagrams_of(accepting, "steady")["received"][0] > 0
    assert datagrams_of(accepting, "steady")["lost"] == [None]
