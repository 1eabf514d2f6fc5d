"""Trials of builds, or of levels of recording, in memory: every ratio is known beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pathlab.store.records import PlanRecord, TrialRecord
from tests.builders.results import SyntheticResults, make_campaign
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
    noise: float = 0.004,
    model: Mapping[str, Any] | None = None,
    also: Sequence[Mapping[str, Any]] = ({},),
) -> SyntheticResults:
    """Every level of ``factor`` in every cell and cycle; ``effects``: factors on figures, by level.

    All trials of a cycle share a drift of up to 30 %, each has noise of its own. ``also``: further settings,
    each with every level.
    """
    rng = np.random.default_rng(11)
    plan: list[PlanRecord] = []
    trials: list[TrialRecord] = []
    for cycle in range(cycles):
        drift = 1 + 0.3 * np.sin(cycle)
        for cell in cells:
            base = figures or (MESSAGES if "message_bytes" in cell else STREAM)
            for other in also:
                for level, effect in effects.items():
                    settings = {"window_bytes": None, "congestion": None, **cell, **other, factor: level}
                    row = PlanRecord(
                        row=len(plan), cycle=cycle, path_source="a", path_destination="b", settings=settings
                    )
                    plan.append(row)
                    values: dict[str, Any] = {
                        name: value * drift * effect.get(name, 1.0) * float(rng.lognormal(0, noise))
                        for name, value in base.items()
                    }
                    own = {"plan_row": row.row, "cycle": cycle, "streams": cell["streams"]}
                    trials.append(make_record(**{**CPU, **values, **own}))
    campaign = make_campaign(environment={}, model=dict(model or {}))
    return SyntheticResults(campaign, plan, trials, {})
