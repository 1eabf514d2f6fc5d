"""What one end's cores did in the steady window: the busiest core, and the engine's own threads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pathlab.analysis.verdicts.host_limits import HostLoad
from pathlab.engines.base import Record, first
from pathlab.engines.spec import TrialSpec
from pathlab.runner.trial.series import list_intervals


def measure_host_load(spec: TrialSpec, samples: Sequence[Record], records: Sequence[Record]) -> HostLoad:
    """The load of one end, by its host's samples of all cores and its engine's records.

    Work and waiting are those of the engine's threads that have most of each. What one of the records does
    not state is None.
    """
    steady = [record for record in list_intervals(records) if record["phase"] == "steady"]
    span_ns = sum(record["end_ns"] - record["start_ns"] for record in steady)
    return HostLoad(
        busiest_core_ratio=_find_busiest_core(spec, samples, first(records, "start")),
        engine_core_ratio=_find_share(steady, ("user_ns", "system_ns"), span_ns),
        waiting_ratio=_find_share(steady, ("waiting_ns",), span_ns),
    )


def _find_share(steady: Sequence[Record], keys: Sequence[str], span_ns: int) -> float | None:
    """The largest share of the span that one thread spent so; None where a record does not state it."""
    spent_ns: dict[int, int] = {}
    for record in steady:
        for number, worker in enumerate(record["workers"]):
            parts = [worker.get(key) for key in keys]
            if None in parts:
                return None
            spent_ns[number] = spent_ns.get(number, 0) + sum(parts)
    return max(spent_ns.values()) / span_ns if spent_ns and span_ns > 0 else None


def _find_busiest_core(spec: TrialSpec, samples: Sequence[Record], start: Record | None) -> float | None:
    """Mean busy share of the busiest core, over the samples taken wholly inside the steady window."""
    if start is None:
        return None
    begin_ns = start["monotonic_ns"] + spec.cell.warmup_ns
    end_ns = begin_ns + spec.cell.duration_ns
    busy: dict[int, list[float]] = {}
    for sample in samples:
        if begin_ns <= sample["time_ns"] - sample["span_ns"] and sample["time_ns"] <= end_ns:
            for core in sample["cores"]:
                if core["idle_ratio"] is not None:
                    busy.setdefault(core["core"], []).append(1.0 - core["idle_ratio"])
    return max((float(np.mean(values)) for values in busy.values()), default=None)
