"""What contradicts the levels of bonding and multipath in a campaign whose keys are right by themselves.

A lab's links are known from the file. What a kernel lacks (bonding, nftables, a scheduler of MPTCP) is found
when a lab starts: ``pathlab.lab.bonds``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from pathlab.campaign.cell import PlannedCell
from pathlab.campaign.lab_model import LabDirection
from pathlab.campaign.model import Campaign, MeasuredPath
from pathlab.campaign.multipath_factors import KERNEL_BONDS, SINGLE_LINKS, UNCHANGED
from pathlab.campaign.source_text import Finding

MULTIPATH = frozenset(("bond", "tcp_reordering", "mptcp_subflows", "mptcp_scheduler", "failover"))
#: What one direction of a link is, without its ends.
_LINE_KEYS = set(LabDirection.model_fields)


def check_bonds(campaign: Campaign, measured: Iterable[PlannedCell]) -> Iterator[Finding]:
    """What the combinations that are ``measured`` request of the paths that cannot be; each once."""
    if MULTIPATH.isdisjoint(campaign.factors.given):
        return
    cells = [*measured]
    result: dict[Finding, None] = {}
    for cell in cells:
        result |= dict.fromkeys(_check_cell(cell))
        for index, path in enumerate(campaign.paths):
            result |= dict.fromkeys(
                (("factors", factor), f"{what}; expected {expected}")
                for factor, what, expected in _check_path(campaign, path, index, cell)
            )
    yield from result
    if any(cell.failover != "none" for cell in cells):
        yield from _check_failover(campaign)
    if campaign.concurrency > 1 and any(changes_hosts(cell) for cell in cells):
        what = "what one trial sets at its hosts would change another one"
        yield (
            ("concurrency",),
            f"{what}; expected 1 where factors.bond has other levels than none and existing",
        )


def changes_hosts(cell: PlannedCell) -> bool:
    """Whether the hosts of a lab are set to something for a combination."""
    others = (cell.tcp_reordering, cell.mptcp_subflows, cell.mptcp_scheduler)
    changed = cell.bond not in UNCHANGED or cell.failover != "none"
    return changed or any(other is not None for other in others)


def may_use_all_links(cell: PlannedCell) -> bool:
    """Whether a combination may use all links of a lab between two hosts, or another one than the first."""
    return cell.transport == "mptcp" or cell.bond not in (*UNCHANGED, "link-1")


def count_links(campaign: Campaign, path: MeasuredPath) -> int | None:
    """Links of the lab that join the two ends of a path directly; None: the path is not in the lab."""
    if campaign.lab is None or path.source not in campaign.lab.hosts:
        return None
    return sum(set(link.between) == {path.source, path.destination} for link in campaign.lab.links)


def _check_cell(cell: PlannedCell) -> Iterator[Finding]:
    """What contradicts itself in one combination."""
    without = "expected transport 'mptcp' there; `where` leaves other combinations out"
    if cell.bond == "mptcp" and cell.transport != "mptcp":
        yield ("factors", "bond"), f"bond 'mptcp' with transport '{cell.transport}' uses one link; {without}"
    for name in ("mptcp_subflows", "mptcp_scheduler"):
        if getattr(cell, name) is not None and cell.transport != "mptcp":
            yield ("factors", name), f"it has no effect on transport '{cell.transport}'; {without}"
    if cell.failover != "none" and cell.transfer_bytes is not None:
        what = "a link fails in a steady window of known length, which a trial by amount does not have"
        yield ("factors", "failover"), f"{what}; expected no transfer, or failover 'none' there"
    if cell.failover != "none" and cell.bond == "emulated":
        what = "bond 'emulated' is one link of several lines, none of which can fail alone"
        yield ("factors", "failover"), f"{what}; expected failover 'none' there"
    if cell.bond in UNCHANGED:
        return
    if cell.is_on_one_host:
        what = f"bond '{cell.bond}' joins two hosts, and messages stay on one with '{cell.placement}'"
        yield ("factors", "bond"), f"{what}; expected placement 'host'"
    if cell.family == "ipv6" and cell.bond not in ("mptcp", "emulated"):
        yield ("factors", "bond"), f"bond '{cell.bond}' is of IPv4; expected no family 'ipv6' there"
    if cell.addresses is not None:
        yield ("factors", "bond"), f"bond '{cell.bond}' chooses the addresses; expected no addresses"


def _check_path(
    campaign: Campaign, path: MeasuredPath, index: int, cell: PlannedCell
) -> Iterator[tuple[str, str, str]]:
    """What one combination requests of a path that it does not have: factor, what, expected."""
    links, level = count_links(campaign, path), cell.bond
    ends = f"'{path.source}' and '{path.destination}' (paths[{index}])"
    if links is None:
        yield from _check_outside(cell, ends)
        return
    if level == "existing":
        yield "bond", f"bond 'existing' reads a bond of real hosts; {ends} are in the lab", "another level"
    if level in UNCHANGED:
        return
    if path.sinks:
        yield "bond", f"bond '{level}' joins two hosts, and {ends} have sinks", "no sinks, or bond 'none'"
    elif level in SINGLE_LINKS:
        if links < SINGLE_LINKS[level]:
            expected = f"at least {SINGLE_LINKS[level]} links between them, or no such level"
            yield "bond", f"bond '{level}': {_state_links(links)} {ends}", expected
    elif links < 2:
        expected = "at least two links between them, or other levels of bond"
        yield "bond", f"bond '{level}': {_state_links(links)} {ends}", expected
    elif level == "emulated" and not _are_lines(campaign, path):
        what = f"bond 'emulated' makes lines of the links between {ends}, which differ"
        yield "bond", what, "links alike but for the delay, the second no shorter, or no such level"
    if level == "emulated" and campaign.lab is not None and campaign.lab.backend == "netem":
        yield "bond", "bond 'emulated' needs the emulator", "backend 'packet', 'tun' or 'auto'"
    if level in KERNEL_BONDS and campaign.lab is not None and campaign.lab.backend == "tun":
        what = f"bond '{level}' needs links of Ethernet, which those of the backend 'tun' are not"
        yield "bond", what, "backend 'netem', 'packet' or 'auto'"


def _are_lines(campaign: Campaign, path: MeasuredPath) -> bool:
    """Whether the links of a path may be lines of one: alike but for a delay that rises evenly."""
    ends = {path.source, path.destination}
    links = [link for link in campaign.lab.links if set(link.between) == ends] if campaign.lab else []
    if any(link.between != links[0].between for link in links):
        return False
    for end in (0, 1):
        ways = [link.direction(end).model_dump(include=_LINE_KEYS) for link in links]
        delays = [way.pop("delay_ns") for way in ways]
        steps = {later - earlier for earlier, later in pairwise(delays)}
        if len(steps) > 1 or min(steps, default=0) < 0 or any(way != ways[0] for way in ways):
            return False
    return True


def _check_failover(campaign: Campaign) -> Iterator[Finding]:
    """The moment, and the link that fails."""
    settings = campaign.failover
    if settings.earliest_ratio > settings.latest_ratio:
        what = f"it is after latest, {settings.latest_ratio:g}"
        yield ("failover", "earliest"), f"{what}; expected a share of the steady window up to that"
    for index, path in enumerate(campaign.paths):
        links = count_links(campaign, path)
        if links is not None and (settings.link or 1) > links:
            what = f"{_state_links(links)} '{path.source}' and '{path.destination}' (paths[{index}])"
            yield ("failover", "link"), f"{what}; expected the number of a link between them"


def _check_outside(cell: PlannedCell, ends: str) -> Iterator[tuple[str, str, str]]:
    """Real hosts are read, never changed."""
    if cell.bond not in (*UNCHANGED, "mptcp"):
        what = f"bond '{cell.bond}' changes hosts, and {ends} are not in the lab"
        yield "bond", what, "'none', 'existing' or 'mptcp' there"
    if cell.failover != "none":
        yield "failover", f"links of a lab alone fail, and {ends} are not in the lab", "failover 'none' there"
    for name in ("tcp_reordering", "mptcp_subflows", "mptcp_scheduler"):
        if getattr(cell, name) is not None:
            yield name, f"it changes hosts, and {ends} are not in the lab", "'default' there"


def _state_links(count: int) -> str:
    return "one link joins" if count == 1 else f"{count or 'no'} links join"
