"""Listening and connecting: port ranges, a receiver that connects, IPv6 with a zone."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.native.engine import (
    LONG_NS,
    LONGER_NS,
    MS,
    SHORTER_NS,
    TOKEN,
    Flag,
    assert_complete,
    assert_counters_agree,
    assert_refused,
    both_ready,
    build_command,
    carry,
    go,
    receiving,
    run,
    sending,
    start,
    start_command,
)
from tests.native.messages import name_end
from tests.native.peers import REVERSE, build_hello, call, read_to_end
from tests.native.test_admission import INVALID_HELLOS
from tests.require import require, require_mptcp

pytestmark = pytest.mark.engine

PORTS = 4
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
        ports = f"{first}-{first + PORTS - 1}"
        refused = run(subcommand, bind=OWN_ADDRESS, port=ports)
        assert_refused(refused, 3, "bind", errno_name="EADDRINUSE")
        assert f"{ports} of {OWN_ADDRESS}" in refused.last["text"]
        # Another process may hold the next port for all addresses; the range has room for some.
        ports = f"{first}-{first + PORTS + 20}"
        with start(subcommand, bind=OWN_ADDRESS, port=ports, control="stdin") as engine:
            port = engine.wait_for("listening")["port"]
            assert first + PORTS <= port <= first + PORTS + 20
            with socket.create_connection((OWN_ADDRESS, port)):
                pass
            with start(subcommand, bind=OWN_ADDRESS, port=ports, control="stdin") as second:
                assert second.wait_for("listening")["port"] > port


def test_a_trial_over_a_range() -> None:
    received, sent = carry(streams=3, receiver_flags={"port": "20000-30000"})
    assert_complete(received, sent)
    assert 20_000 <= received.of("listening")[0]["port"] <= 30_000


@pytest.mark.parametrize("transport", ["tcp", "mptcp", "unix"])
def test_the_receiver_connects_to_a_sender_that_listens(transport: str) -> None:
    """As from behind a NAT: unauthenticated peers connect to the sender, and change nothing."""
    if transport == "mptcp":
        require_mptcp()
    address = name_end(transport)
    accepting: dict[str, Flag] = {"bind": address, "duration_ns": LONGER_NS}
    connecting: dict[str, Flag] = {"address": address, "duration_ns": SHORTER_NS}
    peers = {} if transport == "unix" else INVALID_HELLOS
    flags: dict[str, Flag] = {"direction": "reverse", "streams": 3, "transport": transport}
    with both_ready(accepting, connecting, **flags) as (sender, receiver):
        assert (sender.latest["direction"], sender.latest["rejected"]) == ("reverse", 0)
        for hello in peers.values():
            with call(sender.latest["sockets"][0]["local_port"], hello) as peer:
                assert read_to_end(peer) == b""
        receiver.send_line("go")
        received, sent = receiver.finish(), sender.finish()
    assert_complete(sent, received)
    for end in (sent, received):
        assert_counters_agree(end, 3)
    assert sent.last["confirmed_bytes"] == received.last["total_bytes"] == sent.last["total_bytes"]
    assert sum(received.last["total_bytes"]) > 0
    assert sent.last["rejected"] == len(peers)
    assert "rejected" not in received.last


def test_unauthenticated_peers_of_a_listening_sender_are_counted_and_get_no_byte() -> None:
    hellos = [
        build_hello(flags=REVERSE, token="ff" * 16),
        build_hello(flags=REVERSE, stream=1),
        build_hello(flags=REVERSE, streams=2),
        build_hello(),  # both would send
    ]
    with receiving(direction="reverse", streams=1) as (sender, port):
        for hello in hellos:
            with call(port, hello) as peer:
                assert read_to_end(peer) == b""
        with sending(port, direction="reverse", duration_ns=60 * MS) as receiver:
            receiver.expect("ready")
            assert sender.expect("ready")["rejected"] == len(hellos)
            sent, received = go(sender, receiver)
    assert received.last["complete"] is sent.last["complete"] is True
    assert sent.last["rejected"] == len(hellos)


def test_ipv6_over_loopback() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        require(False, f"IPv6 on loopback ({error.strerror})")
    received, sent = carry(
        streams=2, receiver_flags={"bind": "::1"}, sender_flags={"address": "::1", "bind": "::1"}
    )
    assert_complete(received, sent)
    assert received.of("listening")[0]["address"] == "::1"
    assert received.last["total_bytes"] == sent.last["total_bytes"]


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
            process.stdin.write(b"x")
            process.stdin.flush()
            assert process.stdout.read(1) == b"x"  # it runs, so the namespace is ready
            yield ["nsenter", "--user", "--net", "--preserve-credentials", f"--target={process.pid}"]
        finally:
            process.kill()


#: What is carried, by the flags of the sender.
CARRIED: dict[str, dict[str, Flag]] = {
    "bytes": {"streams": 2},
    "datagrams": {"transport": "udp", "packets_per_s": 200},
    "messages": {"message_bytes": 64, "messages_per_s": 200},
    "udp messages": {"message_bytes": 64, "messages_per_s": 200, "transport": "udp"},
}


@pytest.mark.netns
@pytest.mark.parametrize("bind", [{"bind": "fe80::77%pl0"}, {}], ids=["there", "default"])
@pytest.mark.parametrize("carried", CARRIED)
def test_link_local_addresses_with_their_zone(bind: dict[str, Flag], carried: str) -> None:
    there = "fe80::77%pl0"
    with _namespace() as enter:
        with start_command(
            [*enter, *build_command("receive", port=0, token=TOKEN, control="stdin", **bind)]
        ) as receiver:
            receiver.expect("hello")
            listening = receiver.expect("listening")
            assert listening["address"] == bind.get("bind", "any")
            flags: dict[str, Flag] = {"address": there, "port": listening["port"], **CARRIED[carried]}
            command = build_command("send", token=TOKEN, duration_ns=50 * MS, bind=there, **flags)
            with start_command([*enter, *command]) as sender:
                assert_complete(sender.finish(), receiver.finish())
        if carried == "bytes":
            check_echo(enter, bind, there)


def check_echo(enter: list[str], bind: dict[str, Flag], there: str) -> None:
    with start_command([*enter, *build_command("echo", port=0, control="stdin", **bind)]) as echo:
        heard = echo.wait_for("listening")
        assert heard["address"] == bind.get("bind", "any")
        for method in ("udp", "tcp"):
            probes = build_command(
                "ping", address=there, port=heard["port"], method=method, count=2, timeout_ns=LONG_NS
            )
            with start_command([*enter, *probes, "--interval-ns", str(MS)]) as ping:
                assert ping.finish().last["received"] == 2


def test_without_an_address_an_end_listens_on_one_port_of_both_families() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        require(False, f"IPv6 on loopback ({error.strerror})")
    both = ("127.0.0.1", "::1")
    with start("receive", port=0, token=TOKEN, flows=2, control="stdin") as receiver:
        receiver.expect("hello")
        for address in both:
            port = receiver.wait_for("listening")["port"]
            sent = run("send", address=address, port=port, token=TOKEN, duration_ns=50 * MS)
            assert_complete(sent)
            receiver.wait_for("result")
        ended = receiver.finish()
    assert [record["sockets"][0]["local_port"] for record in ended.of("ready")] == [port, port]
    with start("echo", port=0, control="stdin") as echo:
        echo.expect("hello")
        port = echo.expect("listening")["port"]
        for address in both:
            for method in ("udp", "tcp"):
                ping = run(
                    "ping", address=address, port=port, method=method, count=2, interval_ns=MS,
                    timeout_ns=LONG_NS,
                )  # fmt: skip
                assert ping.last["received"] == 2
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as taken:
        ending = run("receive", port=taken.getsockname()[1])
        assert_refused(ending, 3, "bind", errno_name="EADDRINUSE")
        assert "of all addresses is already taken" in ending.last["text"]
