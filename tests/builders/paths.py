"""Probes and reports of paths, made up for tests: what a prober would have said."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pathlab.analysis.fits.per_hop import HopSamples
from pathlab.discover.capacity import CapacityOptions, CapacityResult, measure_capacity
from pathlab.discover.mtu import PathMtu
from pathlab.discover.path import Lost, PathReport
from pathlab.discover.probes import Probe, ProbePlan, ProbeTarget, RemoteProber, Sent
from pathlab.discover.route import Route, build_route

Wait = Callable[[np.random.Generator, int], NDArray[np.float64]]
SIZES = np.linspace(600, 1500, 16)
RATES = (100e6, 20e6, 50e6)
DELAYS_NS = (1e6, 3e6, 2e6)
REPLY_BYTES = 576
OPENED: dict[str, Any] = {
    "method": "udp",
    "address": "198.18.0.10",
    "local_address": "198.18.0.1",
    "privilege": "ordinary",
    "source_ports": [53100, 53101],
    "kept_ports": True,
    "mtu_bytes": 1500,
}


def probe(ttl: int, rtt_ns: int | None, **changes: Any) -> Probe:
    """A probe of flow 0 that router ``198.18.0.TTL`` answered, or nobody."""
    answered = rtt_ns is not None
    fields: dict[str, Any] = {
        "flow": 0,
        "ttl": ttl,
        "size_bytes": 600,
        "unsent": None,
        "rtt_ns": rtt_ns,
        "stamps": "kernel-receive" if answered else None,
        "kind": "time-exceeded" if answered else None,
        "code": 0 if answered else None,
        "source": f"198.18.0.{ttl}" if answered else None,
        "mtu_bytes": None,
        "reply_ttl": 64 if answered else None,
        "reply_bytes": REPLY_BYTES if answered else None,
    }
    return Probe(**{**fields, **changes})


class SimulatedPath(RemoteProber):
    """A prober over a path that is arithmetic: rates (bit/s, None: no limit), 1 ms a link, exponential waits.

    ``answer_ratio`` by TTL: how often a hop answers, 1 where not named.
    """

    def __init__(
        self,
        rates_bits_per_s: Sequence[float | None],
        *,
        wait_ns: float = 20_000.0,
        answer_ratio: dict[int, float] | None = None,
        seed: int = 1,
    ) -> None:
        self.target = ProbeTarget(address="198.18.0.10")
        self.opened = dict(OPENED)
        self.plans: list[ProbePlan] = []
        self._rates = list(rates_bits_per_s)
        self._wait_ns = wait_ns
        self._answer_ratio = answer_ratio or {}
        self._rng = np.random.default_rng(seed)

    def send(self, plan: ProbePlan) -> Sent:
        self.plans.append(plan)
        probes = [
            self._probe(ttl, size)
            for _ in range(plan.repeats)
            for ttl in plan.ttls
            for size in plan.sizes_bytes
        ]
        return Sent(probes=tuple(probes), late=0, ambiguous=0)

    def _probe(self, ttl: int, size_bytes: int) -> Probe:
        if self._rng.random() >= self._answer_ratio.get(ttl, 1.0):
            return probe(ttl, None, size_bytes=size_bytes)
        slope = sum(8e9 / rate for rate in self._rates[:ttl] if rate is not None)
        base = 2e6 * ttl + slope * (size_bytes + REPLY_BYTES)
        rtt_ns = round(base + self._rng.exponential(self._wait_ns))
        last = ttl >= len(self._rates)
        return probe(ttl, rtt_ns, size_bytes=size_bytes, kind="port-unreachable" if last else "time-exceeded")


def sample_route(hops: int = 3) -> Route:
    """A route of two flows, each hop answered twice by each."""
    probes = [
        probe(
            ttl,
            2_000_000 * ttl + extra,
            flow=flow,
            kind="port-unreachable" if ttl == hops else "time-exceeded",
        )
        for flow in (0, 1)
        for ttl in range(1, hops + 1)
        for extra in (0, 100_000)
    ]
    return build_route(OPENED, probes, {0: hops, 1: hops}, ("reached", 0, 0))


def sample_capacity(rates_bits_per_s: Sequence[float | None] = (100e6, 20e6, None)) -> CapacityResult:
    """A capacity result from a simulated path."""
    path = SimulatedPath(rates_bits_per_s)
    ttls = range(1, len(rates_bits_per_s) + 1)
    return measure_capacity(path, ttls, 1500, CapacityOptions())


def sample_report(**changes: Any) -> PathReport:
    """A whole report of three hops."""
    fields: dict[str, Any] = {
        "source": "local",
        "target": "far.example",
        "address": "198.18.0.10",
        "started_utc": "2026-01-02T03:04:05+00:00",
        "elapsed_s": 12.5,
        "routes": (sample_route(),),
        "mtu": PathMtu(
            mtu_bytes=1400, first_link_bytes=1500, limited_by="198.18.0.2", black_hole=False, reason=None
        ),
        "capacity": sample_capacity(),
        "lost": (Lost(part="route by tcp", reason="tcp probes need raw sockets"),),
    }
    return PathReport(**{**fields, **changes})


def draw_hops(
    rng: np.random.Generator, repeats: int, wait: Wait, rates: tuple[float, ...] = RATES
) -> list[HopSamples]:
    """Round trips to each hop of a path with links of these rates."""
    hops = []
    for hop in range(1, len(rates) + 1):
        sizes = np.tile(SIZES, repeats)
        slope = sum(8e9 / rate for rate in rates[:hop])
        rtt_ns = 2 * sum(DELAYS_NS[:hop]) + slope * (sizes + REPLY_BYTES) + wait(rng, sizes.size)
        hops.append(HopSamples(hop=hop, sizes_bytes=sizes, rtt_ns=rtt_ns, reply_bytes=REPLY_BYTES))
    return hops
