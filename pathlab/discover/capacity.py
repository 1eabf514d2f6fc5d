"""Latency and capacity hop by hop, from round trips of probes of many sizes (pathchar), until precise enough.

UDP on one flow: routers answer every size with the same 576 bytes at most, whereas an echo reply would grow
with its probe. Sizes start at 600 bytes, because a Linux router quotes up to 548 and a smaller probe's answer
would grow with it, which halves every rate.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pathlab.analysis.estimators.interval import CONFIDENCE_RATIO
from pathlab.analysis.fits.per_hop import MINIMUM_SIZES, Floor, HopEstimate, HopSamples, estimate_hops
from pathlab.discover.probes import FROM_ROUTER, Probe, ProbePlan, RemoteProber

#: By version of IP; IPv6 routers quote until the error has 1280 bytes (RFC 4443).
SMALLEST_BYTES = {4: 600, 6: 1240}
MINIMUM_REPEATS = 8  # below, the minima's intervals hold the capacity less often than their confidence
LIMITED_RATIO = 0.2  # unanswered share from which on probes are sent more slowly
LONGEST_GAP_NS = 1_000_000_000
PRECISE, OUT_OF_TIME, OUT_OF_PACKETS = "precise", "out-of-time", "out-of-packets"
UNANSWERED, MTU_TOO_SMALL, LIMITED = "unanswered", "mtu-too-small", "limited"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityOptions:
    """How precise, and for how much at most.

    A hop is settled when the half-width of its capacity's interval (at ``confidence_ratio``) is at most
    ``target_ratio`` of the capacity, or when the capacity is at least ``ceiling_bits_per_s``: beyond,
    serialisation drowns in the noise of hosts. ``stop_limited``: end after a round with too few answers,
    instead of going on more slowly.
    """

    sizes: int = 16
    repeats: int = 2
    target_ratio: float = 0.05
    confidence_ratio: float = CONFIDENCE_RATIO
    ceiling_bits_per_s: int = 200_000_000
    budget_s: float = 60.0
    budget_packets: int = 10_000
    gap_ns: int = 1_000_000
    timeout_ns: int = 1_000_000_000
    seed: int = 1
    stop_limited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HopCapacity:
    """One hop: who answered, of how many probes, and the estimate. ``others``: answers of further routers."""

    hop: int
    source: str | None
    sent: int
    answered: int
    others: int
    estimate: HopEstimate


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityResult:
    """All hops, and why it ended: ``precise``, ``out-of-time``, ``out-of-packets``, ``unanswered``,
    ``mtu-too-small``, ``limited``.

    ``sizes_bytes`` are IP packets. ``gap_ns`` is the one at the end: it grows where routers limit their
    answers.
    """

    hops: tuple[HopCapacity, ...]
    floor: Floor
    stopped: str
    rounds: int
    packets: int
    elapsed_s: float
    sizes_bytes: tuple[int, ...]
    gap_ns: int
    stamps: tuple[str, ...]

    @property
    def latencies_to_hops_ns(self) -> dict[int, float]:
        """One-way latency from here to each hop whose own latency is known: the sum of those up to it."""
        known = [
            (item.hop, item.estimate.latency_ns) for item in self.hops if item.estimate.latency_ns is not None
        ]
        sums = itertools.accumulate(latency_ns for _, latency_ns in known)
        return dict(zip((hop for hop, _ in known), sums, strict=True))


#: Gets the estimates of settled hops by hop.
OnSettled = Callable[[Mapping[int, HopEstimate]], None]
#: Gets the number of rounds so far, and their time (s).
OnRound = Callable[[int, float], None]


@dataclass(slots=True, kw_only=True)
class _Series:
    """What is under way: all probes so far, and the pace."""

    ttls: tuple[int, ...]
    sizes_bytes: tuple[int, ...]
    gap_ns: int
    probes: list[Probe] = field(default_factory=list)
    rounds: int = 0
    packets: int = 0


def choose_sizes(mtu_bytes: int, count: int, version: int = 4) -> tuple[int, ...]:
    """``count`` sizes evenly from 600 bytes (IPv6: 1240) to the path's MTU; fewer where there is no room."""
    smallest = SMALLEST_BYTES[version]
    span = mtu_bytes - smallest
    if span < 0:
        return ()
    return tuple(sorted({smallest + round(span * step / (count - 1)) for step in range(count)}))


def measure_capacity(
    prober: RemoteProber,
    ttls: Sequence[int],
    mtu_bytes: int,
    options: CapacityOptions,
    on_settled: OnSettled | None = None,
    on_round: OnRound | None = None,
) -> CapacityResult:
    """Probe the hops round by round until each is settled or a budget is spent.

    ``ttls`` ascend, the target's last. A round is ``repeats`` probes of each size to each hop, shuffled.
    ``on_settled`` gets the estimates of the hops that are settled so far, after each round that has some;
    ``on_round`` is called after every round. HostError when the host cannot go on.
    """
    sizes_bytes = choose_sizes(mtu_bytes, options.sizes, prober.version)
    series = _Series(ttls=tuple(ttls), sizes_bytes=sizes_bytes, gap_ns=options.gap_ns)
    started_s = time.monotonic()
    stopped = ""
    if len(series.sizes_bytes) < MINIMUM_SIZES:
        stopped = MTU_TOO_SMALL
    elif _plan(series, options).packets > options.budget_packets:
        stopped = OUT_OF_PACKETS
    elif options.budget_s <= 0:
        stopped = OUT_OF_TIME
    while not stopped:
        gap_ns = series.gap_ns
        round_s = _run_round(prober, series, options)
        elapsed_s = time.monotonic() - started_s
        if on_round is not None:
            on_round(series.rounds, elapsed_s)
        if not series.ttls:
            stopped = UNANSWERED
        elif options.stop_limited and series.gap_ns > gap_ns:
            stopped = LIMITED
        elif _report_settled(series, ttls, options, on_settled):
            stopped = PRECISE
        elif elapsed_s + round_s > options.budget_s:
            stopped = OUT_OF_TIME
        elif series.packets + _plan(series, options).packets > options.budget_packets:
            stopped = OUT_OF_PACKETS
    hops, floor = summarise_hops(series.probes, ttls, options.confidence_ratio)
    return CapacityResult(
        hops=hops,
        floor=floor,
        stopped=stopped,
        rounds=series.rounds,
        packets=series.packets,
        elapsed_s=time.monotonic() - started_s,
        sizes_bytes=series.sizes_bytes,
        gap_ns=series.gap_ns,
        stamps=tuple(sorted({probe.stamps for probe in series.probes if probe.stamps})),
    )


def _plan(series: _Series, options: CapacityOptions) -> ProbePlan:
    return ProbePlan(
        ttls=series.ttls,
        sizes_bytes=series.sizes_bytes,
        repeats=options.repeats,
        seed=options.seed + series.rounds,
        gap_ns=series.gap_ns,
        timeout_ns=options.timeout_ns,
    )


def _run_round(prober: RemoteProber, series: _Series, options: CapacityOptions) -> float:
    """One round; silent hops are left out from then on. Returns how long it took (s)."""
    began_s = time.monotonic()
    plan = _plan(series, options)
    probes = prober.send(plan).probes
    series.probes += probes
    series.rounds += 1
    series.packets += plan.packets
    answering = tuple(
        ttl for ttl in series.ttls if any(p.ttl == ttl and p.rtt_ns is not None for p in probes)
    )
    answerable = [probe for probe in probes if probe.ttl in answering]
    unanswered = sum(probe.rtt_ns is None for probe in answerable)
    if unanswered > LIMITED_RATIO * len(answerable):
        series.gap_ns = min(max(2 * series.gap_ns, 1_000_000), LONGEST_GAP_NS)
    series.ttls = answering
    return time.monotonic() - began_s


def _report_settled(
    series: _Series, ttls: Sequence[int], options: CapacityOptions, on_settled: OnSettled | None
) -> bool:
    """Whether every hop is settled; those that are, and those that never answer, are reported."""
    if series.rounds * options.repeats < MINIMUM_REPEATS:
        return False
    hops, _ = summarise_hops(series.probes, ttls, options.confidence_ratio)
    settled = {
        hop.hop: hop.estimate
        for hop in hops
        if hop.hop not in series.ttls or is_precise(hop.estimate, options)
    }
    if settled and on_settled is not None:
        on_settled(settled)
    return len(settled) == len(hops)


def is_precise(estimate: HopEstimate, options: CapacityOptions) -> bool:
    """Whether a hop needs no further probes."""
    interval = estimate.capacity_interval
    if (
        estimate.at_least_bits_per_s is not None
        and estimate.at_least_bits_per_s >= options.ceiling_bits_per_s
    ):
        return True
    if interval.low is None or interval.high is None or estimate.capacity_bits_per_s is None:
        return False
    return interval.high - interval.low <= 2 * options.target_ratio * estimate.capacity_bits_per_s


def summarise_hops(
    probes: Sequence[Probe], ttls: Sequence[int], confidence_ratio: float = CONFIDENCE_RATIO
) -> tuple[tuple[HopCapacity, ...], Floor]:
    """Estimates from probes, of the router that answered most at each TTL; the last TTL is the target's.

    Of the target only refusals of the port count: anything else may grow with its probe.
    """
    chosen: list[tuple[HopSamples, str | None, int, int, int]] = []
    for ttl in ttls:
        wanted = "port-unreachable" if ttl == ttls[-1] else FROM_ROUTER
        sent = [probe for probe in probes if probe.ttl == ttl and probe.sent]
        answers = [probe for probe in sent if probe.rtt_ns is not None and probe.kind == wanted]
        sources = Counter(probe.source for probe in answers).most_common(1)
        source = sources[0][0] if sources else None
        mine = [probe for probe in answers if probe.source == source]
        # Where answers grow with their probes, only those of full length have all the same way back.
        reply_bytes = max((probe.reply_bytes or 0 for probe in mine), default=0)
        kept = [probe for probe in mine if (probe.reply_bytes or 0) == reply_bytes]
        samples = HopSamples(
            hop=ttl,
            sizes_bytes=[probe.size_bytes for probe in kept],
            rtt_ns=[probe.rtt_ns for probe in kept if probe.rtt_ns is not None],
            reply_bytes=reply_bytes,
        )
        chosen.append((samples, source, len(sent), len(mine), len(answers) - len(mine)))
    estimated = estimate_hops([samples for samples, *_ in chosen], confidence_ratio)
    hops = tuple(
        HopCapacity(
            hop=samples.hop, source=source, sent=sent, answered=answered, others=others, estimate=estimate
        )
        for (samples, source, sent, answered, others), estimate in zip(chosen, estimated.hops, strict=True)
    )
    return hops, estimated.floor
