"""What the kernel saw of TCP on an interface: a program apart, since it runs in another namespace.

``python capture.py INTERFACE PORT`` prints ``ready``, lets the kernel fill a ring with the headers of
arriving IPv4 packets, and reads it only at the end, so that it takes no CPU from the traffic. At a line of
rising times (CLOCK_REALTIME in ns) on stdin it prints one JSON object about the data sent to PORT:
``flows``, ``bytes`` and ``bytes_before`` (payload in sequence, each byte once: all of it, and what came
before each time), ``repeated_bytes``, ``packets`` and ``dropped_packets`` of the capture.
"""

import ctypes
import json
import mmap
import socket
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

_SOL_PACKET = 263
_PACKET_RX_RING, _PACKET_STATISTICS, _PACKET_VERSION, _PACKET_IGNORE_OUTGOING = 5, 6, 10, 23
_TPACKET_V2 = 1
_TP_STATUS_USER = 1
_ETH_P_IP = 0x0800
_SNAP_BYTES = 120  # the longest headers of IPv4 and TCP
_FRAME_BYTES, _BLOCK_BYTES, _BLOCKS = 256, 1 << 16, 512  # 131,072 packets in 32 MiB
_SEQUENCES = 1 << 32
_SYN = 2


@dataclass(slots=True, kw_only=True)
class Flow:
    """One direction of a connection as its receiver sees it; positions count payload from the SYN on."""

    next_position: int = 0
    ahead: list[tuple[int, int]] = field(default_factory=list)  # begin and end of what came out of order
    repeated_bytes: int = 0

    def take(self, begin: int, end: int) -> None:
        """A segment with the payload from ``begin`` to ``end``."""
        known = self._covered(begin, end)
        self.repeated_bytes += known
        self.ahead = sorted([*self.ahead, (begin, end)])
        while self.ahead and self.ahead[0][0] <= self.next_position:
            self.next_position = max(self.next_position, self.ahead.pop(0)[1])

    def _covered(self, begin: int, end: int) -> int:
        """How much of a segment had come before."""
        fresh = [(max(begin, self.next_position), end)]
        for low, high in self.ahead:
            fresh = [
                part for x, y in fresh for part in ((x, min(y, low)), (max(x, high), y)) if part[0] < part[1]
            ]
        return end - begin - sum(y - x for x, y in fresh if x < y)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A TCP segment's headers; ``flow`` is the sender's address and port."""

    at_ns: int
    flow: tuple[bytes, int]
    port: int
    sequence: int
    is_syn: bool
    payload_bytes: int


def parse_segment(at_ns: int, packet: bytes) -> Segment | None:
    """The TCP segment in an IPv4 packet, which may be cut after its headers; None for anything else."""
    if len(packet) < 20 or packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
        return None
    header_bytes = (packet[0] & 15) * 4
    total_bytes = int.from_bytes(packet[2:4], "big")
    source, port, sequence = struct.unpack_from("!HHI", packet, header_bytes)
    return Segment(
        at_ns=at_ns,
        flow=(packet[12:16], source),
        port=port,
        sequence=sequence,
        is_syn=bool(packet[header_bytes + 13] & _SYN),
        payload_bytes=total_bytes - header_bytes - (packet[header_bytes + 12] >> 4) * 4,
    )


def count_goodput(segments: Iterator[Segment], port: int, times_ns: list[int]) -> dict[str, object]:
    """The payload that came in sequence for ``port``: in all, and before each of the rising times."""
    flows: dict[tuple[bytes, int], Flow] = {}
    bytes_before: list[int] = []
    first_sequence: dict[tuple[bytes, int], int] = {}
    for segment in segments:
        while len(bytes_before) < len(times_ns) and segment.at_ns >= times_ns[len(bytes_before)]:
            bytes_before.append(sum(flow.next_position for flow in flows.values()))
        if segment.port != port:
            continue
        if segment.is_syn:
            first_sequence[segment.flow] = segment.sequence + 1
            flows.setdefault(segment.flow, Flow())
        elif segment.payload_bytes > 0:
            flow = flows[segment.flow]
            # The sequence number nearest to what is expected: it wraps every 4 GiB.
            expected = first_sequence[segment.flow] + flow.next_position
            apart = (segment.sequence - expected + _SEQUENCES // 2) % _SEQUENCES - _SEQUENCES // 2
            begin = flow.next_position + apart
            flow.take(begin, begin + segment.payload_bytes)
    total_bytes = sum(flow.next_position for flow in flows.values())
    return {
        "flows": len(flows),
        "bytes": total_bytes,
        "bytes_before": bytes_before + [total_bytes] * (len(times_ns) - len(bytes_before)),
        "repeated_bytes": sum(flow.repeated_bytes for flow in flows.values()),
        "unfinished_flows": sum(1 for flow in flows.values() if flow.ahead),
    }


def open_ring(interface: str) -> tuple[socket.socket, mmap.mmap]:
    """A packet socket that writes the headers of what arrives, and the kernel's stamps, into a ring."""
    plug = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
    plug.setsockopt(_SOL_PACKET, _PACKET_VERSION, _TPACKET_V2)
    plug.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
    # A filter of one instruction, "return so many bytes": the ring gets the headers alone.
    instruction = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, _SNAP_BYTES))
    program = struct.pack("HP", 1, ctypes.addressof(instruction))
    plug.setsockopt(socket.SOL_SOCKET, 26, program)  # SO_ATTACH_FILTER
    frames = _BLOCK_BYTES // _FRAME_BYTES * _BLOCKS
    plug.setsockopt(
        _SOL_PACKET, _PACKET_RX_RING, struct.pack("IIII", _BLOCK_BYTES, _BLOCKS, _FRAME_BYTES, frames)
    )
    ring = mmap.mmap(plug.fileno(), _BLOCK_BYTES * _BLOCKS)
    plug.bind((interface, _ETH_P_IP))
    return plug, ring


def read_ring(ring: mmap.mmap) -> Iterator[Segment]:
    """The segments in the ring, in the order of their arrival; it must not have been lapped."""
    for offset in range(0, len(ring), _FRAME_BYTES):
        status, _, snap_bytes, _, network, seconds, nanoseconds = struct.unpack_from("IIIHHII", ring, offset)
        if not status & _TP_STATUS_USER:
            return
        begin = offset + network
        segment = parse_segment(seconds * 10**9 + nanoseconds, ring[begin : begin + snap_bytes])
        if segment is not None:
            yield segment


def main(arguments: list[str]) -> None:
    interface, port = arguments[0], int(arguments[1])
    plug, ring = open_ring(interface)
    print("ready", flush=True)  # noqa: T201 -- the protocol of this program
    times_ns = [int(word) for word in sys.stdin.readline().split()]
    packets, dropped = struct.unpack("II", plug.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))
    found = count_goodput(read_ring(ring), port, times_ns)
    outcome = {**found, "packets": packets, "dropped_packets": dropped}
    print(json.dumps(outcome), flush=True)  # noqa: T201 -- the protocol of this program


if __name__ == "__main__":
    main(sys.argv[1:])
