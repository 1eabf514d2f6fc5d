"""Round-trip times from where the capture was made to the receiver of the data and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pathlab.analysis.packets.reduction import PART
from pathlab.analysis.packets.segments import HAS_TIMESTAMPS, Integers, Rows, Segments, Words
from pathlab.analysis.packets.sequence_space import (
    ReturnedAcks,
    SentData,
    find_epochs,
    find_rows,
    unwrap_words,
)

Places: TypeAlias = Integers | Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class RttSamples:
    """Times of the acknowledgements, and the round trips that each ended (ns); both may be empty."""

    times_ns: Integers
    rtts_ns: Integers

    def __len__(self) -> int:
        return len(self.rtts_ns)

    @property
    def min_ns(self) -> int | None:
        """The shortest, None without a sample."""
        return int(self.rtts_ns.min()) if len(self) else None

    def percentile_ns(self, percent: float) -> float | None:
        """A percentile, None without a sample."""
        return float(np.percentile(self.rtts_ns, percent)) if len(self) else None


def measure_by_timestamps(
    segments: Segments, back: Segments, data: SentData, acks: ReturnedAcks, breaks: Integers
) -> RttSamples:
    """From the first segment with a timestamp to the first acknowledgement that echoes it.

    Notes
    -----
    Source: RFC 7323, sections 4.1 and 4.3. The data segment has to be covered by the acknowledgement, so that
    an echo that only waited for data of the other direction is no sample. Retransmissions have a timestamp of
    their own. A receiver that delays its acknowledgement makes the sample longer. ``breaks``: numbers of
    packets before which the capture has a gap or its clock a step; no sample spans one.
    """
    stamped = _find_changes(segments.ts_values, segments.marks, data.rows)
    echoing = _find_changes(back.ts_echoes, back.marks, acks.rows)
    if not len(stamped) or not len(echoing):
        return _take_samples(data, acks, stamped[:0], echoing[:0], breaks)
    values = unwrap_words(segments.ts_values[data.rows[stamped]], 0)
    first = _find_rises(values)
    values, stamped = values[first], stamped[first]
    echoes = unwrap_words(back.ts_echoes[acks.rows[echoing]], int(values[0]))
    first = _find_rises(echoes)
    echoes, echoing = echoes[first], echoing[first]
    indices = np.minimum(np.searchsorted(values, echoes), len(values) - 1)
    sent = stamped[indices]
    good = (values[indices] == echoes) & (acks.own_acks[echoing] >= data.ends_at(sent))
    return _take_samples(data, acks, sent[good], echoing[good], breaks)


def measure_by_acks(
    data: SentData, acks: ReturnedAcks, retransmitted: Integers, breaks: Integers
) -> RttSamples:
    """From the segment that holds the last byte acknowledged to the first acknowledgement of that byte.

    ``retransmitted``: places in ``data`` of retransmissions.

    Notes
    -----
    Source: Karn and Partridge, SIGCOMM 1987; RFC 6298, section 3: no sample is taken where any byte that is
    newly acknowledged was sent twice. Neither is one where the byte had arrived before a missing one, which a
    SACK block showed: its acknowledgement waited for the missing byte.
    """
    in_order = find_rows(data.in_order)
    if not len(in_order) or not len(acks):
        return _take_samples(data, acks, in_order[:0], in_order[:0], breaks)
    before = np.concatenate((np.minimum(acks.own_acks[:1], data.starts[:1]), acks.acks[:-1]))
    advancing = np.flatnonzero(acks.own_acks > before)
    ack, previous = acks.own_acks[advancing], before[advancing]
    starts = data.starts if len(in_order) == len(data) else data.starts[in_order]
    index = np.searchsorted(starts, ack - 1, side="right") - 1
    sent = in_order[np.maximum(index, 0)]
    good = (index >= 0) & (data.ends_at(sent) >= ack)
    del starts
    edges = acks.sack_edges[np.maximum(advancing - 1, 0)]
    good &= edges < ack
    if len(retransmitted):
        order = retransmitted[np.argsort(data.starts[retransmitted], kind="stable")]
        furthest = np.maximum.accumulate(data.ends_at(order))
        below = np.searchsorted(data.starts[order], ack) - 1
        good &= (below < 0) | (furthest[np.maximum(below, 0)] <= previous)
    return _take_samples(data, acks, sent[good], advancing[good], breaks)


def _find_changes(values: Words, marks: NDArray[np.uint8], rows: Rows) -> Integers:
    """Places in ``rows`` of timestamps unlike the one before; few, as clocks tick in milliseconds."""
    known = marks[rows] & HAS_TIMESTAMPS > 0
    if known.all():
        result = values if len(rows) == len(values) else values[rows]
        return np.flatnonzero(np.concatenate(([True], result[1:] != result[:-1]))[: len(result)])
    indices = np.flatnonzero(known)
    result = values[rows[indices]]
    return indices[np.concatenate(([True], result[1:] != result[:-1]))[: len(result)]]


def _find_rises(values: Integers) -> Integers:
    """Places of values above all before them."""
    highest = np.maximum.accumulate(values)
    return np.flatnonzero(np.concatenate(([True], values[1:] > highest[:-1])))


def _take_samples(
    data: SentData, acks: ReturnedAcks, sent: Places, answered: Places, breaks: Integers
) -> RttSamples:
    """Samples of pairs that are in order and within one stretch of the capture."""
    first, last = data.numbers[sent], acks.numbers[answered]
    good = (last > first) & (find_epochs(breaks, first) == find_epochs(breaks, last))
    times = acks.times_ns[answered[good]]
    rtts = times - data.times_ns[sent[good]]
    return RttSamples(times_ns=times[rtts >= 0], rtts_ns=rtts[rtts >= 0])


def find_clock_steps(segments: Segments) -> tuple[Integers, Integers]:
    """Packets between which the capture's clock was set forward: the last before, the first after.

    Notes
    -----
    A pause of the sender advances its timestamps too (RFC 7323, section 5.4); a step of the capturing clock
    does not. A step is where more than ``STEP_LEAST_NS`` passed by the capture and less than half of it by
    the timestamps, whose rate is that of the whole connection.
    """
    rows = find_rows(segments.marks & HAS_TIMESTAMPS > 0)
    if len(rows) < STEP_SEGMENTS_MIN:
        return _NO_STEPS
    ticks = elapsed = 0
    pauses: list[Integers] = []
    for start in range(0, len(rows) - 1, PART):
        part = rows[start : start + PART + 1]
        passed, ticked = np.diff(segments.times_ns[part]), np.diff(segments.ts_values[part]).view(np.int32)
        ordinary = (passed < STEP_LEAST_NS) & (passed >= 0) & (ticked >= 0)
        ticks += int(ticked[ordinary].sum(dtype=np.int64))
        elapsed += int(passed[ordinary].sum())
        pauses.append(np.flatnonzero(passed > STEP_LEAST_NS) + start)
    if ticks < STEP_TICKS_MIN:
        return _NO_STEPS
    pause = np.concatenate(pauses)
    before, after = rows[pause], rows[pause + 1]
    passed = segments.times_ns[after] - segments.times_ns[before]
    ticked = (segments.ts_values[after] - segments.ts_values[before]).view(np.int32)
    steps = ticked * (elapsed / ticks) < passed / 2
    return segments.numbers[before[steps]].astype(np.int64), segments.numbers[after[steps]].astype(np.int64)


#: The shortest step forward that is looked for; a keep-alive interval is longer, but its timestamps advance.
STEP_LEAST_NS = 500_000_000
STEP_SEGMENTS_MIN, STEP_TICKS_MIN = 20, 20
_NO_STEPS = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
