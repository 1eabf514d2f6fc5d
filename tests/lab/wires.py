"""Two hosts and what lies between them, as network namespaces that die with the test.

``a`` and ``b`` are the hosts, ``middle`` holds the emulator's ends of their cables in packet mode. A
namespace is kept by a process of ours and named by its PID, so nothing is left in ``/run/netns``. An ordinary
user gets them inside a user namespace of its own.
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from tests.patience import PATIENCE_S
from tests.require import require

ADDRESS_A = "10.91.0.1"
ADDRESS_B = "10.91.0.2"
ADDRESS6_A = "fd00:91::1"
ADDRESS6_B = "fd00:91::2"
_MAC_A = "02:00:00:00:91:01"
_MAC_B = "02:00:00:00:91:02"
# No solicitations in the packet counts; no memory of earlier connections.
_SETTINGS = {
    "net/ipv6/conf/all/disable_ipv6": "1",
    "net/ipv6/conf/default/disable_ipv6": "1",
    "net/ipv4/tcp_no_metrics_save": "1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """A network namespace kept by the process ``pid``."""

    pid: int
    in_user_namespace: bool

    @property
    def path(self) -> str:
        return f"/proc/{self.pid}/ns/net"

    def command(self, *arguments: str) -> list[str]:
        """The command line that runs ``arguments`` inside."""
        user = ["--user", "--preserve-credentials"] if self.in_user_namespace else []
        return ["nsenter", "--target", str(self.pid), *user, "--net", "--", *arguments]

    def run(self, *arguments: str) -> str:
        """Run a tool inside to its end; its standard output. Raises AssertionError with what it said."""
        done = subprocess.run(
            self.command(*arguments), check=False, capture_output=True, text=True, timeout=PATIENCE_S
        )
        assert done.returncode == 0, f"{' '.join(arguments)}: {done.stderr.strip()}"
        return done.stdout


@dataclass(frozen=True, slots=True, kw_only=True)
class Wires:
    """The namespaces of one lab."""

    a: Namespace
    b: Namespace
    middle: Namespace


@contextlib.contextmanager
def _held_namespace(owner: Namespace | None) -> Iterator[Namespace]:
    """A new network namespace; with ``owner`` in the same user namespace as that one."""
    ordinary = os.geteuid() != 0
    command = ["unshare", "--net"]
    if ordinary and owner is None:
        command += ["--user", "--map-root-user"]
    # The shell says when it is inside, and ends at the end of file that our death would be, too.
    command += ["sh", "-c", "echo inside && exec cat"]
    if owner is not None and ordinary:
        command = owner.command(*command)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdin is not None
        try:
            made = holder.stdout.readline() == "inside\n"
            require(made, f"network namespaces: {'' if made else holder.stderr.read().strip()}")
            yield Namespace(pid=holder.pid, in_user_namespace=ordinary)
        finally:
            holder.kill()


def _set_kernel(namespace: Namespace) -> None:
    for name, value in _SETTINGS.items():
        namespace.run("sh", "-c", f"[ ! -e /proc/sys/{name} ] || echo {value} > /proc/sys/{name}")


@contextlib.contextmanager
def open_wires() -> Iterator[Wires]:
    """Three empty namespaces. Skips the test where the machine has none to give."""
    for tool in ("unshare", "nsenter", "ip", "ping", "setpriv"):
        require(shutil.which(tool), f"the tool {tool}")
    with _held_namespace(None) as middle, _held_namespace(middle) as a, _held_namespace(middle) as b:
        for namespace in (a, b, middle):
            _set_kernel(namespace)
        yield Wires(a=a, b=b, middle=middle)


def plug_cables(wires: Wires) -> None:
    """Veth pairs ``wan0``-``ma`` and ``wan0``-``mb`` from the hosts to the middle, with static neighbours."""
    ends = (
        (wires.a, "ma", _MAC_A, ADDRESS_A, ADDRESS_B, _MAC_B),
        (wires.b, "mb", _MAC_B, ADDRESS_B, ADDRESS_A, _MAC_A),
    )
    for host, end, mac, address, peer, peer_mac in ends:
        wires.middle.run("ip", "link", "add", "wan0", "address", mac, "type", "veth", "peer", "name", end)
        wires.middle.run("ip", "link", "set", "dev", "wan0", "netns", str(host.pid))
        wires.middle.run("ip", "link", "set", "dev", end, "up")
        host.run("ip", "address", "add", f"{address}/24", "dev", "wan0")
        host.run("ip", "link", "set", "dev", "wan0", "up")
        host.run("ip", "neighbour", "add", peer, "lladdr", peer_mac, "dev", "wan0", "nud", "permanent")


def address_tunnels(wires: Wires) -> None:
    """Addresses for the ``wan0`` that an emulator in TUN mode has made in both hosts."""
    for host, address, peer in ((wires.a, ADDRESS_A, ADDRESS_B), (wires.b, ADDRESS_B, ADDRESS_A)):
        host.run("ip", "address", "add", address, "peer", peer, "dev", "wan0")
        host.run("ip", "link", "set", "dev", "wan0", "txqueuelen", "10000", "up")


def use_ecn(wires: Wires) -> None:
    """Let TCP of both hosts use ECN from now on."""
    for host in (wires.a, wires.b):
        host.run("sh", "-c", "echo 1 > /proc/sys/net/ipv4/tcp_ecn")


def address_ipv6(wires: Wires) -> None:
    """IPv6 addresses for the ``wan0`` of both hosts, which are up: static, silent, without solicitations."""
    ends = ((wires.a, ADDRESS6_A, ADDRESS6_B, _MAC_B), (wires.b, ADDRESS6_B, ADDRESS6_A, _MAC_A))
    for host, address, peer, peer_mac in ends:
        host.run("ip", "link", "set", "dev", "wan0", "addrgenmode", "none")
        host.run("sh", "-c", "echo 0 > /proc/sys/net/ipv6/conf/wan0/disable_ipv6")
        host.run("ip", "-6", "address", "add", f"{address}/64", "dev", "wan0", "nodad")
        if "POINTOPOINT" not in host.run("ip", "-o", "link", "show", "dev", "wan0"):
            host.run("ip", "neighbour", "add", peer, "lladdr", peer_mac, "dev", "wan0", "nud", "permanent")
