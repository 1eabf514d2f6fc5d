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
    """Hosts joined by point-to-point links; a host with several forwards between them."""

    hosts: tuple[str, ...]
    links: tuple[Link, ...]
    seed: int = 1

    def chain(self, host: str, peer: str) -> tuple[int, ...]:
        """Numbers of the links from one host to another, the fewest there are; earlier links before later.

        Raises KeyError when no chain of links joins the two.
        """
        chains: dict[str, tuple[int, ...]] = {host: ()}
        waiting = [host]
        for here in waiting:  # grows while it is walked: breadth first
            for number, link in enumerate(self.links):
                if here in link.between:
                    there = link.between[1 - link.between.index(here)]
                    if there not in chains:
                        chains[there] = (*chains[here], number)
                        waiting.append(there)
        if peer not in chains or peer == host:
            raise KeyError(f"no chain of links joins '{host}' and '{peer}'")
        return chains[peer]

    def address(self, host: str, peer: str) -> str:
        """Address of ``host`` on its first link towards ``peer``."""
        number = self.chain(host, peer)[0]
        return link_address(number, self.links[number].between.index(host))

    def bottleneck(self, host: str, peer: str) -> tuple[int | None, int]:
        """The lowest rate (None: no link has one) and the smallest MTU of the links between two hosts."""
        links = [self.links[number] for number in self.chain(host, peer)]
        rates = [link.rate_bits_per_s for link in links if link.rate_bits_per_s is not None]
        return min(rates, default=None), min(link.mtu_bytes for link in links)

    def routes(self, host: str) -> list[tuple[str, str]]:
        """The networks that ``host`` has no link to, each with the address of the next hop towards it."""
        found = []
        for number, link in enumerate(self.links):
            if host in link.between:
                continue
            chains = [self.chain(host, end) for end in link.between if self._joined(host, end)]
            if chains:
                first = min(chains, key=len)[0]
                beyond = 1 - self.links[first].between.index(host)
                found.append((link_network(number), link_address(first, beyond)))
        return found

    def _joined(self, host: str, peer: str) -> bool:
        try:
            return bool(self.chain(host, peer))
        except KeyError:
            return False

    def as_facts(self) -> list[dict[str, Any]]:
        """The links' truth as JSON-able values, as stored with the results."""
        return [{**asdict(link), "between": list(link.between)} for link in self.links]


def link_address(number: int, end: int) -> str:
    """IPv4 address of an end (0 or 1) of link ``number``; each link has a /30 of its own."""
    return str(ADDRESS_RANGE.network_address + 4 * number + 1 + end)


def link_network(number: int) -> str:
    """The /30 of link ``number``."""
    return f"{ADDRESS_RANGE.network_address + 4 * number}/30"


def link_mac(number: int, end: int) -> str:
    """A fixed, locally administered MAC address, so that neighbours can be entered beforehand."""
    return f"02:50:4c:{number >> 8:02x}:{number & 255:02x}:{end + 1:02x}"
