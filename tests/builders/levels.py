"""Trials of builds, or of levels of recording, in memory: every ratio is known beforehand."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pathlab.store.records import PlanRecord, TrialRecord
from tests.builders.results import SyntheticResults, plan_cycles, run_plan
from tests.builders.trials import make_record

#: Figures of a trial at the baseline.
STREAM = {"throughput_bits_per_s": 1e9, "sender_cpu_user_s": 0.5}
#: What the CPU cost of a byte takes besides.
CPU = {
    "received_total_bytes": 10**9,
    **{f"{end}_cpu_{part}_s": 0.0 for end in ("sender", "receiver") for part in ("user", "system")},
}
MESSAGES = {
    "throughput_bits_per_s": 64 * 8e6,
    "messages_per_s": 2e6,
    "round_trip_p99_ns": 50e3,
    "sender_cpu_ns_per_message": 600.0,
    "receiver_cpu_ns_per_message": 400.0,
}


def measure_levels(
    factor: str,
    effects: Mapping[Any, Mapping[str, float]],
    *,
    cells: Sequence[Mapping[str, Any]] = ({"streams": 1},),
    cycles: int = 12,
    figures: Mapping[str, float] | None = None,
    model: Mapping[str, Any] | None = None,
    also: Sequence[Mapping[str, Any]] = ({},),
) -> SyntheticResults:
    """Every level of ``factor`` in every cell and cycle; ``effects``: factors on figures, by level.

    All trials of a cycle share a drift of up to 30 %, each has noise of its own. ``also``: further settings,
    each with every level.
    """
    rng = np.random.default_rng(11)
    planned = [
        {"congestion": None, **cell, **other, factor: level}
        for cell in cells
        for other in also
        for level in effects
    ]

    def measure(row: PlanRecord) -> TrialRecord:
        effect = effects[row.settings[factor]]
        values = {
            name: value * (1 + 0.3 * np.sin(row.cycle)) * effect.get(name, 1.0) * rng.lognormal(0, 0.004)
            for name, value in (figures or (MESSAGES if "message_bytes" in row.settings else STREAM)).items()
        }
        own = {"plan_row": row.row, "cycle": row.cycle, "streams": row.settings["streams"]}
        own |= {"path_source": row.path_source, "path_destination": row.path_destination}
        return make_record(**{**CPU, **values, **own})

    return run_plan(plan_cycles(planned, cycles), measure, environment={}, model=dict(model or {}))
