"""Why each segment was sent again, by what the sender knew then.

Sources: RFC 5681 (fast retransmit after three duplicate acknowledgements), RFC 6675 and RFC 8985 (recovery by
SACK; RACK, which needs no SACK above a segment; tail-loss probe), RFC 6582 (partial acknowledgements),
RFC 6298 (timeout), RFC 2883 and RFC 3708 (spurious ones, by D-SACK).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from pathlab.analysis.packets.segments import SYN, Flags, Integers, Segments
from pathlab.analysis.packets.sequence_space import (
    NO_EDGE,
    ReturnedAcks,
    SentData,
    find_latest,
    locate_sack_blocks,
)

DUPLICATES_MIN = 3
#: Linux's least timeout is 200 ms (TCP_RTO_MIN), less one tick of its timer at 100 Hz and some delay.
TIMEOUT_MIN_NS = 180_000_000


class Cause(IntEnum):
    """Why a segment was sent again."""

    FAST = 1  # SACK blocks above it, three duplicate acknowledgements; without a pause until all is made up
    TIMEOUT = 2  # nothing arrived for the time of a timeout; and all that is sent again until it is made up
    TAIL_PROBE = 3  # the last segment, once, after a pause of a round trip or more
    UNEXPLAINED = 4  # nothing in the capture calls for it
    UNKNOWN = 5  # the acknowledgements were not captured


@dataclass(frozen=True, slots=True, kw_only=True)
class Retransmissions:
    """The retransmissions of one direction, in order.

    ``places``: in its ``SentData``. ``causes``: values of ``Cause``. ``spurious``: a D-SACK block later said
    that the bytes had arrived twice. ``dsack_blocks``: all such blocks; ``unmatched_dsack_blocks``: those of
    bytes of which the capture holds no retransmission.
    """

    places: Integers
    causes: Integers
    spurious: Flags
    dsack_blocks: int
    unmatched_dsack_blocks: int


def explain_retransmissions(
    segments: Segments,
    back: Segments,
    data: SentData,
    acks: ReturnedAcks,
    duplicate_acks: Flags,
    indices: Integers,
    *,
    base_rtt_ns: int | None,
    sack_permitted: bool | None,
) -> Retransmissions:
    """The cause of each retransmission in ``indices`` of ``data``; ``duplicate_acks``: of each of ``acks``.

    ``base_rtt_ns``: shortest RTT from end to end, None: not known. ``sack_permitted`` False: neither SACK nor
    tail-loss probes; None: not known.
    """
    spurious, blocks, unmatched = _find_spurious(back, data, acks, indices)
    causes = np.full(len(indices), int(Cause.UNKNOWN))
    if len(acks) and len(indices):
        causes[:] = _explain(
            data, acks, duplicate_acks, indices, base_rtt_ns, probes=sack_permitted is not False
        )
    causes[segments.flags[data.rows[indices]] & SYN > 0] = int(Cause.TIMEOUT)
    return Retransmissions(
        places=indices,
        causes=causes,
        spurious=spurious,
        dsack_blocks=blocks,
        unmatched_dsack_blocks=unmatched,
    )


def _explain(
    data: SentData,
    acks: ReturnedAcks,
    duplicate_acks: Flags,
    indices: Integers,
    base_rtt_ns: int | None,
    *,
    probes: bool,
) -> Integers:
    """One pass over the retransmissions with the state of the sender's recovery."""
    latest = find_latest(acks.numbers, data.numbers[indices])
    known = np.maximum(latest, 0)
    lowest = int(data.starts[0])
    unacked = np.where(latest >= 0, acks.acks[known], lowest)
    edges = np.where(latest >= 0, acks.sack_edges[known], NO_EDGE)
    counted = np.cumsum(duplicate_acks)
    advanced = np.concatenate(([True], acks.acks[1:] > acks.acks[:-1]))
    at_advance = np.maximum.accumulate(np.where(advanced, counted, 0))
    duplicates = np.where(latest >= 0, (counted - at_advance)[known], 0)
    last_event = np.maximum(
        np.where(latest >= 0, acks.times_ns[known], NO_EDGE),
        np.where(indices > 0, data.times_ns[np.maximum(indices - 1, 0)], NO_EDGE),
    )
    quiet = data.times_ns[indices] - last_event
    pause_ns = TIMEOUT_MIN_NS if base_rtt_ns is None else base_rtt_ns
    timeout_ns = max(TIMEOUT_MIN_NS, pause_ns)
    causes: list[int] = []
    timed_out_below = recovering_below = NO_EDGE
    probed: tuple[int, int] | None = None
    rows = zip(
        *(
            column.tolist()
            for column in (
                data.starts[indices],
                data.ends_at(indices),
                data.high_before[indices],
                unacked,
                edges,
                duplicates,
                quiet,
            )
        ),
        strict=True,
    )
    for start, end, high, una, edge, count, paused_ns in rows:
        evidence = edge > start or count >= DUPLICATES_MIN
        if una < timed_out_below:
            cause = Cause.TIMEOUT
        elif (evidence or una < recovering_below) and not (start <= una and paused_ns >= timeout_ns):
            cause = Cause.FAST
            recovering_below = max(recovering_below, high)
        elif probes and end >= high and paused_ns >= pause_ns and probed != (una, high):
            cause = Cause.TAIL_PROBE
            probed = (una, high)
        elif start <= una and paused_ns >= pause_ns:
            cause = Cause.TIMEOUT
            timed_out_below = high
        else:
            cause = Cause.UNEXPLAINED
        causes.append(int(cause))
    return np.array(causes, dtype=np.int64)


def _find_spurious(
    back: Segments, data: SentData, acks: ReturnedAcks, indices: Integers
) -> tuple[Flags, int, int]:
    """Which retransmissions a D-SACK block says were not needed; blocks; blocks without a retransmission.

    RFC 2883, section 4: the first block of an option is a D-SACK where it lies below the acknowledgement, or
    within the second block.
    """
    spurious = np.zeros(len(indices), dtype=np.bool_)
    at, left, right = locate_sack_blocks(back, acks.rows, acks.own_acks)
    if not len(at):
        return spurious, 0, 0
    first = np.concatenate(([True], at[1:] != at[:-1]))
    second = np.append(~first[1:], False)  # whether the block after it is of the same segment
    inside = second & (np.roll(left, -1) <= left) & (np.roll(right, -1) >= right)
    duplicate = np.flatnonzero(first & ((right <= acks.own_acks[at]) | inside))
    if not len(indices):
        return spurious, len(duplicate), len(duplicate)
    starts = np.unique(data.starts[indices])
    kind = np.searchsorted(starts, data.starts[indices]).tolist()
    numbers, ends = data.numbers[indices].tolist(), data.ends_at(indices).tolist()
    latest = [-1] * len(starts)
    unmatched = next_one = 0
    below = (np.searchsorted(starts, left[duplicate], side="right") - 1).tolist()
    when = acks.numbers[at[duplicate]].tolist()
    for number, index, edge in zip(when, below, left[duplicate].tolist(), strict=True):
        while next_one < len(numbers) and numbers[next_one] < number:
            latest[kind[next_one]] = next_one
            next_one += 1
        result = latest[index] if index >= 0 else -1
        if result >= 0 and ends[result] > edge:
            spurious[result] = True
        else:
            unmatched += 1
    return spurious, len(duplicate), unmatched
