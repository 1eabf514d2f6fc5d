"""What contradicts a search for the lossless rate in a campaign whose keys are right by themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pathlab.campaign.cell import PlannedCell
from pathlab.campaign.model import Campaign
from pathlab.campaign.search_model import SearchSettings
from pathlab.campaign.source_text import Finding
from pathlab.units import SECOND_NS, format_bytes, format_exact_rate, format_rate, format_ratio, format_time

if TYPE_CHECKING:
    from pathlab.analysis.planning.loss_search import SearchRule

#: Payload of a datagram that fills an Ethernet frame by IPv4: what is assumed where the path decides.
DATAGRAM_BYTES = 1472


def check_search(campaign: Campaign, cells: Sequence[PlannedCell]) -> Iterator[Finding]:
    """What ``[search]`` requests that cannot be; ``cells`` are the combinations of the factors."""
    search = campaign.search
    if search is None:
        return
    yield from _check_factors(campaign, cells)
    yield from _check_conduct(campaign)
    yield from _check_caps(campaign, search)
    yield from _check_packets(search, cells)


def find_datagram_bytes(cell: PlannedCell) -> int:
    """Payload of one datagram of a combination, assumed where it is left to the path."""
    level = cell.levels.get("datagram_bytes")
    return level if isinstance(level, int) else DATAGRAM_BYTES


def _check_factors(campaign: Campaign, cells: Sequence[PlannedCell]) -> Iterator[Finding]:
    if "pacing_bits_per_s" in campaign.factors.given:
        yield ("factors", "pacing"), "the search sets this rate; expected no pacing, or no [search]"
    if any(cell.transport != "udp" or cell.message_bytes is not None for cell in cells):
        what = "a search for the lossless rate measures datagrams"
        yield ("search",), f'{what}; expected transport = "udp" alone in [factors], and no message'
    if any(cell.direction == "both" for cell in cells):
        what = "a search needs one direction for each rate"
        yield ("factors", "direction"), f'{what}; expected "forward" or "reverse"'
    if any(cell.transfer_bytes is not None for cell in cells):
        yield ("factors", "transfer"), "a search offers a rate for a time; expected no transfer"


def _check_conduct(campaign: Campaign) -> Iterator[Finding]:
    if campaign.until_ratio is not None:
        what = "a search ends by itself in each cycle"
        yield ("until",), f"{what}; expected cycles instead, or no [search]"
    if campaign.control is not None:
        yield ("control",), "a control row has no rate in a search; expected no [control], or no [search]"


def _check_caps(campaign: Campaign, search: SearchSettings) -> Iterator[Finding]:
    highest = search.highest_bits_per_s
    caps = {"budget.rate": campaign.budget.rate_bits_per_s}
    for name in campaign.measured_hosts:
        if name in campaign.hosts:
            caps[f"max_rate of host '{name}'"] = campaign.hosts[name].max_rate_bits_per_s
    for name, cap in caps.items():
        if cap is not None and cap < highest:
            what = f"{format_rate(highest)} is above {name}, {format_rate(cap)}"
            yield ("search", "highest"), f"{what}; expected at most that"


def _check_packets(search: SearchSettings, cells: Sequence[PlannedCell]) -> Iterator[Finding]:
    """Whether the trials at the lowest rate have the packets to confirm the loss; the first that has not."""
    rule, lowest = search.rule, search.lowest_bits_per_s
    for cell in cells:
        datagram_bytes = find_datagram_bytes(cell)
        packets = lowest * cell.duration_ns // (8 * datagram_bytes * SECOND_NS)
        if packets >= rule.packets_per_trial:
            continue
        what = (
            f"at {format_rate(lowest)} a trial of {format_time(cell.duration_ns)} sends {packets} packets of "
            f"{format_bytes(datagram_bytes)}, but {rule.trials_max} trials confirm a loss of "
            f"{format_ratio(search.loss_ratio)} only with {rule.packets_per_trial} packets each"
        )
        yield ("search", "lowest"), f"{what}; expected {_name_remedies(rule, cell, datagram_bytes, packets)}"
        return


def _name_remedies(rule: SearchRule, cell: PlannedCell, datagram_bytes: int, packets: int) -> str:
    """What would do, rounded so that it does."""
    needed_bits = rule.packets_per_trial * 8 * datagram_bytes
    duration_s = math.ceil(needed_bits / rule.lowest_bits_per_s + 1)
    lowest = math.ceil(needed_bits * SECOND_NS / cell.duration_ns / 10**5 + 1) * 10**5
    loss_ratio = rule.loss_ratio * rule.packets_per_trial / max(1, packets)
    digits = 1 - math.floor(math.log10(loss_ratio))
    more = math.ceil(loss_ratio * 10**digits + 1) / 10**digits
    remedies = [f"a duration of {duration_s}s", f"lowest = {format_exact_rate(lowest)}"]
    if more <= 0.5:
        remedies.append(f"a loss of {format_ratio(more)}")
    return f"{', '.join(remedies[:-1])}, or {remedies[-1]}, or more"
