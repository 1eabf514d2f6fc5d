"""IP, TCP and UDP headers of a batch of records, as arrays.

Sources: RFC 791 (IPv4), RFC 8200 (IPv6 and its extension headers), RFC 4302 (authentication header), RFC 9293
(TCP), RFC 768 (UDP), RFC 2675 (length 0 of jumbograms, which Linux also writes for super-packets).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

import numpy as np

from pathlab.captures.links import find_ip
from pathlab.captures.records import Bytes, Flags, Integers, RecordBatch, view_numbers
from pathlab.captures.tunnels import enter_tunnels

TCP, UDP = 6, 17
#: Extension headers of IPv6 whose second byte is a length: hop-by-hop options, routing, destination options,
#: mobility, HIP, shim6.
_EXTENSIONS = (0, 43, 60, 135, 139, 140)
_FRAGMENT, _AUTHENTICATION = 44, 51
EXTENSIONS_MAX = 8
_TCP_BYTES, _UDP_BYTES = 20, 8
_Part = TypeVar("_Part", bound="PacketHeaders")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderCounts:
    """Records of a batch that are no TCP or UDP with a whole header, by the reason.

    ``not_ip``: by Ethernet type, 0 for IEEE 802.3, -1 for links without types. ``other_protocols``: by the
    protocol number of IP.
    """

    not_ip: Counter[int] = field(default_factory=Counter)
    fragments: int = 0
    other_protocols: Counter[int] = field(default_factory=Counter)
    cut: int = 0

    def __add__(self, other: HeaderCounts) -> HeaderCounts:
        names = [field.name for field in fields(self)]
        return HeaderCounts(**{name: getattr(self, name) + getattr(other, name) for name in names})


def _count_kinds(kinds: Integers) -> Counter[int]:
    values, counts = np.unique(kinds, return_counts=True)
    return Counter(dict(zip(values.tolist(), counts.tolist(), strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketHeaders:
    """The TCP and UDP packets of a batch, in its order; all arrays have one entry per packet.

    ``rows``: places in the batch's arrays. ``sources`` and ``destinations``: 16 bytes each, an IPv4 address
    in the form ::ffff:a.b.c.d. ``payload_bytes``: by the IP header, not what was captured. ``headers``: where
    the TCP or UDP header is in the batch's data; ``ends``: where the captured bytes end. ``ip_ids``: of IPv4,
    -1 for IPv6. ``ecn``: the two bits of RFC 3168.
    """

    rows: Integers
    sources: Bytes
    destinations: Bytes
    source_ports: Integers
    destination_ports: Integers
    is_tcp: Flags
    payload_bytes: Integers
    headers: Integers
    ends: Integers
    ip_ids: Integers
    ecn: Integers

    def select(self: _Part, chosen: Flags) -> _Part:
        """The packets for which ``chosen`` is True."""
        parts: dict[str, Any] = {field.name: getattr(self, field.name)[chosen] for field in fields(self)}
        return type(self)(**parts)


def read_headers(batch: RecordBatch, link_type: int, chosen: Flags) -> tuple[PacketHeaders, HeaderCounts]:
    """The TCP and UDP packets among the records of ``chosen``, all of one link type; counts of the others.

    Raises KeyError for a link type that cannot be read.
    """
    rows = np.flatnonzero(chosen)
    places = batch.places[rows]
    ends = places + batch.captured_bytes[rows]
    link_ends = places + batch.original_bytes[rows]
    ip, versions, kinds = find_ip(batch.data, places, link_type)
    whole_link = ip <= ends
    enter_tunnels(batch.data, ip, versions, ends)
    parts: list[PacketHeaders] = []
    known = (versions > 0) & (ip + 20 <= ends)
    other = (versions == 0) & whole_link
    counts = HeaderCounts(not_ip=_count_kinds(kinds[other]), cut=int((~other & ~known).sum()))
    for version, read in ((4, _read_ipv4), (6, _read_ipv6)):
        of_it = known & (versions == version)
        if of_it.any():
            part, more = read(batch.data, rows[of_it], ip[of_it], ends[of_it], link_ends[of_it])
            parts.append(part)
            counts += more
    return join_packets(parts), counts


def join_packets(parts: Sequence[PacketHeaders]) -> PacketHeaders:
    """The packets of several parts of one batch, in the order of the batch."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return _no_packets()
    order = np.argsort(np.concatenate([part.rows for part in parts]), kind="stable")
    names = [field.name for field in fields(PacketHeaders)]
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])[order] for name in names
    }
    return PacketHeaders(**joined)


def _no_packets() -> PacketHeaders:
    none = np.zeros(0, dtype=np.int64)
    shapes: dict[str, Any] = {field.name: none for field in fields(PacketHeaders)}
    addresses = np.zeros((0, 16), dtype=np.uint8)
    flags = np.zeros(0, dtype=np.bool_)
    return PacketHeaders(**{**shapes, "sources": addresses, "destinations": addresses, "is_tcp": flags})


def _read_ipv4(
    data: Bytes, rows: Integers, ip: Integers, ends: Integers, link_ends: Integers
) -> tuple[PacketHeaders, HeaderCounts]:
    shorts = view_numbers(data, ">u2")
    header_bytes = (data[ip] & 15).astype(np.int64) * 4
    total = shorts[ip + 2].astype(np.int64)
    packet_ends = np.where(total == 0, link_ends, ip + total)
    is_fragment = (shorts[ip + 6] & 0x3FFF) != 0
    addresses = np.zeros((2, len(ip), 16), dtype=np.uint8)
    addresses[:, :, 10:12] = 0xFF
    for side, skip in enumerate((12, 16)):
        words = view_numbers(data, ">u4")[ip + skip]
        addresses[side, :, 12:] = words.astype(">u4").view(np.uint8).reshape(-1, 4)
    return _read_ports(
        data,
        rows,
        headers=ip + np.maximum(header_bytes, 20),
        ends=ends,
        packet_ends=packet_ends,
        protocols=data[ip + 9].astype(np.int64),
        is_fragment=is_fragment,
        addresses=addresses,
        ip_ids=shorts[ip + 4].astype(np.int64),
        ecn=(data[ip + 1] & 3).astype(np.int64),
    )


def _read_ipv6(
    data: Bytes, rows: Integers, ip: Integers, ends: Integers, link_ends: Integers
) -> tuple[PacketHeaders, HeaderCounts]:
    whole = ip + 40 <= ends
    cut = int((~whole).sum())
    rows, ip, ends, link_ends = rows[whole], ip[whole], ends[whole], link_ends[whole]
    shorts = view_numbers(data, ">u2")
    length = shorts[ip + 4].astype(np.int64)
    packet_ends = np.where(length == 0, link_ends, ip + 40 + length)
    protocols = data[ip + 6].astype(np.int64)
    headers = ip + 40
    is_fragment = np.zeros(len(ip), dtype=np.bool_)
    for _ in range(EXTENSIONS_MAX):
        kinds = (*_EXTENSIONS, _FRAGMENT, _AUTHENTICATION)
        at = np.flatnonzero(np.isin(protocols, kinds) & ~is_fragment & (headers + 8 <= ends))
        if not len(at):
            break
        kind, index = protocols[at], headers[at]
        extra = data[index + 1].astype(np.int64)
        size = np.where(
            kind == _FRAGMENT, 8, np.where(kind == _AUTHENTICATION, (extra + 2) * 4, (extra + 1) * 8)
        )
        # offset and the flag "more": neither in an atomic fragment (RFC 6946), which is a whole packet
        is_fragment[at] = (kind == _FRAGMENT) & ((shorts[index + 2] & 0xFFF9) != 0)
        protocols[at] = data[index]
        headers[at] = index + size
    # the end of the record is the furthest that a header can be; what is there is padding
    headers = np.minimum(headers, ends)
    addresses = np.stack([data[ip[:, None] + np.arange(skip, skip + 16)] for skip in (8, 24)])
    part, counts = _read_ports(
        data,
        rows,
        headers=headers,
        ends=ends,
        packet_ends=packet_ends,
        protocols=protocols,
        is_fragment=is_fragment,
        addresses=addresses,
        ip_ids=np.full(len(ip), -1),
        ecn=((shorts[ip] >> 4) & 3).astype(np.int64),
    )
    return part, counts + HeaderCounts(cut=cut)


def _read_ports(
    data: Bytes,
    rows: Integers,
    *,
    headers: Integers,
    ends: Integers,
    packet_ends: Integers,
    protocols: Integers,
    is_fragment: Flags,
    addresses: Bytes,
    ip_ids: Integers,
    ecn: Integers,
) -> tuple[PacketHeaders, HeaderCounts]:
    """The packets that are whole TCP or UDP. Of a fragmented packet no part is: its length is not known."""
    is_tcp = protocols == TCP
    known = is_tcp | (protocols == UDP)
    fits = headers + np.where(is_tcp, _TCP_BYTES, _UDP_BYTES) <= ends
    good = known & ~is_fragment & fits
    counts = HeaderCounts(
        fragments=int(is_fragment.sum()),
        other_protocols=_count_kinds(protocols[~known & ~is_fragment]),
        cut=int((known & ~is_fragment & ~fits).sum()),
    )
    at = headers[good]
    shorts = view_numbers(data, ">u2")
    size = np.where(
        is_tcp[good], np.maximum((data[at + 12] >> 4).astype(np.int64) * 4, _TCP_BYTES), _UDP_BYTES
    )
    return PacketHeaders(
        rows=rows[good],
        sources=addresses[0][good],
        destinations=addresses[1][good],
        source_ports=shorts[at].astype(np.int64),
        destination_ports=shorts[at + 2].astype(np.int64),
        is_tcp=is_tcp[good],
        payload_bytes=np.maximum(packet_ends[good] - at - size, 0),
        headers=at,
        ends=ends[good],
        ip_ids=ip_ids[good],
        ecn=ecn[good],
    ), counts
