"""What contradicts the load of the factor ``background`` in a campaign whose keys are right by themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pathlab.campaign.background_model import BackgroundSettings
from pathlab.campaign.factor_types import Background
from pathlab.campaign.lab_model import LabSettings
from pathlab.campaign.model import Campaign
from pathlab.campaign.source_text import Finding, format_choice

#: What each level loads.
CPU, DISK, NETWORK = "cpu", "disk", "network"
PARTS: dict[Background, frozenset[str]] = {
    "none": frozenset(),
    "cpu": frozenset({CPU}),
    "disk": frozenset({DISK}),
    "network": frozenset({NETWORK}),
    "combined": frozenset({CPU, DISK, NETWORK}),
}
LEFT_OUT = "no 'network' and 'combined' in factors.background"


def list_backgrounds(campaign: Campaign) -> list[Background]:
    """The levels of the factor with a load, in the order of the factor; its rows and control included."""
    tables = (*campaign.rows, *([campaign.control] if campaign.control is not None else ()))
    given = [getattr(table, "background", None) for table in tables]
    given += campaign.factors.levels("background")
    return [level for level in PARTS if level != "none" and level in given]


def list_network_hosts(campaign: Campaign) -> tuple[str, ...]:
    """Sender and receiver of the network load; empty where no combination has one."""
    used = any(NETWORK in PARTS[level] for level in list_backgrounds(campaign))
    return campaign.background.network_hosts if used else ()


def check_background(campaign: Campaign) -> Iterator[Finding]:
    """What the levels with a load request that cannot be."""
    settings, levels = campaign.background, list_backgrounds(campaign)
    by_network = [level for level in levels if NETWORK in PARTS[level]]
    if levels and campaign.concurrency > 1:
        what = "a load alongside one trial would disturb another one"
        yield ("concurrency",), f"{what}; expected 1 where factors.background has other levels than none"
    if not by_network:
        return
    if settings.network_path is None:
        what = "the network load needs a pair of hosts that are not measured"
        yield ("background", "network_path"), f'{what}; expected one such as "c:d", or {LEFT_OUT}'
        return
    for text in _check_network_hosts(campaign, settings):
        yield ("background", "network_path"), text
    for key in ("bytes_per_campaign", "bytes_per_day"):
        if getattr(campaign.budget, key) is not None:
            yield ("budget", key), f"the network load is not counted; expected no {key}, or {LEFT_OUT}"


def _check_network_hosts(campaign: Campaign, settings: BackgroundSettings) -> Iterator[str]:
    ends = source, destination = settings.network_hosts
    known = campaign.host_names
    for name in ends:
        if name not in known:
            yield f"host '{name}' is not known{format_choice(name, known)}"
            return
    measured = {frozenset((path.source, path.destination)) for path in campaign.paths}
    if frozenset(ends) in measured:
        yield f"'{settings.network_path}' is a path that is measured; expected another pair, or {LEFT_OUT}"
    elif campaign.lab is not None:
        yield from _check_lab_pair(campaign.lab, source, destination)


def _check_lab_pair(lab: LabSettings, source: str, destination: str) -> Iterator[str]:
    inside = [name in lab.hosts for name in (source, destination)]
    if not any(inside):
        return
    if not all(inside):
        what = f"only one of '{source}' and '{destination}' is in the lab"
        yield f"{what}; expected both ends in the lab, or neither"
    elif source == destination or destination not in _list_reached(lab, source):
        what = f"no link leads from '{source}' to '{destination}'"
        yield f"{what}; expected a link, or a chain of links, in lab.links"


def _list_reached(lab: LabSettings, start: str) -> Collection[str]:
    reached = {start}
    for _ in lab.links:  # each pass reaches at least one more host, or none is left
        for link in lab.links:
            if reached & set(link.between):
                reached |= set(link.between)
    return reached
