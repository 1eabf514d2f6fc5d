"""Round trips of technologies in memory: every factor over the transport beneath is known beforehand.

The median of a technology is ``base_ns + size * per_byte_ns``, times a factor for background load and a
noise that follows itself from cycle to cycle (first-order correlation).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pathlab.report.base.inputs import ReportInputs
from pathlab.store.records import PlanRecord, TrialRecord
from pathlab.study.analyses import Study
from tests.builders.messages import Setup, make_round_trips, measure_message
from tests.builders.results import DEFAULTS, Settings, SyntheticResults, make_hosts, plan_cycles, run_plan

SIZES = (64, 16384)
#: By what factor a load makes round trips longer, real-time priority half as much.
LOADS = {"none": 1.0, "cpu": 1.5, "disk": 1.02, "network": 1.2, "combined": 2.0}


@dataclass(frozen=True)
class Facts:
    """What a manifest says."""

    language: str = "c"
    beneath: str = "tcp"
    baseline: str | None = None
    adds: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Technology:
    """A technology and the model's figures of it."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    base_ns: float = 4_000.0
    per_byte_ns: float = 0.05
    versions: str | None = None
    hop_ns: float | None = None


def make_adapter(name: str, base_ns: float, per_byte_ns: float = 0.1, **changes: Any) -> Technology:
    return Technology({"engine": name}, base_ns, per_byte_ns, versions=f"{name} 1.2.3", **changes)


TECHNOLOGIES = (
    Technology({"transport": "shared-memory", "wait": "poll"}, 400.0, 0.02),
    Technology({"transport": "unix"}, 3_000.0),
    Technology(),
    Technology({"transport": "udp"}, 4_400.0),
    make_adapter("tcp-python", 5_100.0),
    make_adapter("redis", 20_600.0),
    make_adapter("grpc", 26_200.0),
    make_adapter("tcp-pipe", 7_800.0, hop_ns=2_200.0),
    make_adapter("quic-aioquic", 164_000.0, 80.0),
)
FACTS = {
    "tcp-python": Facts("python"),
    "redis": Facts("c", adds=("broker", "store and copy"), lacks=("persistence",)),
    "grpc": Facts("c++", adds=("HTTP/2 framing", "flow control", "deadlines"), lacks=("encryption",)),
    "tcp-pipe": Facts("pipe"),
    "quic-aioquic": Facts("python", "udp", "tcp-python", adds=("TLS 1.3 encryption",)),
}


def make_technology_results(
    technologies: Sequence[Technology] = TECHNOLOGIES,
    *,
    sizes: Sequence[int] = SIZES,
    settings: Sequence[Mapping[str, Any]] = ({},),
    cycles: int = 8,
    noise_ratio: float = 0.02,
    correlation: float = 0.5,
    histograms: bool = True,
    samples: int = 4000,
    seed: int = 5,
    loads: Mapping[str, float] = LOADS,
) -> SyntheticResults:
    """Every technology with every size at each of ``settings``, once in each cycle."""
    rng = np.random.default_rng(seed)
    cells = [
        (
            one,
            {
                **{**DEFAULTS, "message_bytes": size, "reply": True, "no_delay": True},
                **{"placement": "process", "engine": "native", "transport": "tcp", "wait": "block"},
                **one.settings,
                **extra,
            },
        )
        for one in technologies
        for size in sizes
        for extra in settings
    ]
    planned: list[Settings] = [chosen for _, chosen in cells]
    state = rng.normal(0, 1, len(cells))

    def order(count: int) -> Iterable[int]:
        nonlocal state
        state = correlation * state + np.sqrt(1 - correlation**2) * rng.normal(0, 1, count)
        return rng.permutation(count)

    def measure(row: PlanRecord) -> TrialRecord:
        place = planned.index(row.settings)
        factor = float(np.exp(noise_ratio * state[place])) * _find_factor(row.settings, loads)
        return _make_trial(cells[place][0], factor, row)

    return run_plan(
        plan_cycles(planned, cycles, order),
        measure,
        (lambda one: {"round_trips": make_round_trips(one, samples=samples)}) if histograms else None,
        make_hosts(),
        **{"name": "round-trip", "title": "Round trips by technology", "environment": {}},
    )


def make_technology_inputs(results: SyntheticResults, facts: Mapping[str, Any] = FACTS) -> ReportInputs:
    """The material of results, with what manifests say."""
    study = Study(results)
    study.technology_facts = facts
    return ReportInputs(study)


def weaken_loads(results: SyntheticResults) -> SyntheticResults:
    """The same, of which the load of cores hardly ran: 2 % beside technologies, 1 % beside transports."""
    cpu = {row.row for row in results.plan() if row.settings["background"] == "cpu"}
    results.records = [
        replace(one, flags=("background-weak",), background_cpu_ratio=0.02 if one.adapter_versions else 0.01)
        if one.plan_row in cpu
        else one
        for one in results.records
    ]
    return results


def _find_factor(extra: Mapping[str, Any], loads: Mapping[str, float]) -> float:
    load = loads[extra.get("background", "none")]
    return 1 + (load - 1) / 2 if extra.get("priority") else load


def _make_trial(one: Technology, factor: float, row: PlanRecord) -> TrialRecord:
    size = row.settings["message_bytes"]
    base = (one.base_ns + size * one.per_byte_ns) * factor
    trial = measure_message(Setup(base_ns=base - size, cpu_ns=base / 2), row, noise_ratio=0.0)
    hop, median = one.hop_ns, trial.round_trip_median_ns or 0
    return replace(
        trial,
        round_trip_p99_99_ns=median * 8,
        round_trip_p99_999_ns=median * 12,
        adapter_versions=one.versions,
        adapter_hop_ns=hop,
        flags=("adapter-hop",) if hop is not None and hop > 0.03 * base else (),
    )
