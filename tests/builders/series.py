"""Made-up series of one trial: readings of its streams, and the kernel's structs of the same readings."""

import base64
import random
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pathlab.store.hdr_histogram import Histogram, HistogramLayout


def make_intervals(streams: int, intervals: int) -> pa.Table:
    """Made-up readings, of which the counts grow and one column has nulls."""
    draw = random.Random(streams)
    rows = range(streams * intervals)
    return pa.table(
        {
            "index": [at // streams for at in rows],
            "start_ns": [at // streams * 100_000_000 for at in rows],
            "end_ns": [(at // streams + 1) * 100_000_000 for at in rows],
            "stream": [at % streams for at in rows],
            "bytes_sent": [at * 1448 + draw.randrange(1448) for at in rows],
            "rtt_us": pa.array([None if at % 7 == 3 else draw.randrange(2**32) for at in rows], pa.int64()),
        }
    )


def make_stream_intervals(steps: int, streams: int, **columns: Any) -> pd.DataFrame:
    """Intervals of 100 ms of each stream, two of them warm-up; a column is a number or one per record."""
    index = np.repeat(np.arange(steps), streams)
    times = {"start_ns": index * 100_000_000, "end_ns": (index + 1) * 100_000_000}
    phase = np.where(index < 2, "warmup", "steady")
    stream = np.tile(np.arange(streams), steps)
    return pd.DataFrame({"index": index, "phase": phase, **times, "stream": stream, **columns})


def make_histogram_row(start_ns: int, values: Sequence[int], **columns: Any) -> dict[str, Any]:
    """An interval of 100 ms in which those durations in ns were counted."""
    counted = Histogram.count_values(np.array(values, dtype=np.int64), HistogramLayout())
    return {
        **{"start_ns": start_ns, "end_ns": start_ns + 100_000_000, "count": len(values)},
        **{"min_ns": min(values, default=None), "max_ns": max(values, default=None)},
        "mean_ns": sum(values) / len(values) if values else None,
        "histogram": counted.encode(compressed=False) if values else None,
        **columns,
    }


def describe_round_trips(values: Sequence[int]) -> dict[str, Any]:
    """A ``round_trip_ns`` as the engine states it."""
    row = make_histogram_row(0, values)
    encoded = row["histogram"]
    hdr = None if encoded is None else base64.b64encode(encoded).decode("ascii")
    return {"count": len(values), **{name: row[f"{name}_ns"] for name in ("min", "max", "mean")}, "hdr": hdr}


def make_raw(intervals: pa.Table, order: str = "<", rest: int = 2) -> pa.Table:
    """Structs of what the intervals say (nulls as zeros), and of what they do not; ``rest`` readings more."""
    draw = random.Random(1)
    rows = intervals.to_pylist()
    rows += [{**row, "index": None} for row in rows[-rest:]] if rest else []
    structs = [
        struct.pack(f"{order}QII", row["bytes_sent"], row["rtt_us"] or 0, draw.randrange(2**32))
        for row in rows
    ]
    return pa.table(
        {
            "index": pa.array([row["index"] for row in rows], pa.int64()),
            "stream": pa.array([row["stream"] for row in rows], pa.int64()),
            "tcp_info": pa.array(structs, pa.binary()),
        }
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


def make_end_intervals(*, sender: bool) -> pa.Table:
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
