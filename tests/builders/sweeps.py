"""Trials in memory for the studies: any cell, any figure, any flag; the interface of a results file."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pathlab.store.records import PlanRecord, TrialRecord
from tests.builders.results import SyntheticResults, plan_cycles, run_plan
from tests.builders.trials import measure_row

CAPACITY, RTT_NS = 30e6, 160e6
STREAMS = (1, 2, 3, 4, 6, 8, 12)
WINDOWS = tuple(1024 * size for size in (16, 32, 64, 128))
Change = Callable[[TrialRecord], TrialRecord]


def model_rate(streams: int, window_bytes: int) -> float:
    """The windows' rate and the line's, joined by a p-norm of 6, bit/s."""
    return float(((streams * window_bytes * 8e9 / RTT_NS) ** -6 + CAPACITY**-6) ** (-1 / 6))


def make_sweep(
    cycles: int,
    *,
    levels: Sequence[tuple[int, int | None]] | None = None,
    change: Change = lambda record: record,
    environment: dict[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> SyntheticResults:
    """A sweep over the model with 3 % of noise, every trial passed through ``change``."""
    chosen = levels or [(streams, window) for window in WINDOWS for streams in STREAMS]
    rng = np.random.default_rng(5)

    def measure(row: PlanRecord) -> TrialRecord:
        rate = model_rate(row.settings["streams"], row.settings["window_bytes"] or 10**6)
        return change(measure_row(row, throughput_bits_per_s=rate * float(rng.lognormal(0, 0.03))))

    cells = [{"streams": streams, "window_bytes": window, **(settings or {})} for streams, window in chosen]
    return run_plan(plan_cycles(cells, cycles), measure, environment=environment or {})
