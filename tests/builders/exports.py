"""Results with everything that an export meets: series of both ends, lost probes, a failure, odd texts."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pyarrow as pa

from pathlab.store.records import OriginRecord
from tests.builders.stored import COMPLETE, FAILED, HOST, make_probes, make_results

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


def make_intervals(*, sender: bool) -> pa.Table:
    """Four intervals of 100 ms of four streams: warm-up, two steady, drain; 1000 bytes more each."""
    rows = [
        {
            "index": index,
            "phase": phase,
            "start_ns": index * 100_000_000,
            "end_ns": (index + 1) * 100_000_000,
            "stream": stream,
            "bytes": 1000 * (index + 1) + stream,
            "rtt_us": 40_000 + index if sender else None,
            "snd_cwnd_segments": 10 if sender else None,
            "snd_mss_bytes": 1448 if sender else None,
            "total_retrans_segments": (0, 7, 7, 9, 9)[index + 1] + stream if sender else None,
        }
        for index, phase in enumerate(("warmup", "steady", "steady", "drain"))
        for stream in range(4)
    ]
    table = pa.Table.from_pylist(rows)
    if not sender:
        table = table.select(["index", "phase", "start_ns", "end_ns", "stream", "bytes"])
    return table.set_column(1, "phase", table["phase"].dictionary_encode())


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
            "sender_intervals": make_intervals(sender=True),
            "receiver_intervals": make_intervals(sender=False),
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
