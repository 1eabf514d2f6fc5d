"""Counters of TCP as the records of an engine state them, those of MPTCP over all subflows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pathlab.engines.base import Record


def list_counters(records: Sequence[Record], field: str) -> Iterator[tuple[Record, list[int | None]]]:
    """Each record that may have TCP_INFO, intervals and the result, with the counter of each stream.

    Counters of the kernel grow from the connection on. Those of an MPTCP connection are of its first subflow,
    so that its subflows are summed up, each with its latest reading: one that was closed keeps what it had
    counted.
    """
    seen: dict[tuple[int, ...], int] = {}
    for record in records:
        if record.get("type") not in ("interval", "result"):
            continue
        for subflow in record.get("subflows") or ():
            if subflow.get(field) is not None:
                key = (subflow["stream"], subflow["local_port"], subflow["remote_port"])
                seen[key] = max(subflow[field], seen.get(key, 0))
        values = list((record.get("tcp_info") or {}).get(field) or ())
        for stream in {key[0] for key in seen if key[0] < len(values)}:
            values[stream] = sum(count for key, count in seen.items() if key[0] == stream)
        yield record, values
