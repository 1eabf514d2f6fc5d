"""Sequence numbers without their wrap at 2^32, and what one direction had said when the other sent.

Every array is in the order of the capture. All steps take linear time, or that of a binary search per packet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pathlab.analysis.packets.segments import ACK, FIN, RST, SYN, Flags, Integers, Rows, Segments, Words


def find_rows(chosen: Flags) -> Rows:
    """Places of what is True. They are as short as fits: there may be millions."""
    return np.flatnonzero(chosen).astype(np.int32)


def unwrap_words(words: Words, base: int) -> Integers:
    """32-bit numbers as 64-bit ones, each within 2^31 of the one before; the first within 2^31 of ``base``.

    Notes
    -----
    Assumption: two packets that follow each other in the capture are less than 2 GiB apart.
    """
    if not len(words):
        return np.zeros(0, dtype=np.int64)
    steps = np.empty(len(words), dtype=np.int64)
    steps[0] = base + _as_signed(int(words[0]) - base)
    steps[1:] = (words[1:] - words[:-1]).view(np.int32)
    return np.cumsum(steps, out=steps)


def _as_signed(difference: int) -> int:
    return (difference + (1 << 31)) % (1 << 32) - (1 << 31)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentData:
    """The segments of one direction that take up sequence space: data, SYN, FIN.

    ``rows``: places in its ``Segments``. ``starts``: unwrapped. ``lengths``: SYN and FIN count as one byte.
    ``high_before``: the highest end of all segments before; of the first one, its own start.
    """

    rows: Rows
    numbers: Words
    times_ns: Integers
    starts: Integers
    lengths: Words
    high_before: Integers

    def __len__(self) -> int:
        return len(self.rows)

    def ends_at(self, indices: Rows | Integers | Flags | slice) -> Integers:
        """The first sequence number behind each segment of ``indices``."""
        ends: Integers = self.starts[indices] + self.lengths[indices]
        return ends

    @property
    def in_order(self) -> Flags:
        """True for segments that begin where all before ended, or beyond."""
        return self.starts >= self.high_before


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnedAcks:
    """The acknowledgements of one direction's data, in the sequence space of ``SentData``.

    ``rows``: places in the ``Segments`` of the other direction. ``acks``: the highest so far. ``own_acks``:
    of each segment. ``sack_edges``: the highest right edge of a SACK block above the acknowledgement so
    far; ``NO_EDGE`` before the first one.
    """

    rows: Rows
    numbers: Words
    times_ns: Integers
    own_acks: Integers
    acks: Integers
    sack_edges: Integers

    def __len__(self) -> int:
        return len(self.rows)


NO_EDGE = int(np.iinfo(np.int64).min)


def collect_data(segments: Segments) -> SentData:
    """The segments that take up sequence space. Resets are left out: their numbers need not be in it."""
    lengths = segments.payload_bytes.copy()
    edges = np.flatnonzero(segments.flags & (SYN | FIN))
    lengths[edges] += (segments.flags[edges] & SYN > 0).astype(np.uint32) + (segments.flags[edges] & FIN > 0)
    rows = find_rows((lengths > 0) & (segments.flags & RST == 0))
    whole = len(rows) == len(segments)
    sequences = segments.sequences if whole else segments.sequences[rows]
    lengths = lengths if whole else lengths[rows]
    starts = unwrap_words(sequences, int(sequences[0]) if len(rows) else 0)
    high = np.empty(len(rows) + 1, dtype=np.int64)
    high[0] = starts[0] if len(rows) else 0
    np.add(starts, lengths, out=high[1:])
    np.maximum.accumulate(high, out=high)
    return SentData(
        rows=rows,
        numbers=segments.numbers if whole else segments.numbers[rows],
        times_ns=segments.times_ns if whole else segments.times_ns[rows],
        starts=starts,
        lengths=lengths,
        high_before=high[:-1],
    )


def collect_acks(segments: Segments, data: SentData) -> ReturnedAcks:
    """What ``segments`` of the other direction acknowledge of ``data``."""
    rows = find_rows(segments.flags & (ACK | RST) == ACK)
    whole = len(rows) == len(segments)
    base = int(data.starts[0]) if len(data) else 0
    own = unwrap_words(segments.acks if whole else segments.acks[rows], base)
    edges = np.full(len(rows), NO_EDGE)
    indices, _, right = locate_sack_blocks(segments, rows, own)
    above = right > own[indices]
    np.maximum.at(edges, indices[above], right[above])
    np.maximum.accumulate(edges, out=edges)
    return ReturnedAcks(
        rows=rows,
        numbers=segments.numbers if whole else segments.numbers[rows],
        times_ns=segments.times_ns if whole else segments.times_ns[rows],
        own_acks=own,
        acks=np.maximum.accumulate(own),
        sack_edges=edges,
    )


def locate_sack_blocks(
    segments: Segments, rows: Rows, own_acks: Integers
) -> tuple[Integers, Integers, Integers]:
    """SACK blocks of the segments in ``rows``: their places there, left and right edges, unwrapped."""
    indices = np.searchsorted(rows, segments.sack_rows.astype(np.int32))
    known = indices < len(rows)
    known[known] = rows[indices[known]] == segments.sack_rows[known]
    indices = indices[known]
    acks = own_acks[indices]
    low = (acks & 0xFFFFFFFF).astype(np.uint32)
    left = acks + (segments.sack_left[known] - low).view(np.int32)
    right = acks + (segments.sack_right[known] - low).view(np.int32)
    return indices, left, right


def find_latest(numbers: Words, before: Words) -> Integers:
    """For each packet number of ``before`` the place of the last of ``numbers`` below it; -1: none is."""
    result: Integers = np.searchsorted(numbers, before).astype(np.int64) - 1
    return result


def find_epochs(breaks: Integers, numbers: Words) -> Integers:
    """Which stretch between the breaks of a capture each packet is in; times compare within one only."""
    result: Integers = np.searchsorted(breaks, numbers, side="right").astype(np.int64)
    return result
