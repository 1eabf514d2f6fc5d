"""Which flow each packet belongs to, and what each flow carried."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

import numpy as np

from pathlab.captures.headers import TCP, UDP, PacketHeaders
from pathlab.captures.records import Bytes, Integers

_ENDPOINT_BYTES = 18
_MIXERS = tuple(
    np.uint64(value)
    for value in (
        0x9E3779B97F4A7C15,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0xD6E8FEB86659FD93,
        0xA0761D6478BD642F,
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketEndpoint:
    """Address and port of one end of a flow."""

    address: str
    port: int

    def __str__(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedFlow:
    """Both directions between two endpoints; ``a`` is the source of its first packet.

    ``number``: from 1, in the order of first packets. Pairs are of the direction from ``a``, then of the
    other. ``payload_bytes``: of all packets, retransmissions as well.
    """

    number: int
    protocol: str
    a: PacketEndpoint
    b: PacketEndpoint
    packets: tuple[int, int]
    payload_bytes: tuple[int, int]
    first_ns: int
    last_ns: int

    @property
    def all_packets(self) -> int:
        """Packets of both directions."""
        return sum(self.packets)


class FlowTable:
    """Numbers flows as their packets arrive, and counts them."""

    def __init__(self) -> None:
        self._keys: dict[bytes, int] = {}
        self._ends: list[bytes] = []  # of each flow: protocol, both endpoints
        self._packets = np.zeros(0, dtype=np.int64)
        self._bytes = np.zeros(0, dtype=np.int64)
        self._first_ns = np.zeros(0, dtype=np.int64)
        self._last_ns = np.zeros(0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._ends)

    def number_packets(self, packets: PacketHeaders) -> Integers:
        """For each packet twice its flow's place, plus 1 towards the source of the flow's first packet."""
        rows = _pack_keys(packets)
        first, inverse = _find_distinct(rows)
        keys = np.array([self._find_key(row.tobytes()) for row in rows[first]], dtype=np.int64)
        numbers: Integers = keys[inverse]
        return numbers

    def count(self, keys: Integers, times_ns: Integers, payload_bytes: Integers) -> None:
        """Add packets with the keys of ``number_packets``, in the order of the file."""
        size, known = 2 * len(self._ends), len(self._packets)
        if size > known:
            more = size - known
            self._packets = np.append(self._packets, np.zeros(more, dtype=np.int64))
            self._bytes = np.append(self._bytes, np.zeros(more, dtype=np.int64))
            self._first_ns = np.append(self._first_ns, np.full(more, np.iinfo(np.int64).max))
            self._last_ns = np.append(self._last_ns, np.full(more, np.iinfo(np.int64).min))
        self._packets += np.bincount(keys, minlength=size)
        # sums of a batch stay below 2^53, so that doubles count them exactly
        self._bytes += np.bincount(keys, weights=payload_bytes, minlength=size).astype(np.int64)
        np.minimum.at(self._first_ns, keys, times_ns)
        np.maximum.at(self._last_ns, keys, times_ns)

    def list_flows(self) -> list[CapturedFlow]:
        """All flows in the order of their first packets."""
        return [self.describe(place) for place in range(len(self._ends))]

    def describe(self, index: int) -> CapturedFlow:
        """The flow at a place, counted from 0."""
        ends = self._ends[index]
        both = slice(2 * index, 2 * index + 2)
        packets, payload = self._packets[both].tolist(), self._bytes[both].tolist()
        return CapturedFlow(
            number=index + 1,
            protocol={TCP: "TCP", UDP: "UDP"}[ends[0]],
            a=_read_endpoint(ends[1 : 1 + _ENDPOINT_BYTES]),
            b=_read_endpoint(ends[1 + _ENDPOINT_BYTES :]),
            packets=(packets[0], packets[1]),
            payload_bytes=(payload[0], payload[1]),
            first_ns=int(self._first_ns[both].min()),
            last_ns=int(self._last_ns[both].max()),
        )

    def _find_key(self, row: bytes) -> int:
        key = self._keys.get(row)
        if key is None:
            key = 2 * len(self._ends)
            self._ends.append(row)
            self._keys[row] = key
            backward = row[:1] + row[1 + _ENDPOINT_BYTES :] + row[1 : 1 + _ENDPOINT_BYTES]
            self._keys.setdefault(backward, key + 1)  # both alike: a flow of an endpoint with itself
        return key


def _read_endpoint(row: bytes) -> PacketEndpoint:
    address = ipaddress.IPv6Address(row[:16])
    mapped = address.ipv4_mapped
    return PacketEndpoint(address=str(mapped or address), port=int.from_bytes(row[16:]))


def _pack_keys(packets: PacketHeaders) -> Bytes:
    """Shape (packets, 37): protocol, source address and port, destination address and port."""
    count = len(packets.rows)
    rows = np.empty((count, 1 + 2 * _ENDPOINT_BYTES), dtype=np.uint8)
    rows[:, 0] = np.where(packets.is_tcp, TCP, UDP)
    for at, addresses, ports in (
        (1, packets.sources, packets.source_ports),
        (1 + _ENDPOINT_BYTES, packets.destinations, packets.destination_ports),
    ):
        rows[:, at : at + 16] = addresses
        rows[:, at + 16 : at + 18] = ports.astype(">u2").view(np.uint8).reshape(-1, 2)
    return rows


def _find_distinct(rows: Bytes) -> tuple[Integers, Integers]:
    """Places of the first of each distinct row in the order of rows, and which of them each row equals.

    Rows are compared by a hash, and then byte by byte: where two rows share a hash, all are sorted instead.
    """
    padded = np.zeros((len(rows), 40), dtype=np.uint8)
    padded[:, : rows.shape[1]] = rows
    words = padded.view(np.uint64)
    mixed = np.zeros(len(rows), dtype=np.uint64)
    for column, mixer in enumerate(_MIXERS):
        mixed = (mixed ^ words[:, column]) * mixer
        mixed ^= mixed >> np.uint64(29)
    _, first, inverse = np.unique(mixed, return_index=True, return_inverse=True)
    if not (words[first][inverse] == words).all():
        _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse.ravel()]
