"""Small records for tests of the store; every number is made up and stands for itself."""

import contextlib
import dataclasses
import hashlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from pathlab.campaign.model import Campaign
from pathlab.runner.campaign.run import plan_records
from pathlab.store.records import HostRecord, OriginRecord, PlanRecord
from pathlab.store.results import Results
from pathlab.store.series import decode_series
from tests.builders.results import make_campaign
from tests.builders.series import make_end_intervals, make_probes
from tests.builders.trials import make_record

CAMPAIGN = make_campaign(
    name="sample",
    title="Two rows",
    digest="ab" * 32,
    text='format = 1\nname = "sample"\n# µ\n',
    model={"name": "sample", "seed": 7},
    seed=7,
    created_utc="2026-01-02T03:04:05+00:00",
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
#: Of both trials.
_TIMES: dict[str, Any] = {
    "started_utc": "2026-01-02T03:05:00+00:00",
    "warmup_ns": 1_000_000_000,
    "duration_ns": 2_000_000_000,
}
FAILED = make_record(
    **{**_TIMES, "plan_row": 1, "status": "failed"}, failed_stage="connect", failure="connection refused"
)
COMPLETE = make_record(
    **_TIMES,
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


def make_results(folder: Path) -> Results:
    """A fresh results folder with the sample plan, open for writing."""
    return Results.create(folder, CAMPAIGN, PLAN)


ODD = 'a "b"\\c\nd,e'
STEADY_NS = (100_000_000, 300_000_000)
LOADED = make_probes(begin_ns=150_000_000)
ORIGIN = OriginRecord(
    trial_id=0,
    program="iperf3",
    program_version="3.12",
    file_name="run.json",
    file_sha256="ef" * 32,
    part="forward",
    imported_utc="2026-01-02T03:06:00+00:00",
    details={"role": "client"},
)


def fill_results(folder: Path) -> Path:
    """Store two complete trials, one of them imported, and a failed one; return the folder."""
    raw = pa.table(
        {
            "index": pa.array([0, None], pa.int64()),
            "stream": pa.array([0, 0], pa.int64()),
            "tcp_info": pa.array([b"\x00\xff", b"\x01"], pa.binary()),
        }
    )
    with make_results(folder) as results:
        results.add_host(HOST)
        series = {
            "sender_intervals": make_end_intervals(sender=True),
            "receiver_intervals": make_end_intervals(sender=False),
            "loaded_probes": LOADED,
            "sender_tcp_info_raw": raw,
        }
        results.add_trial(COMPLETE, series)
        results.add_trial(dataclasses.replace(FAILED, failure=ODD), {})
        other = dataclasses.replace(
            COMPLETE,
            plan_row=1,
            attempt=2,
            path_source=ODD,
            window_requested_bytes=None,
            started_utc="2026-01-02T03:07:00.250+00:00",
            flags=("imported",),
        )
        results.add_trial(other, {"unloaded_probes": make_probes(5)}, origin=ORIGIN)
    return folder


def change_database(folder: Path, statement: str, *values: object) -> Path:
    """Change a results file behind the program's back; return the folder."""
    with contextlib.closing(sqlite3.connect(folder / "results.db")) as connection, connection:
        connection.execute(statement, values)
    return folder


def replace_series(folder: Path, kind: str, change: Callable[[pa.Table], bytes]) -> Path:
    """Put other bytes in the place of a series, with their digest; return the folder."""
    with contextlib.closing(sqlite3.connect(folder / "results.db")) as connection:
        (blob,) = connection.execute("SELECT blob FROM series WHERE kind = ?", (kind,)).fetchone()
    changed = change(decode_series(kind, blob))
    digest = hashlib.sha256(changed).hexdigest()
    update = "UPDATE series SET blob = ?, sha256 = ? WHERE kind = ?"
    return change_database(folder, update, changed, digest, kind)


def create_results(folder: Path, campaign: Campaign) -> Results:
    """A fresh results folder of a campaign with its plan, open for writing."""
    record = make_campaign(
        name=campaign.name,
        title=campaign.title,
        digest=campaign.digest,
        text="",
        model=campaign.to_stored(),
        seed=campaign.seed,
        environment={},
    )
    return Results.create(folder, record, plan_records(campaign))
