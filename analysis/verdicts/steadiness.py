"""Whether the rate of a trial is one rate: bursts, changes, seconds without a byte."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.interval import (
    Undecided,
    as_amounts,
    as_samples,
    check_lengths,
    check_sample_count,
)
from pathlab.errors import UsageError

#: Rates are those of spans of a second: shorter ones show what TCP does after a loss, and BBR's probes, ...
SPAN_NS = 1e9
#: ... and of no less than this number of round trips.
ROUND_TRIPS = 4
MINIMUM_SPANS = 5
#: Rates that differ by this factor are two; TCP's sawtooth stays below it.
CHANGE_FACTOR = 2.0
#: Share of the time, or of the bytes, from which another rate matters.
MATTERING_RATIO = 0.2
#: Rates up to this share of the median, each below the next, are the start.
START_RATIO = 0.9
#: A time without a byte is an outage where at least this number of segments was due in it, ...
DUE_SEGMENTS = 10
#: ... and at the start only from this number of spans on.
START_SPANS = 3
#: Records may be a little shorter than requested.
SHORTER_RATIO = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class RatePart:
    """Neighbouring spans of about one rate: their length and mean rate."""

    length_ns: float
    bits_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Steadiness:
    """Whether a trial has one rate; ``steady`` None where ``undecided``.

    ``parts``: two where the rate changed once; else empty. ``least_bits_per_s`` and ``most_bits_per_s`` are
    those of spans of a second that are no outage. ``silent_ns``: time without a byte, in ``outages`` pieces
    of a second or more, which are known of short trials too.
    """

    spans: int
    steady: bool | None = None
    mean_bits_per_s: float | None = None
    parts: tuple[RatePart, ...] = ()
    least_bits_per_s: float | None = None
    most_bits_per_s: float | None = None
    outages: int = 0
    silent_ns: float = 0.0
    undecided: Undecided | None = None

    @property
    def disturbed(self) -> bool:
        """Whether the mean rate alone would mislead."""
        return self.steady is False or self.outages > 0


def describe_steadiness(
    interval_bytes: ArrayLike,
    interval_ns: ArrayLike,
    *,
    segment_bytes: float = 1448,
    buffered_bytes: float = 0.0,
    rtt_ns: float = 0.0,
) -> Steadiness:
    """Whether a flow carried one rate, from its records of the steady window in order, streams together.

    ``segment_bytes`` arrive at once, ``buffered_bytes`` may have been written ahead of the path (0 of a
    receiver's count). Raises ``UsageError`` for unequal lengths, negative bytes or a record without length.

    Notes
    -----
    Records are joined to spans of a second, of 4 round trips where that is longer. A start whose spans rise
    to the median is a warm-up and left out; what the sender may have buffered is taken off the first spans.
    The rate is not steady where one split leaves two parts whose rates differ by a factor of 2, every span of
    one above every span of the other, or where single spans are beyond a factor of 2 of the median. Either
    has to take a fifth of the time, or to carry a fifth of the bytes more than the rest at its rate would.
    So the sawtooth of a Reno stream, whose window is halved, is steady, as are BBR's probes of 0.2 s. An
    outage is a time without a byte of one span or more in which 10 segments were due, and more than a sender
    may buffer. Minimum sample: 5 spans.
    Source: least-squares change point, Bai, Econometric Theory 13, 1997; thresholds are this project's.
    """
    counts, lengths = as_amounts(interval_bytes, "interval bytes"), as_samples(interval_ns, "interval ns")
    check_lengths(byte_counts=counts, lengths=lengths)
    if lengths.size and lengths.min() <= 0:
        raise UsageError("records: one has no length", hint="pass lengths above 0")
    if counts.sum() == 0:
        reason = Undecided.ALL_ZERO if counts.size else Undecided.NO_SAMPLES
        return Steadiness(spans=0, undecided=reason)
    span_ns = max(SPAN_NS, ROUND_TRIPS * rtt_ns)
    due_bytes = max(DUE_SEGMENTS * segment_bytes, buffered_bytes)
    outages = _find_outages(counts, lengths, span_ns, due_bytes)
    silent_ns = sum(float(lengths[piece].sum()) for piece in outages)
    kept = np.ones(counts.size, dtype=bool)
    for piece in outages:
        kept[piece] = False
    joined, joined_ns = _join(counts[kept], lengths[kept], span_ns)
    steadiness = Steadiness(
        spans=joined.size,
        mean_bits_per_s=float(counts.sum() / lengths.sum()) * 8e9,
        outages=len(outages),
        silent_ns=silent_ns,
        undecided=check_sample_count(joined.size, MINIMUM_SPANS),
    )
    if steadiness.undecided is not None:
        return steadiness
    carried = _take_off(joined, joined_ns, buffered_bytes)
    begin = _find_begin(carried, joined_ns)
    carried, joined, joined_ns = carried[begin:], joined[begin:], joined_ns[begin:]
    if joined.size < MINIMUM_SPANS:
        return replace(steadiness, undecided=Undecided.TOO_FEW_SAMPLES)
    rates = joined / joined_ns * 8e9
    cut = _find_cut(carried, joined_ns)
    parts = (
        ()
        if cut is None
        else (_measure(joined[:cut], joined_ns[:cut]), _measure(joined[cut:], joined_ns[cut:]))
    )
    return replace(
        steadiness,
        steady=not parts and not _are_beyond(carried, joined_ns),
        parts=parts,
        least_bits_per_s=float(rates.min()),
        most_bits_per_s=float(rates.max()),
    )


def _find_outages(counts: Floats, lengths: Floats, span_ns: float, due_bytes: float) -> list[slice]:
    """The records of each time without a byte that is an outage."""
    carrying = counts[counts > 0] / lengths[counts > 0]
    rate = min(float(counts.sum() / lengths.sum()), float(np.median(carrying)))
    least_ns = SHORTER_RATIO * max(span_ns, due_bytes / rate)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], counts == 0, [False])).astype(np.int8)))
    pieces = [slice(int(begin), int(end)) for begin, end in zip(edges[::2], edges[1::2], strict=True)]
    return [
        piece
        for piece in pieces
        if lengths[piece].sum() >= (least_ns if piece.start else max(least_ns, START_SPANS * span_ns))
    ]


def _join(counts: Floats, lengths: Floats, span_ns: float) -> tuple[Floats, Floats]:
    """Bytes and lengths of spans; a remainder of less than half a span belongs to the last one."""
    starts = np.cumsum(lengths) - lengths
    numbers = np.floor(starts / span_ns + (1 - SHORTER_RATIO)).astype(np.int64)
    begins = np.flatnonzero(np.diff(numbers, prepend=-1))
    if begins.size > 1 and lengths[begins[-1] :].sum() < span_ns / 2:
        begins = begins[:-1]
    return np.add.reduceat(counts, begins), np.add.reduceat(lengths, begins)


def _take_off(counts: Floats, lengths: Floats, buffered_bytes: float) -> Floats:
    """The bytes without what the sender wrote ahead at the start: no more than brings it to the median."""
    left, taken = buffered_bytes, counts.copy()
    expected = float(np.median(counts / lengths)) * lengths
    for index in range(counts.size // 2):
        off = min(left, max(0.0, counts[index] - expected[index]))
        taken[index] -= off
        left -= off
    return taken


def _find_begin(counts: Floats, lengths: Floats) -> int:
    """The spans of a start, at most half of them: each is below the next and the median."""
    rates = counts / lengths
    middle, begin = START_RATIO * float(np.median(rates)), 0
    while begin < rates.size // 2 and rates[begin] < min(middle, rates[begin + 1]):
        begin += 1
    return begin


def _measure(counts: Floats, lengths: Floats) -> RatePart:
    return RatePart(length_ns=float(lengths.sum()), bits_per_s=float(counts.sum() / lengths.sum()) * 8e9)


def _find_cut(counts: Floats, lengths: Floats) -> int | None:
    """The spans before the one change of the rate; None where there is no such change."""
    rates = counts / lengths
    ends = np.arange(1, rates.size)
    before = np.cumsum(rates)[:-1] / ends
    after = (rates.sum() - np.cumsum(rates)[:-1]) / (rates.size - ends)
    cut = 1 + int(np.argmax(ends * (rates.size - ends) * (before - after) ** 2))
    first, second = rates[:cut], rates[cut:]
    if first.min() <= second.max() and second.min() <= first.max():
        return None
    parts = [_measure(counts[part], lengths[part]) for part in (slice(cut), slice(cut, None))]
    low, high = sorted(part.bits_per_s for part in parts)
    shorter = slice(cut) if parts[0].length_ns < parts[1].length_ns else slice(cut, None)
    apart = np.zeros(rates.size, dtype=bool)
    apart[shorter] = True
    other = float(counts[~apart].sum() / lengths[~apart].sum())
    return cut if high >= CHANGE_FACTOR * low and _matters(counts, lengths, apart, other) else None


def _are_beyond(counts: Floats, lengths: Floats) -> bool:
    """Whether single spans are beyond the factor of the median rate, and matter."""
    rates = counts / lengths
    middle = float(np.median(rates))
    apart = (rates > CHANGE_FACTOR * middle) | (rates < middle / CHANGE_FACTOR)
    return _matters(counts, lengths, apart, middle)


def _matters(counts: Floats, lengths: Floats, apart: NDArray[np.bool_], other: float) -> bool:
    """Whether these spans take a fifth of the time, or carry that much beyond the ``other`` rate."""
    more = float((counts - other * lengths)[apart].sum())
    takes_time = lengths[apart].sum() >= MATTERING_RATIO * lengths.sum()
    return bool(takes_time or more >= MATTERING_RATIO * counts.sum())
