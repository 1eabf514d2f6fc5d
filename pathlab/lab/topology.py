"""What a lab is made of: hosts and the links between them, with their true properties.

A link names its truth: every estimator of the product can be scored against these numbers.
"""

from __future__ import annotations

import ipaddress
from dataclasses import asdict, dataclass
from typing import Any

#: RFC 2544 sets this range aside for benchmarks of network devices; nothing else lives there.
ADDRESS_RANGE = ipaddress.IPv4Network("198.18.0.0/15")


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A bidirectional link between two hosts, equal in both directions.

    ``rate_bits_per_s`` counts IP packets, headers included. ``queue_bytes`` is the drop-tail queue in
    front of the link. ``delay_ns`` is one way, so an idle round trip takes twice that. None: no limit.
    """

    between: tuple[str, str]
    rate_bits_per_s: int | None
    delay_ns: int
    queue_bytes: int | None
    loss_ratio: float = 0.0
    mtu_bytes: int = 1500

    def as_engine_spec(self) -> str:
        """The link in the words of ``pathlab-engine emulate --forward``."""
        return (
            f"rate_bits_per_s={self.rate_bits_per_s or 0},delay_ns={self.delay_ns},"
            f"queue_bytes={self.queue_bytes or 0},loss_ratio={self.loss_ratio:.9g},slice_ns=50000"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """Hosts joined by point-to-point links."""

    hosts: tuple[str, ...]
    links: tuple[Link, ...]
    seed: int = 1

    def link_between(self, host: str, peer: str) -> tuple[int, Link]:
        """Number and link that join two hosts. Raises KeyError when no link does."""
        for number, link in enumerate(self.links):
            if set(link.between) == {host, peer}:
                return number, link
        raise KeyError(f"no link joins '{host}' and '{peer}'")

    def address(self, host: str, peer: str) -> str:
        """Address of ``host`` on its link to ``peer``."""
        number, link = self.link_between(host, peer)
        return link_address(number, link.between.index(host))

    def as_facts(self) -> list[dict[str, Any]]:
        """The links' truth as JSON-able values, as stored with the results."""
        return [{**asdict(link), "between": list(link.between)} for link in self.links]


def link_address(number: int, end: int) -> str:
    """IPv4 address of an end (0 or 1) of link ``number``; each link has a /30 of its own."""
    return str(ADDRESS_RANGE.network_address + 4 * number + 1 + end)


def link_mac(number: int, end: int) -> str:
    """A fixed, locally administered MAC address, so that neighbours can be entered beforehand."""
    return f"02:50:4c:{number >> 8:02x}:{number & 255:02x}:{end + 1:02x}"
