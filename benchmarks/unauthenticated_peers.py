"""Unauthenticated peers at a receiver's port and, in turn with them, the same work without any.

``python unauthenticated_peers.py half-open|loris|flood ADDRESS PORT CYCLES SEGMENT_S`` starts when the port
is open. A cycle has three segments, in the opposite order every other cycle: ``peers``; ``dummy``, which
burns in the same ticks the CPU time that the latest peers cost this process; and ``alone``, idle. One JSON
object per segment goes to stdout: ``cycle``, ``segment``, ``begin_ns`` and ``end_ns`` (CLOCK_MONOTONIC),
``cpu_s`` of this process, ``begun`` connections. Standard library only; starts fast with ``-I -S``.
"""

from __future__ import annotations

import collections
import errno
import json
import socket
import struct
import sys
import time
from dataclasses import dataclass

TICK_S = 0.005
RETRY_PAUSE_S = 0.05
LISTENER_LIMIT_S = 30.0
_RESET = struct.pack("ii", 1, 0)  # struct linger: close() resets, and leaves no port in TIME_WAIT


@dataclass(frozen=True)
class Kind:
    """Connections per second, connections held, and seconds between the bytes of each (0: it sends none)."""

    connects_per_s: int
    held: int
    byte_s: float


KINDS = {
    "half-open": Kind(connects_per_s=200, held=200, byte_s=0.0),
    "loris": Kind(connects_per_s=64, held=64, byte_s=0.03),
    "flood": Kind(connects_per_s=2000, held=32, byte_s=0.0),
}


class Peers:
    """Unauthenticated peers of one kind, which connect and close tick by tick."""

    def __init__(self, kind: Kind, address: str, port: int) -> None:
        self._kind, self._to = kind, (address, port)
        self._family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._held: collections.deque[socket.socket] = collections.deque()
        self._due = 0.0
        self._byte_due_s = 0.0
        self.begun = 0

    def advance(self, length_s: float) -> None:
        """Do what is due after another ``length_s`` seconds."""
        self._due += length_s * self._kind.connects_per_s
        while self._due >= 1.0:
            self._due -= 1.0
            self._connect()
        self._byte_due_s += length_s
        if 0.0 < self._kind.byte_s <= self._byte_due_s:
            self._byte_due_s = 0.0
            for peer in self._held:
                try:
                    peer.send(b"P")
                except OSError:  # rejected: it is replaced in turn
                    continue

    def _connect(self) -> None:
        peer = socket.socket(self._family, socket.SOCK_STREAM)
        peer.setblocking(False)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        if peer.connect_ex(self._to) in (0, errno.EINPROGRESS):
            self.begun += 1
        self._held.append(peer)
        if len(self._held) > self._kind.held:
            self._held.popleft().close()

    def close(self) -> None:
        """Close all connections."""
        while self._held:
            self._held.popleft().close()


def burn_until(cpu_s: float) -> None:
    """Use CPU until this process has used ``cpu_s`` since its start."""
    while time.process_time() < cpu_s:
        pass


def run_segment(name: str, length_s: float, peers: Peers, dummy_ratio: float) -> dict[str, object]:
    """Run one segment; returns its record. A late tick also does the work of the ticks that it missed."""
    before, cpu_s = peers.begun, time.process_time()
    begin_ns = time.monotonic_ns()
    at_s = begin_s = begin_ns / 1e9
    while at_s < begin_s + length_s:
        time.sleep(max(at_s + TICK_S - time.monotonic(), 0.0) if name != "alone" else length_s)
        now_s = time.monotonic()
        if name == "peers":
            peers.advance(now_s - at_s)
        elif name == "dummy":
            burn_until(cpu_s + (now_s - begin_s) * dummy_ratio)  # its ticks cost CPU as well
        at_s = now_s
    peers.close()
    return {
        "segment": name,
        "begin_ns": begin_ns,
        "end_ns": time.monotonic_ns(),
        "cpu_s": time.process_time() - cpu_s,
        "begun": peers.begun - before,
    }


def await_listener(address: str, port: int) -> None:
    """Connect until the port is open. Raises TimeoutError after half a minute."""
    end_s = time.monotonic() + LISTENER_LIMIT_S
    while time.monotonic() < end_s:
        try:
            socket.create_connection((address, port), timeout=1.0).close()
        except OSError:
            time.sleep(RETRY_PAUSE_S)
        else:
            return
    raise TimeoutError(f"no process listens on port {port} of {address}")


def main(arguments: list[str]) -> int:
    """Run the cycles; 0, or 2 for wrong arguments."""
    if len(arguments) != 5 or arguments[0] not in KINDS:
        sys.stderr.write(
            "usage: unauthenticated_peers.py " + "|".join(KINDS) + " ADDRESS PORT CYCLES SEGMENT_S\n"
        )
        return 2
    address, port, cycles, length_s = arguments[1], int(arguments[2]), int(arguments[3]), float(arguments[4])
    await_listener(address, port)
    peers, ratio = Peers(KINDS[arguments[0]], address, port), 0.0
    for cycle in range(-1, cycles):  # one to warm up, which measures the CPU time for the dummy
        order = ["peers", "dummy", "alone"]
        for name in order if cycle % 2 else reversed(order):
            done = run_segment(name, length_s, peers, ratio)
            if name == "peers":
                ratio = float(str(done["cpu_s"])) / length_s
            sys.stdout.write(json.dumps({"cycle": cycle, **done}) + "\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
