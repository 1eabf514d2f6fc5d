"""Capture files and packets that tests write byte by byte."""

import ipaddress
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

ETHERNET, RAW, SLL, SLL2, NULL = 1, 101, 113, 276, 0
SYN, ACK, FIN, RST = 0x02, 0x10, 0x01, 0x04
TIMESTAMPS = b"\x01\x01\x08\x0a"


def build_tcp(
    *,
    seq: int = 0,
    ack: int = 0,
    flags: int = ACK,
    window: int = 500,
    options: bytes = b"",
    ports: tuple[int, int] = (1000, 2000),
) -> bytes:
    """A TCP header; options are padded."""
    options += b"\0" * (-len(options) % 4)
    size = (20 + len(options)) // 4
    head = struct.pack(">HHIIBBHHH", *ports, seq % (1 << 32), ack % (1 << 32), size << 4, flags, window, 0, 0)
    return head + options


def stamp(value: int, echo: int) -> bytes:
    """The usual timestamps option."""
    return TIMESTAMPS + struct.pack(">II", value, echo)


def sack(*blocks: tuple[int, int]) -> bytes:
    """A SACK option behind two NOPs."""
    edges = b"".join(struct.pack(">II", left % (1 << 32), right % (1 << 32)) for left, right in blocks)
    return bytes((1, 1, 5, 2 + len(edges))) + edges


def build_ipv4(
    header: bytes,
    *,
    payload_bytes: int = 0,
    addresses: tuple[str, str] = ("10.0.0.1", "10.0.0.2"),
    ip_id: int = 0,
    fragment: int = 0x4000,
    protocol: int = 6,
    total_bytes: int | None = None,
    ecn: int = 0,
    options: bytes = b"",
) -> bytes:
    """An IPv4 header and ``header``; the payload is stated and not there."""
    total = 20 + len(options) + len(header) + payload_bytes if total_bytes is None else total_bytes
    first = 0x40 + (20 + len(options)) // 4
    ends = b"".join(ipaddress.IPv4Address(one).packed for one in addresses)
    return (
        struct.pack(">BBHHHBBH", first, ecn, total, ip_id, fragment, 64, protocol, 0)
        + ends
        + options
        + header
    )


def build_ipv6(
    header: bytes,
    *,
    payload_bytes: int = 0,
    extensions: bytes = b"",
    first_protocol: int = 6,
    length: int | None = None,
) -> bytes:
    """An IPv6 header, extension headers, and ``header``."""
    size = len(extensions) + len(header) + payload_bytes if length is None else length
    ends = b"".join(ipaddress.IPv6Address(one).packed for one in ("fd00::1", "fd00::2"))
    return struct.pack(">IHBB", 6 << 28, size, first_protocol, 64) + ends + extensions + header


def build_ethernet(packet: bytes, *, tags: Sequence[int] = ()) -> bytes:
    """An Ethernet frame, with VLAN tags of these types."""
    kind = 0x0800 if packet[0] >> 4 == 4 else 0x86DD
    kinds = [*tags, kind]
    return (
        bytes(12)
        + b"".join(struct.pack(">HH", tag, 5) for tag in kinds[:-1])
        + struct.pack(">H", kind)
        + packet
    )


def write_pcap(
    path: Path,
    packets: Iterable[tuple[int, bytes]],
    *,
    order: str = "<",
    nanoseconds: bool = True,
    link: int = ETHERNET,
    original_bytes: int | None = None,
) -> Path:
    """A pcap file of packets with their times in nanoseconds."""
    magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
    parts = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 262144, link)]
    unit = 1 if nanoseconds else 1000
    for time_ns, data in packets:
        seconds, rest = divmod(time_ns, 1_000_000_000)
        size = len(data) if original_bytes is None else original_bytes
        parts.append(struct.pack(f"{order}IIII", seconds, rest // unit, len(data), size) + data)
    path.write_bytes(b"".join(parts))
    return path


def build_block(kind: int, body: bytes, order: str = "<") -> bytes:
    """A pcapng block."""
    body += b"\0" * (-len(body) % 4)
    size = struct.pack(f"{order}I", 12 + len(body))
    return struct.pack(f"{order}I", kind) + size + body + size


def build_option(code: int, value: bytes, order: str = "<") -> bytes:
    return struct.pack(f"{order}HH", code, len(value)) + value + b"\0" * (-len(value) % 4)


def build_section(order: str = "<") -> bytes:
    return build_block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def build_interface(
    link: int = ETHERNET, *, order: str = "<", options: bytes = b"", snap_bytes: int = 0
) -> bytes:
    return build_block(1, struct.pack(f"{order}HHI", link, 0, snap_bytes) + options, order)


def write_pcapng(path: Path, *blocks: bytes, options: bytes = b"") -> Path:
    """A pcapng file of a section, an interface of Ethernet with these options, and further blocks."""
    path.write_bytes(build_section() + build_interface(options=options) + b"".join(blocks))
    return path


def build_enhanced(
    units: int,
    data: bytes,
    *,
    interface: int = 0,
    order: str = "<",
    options: bytes = b"",
    original: int | None = None,
) -> bytes:
    size = len(data) if original is None else original
    head = struct.pack(f"{order}IIIII", interface, units >> 32, units & 0xFFFFFFFF, len(data), size)
    return build_block(6, head + data + b"\0" * (-len(data) % 4) + options, order)
