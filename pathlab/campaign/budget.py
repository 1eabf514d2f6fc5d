"""What a campaign will take: time, and an upper bound of bytes where one is known."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

from pathlab.campaign.lab_model import LabLink
from pathlab.campaign.model import Campaign, Trial
from pathlab.campaign.order import PlanRow, plan_rows
from pathlab.units import SECOND_NS

# Starting engines, connecting, and gathering results; seen on a small machine, an estimate and no bound.
OVERHEAD_NS = 400_000_000
CONNECT_ROUND_TRIPS = 3  # TCP, the hello and its answer, the end of file


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignEstimate:
    """What a plan will take. ``bytes_max`` is None when no bound is known for at least one trial."""

    trials: int
    time_ns: int  # expected
    time_max_ns: int  # every wait at its cap, every trial once
    bytes_max: int | None  # payload over all trials


@dataclass(frozen=True, slots=True, kw_only=True)
class PathTruth:
    """What the lab's links say about a path: None where there is no lab or no limit."""

    rtt_ns: int | None = None
    rate_bits_per_s: int | None = None
    queue_bytes: int | None = None


def find_path_truth(campaign: Campaign, source: str, destination: str) -> PathTruth:
    """Return the shortest round trip and the widest bottleneck that the lab's links allow for a path."""
    links = campaign.lab.links if campaign.lab else ()
    rtt_ns = _best_chain(links, source, destination, _add_delays, 0)
    if rtt_ns is None:
        return PathTruth()
    unlimited = 10**15

    def narrow(best: int, link: LabLink) -> int:  # negative, so that the widest chain is the smallest
        return max(best, -max(link.direction(end).rate_bits_per_s or unlimited for end in (0, 1)))

    widest = _best_chain(links, source, destination, narrow, -unlimited)
    queues = [link.direction(end).whole_queue_bytes for link in links for end in (0, 1)]
    known = [queue for queue in queues if queue is not None]
    return PathTruth(
        rtt_ns=rtt_ns,
        rate_bits_per_s=-widest if widest is not None and -widest < unlimited else None,
        queue_bytes=max(known) if len(known) == len(queues) else None,
    )


def estimate_trial_ns(campaign: Campaign, row: PlanRow) -> int:
    """Return the time one trial is expected to take, in ns: an estimate, not a bound."""
    truth = find_path_truth(campaign, row.path_source, row.path_destination)
    rtt_ns = truth.rtt_ns or 0
    return _fixed_ns(campaign, rtt_ns) + min(_queue_drain_ns(truth), campaign.trial.drain_ns)


def estimate_trial_bytes(campaign: Campaign, row: PlanRow) -> int | None:
    """Return an upper bound of the payload of one trial, or None when neither rate nor round trip is known.

    The line carries no more than rate x time; windows carry no more than streams x window each round trip.
    What the sockets still hold when the sender stops is sent too: at most twice the window asked, as Linux
    doubles it.
    """
    truth = find_path_truth(campaign, row.path_source, row.path_destination)
    trial = campaign.trial
    traffic_ns = trial.warmup_ns + trial.duration_ns
    windows_bytes = None if row.window_bytes is None else 2 * row.streams * row.window_bytes
    bounds = []
    if truth.rate_bits_per_s is not None:
        drained = _line_bytes(truth.rate_bits_per_s, trial.drain_ns)
        held = drained if windows_bytes is None else min(windows_bytes, drained)
        bounds.append(_line_bytes(truth.rate_bits_per_s, traffic_ns) + held)
    if truth.rtt_ns and row.window_bytes is not None and windows_bytes is not None:
        round_trips = -(-traffic_ns // truth.rtt_ns)
        bounds.append(row.streams * row.window_bytes * round_trips + windows_bytes)
    return min(bounds, default=None)


def estimate_campaign(campaign: Campaign) -> CampaignEstimate:
    """Return what the whole plan will take, if every trial succeeds at the first attempt."""
    rows = plan_rows(campaign)
    bounds = [estimate_trial_bytes(campaign, row) for row in rows]
    known = [bound for bound in bounds if bound is not None]
    longest_ns = _fixed_ns(campaign, 0) + campaign.trial.drain_ns + campaign.probes.timeout_ns
    round_trips_ns = [
        find_path_truth(campaign, row.path_source, row.path_destination).rtt_ns or 0 for row in rows
    ]
    return CampaignEstimate(
        trials=len(rows),
        time_ns=sum(estimate_trial_ns(campaign, row) for row in rows),
        time_max_ns=len(rows) * longest_ns + CONNECT_ROUND_TRIPS * sum(round_trips_ns),
        bytes_max=sum(known) if len(known) == len(bounds) else None,
    )


def _fixed_ns(campaign: Campaign, rtt_ns: int) -> int:
    trial: Trial = campaign.trial
    probes_ns = campaign.probes.unloaded * campaign.probes.interval_ns + (
        rtt_ns if campaign.probes.unloaded else 0
    )
    return OVERHEAD_NS + CONNECT_ROUND_TRIPS * rtt_ns + trial.warmup_ns + trial.duration_ns + probes_ns


def _add_delays(best: int, link: LabLink) -> int:
    return best + link.direction(0).delay_ns + link.direction(1).delay_ns


def _queue_drain_ns(truth: PathTruth) -> int:
    if truth.rate_bits_per_s is None or truth.queue_bytes is None:
        return truth.rtt_ns or 0
    return truth.queue_bytes * 8 * SECOND_NS // truth.rate_bits_per_s + (truth.rtt_ns or 0)


def _line_bytes(rate_bits_per_s: int, time_ns: int) -> int:
    return -(-rate_bits_per_s * time_ns // (8 * SECOND_NS))


def _best_chain(
    links: tuple[LabLink, ...],
    source: str,
    destination: str,
    extend: Callable[[int, LabLink], int],
    start: int,
) -> int | None:
    """Return the smallest cost of a chain of links (Dijkstra), or None when no chain joins the two."""
    waiting = [(start, source)]
    settled: set[str] = set()
    while waiting:
        cost, host = heapq.heappop(waiting)
        if host == destination and host != source:
            return cost
        if host in settled:
            continue
        settled.add(host)
        for link in links:
            if host in link.between:
                other = link.between[1 - link.between.index(host)]
                heapq.heappush(waiting, (extend(cost, link), other))
    return None
