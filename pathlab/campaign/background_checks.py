"""What contradicts the load of the factor ``background`` in a campaign whose keys are right by themselves."""

from __future__ import annotations

from collections.abc import Iterator

from pathlab.campaign.background_model import BackgroundSettings
from pathlab.campaign.factor_types import Background
from pathlab.campaign.lab_checks import find_lab_fault
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
    elif campaign.lab is not None and not set(ends).isdisjoint(campaign.lab.hosts):
        joined = [link.between for link in campaign.lab.links]
        if fault := find_lab_fault(source, destination, campaign.lab.hosts, joined):
            yield fault
