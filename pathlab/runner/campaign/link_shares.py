"""What a plan will take of each link of its lab, over which several paths may lead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pathlab.campaign.bond_checks import may_use_all_links
from pathlab.campaign.budget import Estimator, sum_bounds
from pathlab.campaign.model import Campaign
from pathlab.campaign.order import PlanRow
from pathlab.engines.spec import BOTH, REVERSE
from pathlab.lab.topology import Topology
from pathlab.runner.hosts.lab_topology import build_topology
from pathlab.units import SECOND_NS

Place = tuple[int, int]  # number of a link, and the end at which a direction of it starts


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkShare:
    """One direction of a link: its number from 0, its ends, and what it will carry at most.

    ``share_ratio`` is of what the link carries in the plan's expected time, on average.
    """

    number: int
    source: str
    destination: str
    rate_bits_per_s: int
    share_ratio: float


def share_links(campaign: Campaign, rows: Sequence[PlanRow], time_ns: int) -> tuple[LinkShare, ...]:
    """Return the directions that traffic takes, as far as they have a rate and its bytes have a bound."""
    if campaign.lab is None or time_ns <= 0:
        return ()
    topology = build_topology(campaign.lab)
    shares = []
    for (number, end), size_bytes in sorted(_sum_bytes(campaign, rows, topology).items()):
        link = topology.links[number]
        rate = link.direction(end).rate_bits_per_s
        if rate is not None and size_bytes is not None:
            share = LinkShare(
                number=number,
                source=link.between[end],
                destination=link.between[1 - end],
                rate_bits_per_s=rate,
                share_ratio=size_bytes * 8 * SECOND_NS / (rate * time_ns),
            )
            shares.append(share)
    return tuple(shares)


def _sum_bytes(campaign: Campaign, rows: Sequence[PlanRow], topology: Topology) -> dict[Place, int | None]:
    """Bytes at most by direction of a link; None where a trial over it has no bound."""
    estimator = Estimator(campaign)
    sizes: dict[tuple[str, str, str, bool], int | None] = {}
    for row in rows:
        if row.path.source in topology.hosts and not row.cell.is_on_one_host:
            bytes_max, receivers = estimator.trial(row).bytes_max, row.path.hosts[1:]
            each = None if bytes_max is None else bytes_max // len(receivers)
            for host in receivers:
                key = (row.path.source, host, row.cell.direction, may_use_all_links(row.cell))
                sizes[key] = sum_bounds((sizes.get(key, 0), each))
    carried: dict[Place, int | None] = {}
    for (source, destination, direction, multipath), size_bytes in sizes.items():
        ways = [(source, destination), (destination, source)]
        taken = ways if direction == BOTH else ways[1:] if direction == REVERSE else ways[:1]
        each = None if size_bytes is None else size_bytes // len(taken)
        for way in taken:
            for index in _list_places(topology, *way, multipath=multipath):
                carried[index] = sum_bounds((carried.get(index, 0), each))
    return carried


def _list_places(topology: Topology, host: str, peer: str, *, multipath: bool) -> Iterator[Place]:
    """The directions on the way; with a bond any link alongside another may take it all."""
    for number, end in topology.steps(host, peer):
        node = topology.links[number].between[end]
        for beside in topology.beside(number) if multipath else (number,):
            yield beside, topology.links[beside].between.index(node)
