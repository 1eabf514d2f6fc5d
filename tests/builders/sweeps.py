"""Trials in memory for the studies: any cell, any figure, any flag; the interface of a results file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pathlab.store.records import CampaignRecord, HostRecord, PlanRecord, TrialRecord
from pathlab.study.analyses import Study
from tests.builders.results import SyntheticResults, make_campaign, make_trial

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
    settings: dict[str, Any] | None = None,
) -> SyntheticResults:
    """A sweep over the model with 3 % of noise, every trial passed through ``change``."""
    chosen = levels or [(streams, window) for window in WINDOWS for streams in STREAMS]
    rng = np.random.default_rng(5)
    plan: list[PlanRecord] = []
    trials: list[TrialRecord] = []
    for cycle in range(cycles):
        for streams, window in chosen:
            row = len(plan)
            planned = {"streams": streams, "window_bytes": window, "congestion": "cubic", **(settings or {})}
            plan.append(
                PlanRecord(
                    row=row, cycle=cycle, path_source="west", path_destination="east", settings=planned
                )
            )
            record = make_trial(streams, window, cycle=cycle, row=row)
            rate = model_rate(streams, window or 10**6) * float(rng.lognormal(0, 0.03))
            started = f"2026-01-02T{row // 3600 % 24:02d}:{row // 60 % 60:02d}:{row % 60:02d}+00:00"
            trials.append(change(replace(record, throughput_bits_per_s=rate, started_utc=started)))
    campaign = make_campaign(environment=environment or {})
    return SyntheticResults(campaign, plan, trials, {}, ())


def study(results: SyntheticResults) -> Study:
    """The analyses of results in memory."""
    return Study(results)


class BareResults(SyntheticResults):
    """A file without a single trial, a plan or hosts."""

    def __init__(self, campaign: CampaignRecord | None = None, hosts: Sequence[HostRecord] = ()) -> None:
        super().__init__(campaign or make_campaign(environment={}), [], [], {}, hosts)


def with_series(results: SyntheticResults, series: dict[str, pd.DataFrame]) -> SyntheticResults:
    """The same results, every trial with these series."""
    return SyntheticResults(
        results.campaign,
        results.plan(),
        results.records,
        dict.fromkeys(range(1, len(results.records) + 1), series),
        results.hosts(),
    )
