"""The columns of retransmissions and reordering as TCP saw them. Missing pieces stay None."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pathlab.engines.base import Record
from pathlab.runner.trial.choreography import TrialData
from pathlab.runner.trial.flow_records import list_intervals
from pathlab.runner.trial.tcp_counters import list_counters
from pathlab.store.flags import Phase

RETRANSMITTED, DUPLICATES = "total_retrans_segments", "dsack_dups_segments"


def measure_retransmissions(data: TrialData) -> dict[str, Any]:
    """The columns by name; the sender's but for what came out of order, which the receiver counts."""
    retransmitted = _read_last(data.sender, RETRANSMITTED)
    duplicates = _read_last(data.sender, DUPLICATES)
    spurious = None if duplicates is None or not retransmitted else duplicates / retransmitted
    return {
        "retransmitted_bytes": _read_last(data.sender, "bytes_retrans"),
        "retransmitted_segments": retransmitted,
        "retransmitted_steady_segments": _count_steady(data.sender, RETRANSMITTED),
        "reordering_seen_events": _read_last(data.sender, "reord_seen_events"),
        "dsack_duplicate_segments": duplicates,
        "out_of_order_segments": _read_last(data.receiver, "rcv_ooopack_segments"),
        "spurious_retransmission_ratio": spurious,
    }


def _read_last(records: Sequence[Record], field: str) -> int | None:
    """The sum over streams at the end, of those that state the counter; None where none does."""
    total = None
    for _, values in list_counters(records, field):
        known = [value for value in values if value is not None]
        total = sum(known) if known else total
    return total


def _count_steady(records: Sequence[Record], field: str) -> int | None:
    """The counter in the steady window: its last reading less the one before it, over all streams."""
    intervals = list_intervals(records)
    steady = [index for index, record in enumerate(intervals) if record["phase"] == Phase.STEADY]
    if not steady:
        return None
    readings = [values for _, values in list_counters(intervals, field)]
    last = readings[steady[-1]]
    before = readings[steady[0] - 1] if steady[0] else [0] * len(last)
    if not last or len(before) != len(last):
        return None
    return _subtract(last, before)


def _subtract(last: Iterable[int | None], before: Iterable[int | None]) -> int | None:
    after, start = list(last), list(before)
    if None in after or None in start:
        return None
    return sum(value or 0 for value in after) - sum(value or 0 for value in start)
