"""What a host itself can do, measured once a run, so that its own limit is not taken for a path's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from pathlab.remote.session import Session

#: Numbers of streams carried over the host's loopback; trials are compared with the nearest one, by ratio.
STREAM_COUNTS = (1, 8)
_TIMEOUT_S = 20.0
_NS_PER_MS = 1_000_000


def choose_counts(streams: Iterable[int]) -> list[int]:
    """The numbers of streams to calibrate with: those with which trials of so many streams are compared."""
    return sorted({min(STREAM_COUNTS, key=lambda count: abs(math.log(count / stream))) for stream in streams})


def calibrate(session: Session, congestion: str | None, counts: Sequence[int]) -> dict[str, Any]:
    """Measure a host with the congestion control that trials will use (None: its default).

    ``counts`` are numbers of streams, each of which takes a quarter of a second. Raises HostError when the
    engine cannot.
    """
    options: dict[str, str | int] = {
        "streams": ",".join(map(str, counts)),
        "transfer": "copy",
        "duration-ns": 200 * _NS_PER_MS,
        "warmup-ns": 50 * _NS_PER_MS,
        "timer-count": 200,
    }
    if congestion is not None:
        options["congestion"] = congestion
    job = session.start_engine("calibrate", options, seconds=_TIMEOUT_S)
    try:
        job.wait_for("result", _TIMEOUT_S)
        return read_calibration(job.records)
    finally:
        job.kill()


def read_calibration(records: list[dict[str, Any]]) -> dict[str, Any]:
    """The engine's records (native/PROTOCOL.md, `calibrate`) as the host's facts; loopback rates in bit/s."""
    facts: dict[str, Any] = {}
    rates: dict[str, float] = {}
    for record in records:
        kind = record["type"]
        if kind == "clock":
            facts["clock_resolution_ns"] = record["resolution_ns"]
            facts["clock_read_ns"] = record["read_ns"]
        elif kind == "timer":
            facts["timer_late_ns"] = record["late_ns"]
        elif kind == "loopback":
            streams, transfer = record["streams"], record["transfer"]
            rates[f"{streams} {'stream' if streams == 1 else 'streams'}, {transfer}"] = record["bits_per_s"]
            facts["loopback_congestion"] = record["congestion"]
            facts["tcp_info_read_ns"] = record["tcp_info_read_ns"]
    facts["loopback_bits_per_s"] = rates
    return facts
