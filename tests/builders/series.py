"""Made-up series of one trial: readings of its streams, and the kernel's structs of the same readings."""

from __future__ import annotations

import base64
import random
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
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
