"""What a campaign will take: time, and an upper bound of bytes where one is known."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from pathlab.campaign.bond_checks import may_use_all_links
from pathlab.campaign.cell import PlannedCell, pace_cell
from pathlab.campaign.engine_rules import load_rules
from pathlab.campaign.lab_model import LabLink
from pathlab.campaign.model import Campaign, MeasuredPath, ProbeSettings
from pathlab.campaign.order import PlanRow, plan_rows
from pathlab.campaign.schedule import span_rows
from pathlab.units import SECOND_NS

# Starting engines, connecting, and gathering results; seen on a small machine, an estimate and no bound.
OVERHEAD_NS = 100_000_000
LOAD_NS = 700_000_000  # a background load's start, until it states a rate, and its end
SURVEY_NS, SURVEY_MAX_NS = (
    12 * SECOND_NS,
    60 * SECOND_NS,
)  # one way of a path (pathlab/runner/hosts/path_surveys.py)
UNLIMITED_BITS_PER_S = 10**15
CALIBRATION_NS = 800_000_000  # of all hosts at once; seen on a small machine
PROTOBUF_MAX_BYTES = 9  # that a message has more than its size: two lengths, two keys, a number, less 4
CONNECT_ROUND_TRIPS = 3  # TCP, the hello and its answer, the end of file


@dataclass(frozen=True, slots=True, kw_only=True)
class PathEstimate:
    """What a plan will take of one path. None: not known beforehand."""

    source: str
    destination: str
    trials: int
    bytes_max: int | None  # payload, both ways together, lab retries included
    rate_bits_per_s: int | None  # of the narrowest link
    share_ratio: float | None  # of what that link carries in the campaign's expected time, at most


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignEstimate:
    """What a plan will take. ``bytes_max`` is None when no bound is known for at least one trial.

    ``trials`` of searches for the lossless rate are those expected, ``trials_max`` what they take at most.
    """

    trials: int
    trials_max: int
    time_ns: int  # expected, with as many trials at once as allowed, without waiting for hours of the day
    time_max_ns: int  # the same with every wait at its cap, and all lab retries; no trial fails
    bytes_max: int | None  # payload over all trials and lab retries; no trial fails
    paths: tuple[PathEstimate, ...]


#: From this share of a path's rate on, probes change what is measured.
PROBE_SHARE_MAX_RATIO = 0.01
#: Headers of a probe: of ICMP and UDP alike, and of IP.
PROBE_HEADER_BYTES, IPV4_BYTES, IPV6_BYTES = 8, 20, 40


def find_probe_share(
    probes: ProbeSettings, rate_bits_per_s: float, *, payload_bytes: int | None = None, ipv6: bool = False
) -> float:
    """What probes take of a rate, as IP packets; ``payload_bytes``: of each, where that is not the plan's."""
    payload = probes.payload_bytes if payload_bytes is None else payload_bytes
    packet_bytes = payload + PROBE_HEADER_BYTES + (IPV6_BYTES if ipv6 else IPV4_BYTES)
    return packet_bytes * 8 * SECOND_NS / probes.interval_ns / rate_bits_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class PathFacts:
    """What is known about a path beforehand, from the lab's links or from the file: None where it is not.

    ``rate_bits_per_s`` is that of its direction, ``reverse_bits_per_s`` that of the way back.
    """

    rtt_ns: int | None = None
    rate_bits_per_s: int | None = None
    reverse_bits_per_s: int | None = None
    queue_bytes: int | None = None

    def turn(self, direction: str) -> PathFacts:
        """The facts for data in a direction; of both at once, those of the faster one."""
        rates = self.rate_bits_per_s, self.reverse_bits_per_s
        rate = {"forward": rates[0], "reverse": rates[1]}.get(
            direction, None if None in rates else max(filter(None, rates))
        )
        return replace(self, rate_bits_per_s=rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialEstimate:
    """What one trial will take, or a search for the lossless rate with all its trials."""

    time_ns: int  # expected
    time_max_ns: int  # every wait at its cap
    bytes_max: int | None
    trials: int = 1  # expected
    trials_max: int = 1


def find_path_facts(campaign: Campaign, path: MeasuredPath) -> PathFacts:
    """Return what is known about a path: what the file states, else what the lab's links allow.

    Those give the shortest round trip and the widest bottleneck of all chains of links.
    """
    links = campaign.lab.links if campaign.lab else ()
    rtt_ns = _best_chain(links, path.source, path.destination, _add_delays, 0)
    given = path.capacity_bits_per_s
    if rtt_ns is None:
        return PathFacts(rtt_ns=path.rtt_ns, rate_bits_per_s=given, reverse_bits_per_s=given)
    rates = [
        _find_widest(links, *ends) if given is None else given
        for ends in ((path.source, path.destination), (path.destination, path.source))
    ]
    queues = [link.direction(end).whole_queue_bytes for link in links for end in (0, 1)]
    return PathFacts(
        rtt_ns=rtt_ns if path.rtt_ns is None else path.rtt_ns,
        rate_bits_per_s=rates[0],
        reverse_bits_per_s=rates[1],
        queue_bytes=None if None in queues else max(filter(None, queues), default=None),
    )


def _find_widest(links: tuple[LabLink, ...], source: str, destination: str) -> int | None:
    """The rate of the widest chain of links in this direction; None: without a limit."""
    widest = _best_chain(links, source, destination, _narrow, -UNLIMITED_BITS_PER_S)
    return None if widest in (None, -UNLIMITED_BITS_PER_S) else -widest


#: Rate at which an amount of data is taken to be carried where none is known: for the estimated time alone.
ASSUMED_BITS_PER_S = 10**9
#: What the time and the bytes of a trial depend on, besides its path.
_SIZED_BY = attrgetter(
    *("streams", "window_sender_bytes", "window_receiver_bytes", "duration_ns", "warmup_ns"),
    *("transfer_bytes", "pacing_bits_per_s", "direction", "engine", "transport"),
    *("message_bytes", "message_rate_per_s", "reply", "encoding", "placement", "background"),
)


class Estimator:
    """Estimates of one campaign's rows; those of similar rows are computed once."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._facts: dict[int, tuple[MeasuredPath, PathFacts]] = {}  # a path is not cheap to hash
        # paths with equal facts share estimates
        self._known: dict[PathFacts, PathFacts] = {}
        self._trials: dict[tuple[object, ...], TrialEstimate] = {}

    def find_facts(self, path: MeasuredPath) -> PathFacts:
        """What is known about a path; equal facts are one object."""
        if id(path) not in self._facts:
            facts = find_path_facts(self._campaign, path)
            self._facts[id(path)] = (path, self._known.setdefault(facts, facts))
        return self._facts[id(path)][1]

    def trial(self, row: PlanRow) -> TrialEstimate:
        """What one row will take."""
        key = (id(self.find_facts(row.path)), bool(row.path.sinks), *_SIZED_BY(row.cell))
        estimate = self._trials.get(key)
        if estimate is None:
            estimate = self._trials[key] = self._estimate(row)
        return estimate

    def planned(self, row: PlanRow) -> TrialEstimate:
        """What a row of the plan as it begins will take: of a search, all its trials."""
        if self._campaign.search is None:
            return self.trial(row)
        rule = self._campaign.search.rule
        item = self.trial(replace(row, cell=pace_cell(row.cell, rule.highest_bits_per_s)))
        return TrialEstimate(
            time_ns=item.time_ns * rule.trials_expected,
            time_max_ns=item.time_max_ns * rule.trials_bound,
            bytes_max=None if item.bytes_max is None else item.bytes_max * rule.trials_bound,
            trials=rule.trials_expected,
            trials_max=rule.trials_bound,
        )

    def span_ns(self, rows: Sequence[PlanRow]) -> int:
        """What rows in the plan's order will take, as many at once as the campaign allows."""
        return span_rows(rows, [self.trial(row).time_ns for row in rows], self._campaign.concurrency)

    def _estimate(self, row: PlanRow) -> TrialEstimate:
        campaign, facts = self._campaign, self.find_facts(row.path)
        if row.cell.is_on_one_host or row.path.sinks:  # nothing of one link holds for these
            facts = PathFacts()
        path, facts = facts, facts.turn(row.cell.direction)
        rtt_ns, drain_ns = facts.rtt_ns or 0, campaign.trial.drain_ns
        cool_down = campaign.cool_down
        probes_ns = campaign.probes.unloaded * campaign.probes.interval_ns
        answers_ns = campaign.probes.find_longest_wait_ns(drain_ns)
        traffic_ns = self._estimate_traffic(row, facts)
        load_ns = LOAD_NS if row.cell.background != "none" else 0
        fixed_ns = (
            load_ns + OVERHEAD_NS + CONNECT_ROUND_TRIPS * rtt_ns + traffic_ns + probes_ns + cool_down.pause_ns
        )
        return TrialEstimate(
            time_ns=fixed_ns
            + (rtt_ns if campaign.probes.unloaded else 0)
            + min(_queue_drain_ns(facts, row.cell), drain_ns),
            time_max_ns=fixed_ns
            + drain_ns
            + answers_ns
            # The longest wait for an empty queue, after a reset, and that for the unloaded probes.
            + (max(drain_ns, campaign.probes.timeout_ns) + answers_ns if campaign.probes.unloaded else 0)
            + (cool_down.max_wait_ns if cool_down.until_idle else 0),
            bytes_max=self._bound_bytes(row, path, traffic_ns),
        )

    def _estimate_traffic(self, row: PlanRow, facts: PathFacts) -> int:
        """The time requested, or what an amount of data takes at the known rate, if that is less."""
        cell = row.cell
        requested_ns = cell.warmup_ns + cell.duration_ns
        if cell.transfer_bytes is not None:
            rates = facts.rate_bits_per_s, cell.pacing_bits_per_s, self._campaign.budget.rate_bits_per_s
            rate = min((rate for rate in rates if rate is not None), default=ASSUMED_BITS_PER_S)
            requested_ns = min(requested_ns, cell.transfer_bytes * 8 * SECOND_NS // rate)
        return load_rules(cell.engine).round_traffic_ns(requested_ns)

    def _bound_bytes(self, row: PlanRow, facts: PathFacts, traffic_ns: int) -> int | None:
        cell = row.cell
        lines = facts.rate_bits_per_s, facts.reverse_bits_per_s
        if may_use_all_links(cell) and row.path.capacity_bits_per_s is None and not cell.is_on_one_host:
            lines = (self._sum_links(row.path.source),) * 2
        if cell.direction == "reverse":
            lines = lines[::-1]
        if cell.transport == "udp" and cell.message_bytes is None:
            return self._bound_datagrams(cell, traffic_ns)
        ends = cell.window_sender_bytes, cell.window_receiver_bytes
        ways = [(ends, lines[0])]
        if cell.direction == "both" or cell.reply:
            ways.append((ends[::-1], lines[1]))
        if cell.transfer_bytes is not None:
            return cell.transfer_bytes * len(ways)
        others = cell.pacing_bits_per_s, self._campaign.budget.rate_bits_per_s, _offered_rate(cell)
        bounds = []
        for windows, line in ways:
            rate = min((rate for rate in (line, *others) if rate is not None), default=None)
            bounded = replace(facts, rate_bits_per_s=rate)
            bounds.append(self._bound_way(cell.streams, windows, bounded, traffic_ns))
        return sum_bounds(bounds)

    def _bound_datagrams(self, cell: PlannedCell, traffic_ns: int) -> int | None:
        """A sender of datagrams offers its rate whatever the line carries, and waits for nothing."""
        rates = (cell.pacing_bits_per_s, self._campaign.budget.rate_bits_per_s)
        rate = min((rate for rate in rates if rate is not None), default=None)
        ways = 2 if cell.direction == "both" else 1
        return None if rate is None else ways * _line_bytes(rate, traffic_ns)

    def _sum_links(self, host: str) -> int | None:
        """The rate of all the links of a host of the lab, which a bond may use together; None: no limit."""
        links = self._campaign.lab.links if self._campaign.lab else ()
        ways = [
            [link.direction(end).rate_bits_per_s for end in (0, 1)] for link in links if host in link.between
        ]
        return sum_bounds([None if None in rates else max(filter(None, rates)) for rates in ways]) or None

    def _bound_way(
        self, streams: int, windows_bytes: tuple[int | None, int | None], facts: PathFacts, traffic_ns: int
    ) -> int | None:
        """The line carries no more than rate x time; windows no more than streams x window each round trip.

        What the sender's sockets still hold when it stops is sent too: at most twice the window requested
        there, as Linux doubles it, which is also the most that can be under way.
        """
        sender_bytes, receiver_bytes = windows_bytes
        held = None if sender_bytes is None else 2 * streams * sender_bytes
        bounds = []
        if facts.rate_bits_per_s is not None:
            drained = _line_bytes(facts.rate_bits_per_s, self._campaign.trial.drain_ns)
            sent = _line_bytes(facts.rate_bits_per_s, traffic_ns)
            bounds.append(sent + (drained if held is None else min(held, drained)))
        if facts.rtt_ns and held is not None:
            under_way = held if receiver_bytes is None else min(held, streams * receiver_bytes)
            bounds.append(under_way * -(-traffic_ns // facts.rtt_ns) + held)
        return min(bounds, default=None)


def estimate_campaign(campaign: Campaign, rows: Sequence[PlanRow] | None = None) -> CampaignEstimate:
    """Return what the whole plan will take, if no trial fails.

    The upper bounds include every lab retry as the largest trial. ``rows`` is the plan, where the caller has
    it already.
    """
    estimator = Estimator(campaign)
    rows = plan_rows(campaign) if rows is None else rows
    surveys = count_surveys(campaign)
    estimates, lanes = [estimator.planned(row) for row in rows], campaign.concurrency
    time_ns = surveys * SURVEY_NS + span_rows(rows, [item.time_ns for item in estimates], lanes)
    longest_ns = span_rows(rows, [item.time_max_ns for item in estimates], lanes)
    again = campaign.lab_retries if campaign.lab is not None else 0
    sizes: dict[int, list[int | None]] = {id(path): [] for path in campaign.paths}
    trials = dict.fromkeys(sizes, 0)
    reverse = {id(row.path) for row in rows} - {
        id(row.path) for row in rows if row.cell.direction != "reverse"
    }
    for row, estimate in zip(rows, estimates, strict=True):
        sizes[id(row.path)].append(estimate.bytes_max)
        trials[id(row.path)] += estimate.trials
    paths = tuple(
        _estimate_path(
            path,
            estimator.find_facts(path).turn("reverse" if id(path) in reverse else "forward"),
            sizes[id(path)],
            trials[id(path)],
            again,
            time_ns,
        )
        for path in campaign.paths
    )
    return CampaignEstimate(
        trials=sum(item.trials for item in estimates),
        trials_max=sum(item.trials_max for item in estimates),
        time_ns=time_ns,
        time_max_ns=surveys * SURVEY_MAX_NS
        + longest_ns
        + again * max((item.time_max_ns for item in estimates), default=0),
        bytes_max=_bound_sum([item.bytes_max for item in estimates], again),
        paths=paths,
    )


def _bound_sum(bounds: Sequence[int | None], again: int) -> int | None:
    """The sum of the bounds of trials, ``again`` times the largest among them once more."""
    largest = max((bound for bound in bounds if bound is not None), default=0)
    return sum_bounds((sum_bounds(bounds), again * largest))


def sum_bounds(bounds: Sequence[int | None]) -> int | None:
    """Return the sum of upper bounds, None where one is not known."""
    return None if None in bounds else sum(filter(None, bounds))


def count_surveys(campaign: Campaign) -> int:
    """Surveys of a run: each way of each path once, or twice."""
    ends = [(path.source, path.destination) for path in campaign.paths]
    ways = {*ends, *((destination, source) for source, destination in ends)}
    return {"none": 0, "before": 1, "before and after": 2}[campaign.survey] * len(ways)


def _estimate_path(
    path: MeasuredPath,
    facts: PathFacts,
    sizes: Sequence[int | None],
    trials: int,
    again: int,
    time_ns: int,
) -> PathEstimate:
    rate, planned_bytes = facts.rate_bits_per_s, sum_bounds(sizes)
    share_ratio = None
    if rate is not None and planned_bytes is not None and time_ns > 0:  # retries take time of their own
        share_ratio = planned_bytes * 8 * SECOND_NS / (rate * time_ns)
    return PathEstimate(
        source=path.source,
        destination=path.destination,
        trials=trials,
        bytes_max=_bound_sum(sizes, again),
        rate_bits_per_s=rate,
        share_ratio=share_ratio,
    )


def _narrow(best: int, link: LabLink, end: int) -> int:
    """Negative, so that the widest chain is the smallest."""
    return max(best, -(link.direction(end).rate_bits_per_s or UNLIMITED_BITS_PER_S))


def _add_delays(best: int, link: LabLink, _end: int) -> int:
    return best + link.direction(0).delay_ns + link.direction(1).delay_ns


def _queue_drain_ns(facts: PathFacts, cell: PlannedCell) -> int:
    """How long what is under way takes at the end: a full queue, or less where windows hold less."""
    rate, queued_bytes, rtt_ns = facts.rate_bits_per_s, facts.queue_bytes, facts.rtt_ns or 0
    if rate is None or queued_bytes is None:
        return rtt_ns
    windows = [size for size in (cell.window_sender_bytes, cell.window_receiver_bytes) if size is not None]
    if windows:
        beyond_line = cell.streams * min(windows) - _line_bytes(rate, rtt_ns)
        queued_bytes = min(queued_bytes, max(0, beyond_line))
    return queued_bytes * 8 * SECOND_NS // rate + rtt_ns


def _offered_rate(cell: PlannedCell) -> int | None:
    """Rate of messages that are offered, with what an encoding adds to them; None where there is no limit."""
    if cell.message_bytes is None or cell.message_rate_per_s is None:
        return None
    added_bytes = PROTOBUF_MAX_BYTES if cell.encoding == "protobuf" else 0
    return (cell.message_bytes + added_bytes) * 8 * cell.message_rate_per_s


def _line_bytes(rate_bits_per_s: int, time_ns: int) -> int:
    return -(-rate_bits_per_s * time_ns // (8 * SECOND_NS))


def _best_chain(
    links: tuple[LabLink, ...],
    source: str,
    destination: str,
    extend: Callable[[int, LabLink, int], int],
    start: int,
) -> int | None:
    """Return the smallest cost of a chain of links (Dijkstra), or None when no chain joins the two.

    ``extend``: the cost with a further link, which is entered at one of its ends.
    """
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
                end = link.between.index(host)
                heapq.heappush(waiting, (extend(cost, link, end), link.between[1 - end]))
    return None
