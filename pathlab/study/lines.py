"""What a lab's links leave for data between two hosts: the truth that fits can be held against."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: IPv4 and TCP headers with timestamps, in front of each segment's data.
HEADER_BYTES = 52


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The narrowest link of a chain in one direction; its rate counts IP packets, headers included."""

    rate_bits_per_s: int
    mtu_bytes: int

    @property
    def data_bits_per_s(self) -> float:
        """What is left for data."""
        return self.rate_bits_per_s * (self.mtu_bytes - HEADER_BYTES) / self.mtu_bytes


def find_line(environment: Mapping[str, Any], source: str, destination: str) -> Line | None:
    """The narrowest link from source to destination of the lab that a run had; None without one.

    ``environment`` is the campaign record's. The chain is the one with the fewest links, as the lab routes.
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
    return min(rated, key=lambda line: line.data_bits_per_s, default=None)


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
