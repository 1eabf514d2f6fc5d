"""Which segments carried bytes that were seen before, filled a hole, or came out of order.

Source of the definitions: RFC 4737, sections 3 and 4. A segment is late where it begins below the highest
byte seen before it. Late bytes that the capture saw before were sent again, or are a probe; copies of packets
were dropped before (``copies``). Late bytes that it never saw fill a hole: either the packet was overtaken,
or it was lost before the capture and sent again. IP identifications and timestamps, which count up as packets
are sent, decide between the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from pathlab.analysis.packets.segments import HAS_IP_ID, HAS_TIMESTAMPS, Integers, Rows, Segments
from pathlab.analysis.packets.sequence_space import ReturnedAcks, SentData, find_latest

#: Share of the steps of IP identifications that are small and upwards where they count packets.
COUNTING_RATIO = 0.9
#: A super-packet may take as many identifications as it has segments.
ID_STEP_MAX = 256


class Late(IntEnum):
    """What a late segment is."""

    RETRANSMISSION = 1  # bytes that were seen before
    LOST_BEFORE = 2  # a retransmission of bytes that were lost before they reached the capture
    REORDERED = 3
    PROBE = 4  # a keep-alive, or a probe of a closed window
    UNDECIDED = 5  # fills a hole; neither identification, timestamp nor time decides


@dataclass(frozen=True, slots=True, kw_only=True)
class LateSegments:
    """The late segments of one direction, in order.

    ``places``: in its ``SentData``. ``kinds``: values of ``Late``. ``extents``: of a reordered segment the
    packets of data since the first that overtook it (RFC 4737, section 4.2.1), else 0; ``late_times_ns``: the
    time since then. ``new_bytes``: bytes seen for the first time. ``unseen_bytes``: bytes of holes that were
    never filled, in the whole direction.
    """

    places: Integers
    kinds: Integers
    extents: Integers
    late_times_ns: Integers
    new_bytes: Integers
    unseen_bytes: int

    def select(self, *kinds: Late) -> Integers:
        """Places in ``SentData`` of the segments of these kinds."""
        chosen: Integers = self.places[np.isin(self.kinds, kinds)]
        return chosen

    @property
    def retransmissions(self) -> Integers:
        """Places in ``SentData`` of all retransmissions."""
        return self.select(Late.RETRANSMISSION, Late.LOST_BEFORE)


def find_late_segments(
    segments: Segments, data: SentData, acks: ReturnedAcks, windows_bytes: Rows, base_rtt_ns: int | None
) -> LateSegments:
    """Classify the segments that begin below the highest byte before them.

    ``windows_bytes``: the receiver's window in each of ``acks``, -1: not known but for 0. ``base_rtt_ns``:
    the shortest RTT from end to end; a retransmission cannot follow a hole sooner. None: not known.
    """
    indices = np.flatnonzero(data.starts < data.high_before)
    gaps = np.flatnonzero(data.starts > data.high_before)
    filled, opened_by, unseen = _fill_holes(data, indices, gaps)
    kinds = np.full(len(indices), int(Late.RETRANSMISSION))
    filling = filled > 0
    overtaken = data.rows[opened_by[filling]]
    late_times = np.zeros(len(indices), dtype=np.int64)
    late_times[filling] = data.times_ns[indices[filling]] - data.times_ns[opened_by[filling]]
    counting = _is_counting(segments, data)
    kinds[filling] = _classify_fillers(
        segments, data.rows[indices[filling]], overtaken, late_times[filling], counting, base_rtt_ns
    )
    kinds[~filling] = _classify_seen(segments, data, indices[~filling], acks, windows_bytes)
    reordered = kinds == Late.REORDERED
    extents = np.where(reordered, indices - opened_by, 0)
    beyond = np.maximum(data.ends_at(indices) - data.high_before[indices], 0)
    return LateSegments(
        places=indices,
        kinds=kinds,
        extents=extents,
        late_times_ns=np.where(reordered, late_times, 0),
        new_bytes=filled + beyond,
        unseen_bytes=unseen,
    )


def _fill_holes(data: SentData, indices: Integers, gaps: Integers) -> tuple[Integers, Integers, int]:
    """Bytes of holes that each late segment fills, which segment opened the first such hole, bytes left.

    Sequence space is cut at every edge of a hole and of a late segment. Each piece of a hole is filled once,
    and pieces that are filled are skipped by following links that are shortened on the way (union-find), so
    that all takes linear time but for the sorting.
    """
    filled = np.zeros(len(indices), dtype=np.int64)
    opened_by = indices.copy()
    left, right = data.high_before[gaps], data.starts[gaps]
    hole_bytes = int((right - left).sum())
    if not len(gaps) or not len(indices):
        return filled, opened_by, hole_bytes
    starts, ends = data.starts[indices], np.minimum(data.ends_at(indices), data.high_before[indices])
    bounds = np.unique(np.concatenate((starts, ends, left, right)))
    hole = np.searchsorted(left, bounds[:-1], side="right") - 1
    is_open = (hole >= 0) & (bounds[:-1] < right[np.maximum(hole, 0)])
    first, last = np.searchsorted(bounds, starts), np.searchsorted(bounds, ends)
    before = np.concatenate(([0], np.cumsum(is_open)))
    touching = np.flatnonzero(before[last] > before[first])
    # the next piece that is still open, from each piece on
    pieces = np.arange(len(bounds))
    following = np.where(np.append(is_open, True), pieces, len(bounds))
    link = np.minimum.accumulate(following[::-1])[::-1].tolist()
    sizes, holes = np.diff(bounds).tolist(), hole.tolist()
    openers = gaps.tolist()
    for late, start, end in zip(
        touching.tolist(), first[touching].tolist(), last[touching].tolist(), strict=True
    ):
        piece = _follow_links(link, start)
        if piece < end:
            opened_by[late] = openers[holes[piece]]
        while piece < end:
            filled[late] += sizes[piece]
            link[piece] = piece + 1
            piece = _follow_links(link, piece)
    return filled, opened_by, hole_bytes - int(filled.sum())


def _follow_links(link: list[int], piece: int) -> int:
    root = piece
    while link[root] != root:
        root = link[root]
    while link[piece] != root:
        link[piece], piece = root, link[piece]
    return root


def _is_counting(segments: Segments, data: SentData) -> bool:
    """Whether the IP identifications of a direction count its packets."""
    rows = data.rows[data.in_order]
    rows = rows[segments.marks[rows] & HAS_IP_ID > 0]
    if len(rows) < 2:
        return False
    steps = np.diff(segments.ip_ids[rows])
    return bool(np.mean((steps > 0) & (steps <= ID_STEP_MAX)) >= COUNTING_RATIO)


def _classify_fillers(
    segments: Segments,
    rows: Rows,
    overtaken: Rows,
    late_times_ns: Integers,
    counting: bool,
    base_rtt_ns: int | None,
) -> Integers:
    """REORDERED where sent before the segment that opened the hole, LOST_BEFORE where sent after it."""
    order = np.zeros(len(rows), dtype=np.int64)  # below 0: sent before, above: after
    both = segments.marks[rows] & segments.marks[overtaken]
    stamped = both & HAS_TIMESTAMPS > 0
    order[stamped] = (segments.ts_values[rows] - segments.ts_values[overtaken]).view(np.int32)[stamped]
    if counting:
        known = both & HAS_IP_ID > 0
        order[known] = (segments.ip_ids[rows] - segments.ip_ids[overtaken]).view(np.int16)[known]
    soon = np.zeros(len(rows), dtype=np.bool_) if base_rtt_ns is None else late_times_ns < base_rtt_ns
    unclear = np.where(soon, int(Late.REORDERED), int(Late.UNDECIDED))
    kinds: Integers = np.where(
        order < 0, int(Late.REORDERED), np.where(order > 0, int(Late.LOST_BEFORE), unclear)
    )
    return kinds


def _classify_seen(
    segments: Segments, data: SentData, indices: Integers, acks: ReturnedAcks, windows_bytes: Rows
) -> Integers:
    """RETRANSMISSION, but for a keep-alive or a probe of a closed window.

    A keep-alive is one byte that is acknowledged already (RFC 9293, section 3.8.4). A probe is sent while the
    window is 0, beyond all that the receiver has offered; what is sent when the window opens carries its byte
    once more (section 3.8.6.1).
    """
    kinds = np.full(len(indices), int(Late.RETRANSMISSION))
    if not len(indices) or not len(acks):
        return kinds
    latest = find_latest(acks.numbers, data.numbers[indices])
    known, heard = np.maximum(latest, 0), latest >= 0
    single = (data.lengths[indices] == 1) & (segments.payload_bytes[data.rows[indices]] == 1)
    keep_alive = heard & single & (data.ends_at(indices) <= acks.acks[known])
    edges = acks.acks + np.maximum(windows_bytes, 0)
    beyond = heard & (data.starts[indices] >= acks.acks[known])
    offered = np.maximum.accumulate(edges)[known]
    whole = bool(windows_bytes.max() > 0 and windows_bytes.min() >= 0) & (data.starts[indices] >= offered)
    closed = beyond & (windows_bytes[known] == 0) & (single | whole)
    in_order = np.flatnonzero(data.in_order)
    result = in_order[
        np.maximum(np.searchsorted(data.starts[in_order], data.starts[indices], "right") - 1, 0)
    ]
    then = find_latest(acks.numbers, data.numbers[result])
    probed = (then >= 0) & (windows_bytes[np.maximum(then, 0)] == 0) & (data.lengths[result] == 1)
    probed &= (data.starts[result] == data.starts[indices]) & (
        data.high_before[indices] == data.ends_at(result)
    )
    probed &= segments.payload_bytes[data.rows[result]] == 1
    opened = (
        probed & heard & (windows_bytes[known] != 0) & (data.ends_at(indices) > data.high_before[indices])
    )
    kinds[keep_alive | closed | opened] = int(Late.PROBE)
    return kinds
