"""The bytes of probes and the identity that comes back in their quotes; pure, no sockets.

A probe carries a mark: ``PLpr``, its number and the number's complement. The complement keeps the checksum of
all probes of a flow and size the same, because routers may choose among equal paths by it (Augustin et al.,
"Avoiding traceroute anomalies with Paris traceroute", IMC 2006). Of TCP the sequence number is the identity,
so there the ports alone are constant.
"""

from __future__ import annotations

import random
import struct
from functools import lru_cache
from typing import Optional

MAGIC = b"PLpr"
MARK_BYTES = 12
UDP_HEADER_BYTES = 8
ICMP_HEADER_BYTES = 8
TCP_SYN_BYTES = 24  # header and the one option that every SYN has, the segment size
IP_HEADER_BYTES = {4: 20, 6: 40}
ICMP_ECHO = {4: 8, 6: 128}
ICMP_ECHO_REPLY = {4: 0, 6: 129}
TCP_FLAG_SYN, TCP_FLAG_RST, TCP_FLAG_ACK = 0x02, 0x04, 0x10
SYN_SEGMENT_BYTES = 1460

_MARK = struct.Struct(">4sIHH")
_TCP = struct.Struct(">HHIIBBHHH")
_MAX_PACKET_BYTES = 65535


def smallest_packet_bytes(method: str, version: int) -> int:
    """The smallest IP packet, headers included, that holds a probe of this method."""
    carried = {
        "udp": UDP_HEADER_BYTES + MARK_BYTES,
        "icmp": ICMP_HEADER_BYTES + 4 + MARK_BYTES,
        "tcp": TCP_SYN_BYTES,
    }
    return IP_HEADER_BYTES[version] + carried[method]


def internet_checksum(data: bytes) -> int:
    """RFC 1071 over ``data``, padded with a zero byte where its length is odd."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return int(~total & 0xFFFF)


def build_mark(number: int) -> bytes:
    """The 12 bytes that identify probe ``number`` (32 bits) and add nothing to a checksum that differs."""
    return _MARK.pack(MAGIC, number, ~(number >> 16) & 0xFFFF, ~number & 0xFFFF)


def find_mark(data: bytes) -> Optional[int]:
    """The number of the mark at the start of ``data``; None where it is cut off or another's."""
    if len(data) < MARK_BYTES:
        return None
    magic, number, high, low = _MARK.unpack_from(data)
    if magic != MAGIC or high ^ (number >> 16) != 0xFFFF or low ^ (number & 0xFFFF) != 0xFFFF:
        return None
    return int(number)


@lru_cache(maxsize=1)
def _noise() -> bytes:
    # Bytes that no link can compress, the same ones always.
    return random.Random(0x504C).getrandbits(8 * _MAX_PACKET_BYTES).to_bytes(_MAX_PACKET_BYTES, "big")


def build_udp_payload(number: int, length_bytes: int) -> bytes:
    """What a UDP probe carries: the mark and filler, ``length_bytes`` in all (at least 12)."""
    return build_mark(number) + _noise()[: length_bytes - MARK_BYTES]


def build_echo_request(number: int, identity: int, length_bytes: int, version: int) -> bytes:
    """An ICMP echo request of ``length_bytes`` (at least 24) with the checksum of IPv4.

    The low half of the number is the sequence number, its complement follows the header. For IPv6 the kernel
    fills in the checksum, which covers addresses.
    """
    sequence = number & 0xFFFF
    body = struct.pack(">HH", ~sequence & 0xFFFF, 0) + build_mark(number)
    body += _noise()[: length_bytes - ICMP_HEADER_BYTES - len(body)]
    head = struct.pack(">BBHHH", ICMP_ECHO[version], 0, 0, identity, sequence)
    checksum = internet_checksum(head + body) if version == 4 else 0
    return head[:2] + struct.pack(">H", checksum) + head[4:] + body


def parse_echo(data: bytes, identity: int) -> Optional[int]:
    """The number in an echo request or reply of ``identity``: 32 bits by its mark, else 16 of the header.

    None for another's message. A reply's type is the caller's to check.
    """
    if len(data) < ICMP_HEADER_BYTES:
        return None
    its_identity, sequence = struct.unpack_from(">HH", data, 4)
    if its_identity != identity:
        return None
    number = find_mark(data[ICMP_HEADER_BYTES + 4 :])
    return int(sequence) if number is None else number


def build_syn(ports: "tuple[int, int]", sequence: int, pseudo_header: bytes) -> bytes:
    """A TCP SYN from ``ports[0]`` to ``ports[1]``, checksummed with the pseudo-header of its addresses."""
    offset = TCP_SYN_BYTES // 4 << 4
    option = struct.pack(">BBH", 2, 4, SYN_SEGMENT_BYTES)
    fields = (*ports, sequence, 0, offset, TCP_FLAG_SYN, 65535)
    segment = _TCP.pack(*fields, 0, 0) + option
    return _TCP.pack(*fields, internet_checksum(pseudo_header + segment), 0) + option


def build_pseudo_header(source: bytes, destination: bytes) -> bytes:
    """What TCP's checksum covers besides a SYN of ours: packed addresses, length, protocol."""
    if len(source) == 4:
        return source + destination + struct.pack(">BBH", 0, 6, TCP_SYN_BYTES)
    return source + destination + struct.pack(">IHBB", TCP_SYN_BYTES, 0, 0, 6)


def read_quoted_syn(data: bytes, ports: "tuple[int, int]") -> Optional[int]:
    """The sequence number of a quoted SYN of ours (8 bytes suffice), None for another's segment."""
    if len(data) < 8:
        return None
    source, destination, sequence = struct.unpack_from(">HHI", data)
    return int(sequence) if (source, destination) == ports else None


def read_syn_answer(data: bytes, ports: "tuple[int, int]") -> "Optional[tuple[str, int]]":
    """``syn-ack`` or ``reset`` with the sequence number that it answers; None for another's segment."""
    if len(data) < 20:
        return None
    source, destination, _, acknowledged, _, flags, _, _, _ = _TCP.unpack_from(data)
    if (destination, source) != ports or not flags & TCP_FLAG_ACK:
        return None
    if flags & TCP_FLAG_RST:
        return "reset", (acknowledged - 1) & 0xFFFFFFFF
    return ("syn-ack", (acknowledged - 1) & 0xFFFFFFFF) if flags & TCP_FLAG_SYN else None


def strip_ip_header(packet: bytes) -> bytes:
    """What an IPv4 packet carries, as raw sockets hand packets over; empty when it is cut short."""
    return packet[(packet[0] & 15) * 4 :] if packet else b""
