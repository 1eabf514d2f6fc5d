"""Listening and connecting: port ranges, a receiver that connects, IPv6 with a zone."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.native.engine import (
    LONGER_NS,
    MS,
    SHORTER_NS,
    TOKEN,
    Flag,
    assert_counters_agree,
    assert_refused,
    build_command,
    receiving,
    run,
    sending,
    start,
    start_command,
)
from tests.native.messages import name_end
from tests.native.peers import REVERSE, build_hello, call, read_to_end
from tests.native.test_admission import INVALID_HELLOS
from tests.native.test_directions import assert_complete
from tests.require import require, require_mptcp

pytestmark = pytest.mark.engine

PORTS = 4
LONG_NS = 60_000 * MS
OWN_ADDRESS = f"127.77.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"  # whose ports no other test takes


@contextlib.contextmanager
def _taken_ports(count: int) -> Iterator[int]:
    """The first of ``count`` neighbouring ports of ``OWN_ADDRESS`` that the test listens on."""
    for first in range(20_000, 30_000, count):
        with contextlib.ExitStack() as stack:
            try:
                for port in range(first, first + count):
                    stack.enter_context(socket.create_server((OWN_ADDRESS, port)))
            except OSError:
                continue
            yield first
            return
    raise AssertionError("no free ports side by side")


@pytest.mark.parametrize("subcommand", ["receive", "echo"])
def test_the_first_free_port_of_a_range_is_taken(subcommand: str) -> None:
    with _taken_ports(PORTS) as first:
        # Another process may hold the next port for all addresses; the range has room for some.
        ports = f"{first}-{first + PORTS + 20}"
        with start(subcommand, bind=OWN_ADDRESS, port=ports, control="stdin") as engine:
            engine.expect("hello")
            port = engine.expect("listening")["port"]
            assert first + PORTS <= port <= first + PORTS + 20
            with socket.create_connection((OWN_ADDRESS, port)):
                pass
            with start(subcommand, bind=OWN_ADDRESS, port=ports, control="stdin") as second:
                second.expect("hello")
                assert second.expect("listening")["port"] > port


@pytest.mark.parametrize("subcommand", ["receive", "echo"])
def test_a_range_that_is_taken_whole_is_named(subcommand: str) -> None:
    with _taken_ports(PORTS) as first:
        ports = f"{first}-{first + PORTS - 1}"
        ending = run(subcommand, bind=OWN_ADDRESS, port=ports)
    assert_refused(ending, 3, "bind", errno_name="EADDRINUSE")
    assert f"ports {ports} of {OWN_ADDRESS} are all taken: widen --port" in ending.last["text"]


def test_a_trial_over_a_range() -> None:
    with receiving(port="20000-30000", streams=3) as (receiver, port):
        assert 20_000 <= port <= 30_000
        with sending(port, streams=3) as sender:
            sender.expect("ready")
            sender.send_line("go")
            assert_complete(sender.finish(), receiver.finish())


TURNED: dict[str, Flag] = {"direction": "reverse", "streams": 3}


@pytest.mark.parametrize("transport", ["tcp", "mptcp", "unix"])
def test_the_receiver_connects_to_a_sender_that_listens(transport: str) -> None:
    """As from behind a NAT: unauthenticated peers connect to the sender, and change nothing."""
    place: dict[str, Flag] = {"transport": transport}
    if transport == "unix":
        place["bind"] = name_end("unix")
    if transport == "mptcp":
        require_mptcp()
    with receiving(**TURNED, **place, duration_ns=LONGER_NS) as (sender, port):
        where: dict[str, Flag] = {"transport": transport}
        if transport == "unix":
            where["address"] = place["bind"]
        with sending(port or 1, **TURNED, **where, duration_ns=SHORTER_NS) as receiver:
            receiver.expect("ready")
            ready = sender.expect("ready")
            assert (ready["direction"], ready["rejected"]) == ("reverse", 0)
            if transport != "unix":
                for hello in INVALID_HELLOS.values():
                    with call(port, hello) as peer:
                        assert read_to_end(peer) == b""
            receiver.send_line("go")
            received, sent = receiver.finish(), sender.finish()
    assert_complete(sent, received)
    for end in (sent, received):
        assert_counters_agree(end, 3)
    assert sent.last["confirmed_bytes"] == received.last["total_bytes"] == sent.last["total_bytes"]
    assert sum(received.last["total_bytes"]) > 0
    assert sent.last["rejected"] == (0 if transport == "unix" else len(INVALID_HELLOS))
    assert "rejected" not in received.last


@pytest.mark.parametrize(
    "hello",
    [
        build_hello(flags=REVERSE, token="ff" * 16),
        build_hello(flags=REVERSE, stream=1),
        build_hello(flags=REVERSE, streams=2),
        build_hello(),  # both would send
    ],
    ids=["another token", "number outside the count", "another count", "the other direction"],
)
def test_unauthenticated_peers_of_a_listening_sender_are_counted_and_get_no_byte(hello: bytes) -> None:
    with receiving(direction="reverse", streams=1) as (sender, port):
        with call(port, hello) as peer:
            assert read_to_end(peer) == b""
        with sending(port, direction="reverse", duration_ns=60 * MS) as receiver:
            receiver.expect("ready")
            assert sender.expect("ready")["rejected"] == 1
            receiver.send_line("go")
            received, sent = receiver.finish(), sender.finish()
    assert received.last["complete"] is sent.last["complete"] is True
    assert sent.last["rejected"] == 1


def test_ipv6_over_loopback() -> None:
    with (
        receiving(bind="::1", streams=2) as (receiver, port),
        sending(port, address="::1", bind="::1", streams=2) as sender,
    ):
        sender.expect("ready")
        sender.send_line("go")
        assert_complete(sender.finish(), receiver.finish())


# A separate namespace with a device: packets to its own address stay inside.
LINK_LOCAL = """
import os, subprocess, sys
for command in ("link set lo up", "link add pl0 type veth peer name pl1", "link set pl1 up",
                "link set pl0 up", "address add fe80::77/64 dev pl0 nodad"):
    subprocess.run(["ip", *command.split()], check=True)
os.execv(sys.argv[1], sys.argv[1:])
"""


@contextlib.contextmanager
def _namespace() -> Iterator[list[str]]:
    """A command prefix that runs a command in a namespace with fe80::77 on pl0."""
    unshare = ["unshare", "--user", "--map-root-user", "--net"]
    tried = [*unshare, sys.executable, "-c", LINK_LOCAL, "/bin/true"]
    done = subprocess.run(tried, capture_output=True, text=True, check=False)
    require(done.returncode == 0, f"a namespace with a device of its own ({done.stderr.strip()[-200:]})")
    owner = [*unshare, sys.executable, "-c", LINK_LOCAL, "/bin/cat"]
    with subprocess.Popen(owner, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b"x")
            process.stdin.flush()
            assert process.stdout.read(1) == b"x"  # it runs, so the namespace is ready
            yield ["nsenter", "--user", "--net", "--preserve-credentials", f"--target={process.pid}"]
        finally:
            process.kill()


@pytest.mark.netns
def test_link_local_addresses_with_their_zone() -> None:
    there = "fe80::77%pl0"
    with _namespace() as enter:
        listen = build_command("receive", bind=there, port=0, token=TOKEN, control="stdin", streams=2)
        with start_command([*enter, *listen]) as receiver:
            receiver.expect("hello")
            listening = receiver.expect("listening")
            assert listening["address"] == there
            flags: dict[str, Flag] = {"address": listening["address"], "port": listening["port"]}
            command = build_command("send", token=TOKEN, streams=2, duration_ns=50 * MS, bind=there, **flags)
            with start_command([*enter, *command]) as sender:
                assert_complete(sender.finish(), receiver.finish())
        with start_command([*enter, *build_command("echo", bind=there, port=0, control="stdin")]) as echo:
            heard = echo.wait_for("listening")
            probes = build_command(
                "ping", address=there, port=heard["port"], method="udp", count=2, timeout_ns=LONG_NS
            )
            with start_command([*enter, *probes, "--interval-ns", str(MS)]) as ping:
                assert ping.finish().last["received"] == 2


@pytest.mark.parametrize("subcommand", ["receive", "echo"])
def test_an_unknown_zone_is_named(subcommand: str) -> None:
    ending = run(subcommand, bind="fe80::1%nosuch0", port=0)
    assert_refused(ending, 2 if subcommand == "receive" else ending.status, ending.last["stage"])
    assert "'fe80::1%nosuch0' names an unknown interface" in ending.last["text"]
