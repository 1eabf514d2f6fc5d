"""What was seen of a flow and its streams, and what follows from it without a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pathlab.analysis.estimators.interval import as_amounts, as_samples, check_lengths
from pathlab.analysis.verdicts.host_limits import HostLoad
from pathlab.errors import UsageError

#: Fewer spans of the steady window say nothing of how a rate or losses vary.
LEAST_SPANS = 8


def divide(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamReading:
    """What was seen of one stream in the steady window; ``None`` where it was not measured.

    Times are those in which the kernel's ``tcp_info`` says that the sender was busy, held by the receiver's
    window or by its own buffer. ``app_limited_ratio`` is the share of delivery-rate samples so marked.
    ``rtt_ns`` is the median smoothed RTT, ``rtt_min_ns`` the least, ``segment_bytes`` the segment size.
    ``spurious_segments`` are the retransmitted ones that the peer had already (DSACK). ``offered_bytes`` is
    the median window that the peer offered, ``offered_most_bytes`` the largest of the whole trial.
    """

    rate_bits_per_s: float | None = None
    steady_s: float | None = None
    busy_s: float | None = None
    receiver_limited_s: float | None = None
    buffer_limited_s: float | None = None
    app_limited_ratio: float | None = None
    sent_bytes: float | None = None
    retransmitted_bytes: float | None = None
    rtt_ns: float | None = None
    rtt_min_ns: float | None = None
    segment_bytes: float | None = None
    spurious_segments: float | None = None
    offered_bytes: float | None = None
    offered_most_bytes: float | None = None

    @property
    def lost_segments(self) -> float | None:
        """Retransmitted segments that DSACK does not explain."""
        if self.retransmitted_bytes is None or not self.segment_bytes:
            return None if self.retransmitted_bytes != 0 else 0.0
        return max(0.0, self.retransmitted_bytes / self.segment_bytes - (self.spurious_segments or 0.0))

    @property
    def loss_ratio(self) -> float | None:
        """Share of the sent data that was lost, as far as it was retransmitted."""
        lost = self.lost_segments
        return None if lost is None else divide(lost * (self.segment_bytes or 0.0), self.sent_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowReading:
    """Readings of a trial; ``None`` where not measured, or, for a window, where none was requested.

    ``rtt_loaded_ns`` and ``rtt_unloaded_ns`` are probes' medians, ``rtt_standing_ns`` is the least loaded
    probe less the least unloaded one (0 where it was no longer). ``hosts`` are the loads of sender and
    receiver. ``line_bits_per_s`` is what a known line leaves for data, ``ceiling_bits_per_s`` what a host
    carries over its own loopback, ``requested_bits_per_s`` the rate that the sender was configured to keep.
    ``rate_spread_ratio`` is that of ``measure_rate_spread`` over ``rate_spans`` spans. ``kernel_stamps``: the
    kernel stamped probes. ``loss_synchrony_ratio`` is that of ``measure_synchrony``. ``congestion`` is
    the name of the sender's congestion control. ``forward_rise_ns`` is how much longer data took to
    arrive than over the empty path, by the counts of both ends.
    """

    streams: tuple[StreamReading, ...]
    throughput_bits_per_s: float | None = None
    window_requested_bytes: int | None = None
    rtt_loaded_ns: float | None = None
    rtt_unloaded_ns: float | None = None
    rtt_standing_ns: float | None = None
    rate_spread_ratio: float | None = None
    hosts: tuple[HostLoad, ...] = ()
    line_bits_per_s: float | None = None
    ceiling_bits_per_s: float | None = None
    requested_bits_per_s: float | None = None
    kernel_stamps: bool | None = None
    rate_spans: int | None = None
    congestion: str | None = None
    forward_rise_ns: float | None = None
    loss_synchrony_ratio: float | None = None

    @property
    def lost_segments(self) -> float | None:
        """Those of all streams; None unless each is known."""
        lost = [item for item in (stream.lost_segments for stream in self.streams) if item is not None]
        return sum(sorted(lost)) if lost and len(lost) == len(self.streams) else None

    @property
    def loss_ratio(self) -> float | None:
        """That of all streams together."""
        lost: list[float] = []
        sent: list[float] = []
        for stream in self.streams:
            if stream.loss_ratio is None or stream.sent_bytes is None:
                return None
            lost.append(stream.loss_ratio * stream.sent_bytes)
            sent.append(stream.sent_bytes)
        return divide(sum(sorted(lost)), sum(sorted(sent)))


def measure_rate_spread(interval_bytes: ArrayLike, interval_ns: ArrayLike) -> float | None:
    """Inter-quartile range over median of a flow's rates per interval; ``None`` below 8 or at median 0.

    Take bytes that the sender knows to have arrived, or intervals of about a second: in shorter ones an
    in-order receiver counts a filled hole's backlog.
    Raises ``UsageError`` for unequal lengths, a negative count or an interval without length.
    """
    counts, spans = as_amounts(interval_bytes, "interval bytes"), as_samples(interval_ns, "interval ns")
    check_lengths(byte_counts=counts, lengths=spans)
    if spans.min(initial=1.0) <= 0:
        raise UsageError("intervals: one has no length", hint="pass lengths above 0")
    if counts.size < LEAST_SPANS:
        return None
    low, median, high = np.quantile(counts / spans, (0.25, 0.5, 0.75))
    return float((high - low) / median) if median > 0 else None


def measure_synchrony(losses: ArrayLike) -> float | None:
    """How much streams lose at the same time, by what each lost, shape (spans, streams).

    The variance over spans of their sum, over the sum of their variances: about 1 where each loses by itself,
    in bursts or not, and up to the number of streams where all lose together. ``None`` below 8 spans or where
    no stream's losses vary. Raises ``UsageError`` for a negative count.
    """
    counts = np.atleast_2d(np.asarray(losses, dtype=np.float64))
    if not (counts >= 0).all():
        raise UsageError("losses: a count is negative or not known", hint="pass 0 or more")
    if counts.shape[0] < LEAST_SPANS:
        return None
    alone = float(counts.var(axis=0, ddof=1).sum())
    return float(counts.sum(axis=1).var(ddof=1)) / alone if alone > 0 else None


def estimate_windows_rate(streams: int, window_bytes: float | None, rtt_ns: float | None) -> float | None:
    """Rate that the windows allow over an empty path, streams x window / RTT; None where one is not known."""
    if window_bytes is None or not rtt_ns:
        return None
    return streams * window_bytes * 8e9 / rtt_ns


def check_reading(reading: FlowReading) -> None:
    names = [name for name in FlowReading.__slots__ if name not in ("streams", "hosts", "congestion")]
    figures = [(name, getattr(reading, name)) for name in names]
    for stream in reading.streams:
        figures += [(name, getattr(stream, name)) for name in StreamReading.__slots__]
    for host in reading.hosts:
        figures += [(name, getattr(host, name)) for name in HostLoad.__slots__]
    for name, value in figures:
        if value is not None and not 0 <= value < math.inf:
            raise UsageError(f"{name} is {value}", hint="pass 0 or more, None where it was not measured")
