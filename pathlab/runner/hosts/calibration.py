"""What a host itself can do, measured once a run, so that its own limit is not taken for a path's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pathlab.remote.session import Session

#: Numbers of streams carried over the host's loopback; trials are compared with the nearest one.
STREAM_COUNTS = (1, 8)
_TIMEOUT_S = 20.0
_NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """One host's ceilings: loopback rates in bit/s by number of streams (copied), and all facts as stored."""

    loopback_bits_per_s: Mapping[int, float]
    facts: Mapping[str, Any]

    def ceiling_bits_per_s(self, streams: int) -> float | None:
        """The loopback rate at the measured number of streams nearest to ``streams``, by ratio."""
        if not self.loopback_bits_per_s:
            return None
        nearest = min(self.loopback_bits_per_s, key=lambda count: abs(math.log(count / streams)))
        return self.loopback_bits_per_s[nearest]


def calibrate(session: Session, congestion: str | None) -> Calibration:
    """Measure a host with the congestion control that trials will use (None: its default).

    Raises HostError when the engine cannot. Takes about two seconds.
    """
    options: dict[str, str | int] = {
        "streams": ",".join(map(str, STREAM_COUNTS)),
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


def read_calibration(records: list[dict[str, Any]]) -> Calibration:
    """The engine's records (native/PROTOCOL.md, `calibrate`) as a :class:`Calibration`."""
    facts: dict[str, Any] = {}
    rates: dict[str, float] = {}
    ceilings: dict[int, float] = {}
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
            if transfer == "copy":
                ceilings[streams] = record["bits_per_s"]
    facts["loopback_bits_per_s"] = rates
    return Calibration(loopback_bits_per_s=ceilings, facts=facts)
