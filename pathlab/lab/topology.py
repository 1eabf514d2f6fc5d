"""What a lab is made of: hosts and the links between them, with their settings.

A link has known settings: every estimator of the product can be scored against these numbers.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

#: RFC 2544 sets this range aside for benchmarks of network devices; nothing else uses it.
ADDRESS_RANGE = ipaddress.IPv4Network("198.18.0.0/15")
#: The same for IPv6 (RFC 5180).
ADDRESS_RANGE_6 = ipaddress.IPv6Network("2001:2::/48")

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
    ``lines``: the emulator's packets take so many lines in turn, each of this rate and queue and longer than
    the one before by ``line_delay_ns``.
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
    lines: int = 1
    line_delay_ns: int = 0

    def as_settings(self) -> LinkSettings:
        """These alone, of a link its first direction."""
        return LinkSettings(**{key.name: getattr(self, key.name) for key in fields(LinkSettings)})

    def as_engine_spec(self, *, whole: bool = False) -> str:
        """The direction as ``pathlab-engine emulate`` takes it; ``whole``: what is 0 as well."""
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
            "lines": self.lines if self.lines > 1 else 0,
            "line_delay_ns": self.line_delay_ns,
        }
        spec += "".join(f",{key}={value:.9g}" for key, value in rare.items() if value or whole)
        if self.aqm == "codel":
            spec += f",aqm=codel,target_ns={CODEL_TARGET_NS},interval_ns={CODEL_INTERVAL_NS}"
        elif whole:
            spec += ",aqm=none"
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
        return self if end == 0 or self.reverse is None else self.reverse

    def with_direction(self, end: int, settings: LinkSettings) -> Link:
        """The same link with other settings in the direction that starts at this end (0 or 1)."""
        ways = [settings if end == this else self.direction(this) for this in (0, 1)]
        there, back = (way.as_settings() for way in ways)
        return replace(self, **asdict(there), reverse=None if there == back else back)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """Hosts and routers joined by point-to-point links; a node with several links forwards between them.

    Two nodes may be joined by several links; ways are then led over the first, and MPTCP takes all of them.
    ``ipv6``: the links have IPv6 addresses as well.
    """

    hosts: tuple[str, ...]
    routers: tuple[str, ...] = ()
    seed: int = 1
    ipv6: bool = False
    links: tuple[Link, ...]

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

    def address(self, host: str, peer: str, version: int = 4) -> str:
        """Address of ``host`` on its first link towards ``peer``; ``version`` of IP."""
        number = self.chain(host, peer)[0]
        return link_address(number, self.links[number].between.index(host), version)

    def bottleneck(self, host: str, peer: str, *, multipath: bool = False) -> tuple[int | None, int]:
        """The lowest rate from ``host`` to ``peer`` (None: no link has one), and the smallest MTU.

        ``multipath``: as MPTCP meets it, which takes all links between two neighbours at once.
        """
        numbers = self.chain(host, peer)
        if multipath and len(numbers) == 1:
            numbers = self.beside(numbers[0])
            links = [self.links[number] for number in numbers]
            together = [link.direction(link.between.index(host)).rate_bits_per_s for link in links]
            rate = None if None in together else sum(filter(None, together))
        else:
            rates = [way.rate_bits_per_s for way in self.directions(host, peer)]
            rate = min((item for item in rates if item is not None), default=None)
        return rate, min(self.links[number].mtu_bytes for number in numbers)

    def beside(self, number: int) -> tuple[int, ...]:
        """Numbers of all links between the two nodes that this one joins, itself among them."""
        pair = set(self.links[number].between)
        return tuple(other for other, link in enumerate(self.links) if set(link.between) == pair)

    def with_direction(self, number: int, end: int, settings: LinkSettings) -> Topology:
        """The same with other settings of one direction of a link."""
        changed = self.links[number].with_direction(end, settings)
        return replace(self, links=(*self.links[:number], changed, *self.links[number + 1 :]))

    def directions(self, host: str, peer: str) -> list[LinkSettings]:
        """The links from ``host`` to ``peer``, each in the direction of travel."""
        return [self.links[number].direction(end) for number, end in self.steps(host, peer)]

    def steps(self, host: str, peer: str) -> Iterator[tuple[int, int]]:
        """Numbers of the links from ``host`` to ``peer``, each with the end at which it is entered."""
        for number in self.chain(host, peer):
            between = self.links[number].between
            end = between.index(host)
            yield number, end
            host = between[1 - end]

    def idle_rtt_ns(self, host: str, peer: str) -> int:
        """Delays there and back; what serialising takes is not in it."""
        ways = self.directions(host, peer) + self.directions(peer, host)
        return sum(way.delay_ns for way in ways)

    def routes(self, host: str, version: int = 4) -> list[tuple[str, str]]:
        """The networks that ``host`` has no link to, each with the address of the next hop towards it."""
        result = []
        for number, link in enumerate(self.links):
            if host in link.between:
                continue
            chains = [self.chain(host, end) for end in link.between if self.is_joined(host, end)]
            if chains:
                first = min(chains, key=len)[0]
                beyond = 1 - self.links[first].between.index(host)
                result.append((link_network(number, version), link_address(first, beyond, version)))
        return result

    def is_joined(self, host: str, peer: str) -> bool:
        try:
            return bool(self.chain(host, peer))
        except KeyError:
            return False

    def as_table(self) -> dict[str, Any]:
        """Everything as JSON-able values; :func:`read_facts` reads it back."""
        return asdict(self)


def read_facts(table: Mapping[str, Any]) -> Topology:
    """The topology that :meth:`Topology.as_table` wrote."""
    links = []
    for facts in table["links"]:
        reverse = facts["reverse"] and LinkSettings(**facts["reverse"])
        links.append(Link(**{**facts, "between": tuple(facts["between"]), "reverse": reverse}))
    names = {kind: tuple(table[kind]) for kind in ("hosts", "routers")}
    return Topology(**names, links=tuple(links), seed=table["seed"], ipv6=table["ipv6"])


def link_address(number: int, end: int, version: int = 4) -> str:
    """Address of an end (0 or 1) of link ``number``; each link has a /30 of its own, and a /64 of IPv6."""
    if version == 6:
        return str(ADDRESS_RANGE_6.network_address + (number << 64) + 1 + end)
    return str(ADDRESS_RANGE.network_address + 4 * number + 1 + end)


def link_network(number: int, version: int = 4) -> str:
    """The network of link ``number`` with its length."""
    if version == 6:
        return f"{ADDRESS_RANGE_6.network_address + (number << 64)}/64"
    return f"{ADDRESS_RANGE.network_address + 4 * number}/30"


def link_mac(number: int, end: int) -> str:
    """A fixed, locally administered MAC address, so that neighbours can be entered beforehand."""
    return f"02:50:4c:{number >> 8:02x}:{number & 255:02x}:{end + 1:02x}"
