"""Small records for tests of the store; every number is made up and stands for itself."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pyarrow as pa

from pathlab.store.records import CampaignRecord, HostRecord, PlanRecord, TrialRecord
from pathlab.store.results import Results

CAMPAIGN = CampaignRecord(
    name="sample",
    title="Two rows",
    digest="ab" * 32,
    text='format = 1\nname = "sample"\n# µ\n',
    model={"name": "sample", "seed": 7},
    seed=7,
    created_utc="2026-01-02T03:04:05+00:00",
    program_version="0.1.0",
    environment={"lab": {"backend": "packet"}, "fallback": None},
)
PLAN = tuple(
    PlanRecord(
        row=row,
        cycle=0,
        path_source="a",
        path_destination="b",
        settings={"streams": streams, "window_bytes": 65536, "congestion": "cubic"},
    )
    for row, streams in enumerate((4, 1))
)
HOST = HostRecord(name="a", recorded_utc="2026-01-02T03:04:06+00:00", facts={"kernel": "6.1", "cores": 2})
_EMPTY: dict[str, Any] = {field.name: None for field in dataclasses.fields(TrialRecord)}
FAILED = TrialRecord(
    **{
        **_EMPTY,
        "plan_row": 1,
        "attempt": 1,
        "status": "failed",
        "failed_stage": "connect",
        "failure": "connection refused",
        "started_utc": "2026-01-02T03:05:00+00:00",
        "cycle": 0,
        "path_source": "a",
        "path_destination": "b",
        "streams": 1,
        "interval_ns": 100_000_000,
        "warmup_ns": 1_000_000_000,
        "duration_ns": 2_000_000_000,
        "flags": (),
    }
)
COMPLETE = dataclasses.replace(
    FAILED,
    plan_row=0,
    status="complete",
    failed_stage=None,
    failure=None,
    streams=4,
    window_requested_bytes=65_536,
    window_granted_sender_bytes=131_072,
    window_effective_bytes=64_000.5,
    congestion_requested="cubic",
    steady_ns=2_000_000_123,
    received_steady_bytes=9_007_199_254_740_993,  # not a number that a float can hold
    throughput_bits_per_s=38_612_345.678,
    loaded_sent=100,
    loaded_received=99,
    loaded_rtt_min_ns=40_100_000.0,
    flags=("lab", "window-short"),
)


def make_probes(count: int = 3, *, begin_ns: int = 0) -> pa.Table:
    """Probes every 20 ms of which the second is lost."""
    return pa.table(
        {
            "sequence": pa.array(range(count), pa.int64()),
            "intended_ns": pa.array([begin_ns + 20_000_000 * n for n in range(count)], pa.int64()),
            "sent_ns": pa.array([begin_ns + 20_000_000 * n + 17 for n in range(count)], pa.int64()),
            "rtt_ns": pa.array([None if n == 1 else 40_000_001 + n for n in range(count)], pa.int64()),
            "stamps": pa.array(["kernel"] * count, pa.string()),
        }
    )


def make_results(folder: Path) -> Results:
    """A fresh results folder with the sample plan, open for writing."""
    return Results.create(folder, CAMPAIGN, PLAN)
