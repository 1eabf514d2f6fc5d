"""The records of several receivers as those of one, which has all streams of the sender in its order.

Stream s of the sender goes to receiver s modulo their number (native/PROTOCOL.md). Arrays with a value for
each stream are interleaved, workers put one behind the other, counts summed; of other values those of the
first receiver are kept. The receivers' clocks are not compared: each one's times are since its own start,
and a span of the merged records reaches from the latest start to the latest end, so that spans stay adjacent.
No receiver need have had that span: a merged phase has ``spans_ns``, the length of each stream's own one.
"""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from pathlab.store.flags import Phase

Record = dict[str, Any]

#: Records that a merged end has once; the others are intervals, and what each receiver alone said.
_ONCE = ("hello", "listening", "ready", "start")
#: What is counted in an interval, so that a receiver that has none has counted nothing.
_COUNTED = ("bytes", "sent_bytes", "messages")
#: How values of one key become one, where it is not the first one.
_RULES: Mapping[str, Callable[[Sequence[Any]], Any]] = {
    "complete": all,
    "end_ns": max,
    "late_ns": max,
    "rejected": sum,
    "reset_streams": sum,
    "start_ns": max,
    "streams": sum,
    "workers": sum,
}


def merge_receivers(receivers: Sequence[Sequence[Record]], streams: int) -> list[Record]:
    """Return the records of one end with ``streams`` streams, shared evenly by ``receivers``.

    A kind that a receiver has not stated, as after a failure, is left out; of intervals what there is.
    """
    merged = [_merge(value) for kind in _ONCE if None not in (value := _first_of_each(receivers, kind))]
    merged += _merge_intervals(receivers, streams // len(receivers))
    result = _first_of_each(receivers, "result")
    merged += [] if None in result else [_merge(result)]
    known = {*_ONCE, "interval", "result"}
    return merged + [record for record in chain.from_iterable(receivers) if record["type"] not in known]


def _first_of_each(receivers: Sequence[Sequence[Record]], kind: str) -> list[Any]:
    return [next((record for record in own if record["type"] == kind), None) for own in receivers]


def _merge_intervals(receivers: Sequence[Sequence[Record]], share: int) -> Iterator[Record]:
    """The n-th intervals of each phase together; the last phase may be longer at one of them."""
    index = 0
    for phase in Phase:
        own: list[list[Record]] = [
            [record for record in records if record["type"] == "interval" and record["phase"] == phase]
            for records in receivers
        ]
        for number in range(max(map(len, own))):
            present = [part[number] if number < len(part) else None for part in own]
            before = [part[-1] if part else {} for part in own]
            known = next(record for record in present if record is not None)
            parts = [
                record or _stand_in(known, last, share) for record, last in zip(present, before, strict=True)
            ]
            yield {**_merge(parts), "index": index}
            index += 1


def _stand_in(interval: Record, last: Record, share: int) -> Record:
    """An interval in which a receiver counted nothing: its own latest state, or none."""
    nothing: Record = {key: [0] * share for key in _COUNTED if key in interval}
    state = {key: [None] * share for key in interval.get("tcp_info", ())}
    idle = [dict.fromkeys(worker, 0) for worker in last.get("workers", ())]
    own = {"tcp_info": last.get("tcp_info", state)} if "tcp_info" in interval else {}
    span = {key: interval[key] for key in ("type", "phase", "start_ns", "end_ns")}
    return {**span, **nothing, **own, "workers": idle}


def _merge(records: Sequence[Any]) -> Record:
    """Tables of the same kind as one."""
    keys = dict.fromkeys(chain.from_iterable(records))
    merged = {key: _merge_values(key, [record.get(key) for record in records]) for key in keys}
    return {key: value for key, value in merged.items() if value is not None or key in records[0]}


def _merge_values(key: str, values: Sequence[Any]) -> Any:
    known = [value for value in values if value is not None]
    if not known or (key == "priority" and len(known) < len(values)):
        return None
    if key == "tcp_info_raw":
        return _merge_structs(values)
    if key == "subflows":
        return _merge_subflows(values)
    if key == "phases":
        known = [{name: _add_spans(phase) for name, phase in phases.items()} for phases in known]
        return _merge(known)
    if isinstance(known[0], dict):
        return _merge([value or {} for value in values])
    if isinstance(known[0], list):
        if key in ("workers", "cores"):
            return list(chain.from_iterable(known))
        return _number_sockets(_interleave(values)) if key == "sockets" else _interleave(values)
    rule = _RULES.get(key)
    return known[0] if rule is None else rule(known)


def _add_spans(phase: Record) -> Record:
    return {**phase, "spans_ns": [phase["end_ns"] - phase["start_ns"]] * len(phase["bytes"])}


def _interleave(parts: Sequence[list[Any] | None]) -> list[Any]:
    """Stream s is the one of part s modulo their number; null for those of a missing part."""
    share = max(len(part) for part in parts if part is not None)
    whole = [[None] * share if part is None else part for part in parts]
    return [part[number] for number in range(share) for part in whole]


def _number_sockets(sockets: Sequence[Record]) -> list[Record]:
    return [{**socket, "stream": stream} for stream, socket in enumerate(sockets)]


def _merge_subflows(parts: Sequence[list[Record] | None]) -> list[Record]:
    """Subflows of all streams, with the streams' numbers at the sender."""
    numbered = [
        {**subflow, "stream": subflow["stream"] * len(parts) + index}
        for index, part in enumerate(parts)
        for subflow in part or ()
    ]
    return sorted(numbered, key=lambda subflow: int(subflow["stream"]))


def _merge_structs(parts: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """The kernels' structs of all streams; None where one is missing, or kernels have different ones."""
    sizes = {part["bytes"] if part else None for part in parts}
    size = sizes.pop()
    if sizes or not size:
        return None
    structs: defaultdict[int, bytes] = defaultdict(bytes)
    for part in filter(None, parts):
        data = base64.b64decode(part["base64"])
        for number in range(len(data) // size):
            structs[number] += data[number * size : (number + 1) * size]
    joined = b"".join(structs[number] for number in sorted(structs))
    return {"bytes": size, "base64": base64.b64encode(joined).decode("ascii")}
