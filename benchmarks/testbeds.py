"""Where the tools are compared: the loopback of one namespace, and a veth pair between two.

The script makes and removes the namespaces, so no other program uses their ports and interfaces.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pathlab.lab.namespaces import LabProcess, Namespaces

TESTBEDS = ("loopback", "veth")
_SOCKET_TABLES = "/proc/net/tcp /proc/net/tcp6 /proc/net/udp"
_LISTEN, _UDP_BOUND = "0A", "07"
_POLL_S = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Testbed:
    """Two ends: node names, the receiver's address, and the interface at which the traffic reaches it."""

    name: str
    namespaces: Namespaces
    sender: str
    receiver: str
    address: str
    interface: str

    def received_bytes(self) -> int:
        """Bytes that the receiver's interface has taken so far, headers and acknowledgements included."""
        for line in self.namespaces.run(self.receiver, "cat", "/proc/net/dev").splitlines():
            name, _, counters = line.partition(":")
            if name.strip() == self.interface:
                return int(counters.split()[0])
        raise LookupError(f"{self.name}: no interface {self.interface}")

    def listens(self, port: int) -> bool:
        """Whether a TCP socket of the receiver's namespace listens on the port, or a UDP socket has it."""
        tables = self.namespaces.run(self.receiver, "sh", "-c", f"cat {_SOCKET_TABLES} 2>/dev/null; :")
        rows = (line.split() for line in tables.splitlines())
        return any(
            row[1].endswith(f":{port:04X}") and row[3] in (_LISTEN, _UDP_BOUND)
            for row in rows
            if len(row) > 3
        )


@contextlib.contextmanager
def open_testbed(name: str) -> Iterator[Testbed]:
    """Make the namespaces and the path of a testbed. Raises HostError where this machine refuses them."""
    with Namespaces() as namespaces:
        if name == "loopback":
            nodes, address, interface = ("both", "both"), "127.0.0.1", "lo"
        else:
            nodes, address, interface = ("from", "to"), "198.18.0.2", "bench1"
        paths = {node: namespaces.add_node(node) for node in dict.fromkeys(nodes)}
        for node in paths:  # a transfer must not start from what an earlier one learnt
            namespaces.set_sysctl(node, "net.ipv4.tcp_no_metrics_save", "1")
        if name == "veth":
            pair = f"ip link add bench0 type veth peer name bench1 netns {paths['to']}"
            namespaces.run("from", *pair.split())
            for number, node in enumerate(nodes):
                device = f"bench{number}"
                namespaces.run(node, *f"ip address add 198.18.0.{number + 1}/30 dev {device}".split())
                namespaces.run(node, "ip", "link", "set", device, "up")
        yield Testbed(
            name=name,
            namespaces=namespaces,
            sender=nodes[0],
            receiver=nodes[1],
            address=address,
            interface=interface,
        )


class Program:
    """A process at one end of a testbed, its output in files. A context manager: it ends with the block."""

    def __init__(self, testbed: Testbed, node: str, argv: Sequence[str], folder: Path) -> None:
        self._testbed, self._node, self._argv = testbed, node, tuple(argv)
        handle, path = tempfile.mkstemp(dir=folder)
        os.close(handle)
        self._output, self._errors = Path(path), Path(path + ".errors")
        self._process: LabProcess | None = None

    def __enter__(self) -> Program:
        null = os.open(os.devnull, os.O_RDONLY)
        descriptors = [null]
        try:
            output = os.open(self._output, os.O_WRONLY)
            descriptors.append(output)
            errors = os.open(self._errors, os.O_WRONLY | os.O_CREAT)
            descriptors.append(errors)
            self._process = self._testbed.namespaces.spawn(self._node, self._argv, (null, output, errors))
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self, signal_number: signal.Signals = signal.SIGTERM) -> None:
        """End it if it still runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal_number)
            if self._process.wait(2.0) is None:
                self._process.send_signal(signal.SIGKILL)
                self._process.wait(2.0)

    def status(self) -> int | None:
        """Its exit status, None while it runs."""
        return self._process.poll() if self._process is not None else None

    def wait(self, timeout_s: float) -> int | None:
        """Wait for its end; its exit status, None when the time is over first."""
        return self._process.wait(timeout_s) if self._process is not None else None

    def output(self) -> str:
        """What it has written to stdout so far."""
        return self._output.read_text(encoding="utf-8", errors="replace")

    def describe_end(self) -> str:
        """Why it ended: its first line on stderr, else an error in its JSON."""
        lines = self._errors.read_text(encoding="utf-8", errors="replace").strip().split("\n")[:1]
        lines += [line.strip() for line in self.output().split("\n") if '"error"' in line]
        named = [line for line in lines if line]
        return named[0][:300] if named else f"ended with status {self.status()} without a message"


def wait_until(ready: Callable[[], bool], timeout_s: float) -> bool:
    """Ask ``ready()`` until it is true; False when the time is over first."""
    deadline = time.monotonic() + timeout_s
    while not ready():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True
