"""Packets that a capture holds more than once: taken on a bridge, on ``any``, or duplicated by the network.

The first one counts. All others are dropped before anything is counted, since a copy is neither a
retransmission nor a duplicate acknowledgement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pathlab.analysis.packets.segments import (
    FIN,
    HAS_IP_ID,
    HAS_TIMESTAMPS,
    RST,
    SYN,
    Flags,
    Integers,
    Segments,
)

#: Less than the least timeout of TCP (RFC 6298 says 1 s, Linux 200 ms): a SYN is not sent again sooner.
COPY_MAX_NS = 180_000_000
#: Share of the identifications of different packets in a row that differ where they tell packets apart.
DIFFERENT_RATIO = 0.9
#: Share of the segments that come again at once where the capture holds every packet several times, and how
#: many it takes to tell.
EVERY_RATIO = 0.8
EVERY_MIN = 4
_FACTORS = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1)
_COMPARED = ("sequences", "acks", "payload_bytes", "ts_values", "ts_echoes", "windows", "flags", "ip_ids")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Twins:
    """Segments of one direction that are like an earlier one in every header field.

    ``rows``: their places, those of equal segments together, in the order of the capture; ``before``: places
    of the one before each. ``are_told_apart``: their IP identification is that of one packet alone.
    ``segments``: how many take up sequence space, but for resets and twins.
    """

    rows: Integers
    before: Integers
    gaps_ns: Integers
    take_space: Flags
    are_syn: Flags
    are_told_apart: Flags
    segments: int

    @property
    def soon(self) -> Flags:
        """Which came again sooner than a timeout."""
        return self.gaps_ns <= COPY_MAX_NS

    def count_again(self) -> tuple[int, int]:
        """How many segments with sequence space came again soon, and how often in all."""
        chosen = self.take_space & self.soon
        begins = np.ones(len(self.rows), dtype=np.bool_)
        begins[1:] = self.before[1:] != self.rows[:-1]
        return int((chosen & begins).sum()), int(chosen.sum())


Sides = tuple[Segments, Segments]


def drop_copies(sides: Sides, measure_rtt: Callable[[Sides], int | None]) -> tuple[Sides, tuple[int, int]]:
    """Both directions of a connection without copies of packets, and how many each had.

    ``measure_rtt``: gives the shortest RTT from end to end of such directions in ns, None: not known.

    Notes
    -----
    A copy has the addresses, ports, sequence and acknowledgement numbers, flags, window, length, timestamps,
    SACK blocks and IP identification of an earlier packet. Where identifications differ from packet to
    packet, that is enough. Where they do not (IPv6; 0 in IPv4), a retransmission or a duplicate
    acknowledgement may look the same. Then these are copies: a SYN within 180 ms; data sooner than a round
    trip; and of a capture in which 80 % of the segments come again within 180 ms, all that come again as
    often.
    """
    twins = [_find_twins(side) for side in sides]
    if not any(len(twin.rows) for twin in twins):
        return sides, (0, 0)
    times = _count_times(twins)
    chosen = [_choose_copies(twin, count) for twin, count in zip(twins, times, strict=True)]
    open_ones = [index for index, count in enumerate(times) if count == 1 and len(twins[index].rows)]
    rtt_ns = measure_rtt(_drop_rows(sides, twins, chosen)) if open_ones else None
    if rtt_ns is not None:
        for index in open_ones:
            chosen[index] |= twins[index].take_space & (twins[index].gaps_ns < rtt_ns)
    return _drop_rows(sides, twins, chosen), (int(chosen[0].sum()), int(chosen[1].sum()))


def _drop_rows(sides: Sides, twins: Sequence[_Twins], chosen: Sequence[Flags]) -> Sides:
    kept = []
    for side, twin, copies in zip(sides, twins, chosen, strict=True):
        keep = np.ones(len(side), dtype=np.bool_)
        keep[twin.rows[copies]] = False
        kept.append(side.select(keep) if copies.any() else side)
    return kept[0], kept[1]


def _find_twins(side: Segments) -> _Twins:
    blocks = _mix_sack_blocks(side)
    mixed = np.zeros(len(side), dtype=np.uint32) if blocks is None else blocks.copy()
    for index, name in enumerate(_COMPARED):
        mixed ^= getattr(side, name).astype(np.uint32)
        mixed *= np.uint32(_FACTORS[index % len(_FACTORS)])
        mixed ^= mixed >> np.uint32(15)
    order = np.argsort(mixed, kind="stable")
    mixed = mixed[order]
    again = np.flatnonzero(mixed[1:] == mixed[:-1]) + 1
    del mixed
    rows, before = order[again], order[again - 1]
    del order
    same = np.ones(len(rows), dtype=np.bool_)
    for name in _COMPARED:
        values = getattr(side, name)
        same &= values[rows] == values[before]
    same &= (side.marks[rows] ^ side.marks[before]) & (HAS_IP_ID | HAS_TIMESTAMPS) == 0
    if blocks is not None:
        same &= blocks[rows] == blocks[before]
    rows, before = rows[same], before[same]
    edges = side.flags & (SYN | FIN) > 0
    space = ((side.payload_bytes > 0) | edges) & (side.flags & RST == 0)
    first = np.ones(len(side), dtype=np.bool_)
    first[rows] = False
    return _Twins(
        rows=rows,
        before=before,
        gaps_ns=np.abs(side.times_ns[rows] - side.times_ns[before]),
        take_space=space[rows],
        are_syn=side.flags[rows] & SYN > 0,
        are_told_apart=(side.ip_ids[rows] > 0) & (len(rows) > 0 and _have_distinct_ids(side, first)),
        segments=int((space & first).sum()),
    )


def _mix_sack_blocks(side: Segments) -> NDArray[np.uint32] | None:
    """One number of all SACK blocks of each segment; None: there is no block."""
    if not len(side.sack_rows):
        return None
    mixed = np.zeros(len(side), dtype=np.uint32)
    ordinals = side.sack_ordinals.astype(np.uint32) + np.uint32(1)
    parts = side.sack_left * np.uint32(_FACTORS[0]) ^ side.sack_right * np.uint32(_FACTORS[1])
    np.add.at(mixed, side.sack_rows, parts * (2 * ordinals + np.uint32(1)) ^ ordinals)
    return mixed


def _have_distinct_ids(side: Segments, first: Flags) -> bool:
    """Whether IP identifications differ from one packet to the next, copies left out."""
    ids = side.ip_ids[first & (side.marks & HAS_IP_ID > 0)]
    return len(ids) > 1 and bool(np.mean(ids[1:] != ids[:-1]) >= DIFFERENT_RATIO)


def _count_times(twins: Sequence[_Twins]) -> list[int]:
    """How often the capture holds every packet of each direction; 1 where it does not hold most again.

    A direction without data is as the other one.
    """
    counts = [twin.count_again() for twin in twins]
    segments, groups = sum(twin.segments for twin in twins), sum(group for group, _ in counts)
    if groups < EVERY_MIN or groups < EVERY_RATIO * segments:
        return [1, 1]
    times = 1 + round(sum(again for _, again in counts) / groups)
    pairs = zip(twins, counts, strict=True)
    return [times if group >= EVERY_RATIO * item.segments else 1 for item, (group, _) in pairs]


def _choose_copies(item: _Twins, times: int) -> Flags:
    """Which of the twins are copies, whatever the round trip is."""
    soon = item.soon
    chosen = item.are_told_apart | (item.are_syn & soon)
    if times == 1:
        return chosen
    begins = np.ones(len(item.rows), dtype=np.bool_)
    begins[1:] = item.before[1:] != item.rows[:-1]
    begins |= ~soon
    indices = np.arange(len(item.rows))
    begun = np.maximum.accumulate(np.where(begins, indices, 0))
    # The first of equal packets is no twin and has rank 0; so has a twin that came late, which is a packet.
    ranks = indices - begun + soon[begun]
    chosen |= soon & (ranks % times != 0)
    return chosen
