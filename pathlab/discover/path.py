"""All that is found out about a path from one end: routes by each method, its MTU, its hops' capacity."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from pathlab._version import VERSION
from pathlab.analysis.fits.per_hop import HopEstimate
from pathlab.discover.capacity import (
    LIMITED,
    LIMITED_RATIO,
    CapacityOptions,
    CapacityResult,
    measure_capacity,
)
from pathlab.discover.mtu import PathMtu, find_path_mtu
from pathlab.discover.probes import SHORTEST_TIMEOUT_NS, ProbesRefused, ProbeTarget, RemoteProber
from pathlab.discover.route import Route, RouteOptions, discover_route, weigh_ends
from pathlab.errors import HostError
from pathlab.remote.session import Session

REPORT_FORMAT = 1
SPARE_S = 60.0  # over all budgets, before the agent ends a prober
#: Longest time for the capacity of a single hop that answers every probe.
SINGLE_HOP_BUDGET_S = 5.0
#: A Linux host answers a closed port once a second by default (net.ipv4.icmp_ratelimit).
LIMITED_END = (
    "the only hop answered too few probes, so that this takes a minute: `--budget 60s` allows it; "
    "`pathlab measure` shows the rate"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathOptions:
    """What to find out. ``capacity`` None: not measured. ``port`` None: each method's own.

    ``in_seconds``: the capacity of a path of one hop is measured in ``SINGLE_HOP_BUDGET_S``, or not where its
    end limits its answers.
    """

    methods: tuple[str, ...] = ("udp", "icmp", "tcp")
    flows: int = 4
    family: int = 0
    port: int | None = None
    find_mtu: bool = True
    route: RouteOptions = field(default_factory=RouteOptions)
    capacity: CapacityOptions | None = field(default_factory=CapacityOptions)
    in_seconds: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A part that could not be had, and why."""

    part: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PathReport:
    """One direction of a path. ``capacity`` and ``mtu`` None: not requested, or named in ``lost``."""

    source: str
    target: str
    address: str
    started_utc: str
    elapsed_s: float
    routes: tuple[Route, ...]
    mtu: PathMtu | None
    capacity: CapacityResult | None
    lost: tuple[Lost, ...]

    @property
    def route(self) -> Route:
        """The route that describes the path: the first that reached the target, else the first."""
        return next((route for route in self.routes if route.reached), self.routes[0])

    def as_document(self) -> dict[str, Any]:
        """JSON-able, with units in the names; what was not measured is null."""
        document = {"format": REPORT_FORMAT, "program": VERSION, **asdict(self)}
        document["routes"] = [
            {**asdict(route), "reached": route.reached, "balanced": route.balanced} for route in self.routes
        ]
        if self.capacity is not None:
            for hop in document["capacity"]["hops"]:
                hop["latency_to_hop_ns"] = self.capacity.latencies_to_hops_ns.get(hop["hop"])
        return document


@dataclass(slots=True, kw_only=True)
class _Findings:
    """What is under way."""

    routes: list[Route] = field(default_factory=list)
    mtu: PathMtu | None = None
    capacity: CapacityResult | None = None
    limited: bool = False  # the end of a path of one hop limits its answers
    lost: list[Lost] = field(default_factory=list)


class PathObserver(Protocol):
    """Who follows a discovery while it runs."""

    def on_step(self, text: str) -> None:
        """What is done from now on, in a few words; of the capacity, how far it is."""

    def on_route(self, source: str, target: str, route: Route, *, waits: bool) -> None:
        """A route by one method; ``waits``: the capacity of its hops may follow."""

    def on_settled(self, estimates: Mapping[int, HopEstimate]) -> None:
        """The estimates of the hops whose capacity is settled so far."""


def discover_path(
    session: Session, target: str, options: PathOptions, observers: Sequence[PathObserver] = ()
) -> PathReport:
    """Find out about the path from a session's host to a target, a name or address as that host knows it.

    What this host's user may not do is named in ``lost`` and the rest is done. HostError when nothing could
    be.
    """
    started_utc = datetime.now(UTC).isoformat(timespec="seconds")
    started_s = time.monotonic()
    result = _Findings()
    address = ""
    refusal: HostError | None = None
    for method in options.methods:
        probed = ProbeTarget(
            address=address or target,
            method=method,
            flows=options.flows,
            port=options.port if method != "icmp" else None,
            family=options.family,
        )
        try:
            with RemoteProber(session, probed, seconds=_longest_s(options)) as prober:
                for observer in observers:
                    observer.on_step(f"route to {target} by {method}")
                address = prober.address
                result.routes.append(discover_route(prober, options.route))
                for observer in observers:
                    waits = _can_measure_capacity(method, result.routes[-1], options)
                    observer.on_route(session.host, target, result.routes[-1], waits=waits)
                _measure_further(prober, options, result, observers)
        except ProbesRefused as error:
            refusal = error
            result.lost.append(Lost(part=f"route by {method}", reason=error.reason))
    if not result.routes:
        assert refusal is not None
        raise refusal
    _explain_gaps(options, result)
    return PathReport(
        source=session.host,
        target=target,
        address=address,
        started_utc=started_utc,
        elapsed_s=time.monotonic() - started_s,
        routes=tuple(weigh_ends(route, result.routes) for route in result.routes),
        mtu=result.mtu,
        capacity=result.capacity,
        lost=tuple(result.lost),
    )


def _longest_s(options: PathOptions) -> float:
    capacity_s = options.capacity.budget_s if options.capacity else 0.0
    return 2 * (options.route.budget_s + capacity_s) + SPARE_S


def _can_measure_capacity(method: str, route: Route, options: PathOptions) -> bool:
    """Whether the capacity of a route's hops may still be measured: now, or by a later method."""
    if options.capacity is None or "udp" not in options.methods:
        return False
    if method != "udp":
        return options.methods.index("udp") > options.methods.index(method)
    return route.reached and not (options.in_seconds and _limits_only_hop(route))


def _limits_only_hop(route: Route) -> bool:
    """Whether a path of one hop ends at a host that answers only some of the probes."""
    return len(route.hops) == 1 and (route.hops[0].loss.loss_ratio or 0.0) > LIMITED_RATIO


def _measure_further(
    prober: RemoteProber, options: PathOptions, result: _Findings, observers: Sequence[PathObserver]
) -> None:
    """MTU by the first method that reaches the target, and what UDP shows of the hops."""
    route = result.routes[-1]
    if not route.reached:
        return
    if options.find_mtu and (result.mtu is None or result.mtu.mtu_bytes is None):
        for observer in observers:
            observer.on_step("path MTU")
        result.mtu = find_path_mtu(prober, options.route.timeout_ns)
    if options.capacity is not None and route.method == "udp":
        _measure_capacity(prober, options, options.capacity, result, observers)


def _measure_capacity(
    prober: RemoteProber,
    options: PathOptions,
    capacity: CapacityOptions,
    result: _Findings,
    observers: Sequence[PathObserver],
) -> None:
    """The capacity of the hops; of one hop in seconds, if requested, or not at all."""
    route = result.routes[-1]
    length = max(len(flow.hops) for flow in route.flows if flow.flow == 0)
    if options.in_seconds and length == 1:
        if _limits_only_hop(route):
            result.limited = True
            return
        capacity = _shorten(capacity, route)
    mtu_bytes = result.mtu.mtu_bytes if result.mtu is not None else None
    if mtu_bytes is None:
        mtu_bytes = prober.opened["mtu_bytes"]

    settled = 0

    def on_settled(estimates: Mapping[int, HopEstimate]) -> None:
        nonlocal settled
        settled = len(estimates)
        for observer in observers:
            observer.on_settled(estimates)

    def on_round(rounds: int, elapsed_s: float) -> None:
        for observer in observers:
            done = f"{settled} of {length} settled after round {rounds}"
            observer.on_step(f"capacity of the hops: {done}, {elapsed_s:.0f} s")

    for observer in observers:
        observer.on_step(f"capacity of the hops, at most {capacity.budget_s:g} s")
    measured = measure_capacity(prober, range(1, length + 1), mtu_bytes, capacity, on_settled, on_round)
    if measured.stopped == LIMITED:
        result.limited = True
    else:
        result.capacity = measured


def _shorten(capacity: CapacityOptions, route: Route) -> CapacityOptions:
    """The options for a single hop: a probe is waited for as long as its round trip needs."""
    slowest_ns = route.hops[0].rtt_median_ns or 0
    return replace(
        capacity,
        budget_s=min(capacity.budget_s, SINGLE_HOP_BUDGET_S),
        timeout_ns=min(capacity.timeout_ns, max(SHORTEST_TIMEOUT_NS, 4 * slowest_ns)),
        repeats=1,
        stop_limited=True,
    )


def _explain_gaps(options: PathOptions, result: _Findings) -> None:
    for route in result.routes:
        if not route.reached:
            result.lost.append(Lost(part=f"end of the route by {route.method}", reason=_explain_end(route)))
    if options.find_mtu and (result.mtu is None or result.mtu.mtu_bytes is None):
        reason = result.mtu.reason if result.mtu is not None else None
        result.lost.append(Lost(part="path MTU", reason=reason or "no method reached the target"))
    if options.capacity is not None and result.capacity is None:
        reason = "it needs UDP probes, which were not requested"
        if result.limited:
            reason = LIMITED_END
        elif "udp" in options.methods:
            reason = "the target did not answer UDP probes"
        result.lost.append(Lost(part="capacity of the hops", reason=reason))
    if any(not route.kept_ports for route in result.routes):
        reason = "the usual source ports are in use, so load balancers may choose other paths next time"
        result.lost.append(Lost(part="comparable flows", reason=reason))


def _explain_end(route: Route) -> str:
    refusals = sorted({flow.refused for flow in route.flows if flow.refused})
    words = {
        "silence": "no more answers; a filter may drop these probes",
        "max-hops": "the limit of hops was reached",
        "out-of-time": "the time budget is used up",
        "refused": f"a router refuses to forward: {'; '.join(refusals)}",
    }
    return words.get(route.stopped, route.stopped)
