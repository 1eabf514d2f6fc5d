"""What a lab's links leave for data between two hosts: the truth that fits can be held against."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pathlab.study.source import Condition

#: IPv4 and TCP headers with timestamps, in front of each segment's data; IPv6 has 20 bytes more.
HEADER_BYTES, IPV6_MORE_BYTES = 52, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The narrowest link of a chain in one direction; its rate counts IP packets, headers included."""

    rate_bits_per_s: int
    mtu_bytes: int
    header_bytes: int = HEADER_BYTES

    @property
    def data_bits_per_s(self) -> float:
        """What is left for data."""
        return self.rate_bits_per_s * (self.mtu_bytes - self.header_bytes) / self.mtu_bytes


def know_line(environment: Mapping[str, Any], condition: Condition) -> Line | None:
    """The line under a condition's traffic, as its transport and address family meet it; None without one."""
    line = find_line(environment, *condition.flow_ends, condition.get("transport"))
    if line is not None and condition.get("family") == "ipv6":
        return replace(line, header_bytes=HEADER_BYTES + IPV6_MORE_BYTES)
    return line


def find_line(
    environment: Mapping[str, Any], source: str, destination: str, transport: str | None = None
) -> Line | None:
    """The narrowest link from source to destination of the lab that a run had; None without one.

    ``environment`` is the campaign record's. The chain is the one with the fewest links, as the lab routes;
    MPTCP takes all links between two neighbours together.
    """
    lab = environment.get("lab")
    links = lab.get("links") if isinstance(lab, Mapping) else None
    if not isinstance(links, list) or environment.get("fallback"):
        return None
    chain = _find_chain(links, source, destination)
    rated = [
        Line(rate_bits_per_s=int(rate), mtu_bytes=int(link.get("mtu_bytes") or 1500))
        for link, forward in chain
        if (rate := _direction(link, forward).get("rate_bits_per_s"))
    ]
    if transport == "mptcp" and len(chain) == 1:
        return _add_parallel(links, source, destination)
    return min(rated, key=lambda line: line.data_bits_per_s, default=None)


def _add_parallel(links: list[Any], source: str, destination: str) -> Line | None:
    """All links between two neighbours as one; None where one of them has no rate."""
    beside = [link for link in links if set(link.get("between") or ()) == {source, destination}]
    given = [_direction(link, link["between"][0] == source).get("rate_bits_per_s") for link in beside]
    rates = [int(rate) for rate in given if rate]
    if not rates or len(rates) < len(beside):
        return None
    mtu_bytes = min(int(link.get("mtu_bytes") or 1500) for link in beside)
    return Line(rate_bits_per_s=sum(rates), mtu_bytes=mtu_bytes)


def _find_chain(links: list[Any], source: str, destination: str) -> list[tuple[Any, bool]]:
    """The links passed, each with whether it is passed from its first end to its second."""
    ways: dict[str, list[tuple[Any, bool]]] = {source: []}
    queue = deque([source])
    while queue:
        node = queue.popleft()
        for link in links:
            first, second = link.get("between") or (source, destination)
            for here, there, forward in ((first, second, True), (second, first, False)):
                if here == node and there not in ways:
                    ways[there] = [*ways[node], (link, forward)]
                    queue.append(there)
    return ways.get(destination, [])


def _direction(link: Mapping[str, Any], forward: bool) -> Mapping[str, Any]:
    reverse = link.get("reverse")
    return reverse if not forward and isinstance(reverse, Mapping) else link
