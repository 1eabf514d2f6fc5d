"""The routers between a host and a target, on several flows at once: Paris traceroute over UDP, ICMP or TCP.

A flow's probes agree in everything that routers choose a path by, so what one flow shows is one path, and
several flows show the paths of a balanced route. Each hop is first sought, then probed further among all
others in random order, so that its loss is spread over time.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from pathlab.analysis.estimators.loss import Loss, probe_loss
from pathlab.discover.fingerprint import hash_hops
from pathlab.discover.probes import FROM_TARGET, SHORTEST_TIMEOUT_NS, Probe, ProbePlan, RemoteProber

CONFIRMING_PROBES = 3
#: A flow that a hop answers: this share of its probes at least, of so many at least.
ANSWERED_RATIO, DECIDING_PROBES = 0.75, 4


class HopVerdict(StrEnum):
    """What a hop's answers say. A router may well forward everything and answer little."""

    ANSWERS = "answers"  # every probe
    SILENT = "silent"  # none, though hops beyond it answer: it forwards and says nothing
    NOTHING_BEYOND = "nothing-beyond"  # none, and nothing beyond it either: a filter, or the path's end
    SPLIT = "silent-on-some-flows"  # all or nearly all of some flows, none of others: these pass elsewhere
    LIMITED = "limited"  # some; a hop beyond it misses clearly fewer, so it rations its answers
    LOSSY = "lossy"  # some; no hop beyond misses fewer, nor does the end: the path loses packets up to here
    UNCLEAR = "unclear"  # some; too few probes, or no end that shows it, to distinguish rationing from loss


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteOptions:
    """How far, how often, how long: ``repeats`` probes per hop and flow, ``scouts`` of them to find it."""

    max_hops: int = 30
    scouts: int = 2
    repeats: int = 5
    give_up_hops: int = 5
    budget_s: float = 60.0
    gap_ns: int = 1_000_000
    timeout_ns: int = 1_000_000_000
    seed: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowPath:
    """What one flow saw: by hop the addresses that answered, most often one; ``()`` where none did.

    ``reached``: the last hop is the target. ``refused``: a router said that it will not forward, with its
    code.
    """

    flow: int
    source_port: int
    hops: tuple[tuple[str, ...], ...]
    reached: bool
    refused: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One hop over all flows. RTTs in ns, of answered probes, None without any; ``loss`` of answers, not of
    traffic.

    ``addresses`` by how often they answered. ``verdict`` distinguishes silence from loss.
    """

    hop: int
    addresses: tuple[str, ...]
    is_target: bool
    rtt_min_ns: int | None
    rtt_median_ns: int | None
    loss: Loss
    verdict: HopVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A route as one method sees it, with all its flows.

    ``stopped``: ``reached``, ``refused``, ``silence``, ``max-hops`` or ``out-of-time``. ``kept_ports`` false:
    the usual source ports were taken, so flows may take other paths than another time.
    """

    method: str
    address: str
    local_address: str
    privilege: str
    hops: tuple[Hop, ...]
    flows: tuple[FlowPath, ...]
    stopped: str
    fingerprint: str
    kept_ports: bool
    late: int
    ambiguous: int
    stamps: tuple[str, ...]

    @property
    def reached(self) -> bool:
        return any(flow.reached for flow in self.flows)

    @property
    def balanced(self) -> bool:
        """Whether flows take different ways, or one flow's packets do."""
        if any(hop.verdict is HopVerdict.SPLIT for hop in self.hops):
            return True
        if any(len(addresses) > 1 for flow in self.flows for addresses in flow.hops):
            return True  # one flow met several routers at one hop
        return any(
            first and second and set(first).isdisjoint(second)
            for flow in self.flows
            for first, second in zip(flow.hops, self.flows[0].hops, strict=False)
        )


@dataclass(slots=True, kw_only=True)
class _Trace:
    """What is under way: all probes, and the last hop of each flow that has come to its end."""

    probes: list[Probe] = field(default_factory=list)
    ends: dict[int, int] = field(default_factory=dict)
    late: int = 0
    ambiguous: int = 0
    stopped: str = ""


def discover_route(prober: RemoteProber, options: RouteOptions) -> Route:
    """Find the hops on every flow, then probe each for its RTT and loss. HostError when it cannot go on."""
    deadline_s = time.monotonic() + options.budget_s
    trace = _Trace()
    flows = tuple(range(prober.target.flows))
    _find_hops(prober, trace, options, deadline_s)
    _confirm_ends(prober, trace, options, deadline_s)
    last = max((probe.ttl for probe in trace.probes if probe.rtt_ns is not None), default=0)
    _probe_further(prober, trace, {flow: trace.ends.get(flow, last) for flow in flows}, options, deadline_s)
    lengths = {flow: trace.ends.get(flow, last) for flow in flows}
    ending = (trace.stopped, trace.late, trace.ambiguous)
    return weigh_ends(build_route(prober.opened, trace.probes, lengths, ending))


def _send(prober: RemoteProber, trace: _Trace, plan: ProbePlan) -> tuple[Probe, ...]:
    sent = prober.send(plan)
    trace.probes += sent.probes
    for probe in sent.probes:
        if probe.kind is not None and (probe.kind in FROM_TARGET or probe.kind == "unreachable"):
            trace.ends[probe.flow] = min(probe.ttl, trace.ends.get(probe.flow, probe.ttl))
    trace.late += sent.late
    trace.ambiguous += sent.ambiguous
    return sent.probes


def _find_hops(prober: RemoteProber, trace: _Trace, options: RouteOptions, deadline_s: float) -> None:
    silent = 0
    for ttl in range(1, options.max_hops + 1):
        open_flows = tuple(flow for flow in range(prober.target.flows) if flow not in trace.ends)
        plan = ProbePlan(
            ttls=(ttl,),
            sizes_bytes=(prober.smallest_bytes,),
            repeats=options.scouts,
            flows=open_flows,
            gap_ns=options.gap_ns,
            timeout_ns=options.timeout_ns,
        )
        probes = _send(prober, trace, plan)
        silent = 0 if any(probe.rtt_ns is not None for probe in probes) else silent + 1
        if len(trace.ends) == prober.target.flows:
            refused = not any(probe.kind in FROM_TARGET for probe in trace.probes)
            trace.stopped = "refused" if refused else "reached"
        elif silent >= options.give_up_hops:
            trace.stopped = "silence"
        elif time.monotonic() > deadline_s:
            trace.stopped = "out-of-time"
        if trace.stopped:
            return
    trace.stopped = "max-hops"


def _confirm_ends(prober: RemoteProber, trace: _Trace, options: RouteOptions, deadline_s: float) -> None:
    """Probe once more before an end where the hop before it was silent: a lost answer of the target itself
    leaves its flow a hop too long, since further probes reach it as well.
    """
    probed: set[tuple[int, int]] = set()
    while time.monotonic() <= deadline_s:
        answered = {(probe.flow, probe.ttl) for probe in trace.probes if probe.rtt_ns is not None}
        before = {(flow, end - 1) for flow, end in trace.ends.items() if end > 1} - answered - probed
        if not before:
            return
        ttl = max(ttl for _, ttl in before)
        flows = tuple(sorted(flow for flow, its in before if its == ttl))
        probed |= {(flow, ttl) for flow in flows}
        plan = ProbePlan(
            ttls=(ttl,),
            sizes_bytes=(prober.smallest_bytes,),
            repeats=CONFIRMING_PROBES,
            flows=flows,
            gap_ns=options.gap_ns,
            timeout_ns=_choose_timeout(trace, options),
        )
        _send(prober, trace, plan)


def _choose_timeout(trace: _Trace, options: RouteOptions) -> int:
    slowest_ns = max((probe.rtt_ns for probe in trace.probes if probe.rtt_ns is not None), default=0)
    return min(options.timeout_ns, max(SHORTEST_TIMEOUT_NS, 4 * slowest_ns))


def _probe_further(
    prober: RemoteProber, trace: _Trace, lengths: dict[int, int], options: RouteOptions, deadline_s: float
) -> None:
    """The rest of each hop's probes, round by round while there is time; flows of one length together."""
    timeout_ns = _choose_timeout(trace, options)
    for turn in range(options.scouts, options.repeats):
        for length in sorted(set(lengths.values()) - {0}):
            plan = ProbePlan(
                ttls=tuple(range(1, length + 1)),
                sizes_bytes=(prober.smallest_bytes,),
                flows=tuple(flow for flow, its in lengths.items() if its == length),
                seed=options.seed + turn,
                gap_ns=options.gap_ns,
                timeout_ns=timeout_ns,
            )
            if time.monotonic() > deadline_s:
                return
            _send(prober, trace, plan)


def build_route(
    opened: Mapping[str, Any],
    probes: Sequence[Probe],
    lengths: dict[int, int],
    ending: tuple[str, int, int],
) -> Route:
    """A route from its probes; ``lengths`` by flow, ``ending``: why it stopped, late, ambiguous answers."""
    ports = opened["source_ports"]
    flows = tuple(_follow(probes, flow, length, ports[flow]) for flow, length in sorted(lengths.items()))
    stopped, late, ambiguous = ending
    return Route(
        method=opened["method"],
        address=opened["address"],
        local_address=opened["local_address"],
        privilege=opened["privilege"],
        hops=classify_hops([p for p in probes if p.sent and p.ttl <= lengths[p.flow]]),
        flows=flows,
        stopped=stopped,
        fingerprint=hash_hops(flows[0].hops),
        kept_ports=opened["kept_ports"],
        late=late,
        ambiguous=ambiguous,
        stamps=tuple(sorted({probe.stamps for probe in probes if probe.stamps})),
    )


def _follow(probes: Sequence[Probe], flow: int, length: int, source_port: int) -> FlowPath:
    mine = [probe for probe in probes if probe.flow == flow and probe.source is not None]
    refusals = [probe for probe in mine if probe.kind == "unreachable"]
    return FlowPath(
        flow=flow,
        source_port=source_port,
        hops=tuple(_rank_sources([p for p in mine if p.ttl == ttl]) for ttl in range(1, length + 1)),
        reached=any(probe.kind in FROM_TARGET for probe in mine),
        refused=f"{refusals[0].source} code {refusals[0].code}" if refusals else None,
    )


def _rank_sources(probes: Sequence[Probe]) -> tuple[str, ...]:
    counts: dict[str, int] = {}
    for probe in probes:
        if probe.source is not None:
            counts[probe.source] = counts.get(probe.source, 0) + 1
    return tuple(sorted(counts, key=lambda address: (-counts[address], address)))


def classify_hops(probes: Sequence[Probe]) -> tuple[Hop, ...]:
    """Hops in order, each with RTTs, loss of answers and verdict, from the probes of all flows."""
    last = max((probe.ttl for probe in probes), default=0)
    groups = [[probe for probe in probes if probe.ttl == ttl] for ttl in range(1, last + 1)]
    losses = [probe_loss(len(group), sum(p.rtt_ns is not None for p in group)) for group in groups]
    hops = []
    for index, group in enumerate(groups):
        rtts = [probe.rtt_ns for probe in group if probe.rtt_ns is not None]
        hops.append(
            Hop(
                hop=index + 1,
                addresses=_rank_sources(group),
                is_target=any(probe.kind in FROM_TARGET for probe in group),
                rtt_min_ns=min(rtts, default=None),
                rtt_median_ns=round(statistics.median(rtts)) if rtts else None,
                loss=losses[index],
                verdict=HopVerdict.SPLIT
                if _is_split(group)
                else classify_loss(losses[index], losses[index + 1 :]),
            )
        )
    return tuple(hops)


def _is_split(probes: Sequence[Probe]) -> bool:
    """Whether one hop's probes were answered by flow: on some always, on others never."""
    flows: dict[int, list[bool]] = {}
    for probe in probes:
        flows.setdefault(probe.flow, []).append(probe.rtt_ns is not None)
    if any(len(answers) < DECIDING_PROBES for answers in flows.values()):
        return False
    shares = [sum(answers) / len(answers) for answers in flows.values()]
    answering = [share for share in shares if share >= ANSWERED_RATIO]
    return 0 < len(answering) < len(shares) and not any(0 < share < ANSWERED_RATIO for share in shares)


def classify_loss(own: Loss, beyond: Sequence[Loss]) -> HopVerdict:
    """What a hop's missing answers mean, given those of the hops beyond it.

    Whatever a path loses before a hop is lost to all hops beyond it as well, so a hop beyond that misses
    clearly fewer (its Wilson interval ends below this one's) shows that this hop does not answer all it gets.
    """
    answering = [loss for loss in beyond if loss.sent > loss.lost]
    if own.sent == own.lost:
        return HopVerdict.SILENT if answering else HopVerdict.NOTHING_BEYOND
    if own.lost == 0:
        return HopVerdict.ANSWERS
    fewer = [loss for loss in answering if (loss.loss_ratio or 0.0) < (own.loss_ratio or 0.0)]
    if not fewer:
        return HopVerdict.LOSSY
    low = own.interval_ratio.low
    tops = [loss.interval_ratio.high for loss in fewer]
    if low is not None and any(top is not None and top < low for top in tops):
        return HopVerdict.LIMITED
    return HopVerdict.UNCLEAR


def weigh_ends(route: Route, others: Sequence[Route] = ()) -> Route:
    """The route with verdicts that the ends of the path bear out, its own and those by other methods.

    What misses answers everywhere may be rationed everywhere: routers ration their errors, and so do hosts
    those in which UDP probes end. Only an end that answers by echo replies or TCP, which nobody rations,
    shows that the path loses, or that it does not lose so much.
    """
    ends = [other for other in (route, *others) if other.reached and other.method != "udp"]
    hops = []
    for index, hop in enumerate(route.hops):
        passed = [end for end in ends if any(set(hop.addresses) & set(item.addresses) for item in end.hops)]
        trusted = [end.hops[-1].loss for end in passed]
        verdict = classify_loss(hop.loss, [*(later.loss for later in route.hops[index + 1 :]), *trusted])
        if hop.verdict is HopVerdict.SPLIT:
            verdict = HopVerdict.SPLIT
        elif verdict is HopVerdict.LOSSY and not any(loss.lost for loss in trusted):
            verdict = HopVerdict.UNCLEAR
        hops.append(replace(hop, verdict=verdict))
    return replace(route, hops=tuple(hops))


def has_route_changed(before: Route, after: Route) -> bool | None:
    """Whether a route changed, flow by flow; a hop that answered only once is no change.

    None: no hop answered both times. A fingerprint also changes when a hop that rations its answers fell
    silent; this does not.
    """
    flows = list(zip(before.flows, after.flows, strict=False))
    pairs = [pair for old, new in flows for pair in zip(old.hops, new.hops, strict=False) if all(pair)]
    if not pairs:
        return None
    return any(set(first).isdisjoint(second) for first, second in pairs) or any(
        old.reached and new.reached and len(old.hops) != len(new.hops) for old, new in flows
    )
