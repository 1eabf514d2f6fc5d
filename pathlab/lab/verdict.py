"""Whether a lab emulated its links correctly during a trial: beyond these limits the lab shows, not the path.

What decides is what reaches the packets: none lost outside the model, and no more than 1 % of them delivered
later than a twentieth of the round trip, the margin within which differences do not matter, but 0.3 to 4 ms.
Busy cores and stolen time do harm by late deliveries alone: they explain them, and decide only where an
emulator does not state its lateness (docs/decisions/2026-11-22-lab-limited-by-lateness.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pathlab.analysis.estimators.margins import MARGIN_RATIO
from pathlab.lab.lab import Lab

LATE_NS = 300_000
LATE_OF_RTT_RATIO = MARGIN_RATIO
#: A scheduler's tick: an emulator that waits longer for a core is not alone, the ends wait as well.
LATE_MOST_NS = 4_000_000
EMULATOR_CORES = 0.85
HOST_BUSY_RATIO = 0.85
STEAL_RATIO = 0.01
#: Counts of an emulator that are 0 where the model alone decided.
OUTSIDE_THE_MODEL = (
    "write_errors",
    "overflow_dropped_packets",
    "unsplit_packets",
    "unreadable_packets",
    "socket_dropped",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabSnapshot:
    """Counters of the lab and of this machine at one instant.

    ``laps_ns``: the late 1 % of every lap up to now; trials at once each begin laps, and so end each other's.
    """

    links: tuple[dict[str, Any], ...]
    device_drops: int
    cpu_ticks: tuple[int, ...]  # the first line of /proc/stat
    laps_ns: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabVerdict:
    """What the lab did during a trial. ``reasons`` is empty where it may be trusted."""

    reasons: tuple[str, ...]
    outside_packets: int
    late_p99_ns: int | None  # the worst link; None: not reported (netem)
    emulator_cores: float | None  # the busiest emulator; None: not reported
    host_busy_ratio: float
    steal_ratio: float

    @property
    def trusted(self) -> bool:
        """Whether the trial is within the lab's limits."""
        return not self.reasons


def take_snapshot(lab: Lab, proc_stat: Path = Path("/proc/stat")) -> LabSnapshot:
    """Read everything; the lateness of deliveries is counted anew from here. Raises HostError (stage lab)."""
    with proc_stat.open(encoding="ascii") as lines:
        ticks = tuple(int(word) for word in lines.readline().split()[1:9])
    links = tuple(lab.counters(lap=True))
    return LabSnapshot(
        links=links,
        device_drops=lab.device_drops(),
        cpu_ticks=ticks,
        laps_ns=tuple(lab.lap_late_p99_ns),
    )


def evaluate_lab(before: LabSnapshot, after: LabSnapshot, idle_rtt_ns: int) -> LabVerdict:
    outside = after.device_drops - before.device_drops
    late = [late_ns for late_ns in after.laps_ns[len(before.laps_ns) :] if late_ns is not None]
    cores: list[float] = []
    for first, last in zip(before.links, after.links, strict=True):
        outside += sum(
            (last[way].get(key) or 0) - (first[way].get(key) or 0)
            for way in ("forward", "reverse")
            for key in OUTSIDE_THE_MODEL
        )
        late_ns = last["late_ns"]
        if late_ns is not None and late_ns["p99"] is not None:
            late.append(late_ns["p99"])
        if None not in (first["cpu_ns"], last["cpu_ns"]):
            elapsed_ns = last["elapsed_ns"] - first["elapsed_ns"]
            cores.append((last["cpu_ns"] - first["cpu_ns"]) / max(elapsed_ns, 1))
    ticks = [b - a for a, b in zip(before.cpu_ticks, after.cpu_ticks, strict=True)]
    total = max(sum(ticks), 1)
    verdict = LabVerdict(
        reasons=(),
        outside_packets=outside,
        late_p99_ns=max(late, default=None),
        emulator_cores=max(cores, default=None),
        host_busy_ratio=1 - (ticks[3] + ticks[4]) / total,
        steal_ratio=ticks[7] / total,
    )
    return replace(verdict, reasons=tuple(_list_reasons(verdict, idle_rtt_ns)))


def _list_reasons(verdict: LabVerdict, idle_rtt_ns: int) -> list[str]:
    reasons = []
    if verdict.outside_packets > 0:
        reasons.append(f"{verdict.outside_packets} packets were lost outside the emulated links")
    late_limit_ns = max(LATE_NS, min(LATE_OF_RTT_RATIO * idle_rtt_ns, LATE_MOST_NS))
    if verdict.late_p99_ns is not None and verdict.late_p99_ns > late_limit_ns:
        late, limit = verdict.late_p99_ns / 1e6, late_limit_ns / 1e6
        reasons.append(f"1 % of the packets came more than {late:.2f} ms late (limit {limit:.2f} ms)")
    if verdict.emulator_cores is not None and verdict.emulator_cores > EMULATOR_CORES:
        reasons.append(f"an emulator used {verdict.emulator_cores:.2f} of a core (limit {EMULATOR_CORES})")
    if not reasons and verdict.late_p99_ns is not None:
        return []
    if verdict.host_busy_ratio > HOST_BUSY_RATIO:
        busy = 100 * verdict.host_busy_ratio
        reasons.append(
            f"the cores of this machine were {busy:.0f} % busy (limit {100 * HOST_BUSY_RATIO:.0f} %)"
        )
    if verdict.steal_ratio > STEAL_RATIO:
        reasons.append(f"{100 * verdict.steal_ratio:.1f} % of this machine's CPU time was stolen (limit 1 %)")
    return reasons
