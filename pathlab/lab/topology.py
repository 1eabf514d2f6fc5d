"""What a lab is made of: hosts and the links between them, with their true properties.

A link names its truth: every estimator of the product can be scored against these numbers.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

#: RFC 2544 sets this range aside for benchmarks of network devices; nothing else lives there.
ADDRESS_RANGE = ipaddress.IPv4Network("198.18.0.0/15")


#: Deliveries of one super-packet that are due within this time go out together (see the emulator).
SLICE_NS = 100_000
CODEL_TARGET_NS = 5_000_000
CODEL_INTERVAL_NS = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSettings:
    """One direction of a link.

    ``rate_bits_per_s`` counts IP packets, headers included. ``queue_bytes`` is the drop-tail queue before the
    link. ``delay_ns`` is one way. None: no limit. ``jitter_ns`` is added at random and keeps the order; the
    share ``reorder_ratio`` comes ``reorder_ns`` later and may be overtaken. Burst loss is that of Gilbert and
    Elliott, per packet: good to bad (``burst_enter_ratio``), back (``burst_leave_ratio``), loss while bad
    (``burst_loss_ratio``); ``loss_ratio`` then holds while good. ``ecn_bytes``: backlog above which packets
    that allow it are marked. ``cross_bits_per_s``: others' packets in the same queue; they do not give way.
    """

    rate_bits_per_s: int | None = None
    delay_ns: int = 0
    queue_bytes: int | None = None
    loss_ratio: float = 0.0
    jitter_ns: int = 0
    burst_enter_ratio: float = 0.0
    burst_leave_ratio: float = 0.0
    burst_loss_ratio: float = 0.0
    reorder_ratio: float = 0.0
    reorder_ns: int = 0
    duplicate_ratio: float = 0.0
    ecn_bytes: int | None = None
    aqm: str = "none"
    cross_bits_per_s: int | None = None

    def as_engine_spec(self) -> str:
        """The direction in the words of ``pathlab-engine emulate --forward``."""
        spec = (
            f"rate_bits_per_s={self.rate_bits_per_s or 0},delay_ns={self.delay_ns},"
            f"queue_bytes={self.queue_bytes or 0},loss_ratio={self.loss_ratio:.9g},slice_ns={SLICE_NS}"
        )
        rare = {
            "jitter_ns": self.jitter_ns,
            "ge_enter_ratio": self.burst_enter_ratio,
            "ge_leave_ratio": self.burst_leave_ratio,
            "ge_loss_ratio": self.burst_loss_ratio,
            "reorder_ratio": self.reorder_ratio,
            "reorder_ns": self.reorder_ns,
            "duplicate_ratio": self.duplicate_ratio,
            "ecn_bytes": self.ecn_bytes or 0,
            "cross_bits_per_s": self.cross_bits_per_s or 0,
        }
        spec += "".join(f",{key}={value:.9g}" for key, value in rare.items() if value)
        if self.aqm == "codel":
            spec += f",aqm=codel,target_ns={CODEL_TARGET_NS},interval_ns={CODEL_INTERVAL_NS}"
        return spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Link(LinkSettings):
    """A link between two nodes. What it inherits is the direction from the first to the second.

    ``reverse``: the other direction; None: alike, so that an idle round trip takes twice ``delay_ns``.
    """

    between: tuple[str, str]
    mtu_bytes: int = 1500
    reverse: LinkSettings | None = None

    def direction(self, end: int) -> LinkSettings:
        """The direction that starts at this end (0 or 1)."""
        return self if end == 0 or self.reverse is None else self.reverse


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """Hosts and routers joined by point-to-point links; a node with several links forwards between them.

    Two nodes may be joined by several links; ways are then led over the first.
    """

    hosts: tuple[str, ...]
    links: tuple[Link, ...]
    seed: int = 1
    routers: tuple[str, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        """Everything that has a network of its own."""
        return self.hosts + self.routers

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
        """The lowest rate from ``host`` to ``peer`` (None: no link has one), and the smallest MTU."""
        directions = self.directions(host, peer)
        rates = [way.rate_bits_per_s for way in directions if way.rate_bits_per_s is not None]
        numbers = self.chain(host, peer)
        return min(rates, default=None), min(self.links[number].mtu_bytes for number in numbers)

    def directions(self, host: str, peer: str) -> list[LinkSettings]:
        """The links from ``host`` to ``peer``, each in the direction of travel."""
        here, found = host, []
        for number in self.chain(host, peer):
            link = self.links[number]
            end = link.between.index(here)
            found.append(link.direction(end))
            here = link.between[1 - end]
        return found

    def idle_rtt_ns(self, host: str, peer: str) -> int:
        """Delays there and back; what serialising takes is not in it."""
        ways = self.directions(host, peer) + self.directions(peer, host)
        return sum(way.delay_ns for way in ways)

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

    def as_table(self) -> dict[str, Any]:
        """Everything as JSON-able values; :func:`read_facts` reads it back."""
        return {
            "hosts": list(self.hosts),
            "routers": list(self.routers),
            "seed": self.seed,
            "links": self.as_facts(),
        }


def read_facts(table: Mapping[str, Any]) -> Topology:
    """The topology that :meth:`Topology.as_table` wrote."""
    links = []
    for facts in table["links"]:
        reverse = facts["reverse"]
        settings = {
            **facts,
            "between": tuple(facts["between"]),
            "reverse": None if reverse is None else LinkSettings(**reverse),
        }
        links.append(Link(**settings))
    return Topology(
        hosts=tuple(table["hosts"]), routers=tuple(table["routers"]), seed=table["seed"], links=tuple(links)
    )


def link_address(number: int, end: int) -> str:
    """IPv4 address of an end (0 or 1) of link ``number``; each link has a /30 of its own."""
    return str(ADDRESS_RANGE.network_address + 4 * number + 1 + end)


def link_network(number: int) -> str:
    """The /30 of link ``number``."""
    return f"{ADDRESS_RANGE.network_address + 4 * number}/30"


def link_mac(number: int, end: int) -> str:
    """A fixed, locally administered MAC address, so that neighbours can be entered beforehand."""
    return f"02:50:4c:{number >> 8:02x}:{number & 255:02x}:{end + 1:02x}"
