"""The columns of retransmissions and reordering as TCP saw them. Missing pieces stay None.

Counters of the kernel grow from the connection on. Those of an MPTCP connection are of its first subflow, so
that its subflows are summed up, each with its latest reading: one that was closed keeps what it had counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pathlab.engines.base import Record
from pathlab.runner.trial.choreography import TrialData
from pathlab.runner.trial.series import list_intervals
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
    for values in _list_readings(records, field):
        known = [value for value in values if value is not None]
        total = sum(known) if known else total
    return total


def _count_steady(records: Sequence[Record], field: str) -> int | None:
    """The counter in the steady window: its last reading less the one before it, over all streams."""
    intervals = list_intervals(records)
    steady = [place for place, record in enumerate(intervals) if record["phase"] == Phase.STEADY]
    if not steady:
        return None
    readings = list(_list_readings(intervals, field))
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


def _list_readings(records: Sequence[Record], field: str) -> Iterator[list[int | None]]:
    """The counter of each stream, for each record that has TCP_INFO: intervals and the result."""
    seen: dict[tuple[int, ...], int] = {}
    for record in records:
        if record.get("type") not in ("interval", "result"):
            continue
        for subflow in record.get("subflows") or ():
            if subflow.get(field) is not None:
                key = (subflow["stream"], subflow["local_port"], subflow["remote_port"])
                seen[key] = max(subflow[field], seen.get(key, 0))
        values = list(record.get("tcp_info", {}).get(field) or ())
        for stream in {key[0] for key in seen if key[0] < len(values)}:
            values[stream] = sum(count for key, count in seen.items() if key[0] == stream)
        yield values
