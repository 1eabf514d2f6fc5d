"""What one end's cores did in the steady window: the busiest core, and the engine's own threads."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from pathlab.analysis.verdicts.host_limits import HostLoad
from pathlab.engines.spec import TrialSpec
from pathlab.study.flows.readings import WORKER_COLUMNS, read_host_load, read_series_table


def measure_host_load(spec: TrialSpec, tables: Mapping[str, pa.Table], end: str) -> HostLoad:
    """The load of the ``sender`` or the ``receiver``, from the series of a trial.

    Work and waiting are those of the engine's threads that have most of each. What a series does not state
    is None.
    """
    columns = {"intervals": ("start_ns", "end_ns"), "workers": WORKER_COLUMNS}
    series = [
        read_series_table(tables[f"{end}_{kind}"], names) if f"{end}_{kind}" in tables else None
        for kind, names in columns.items()
    ]
    end_ns = spec.cell.warmup_ns + spec.cell.duration_ns
    if spec.cell.transfer_bytes is not None and series[0] is not None and series[0].steady.any():
        end_ns = int(series[0].get("end_ns")[series[0].steady].max())
    return read_host_load(_find_busiest_core(spec, tables.get(f"{end}_cpu"), end_ns), *series)


def _find_busiest_core(spec: TrialSpec, cpu: pa.Table | None, end_ns: int) -> float | None:
    """Mean busy share of the busiest core, over the samples taken wholly inside the steady window."""
    begin_ns = spec.cell.warmup_ns
    busy: dict[int, list[float]] = {}
    for row in cpu.to_pylist() if cpu is not None else ():
        inside = begin_ns <= row["time_ns"] - row["span_ns"] and row["time_ns"] <= end_ns
        if inside and row["idle_ratio"] is not None:
            busy.setdefault(row["core"], []).append(1.0 - row["idle_ratio"])
    return max((float(np.mean(values)) for values in busy.values()), default=None)
