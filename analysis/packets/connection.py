"""One direction of a TCP connection: everything that its packets show.

The curves are reduced to what a figure can show, so that millions of packets need no memory beyond this call.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from pathlab.analysis.packets.delivery import Late, LateSegments, find_late_segments
from pathlab.analysis.packets.reduction import PART, TimeSpan, TraceCurve, reduce_curve, sum_over_time
from pathlab.analysis.packets.retransmissions import Cause, Retransmissions, explain_retransmissions
from pathlab.analysis.packets.round_trips import (
    RttSamples,
    find_clock_steps,
    measure_by_acks,
    measure_by_timestamps,
)
from pathlab.analysis.packets.segments import (
    ECN_MARKED,
    HAS_IP_ID,
    SYN,
    Flags,
    Integers,
    Rows,
    Segments,
    Words,
)
from pathlab.analysis.packets.sequence_space import (
    NO_EDGE,
    ReturnedAcks,
    SentData,
    collect_acks,
    collect_data,
    find_latest,
    locate_sack_blocks,
)
from pathlab.analysis.packets.windows import (
    FULL_RATIO,
    FlightSamples,
    ZeroWindows,
    find_duplicate_acks,
    find_zero_windows,
    sample_flight,
    scale_windows,
)

#: Parts of the time over which rates are shown.
RATE_PARTS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionFacts:
    """What is known of a connection besides its segments; None: not known.

    ``mss_bytes``: the largest payload of a segment of this direction, by both ends' options.
    ``window_scale``: of the receiver of the data, 0 where it offered none. ``sack_permitted``: by both ends.
    ``base_rtt_ns``: shortest RTT from end to end. ``breaks``: numbers of packets before which the capture has
    a gap or its clock a step; ``clock_steps``: those before which its clock was set back. ``origin_ns``: time
    of the connection's first packet. ``copies``: packets of this direction that were dropped as copies.
    """

    mss_bytes: int | None
    window_scale: int | None
    sack_permitted: bool | None
    base_rtt_ns: int | None
    breaks: Integers
    clock_steps: Integers
    origin_ns: int
    copies: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RttSummary:
    """RTT samples of one method; numbers are None without a sample."""

    samples: int
    min_ns: int | None
    median_ns: float | None
    p99_ns: float | None
    max_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlightSummary:
    """Bytes in flight and the receiver's window; None: not known.

    ``full_ratio``: share of the segments sent with 90 % or more of the window in flight.
    """

    in_flight_max_bytes: int | None = None
    in_flight_median_bytes: float | None = None
    window_min_bytes: int | None = None
    window_max_bytes: int | None = None
    full_ratio: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectionCurves:
    """Curves over seconds since the connection's first packet; sequence numbers from the first byte.

    ``segments``: the highest byte sent before each. ``retransmissions``: by cause. ``extents``: number of
    reordered segments by extent in packets.
    """

    segments: TraceCurve
    acks: TraceCurve
    window_edges: TraceCurve
    sack_edges: TraceCurve
    retransmissions: dict[Cause, TraceCurve]
    spurious: TraceCurve
    reordered: TraceCurve
    in_flight: TraceCurve
    windows: TraceCurve
    rtts: TraceCurve
    ack_rtts: TraceCurve
    wire_bytes_per_s: TraceCurve
    new_bytes_per_s: TraceCurve
    extents: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectionTrace:
    """What one direction's packets show. Counts are of packets as captured, super-packets as one.

    ``segments``: data packets as segments of the MSS, None where it is not known. ``retransmitted``: packets
    by cause. ``retransmitted_segments``: as ``segments``. ``lost_before_capture``: retransmissions whose
    first transmission the capture did not see. ``unseen_bytes``: never captured, though later bytes were;
    ``unseen_acked_bytes``: acknowledged, and not captured before. ``unacked_bytes``: of ``new_bytes`` those
    that were not acknowledged though there was time for it, 0 without packets of the other direction.
    ``acks_captured``: there is a packet of the other direction. ``duration_ns``: from the first to the last
    packet of data, None: the clock was set meanwhile. ``clock_steps``: forward.
    """

    packets: int
    data_packets: int
    payload_bytes: int
    new_bytes: int
    unacked_bytes: int
    segments: int | None
    super_packets: int
    largest_payload_bytes: int
    retransmitted: dict[Cause, int]
    retransmitted_bytes: int
    retransmitted_segments: int | None
    spurious: int
    dsack_blocks: int
    unmatched_dsack_blocks: int
    lost_before_capture: int
    reordered: int
    reorder_extent_max: int
    late_time_max_ns: int
    duplicates: int
    probes: int
    undecided_late: int
    duplicate_acks: int
    acks: int
    sack_blocks: int
    zero_windows: ZeroWindows
    flight: FlightSummary
    rtt: RttSummary
    ack_rtt: RttSummary
    ecn_marked: int
    unseen_bytes: int
    unseen_acked_bytes: int
    acks_captured: bool
    has_ip_ids: bool
    duration_ns: int | None
    clock_steps: int
    curves: DirectionCurves

    @property
    def retransmitted_packets(self) -> int:
        """Retransmissions of all causes."""
        return sum(self.retransmitted.values())

    @property
    def new_bits_per_s(self) -> float | None:
        """``new_bytes`` without ``unacked_bytes`` over the time of the data; None: not known, or no time."""
        return (self.new_bytes - self.unacked_bytes) * 8e9 / self.duration_ns if self.duration_ns else None


def measure_base_rtt(there: Segments, back: Segments, breaks: Integers) -> int | None:
    """The shortest round trip by timestamps from the capture to the receiver of ``there``'s data."""
    data = collect_data(there)
    return measure_by_timestamps(there, back, data, collect_acks(back, data), breaks).min_ns


def analyze_direction(
    there: Segments, back: Segments, facts: ConnectionFacts, span: TimeSpan | None = None
) -> DirectionTrace:
    """What the segments ``there`` show, acknowledged by ``back``; curves within ``span``, None: of all."""
    after, before = find_clock_steps(there)
    breaks = np.union1d(facts.breaks, np.union1d(after + 1, before))
    data = collect_data(there)
    acks = collect_acks(back, data)
    rtts = measure_by_timestamps(there, back, data, acks, breaks)
    windows = scale_windows(back, acks, facts.window_scale)
    closed = np.where(back.windows[acks.rows] == 0, np.int32(0), windows)
    late = find_late_segments(there, data, acks, closed, facts.base_rtt_ns)
    places = late.retransmissions
    ack_rtts = measure_by_acks(data, acks, np.union1d(places, late.select(Late.PROBE)), breaks)
    repeated = find_duplicate_acks(back, data, acks)
    explained = explain_retransmissions(
        there,
        back,
        data,
        acks,
        repeated,
        places,
        base_rtt_ns=facts.base_rtt_ns,
        sack_permitted=facts.sack_permitted,
    )
    if span is None:
        span = TimeSpan(start_ns=facts.origin_ns, end_ns=_find_end(there, back), origin_ns=facts.origin_ns)
    payload = there.payload_bytes if len(data) == len(there) else there.payload_bytes[data.rows]
    fresh = _find_new_bytes(late, payload)
    again = payload[explained.places].astype(np.int64)
    last = max(
        (side for side in (there, back) if len(side)), key=lambda side: int(side.numbers[-1]), default=there
    )
    carried = fresh
    if len(back):
        carried = _find_acknowledged(data, acks, fresh, int(last.times_ns[-1]), (rtts, ack_rtts))
    flight, in_flight = _study_flight(data, acks, windows, span)
    curves = _draw_curves(
        there, back, data, acks, late, explained, carried, windows, in_flight, rtts, ack_rtts, span
    )
    mss = facts.mss_bytes
    return DirectionTrace(
        packets=len(there),
        data_packets=int((payload > 0).sum()),
        payload_bytes=int(payload.sum(dtype=np.int64)),
        new_bytes=int(fresh.sum(dtype=np.int64)),
        unacked_bytes=int(fresh.sum(dtype=np.int64)) - int(carried.sum(dtype=np.int64)),
        segments=None if mss is None else _count_segments(payload, mss),
        super_packets=0 if mss is None else int((payload > mss).sum()),
        largest_payload_bytes=int(payload.max(initial=0)),
        retransmitted={cause: int((explained.causes == cause).sum()) for cause in Cause},
        retransmitted_bytes=int(again.sum()),
        retransmitted_segments=None if mss is None else _count_segments(np.maximum(again, 1), mss),
        spurious=int(explained.spurious.sum()),
        dsack_blocks=explained.dsack_blocks,
        unmatched_dsack_blocks=explained.unmatched_dsack_blocks,
        lost_before_capture=int((late.kinds == Late.LOST_BEFORE).sum()),
        reordered=int((late.kinds == Late.REORDERED).sum()),
        reorder_extent_max=int(late.extents.max(initial=0)),
        late_time_max_ns=int(late.late_times_ns.max(initial=0)),
        duplicates=facts.copies,
        probes=int((late.kinds == Late.PROBE).sum()),
        undecided_late=int((late.kinds == Late.UNDECIDED).sum()),
        duplicate_acks=int(repeated.sum()),
        acks=len(acks),
        sack_blocks=len(back.sack_rows),
        zero_windows=find_zero_windows(back),
        flight=flight,
        rtt=_summarize_rtts(rtts),
        ack_rtt=_summarize_rtts(ack_rtts),
        ecn_marked=int((there.marks & ECN_MARKED > 0).sum()),
        unseen_bytes=late.unseen_bytes,
        unseen_acked_bytes=_count_unseen_acked(data, acks),
        acks_captured=len(back) > 0,
        has_ip_ids=bool((there.marks & HAS_IP_ID > 0).any()),
        duration_ns=_measure_duration(data, payload, np.union1d(facts.clock_steps, before)),
        clock_steps=len(after),
        curves=curves,
    )


def _find_end(there: Segments, back: Segments) -> int:
    return max((int(side.times_ns.max()) for side in (there, back) if len(side)), default=0)


def _find_new_bytes(late: LateSegments, payload: Words) -> Words:
    """Payload that each segment carried for the first time; SYN and FIN are no payload."""
    if not len(late.places):
        return payload
    fresh = payload.copy()
    fresh[late.places] = np.minimum(late.new_bytes, payload[late.places])
    return fresh


def _find_acknowledged(
    data: SentData, acks: ReturnedAcks, fresh: Words, end_ns: int, rtts: Iterable[RttSamples]
) -> Words:
    """Of the bytes that each segment carried for the first time those that were acknowledged.

    What was sent within the longest round trip of the capture's end may still be, and counts. Selective
    acknowledgements do not: behind a hole that is never filled the receiver delivers nothing.
    """
    longest_ns = max((int(rtt.rtts_ns.max()) for rtt in rtts if len(rtt.rtts_ns)), default=0)
    pending = data.times_ns >= end_ns - longest_ns
    acked = int(acks.acks[-1]) if len(acks) else NO_EDGE
    if len(data) and acked < int(data.starts[0]):
        acked = int(data.starts[0])
    known = np.clip(acked - data.starts, 0, None)
    return np.where(pending, fresh, np.minimum(fresh, known)).astype(fresh.dtype)


def _count_segments(payload: Words | Integers, mss_bytes: int) -> int:
    """Packets as segments of the MSS."""
    return int(((payload + np.uint32(mss_bytes - 1)) // np.uint32(mss_bytes)).sum(dtype=np.int64))


def _count_unseen_acked(data: SentData, acks: ReturnedAcks) -> int:
    """Bytes beyond what the capture had seen of the data when they were acknowledged.

    Nothing before the first segment of data counts: the capture may have begun within the connection.
    """
    if not len(data) or not len(acks):
        return 0
    missed, acked = 0, None
    for start in range(0, len(acks), PART):
        part = slice(start, start + PART)
        latest = find_latest(data.numbers, acks.numbers[part])
        known = latest >= 0
        latest, own = latest[known], acks.acks[part][known]
        if not len(own):
            continue
        high = np.maximum(data.high_before[latest], data.ends_at(latest))
        before = np.concatenate(([high[0] if acked is None else acked], own[:-1]))
        missed += int(np.maximum(own - np.maximum(high, before), 0).sum())
        acked = own[-1]
    return missed


def _measure_duration(data: SentData, payload: Words, steps: Integers) -> int | None:
    """From the first to the last segment with payload, ns; None where the clock was set between them."""
    holds = payload > 0
    if not holds.any():
        return 0
    first, last = int(holds.argmax()), len(holds) - 1 - int(holds[::-1].argmax())
    if ((steps > data.numbers[first]) & (steps <= data.numbers[last])).any():
        return None
    return max(0, int(data.times_ns[last] - data.times_ns[first]))


def _summarize_rtts(samples: RttSamples) -> RttSummary:
    return RttSummary(
        samples=len(samples),
        min_ns=samples.min_ns,
        median_ns=samples.percentile_ns(50),
        p99_ns=samples.percentile_ns(99),
        max_ns=int(samples.rtts_ns.max()) if len(samples) else None,
    )


def _study_flight(
    data: SentData, acks: ReturnedAcks, windows: Rows, span: TimeSpan
) -> tuple[FlightSummary, tuple[TraceCurve, TraceCurve]]:
    """Bytes in flight in numbers, and its curve and that of the window."""
    flight = sample_flight(data, acks, windows)
    scaled = len(windows) > 0 and int(windows[0]) >= 0  # of all or of none
    return _summarize_flight(flight), (
        reduce_curve(flight.times_ns, flight.in_flight_bytes, span),
        reduce_curve(*((flight.times_ns, flight.window_bytes) if scaled else _NO_CURVE), span),
    )


def _draw_window_edges(acks: ReturnedAcks, windows: Rows, span: TimeSpan, base: int) -> TraceCurve:
    if not len(windows) or int(windows[0]) < 0:
        return reduce_curve(*_NO_CURVE, span)
    return reduce_curve(acks.times_ns, acks.own_acks + windows, span, base=base)


def _draw_sack_edges(back: Segments, acks: ReturnedAcks, span: TimeSpan, base: int) -> TraceCurve:
    indices, _, right = locate_sack_blocks(back, acks.rows, acks.own_acks)
    return reduce_curve(acks.times_ns[indices], right, span, base=base)


def _summarize_flight(flight: FlightSamples) -> FlightSummary:
    if not len(flight.in_flight_bytes):
        return FlightSummary()
    scaled = int(flight.window_bytes[0]) >= 0  # of all or of none
    windows = flight.window_bytes if scaled else flight.window_bytes[:0]
    full = 0
    for start in range(0, len(windows), PART):
        part = slice(start, start + PART)
        full += int((flight.in_flight_bytes[part] >= FULL_RATIO * windows[part]).sum())
    return FlightSummary(
        in_flight_max_bytes=int(flight.in_flight_bytes.max()),
        in_flight_median_bytes=float(np.median(flight.in_flight_bytes)),
        window_min_bytes=int(windows.min()) if len(windows) else None,
        window_max_bytes=int(windows.max()) if len(windows) else None,
        full_ratio=full / len(windows) if len(windows) else None,
    )


def _draw_curves(
    there: Segments,
    back: Segments,
    data: SentData,
    acks: ReturnedAcks,
    late: LateSegments,
    explained: Retransmissions,
    fresh: Words,
    windows: Rows,
    in_flight: tuple[TraceCurve, TraceCurve],
    rtts: RttSamples,
    ack_rtts: RttSamples,
    span: TimeSpan,
) -> DirectionCurves:
    base = int(data.starts[0]) if len(data) else 0
    base += int(bool(len(data)) and bool(there.flags[data.rows[0]] & SYN))  # the first byte of data is 0

    def trace(chosen: Integers | Flags) -> TraceCurve:
        return reduce_curve(data.times_ns[chosen], data.starts[chosen], span, base=base)

    reordered = late.select(Late.REORDERED)
    extents = late.extents[late.extents > 0]
    return DirectionCurves(
        segments=reduce_curve(data.times_ns, data.high_before, span, base=base),
        acks=reduce_curve(acks.times_ns, acks.acks, span, base=base),
        window_edges=_draw_window_edges(acks, windows, span, base),
        sack_edges=_draw_sack_edges(back, acks, span, base),
        retransmissions={cause: trace(explained.places[explained.causes == cause]) for cause in Cause},
        spurious=trace(explained.places[explained.spurious]),
        reordered=trace(reordered),
        in_flight=in_flight[0],
        windows=in_flight[1],
        rtts=reduce_curve(rtts.times_ns, rtts.rtts_ns, span),
        ack_rtts=reduce_curve(ack_rtts.times_ns, ack_rtts.rtts_ns, span),
        wire_bytes_per_s=sum_over_time(there.times_ns, there.payload_bytes, span, RATE_PARTS),
        new_bytes_per_s=sum_over_time(data.times_ns, fresh, span, RATE_PARTS),
        extents=dict(zip(*(part.tolist() for part in np.unique(extents, return_counts=True)), strict=True)),
    )


_NO_CURVE = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32))
