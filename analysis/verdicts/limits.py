"""What set a rate: a window, the sender, congestion, the path or a host; each with its evidence."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from pathlab.analysis.estimators.interval import Undecided, as_amounts, as_samples, check_lengths
from pathlab.analysis.verdicts.evidence import Evidence, find_queue, weigh
from pathlab.analysis.verdicts.host_limits import (
    BUSY_CORE_RATIO,
    CEILING_RATIO,
    EXPLAINED_RATIO,
    OWN_WORK_RATIO,
    WAITING_RATIO,
    HostLoad,
    is_host_limited,
)
from pathlab.errors import UsageError

#: Share of the steady window from which the kernel's clock of a limit makes it the limit.
LIMITED_TIME_RATIO = 0.5
#: From this share of application-limited delivery-rate samples on, the sender had too little to send.
APP_LIMITED_RATIO = 0.5
#: A window counts as filled when this share of the requested window is in flight.
FILLED_WINDOW_RATIO = 0.8
#: Receive buffers hold up to a third more than requested: a rate above this share of what the requested
#: windows would carry is not limited by them.
OVERFULL_RATIO = 1.35
#: Share of retransmitted segments from which loss held the congestion window down, ...
RETRANSMIT_RATIO = 1e-4
#: ... and, on fast and long paths where less suffices, the share of what so much loss allows by Mathis.
MATHIS_SHARE_RATIO = 0.25
#: A queue builds where the RTT rises by this share of the unloaded RTT, ...
QUEUE_RISE_RATIO = 0.1
#: ... by no less than this, which hosts cause by themselves, ...
QUEUE_RISE_LEAST_NS = 200_000.0
#: ... and on long paths by no more than this.
QUEUE_RISE_MOST_NS = 5_000_000.0
#: Inter-quartile range over median of the flow's interval rates up to which its rate is flat.
FLAT_RATE_RATIO = 0.1
#: Share of the flow's rate that streams with one and the same limit must carry to name the flow's.
FLOW_SHARE_RATIO = 0.5
#: Known of some trials only, or said by another figure as well: without one of them nothing is missing.
OPTIONAL_EVIDENCE = frozenset(
    {
        "requested_share_ratio",
        "ceiling_share_ratio",
        "engine_core_ratio",
        "line_share_ratio",
        "standing_rise_ns",
        "waiting_ratio",
        "windows_share_ratio",
        "window_filled_ratio",
        "mathis_share_ratio",
        "probe_rtt_rise_ns",
        "tcp_rtt_rise_ns",
    }
)


class Limit(StrEnum):
    """What a rate is limited by. The values are stable and machine-readable."""

    RECEIVER_WINDOW = "receiver-window"
    SEND_BUFFER = "send-buffer"
    WINDOW = "window"  # of one end or the other: which one was not measured
    CONGESTION = "congestion-loss"
    PATH_CAPACITY = "path-capacity"
    APPLICATION = "sending-application"
    HOST_CPU = "host-cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamReading:
    """What was seen of one stream in the steady window; ``None`` where it was not measured.

    Times are those in which the kernel's ``tcp_info`` says that the sender was busy, held by the receiver's
    window or by its own buffer. ``app_limited_ratio`` is the share of delivery-rate samples so marked.
    ``rtt_ns`` is the median smoothed RTT, ``rtt_min_ns`` the least, ``segment_bytes`` the segment size.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowReading:
    """Readings of a trial; ``None`` where not measured, or, for a window, where none was requested.

    ``rtt_loaded_ns`` and ``rtt_unloaded_ns`` are probes' medians, ``rtt_standing_ns`` is the least loaded
    probe less the least unloaded one (0 where it was no longer). ``hosts`` are the loads of sender and
    receiver. ``line_bits_per_s`` is what a known line leaves for data, ``ceiling_bits_per_s`` what a host
    carries over its own loopback, ``requested_bits_per_s`` the rate that the sender was configured to keep.
    ``rate_spread_ratio`` is that of ``measure_rate_spread``. ``kernel_stamps``: the kernel stamped probes.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitVerdict:
    """The limit, the figures that it was read from, and why there is none where it is ``None``."""

    limit: Limit | None = None
    evidence: tuple[Evidence, ...]
    undecided: Undecided | None = None

    def find(self, name: str) -> Evidence:
        """The evidence of that name; ``KeyError`` if there is none."""
        return {one.name: one for one in self.evidence}[name]

    @property
    def at_requested_rate(self) -> bool:
        """Whether the application is the limit because the flow came to the rate requested."""
        named = (one for one in self.evidence if one.name == "requested_share_ratio")
        return self.limit is Limit.APPLICATION and any(one.met for one in named)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowVerdict:
    """The limit of the flow and of each stream, in the order of the reading."""

    flow: LimitVerdict
    streams: tuple[LimitVerdict, ...]


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
    if counts.size < 8:
        return None
    low, median, high = np.quantile(counts / spans, (0.25, 0.5, 0.75))
    return float((high - low) / median) if median > 0 else None


def classify_limits(reading: FlowReading) -> FlowVerdict:
    """Name what limited each stream and the flow, with every figure and threshold that was looked at.

    Raises ``UsageError`` for a negative figure. Needs at least one stream; with none the flow is undecided.

    Notes
    -----
    In this order, first match: host CPU (as ``is_host_limited``); sending application (its
    configured rate is reached, or it had too little to send and did not fill the requested window); path
    capacity (a known line is reached, or the queue builds, the rate is flat and the windows over the unloaded
    RTT would carry more; without losses, or where a window holds the flow, the least RTT must have risen too:
    else the delays come from elsewhere; beside a busy core, either that or the waits of the traffic's threads
    for it must be known, else path and windows stay undecided); receiver window; send buffer (the kernel's
    clock, or the requested window is filled while the receiver's is measured not to hold: the kernel's clock
    stays at 0 with small writes although the buffer is the limit); a window of either end (the rate is what
    the windows carry, no queue builds, the kernel's clock of the receiver's was not measured); congestion and
    loss (retransmits without a full path). Else undecided: not measured where a figure is missing,
    conflicting evidence where streams' RTT rose and clean probes did not, no evidence otherwise. Whether a
    queue builds is read from probes before the streams' smoothed RTT (``evidence.find_queue``); of that, the
    median over streams of each one's median over the steady window counts. The flow's limit is the one under
    which streams carry more than half of its rate; streams that differ make it undecided (conflicting
    evidence).
    Assumption: steady state; dRTT by probes that pass the same queue. One trial suffices; repeated trials
    are better evidence than any threshold. Source: METHOD section 4; tcp_info: RFC 4898 and the Linux kernel;
    the thresholds are this project's.
    """
    _check_reading(reading)
    shared = _flow_evidence(reading)
    streams = tuple(_classify_stream(stream, reading, shared) for stream in reading.streams)
    return FlowVerdict(flow=_classify_flow(reading, shared, streams), streams=streams)


def estimate_windows_rate(streams: int, window_bytes: float | None, rtt_ns: float | None) -> float | None:
    """Rate that the windows allow over an empty path, streams x window / RTT; None where one is not known."""
    if window_bytes is None or not rtt_ns:
        return None
    return streams * window_bytes * 8e9 / rtt_ns


def _check_reading(reading: FlowReading) -> None:
    names = [name for name in FlowReading.__slots__ if name not in ("streams", "hosts")]
    figures = [(name, getattr(reading, name)) for name in names]
    for stream in reading.streams:
        figures += [(name, getattr(stream, name)) for name in StreamReading.__slots__]
    for host in reading.hosts:
        figures += [(name, getattr(host, name)) for name in HostLoad.__slots__]
    for name, value in figures:
        if value is not None and not 0 <= value < math.inf:
            raise UsageError(f"{name} is {value}", hint="pass 0 or more, None where it was not measured")


def _most(ratios: Iterable[float | None]) -> float | None:
    return max((one for one in ratios if one is not None), default=None)


def _divide(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _flow_evidence(reading: FlowReading) -> tuple[Evidence, ...]:
    """Figures that all streams share."""
    rate, window, unloaded = (
        reading.throughput_bits_per_s,
        reading.window_requested_bytes,
        reading.rtt_unloaded_ns,
    )
    windows = estimate_windows_rate(len(reading.streams), window, unloaded)
    rise = None
    if reading.rtt_loaded_ns is not None and unloaded is not None:
        rise = reading.rtt_loaded_ns - unloaded
    rises = [
        stream.rtt_ns - stream.rtt_min_ns
        for stream in reading.streams
        if stream.rtt_ns is not None and stream.rtt_min_ns is not None
    ]
    base = unloaded or min((s.rtt_min_ns for s in reading.streams if s.rtt_min_ns is not None), default=None)
    enough = QUEUE_RISE_MOST_NS
    if base is not None:
        enough = min(max(QUEUE_RISE_RATIO * base, QUEUE_RISE_LEAST_NS), QUEUE_RISE_MOST_NS)
    limited = is_host_limited(
        rate,
        reading.hosts,
        (reading.line_bits_per_s, windows, reading.requested_bits_per_s),
        reading.ceiling_bits_per_s,
    )
    return (
        weigh("busiest_core_ratio", _most(one.busiest_core_ratio for one in reading.hosts), BUSY_CORE_RATIO),
        weigh("engine_core_ratio", _most(one.engine_core_ratio for one in reading.hosts), OWN_WORK_RATIO),
        weigh("waiting_ratio", _most(one.waiting_ratio for one in reading.hosts), WAITING_RATIO),
        weigh("requested_share_ratio", _divide(rate, reading.requested_bits_per_s), EXPLAINED_RATIO),
        weigh("ceiling_share_ratio", _divide(rate, reading.ceiling_bits_per_s), CEILING_RATIO),
        weigh("host_limited", float(limited) if rate is not None else None, 1.0),
        weigh("line_share_ratio", _divide(rate, reading.line_bits_per_s), EXPLAINED_RATIO),
        weigh("windows_share_ratio", _divide(rate, windows), EXPLAINED_RATIO),
        weigh("probe_rtt_rise_ns", rise, enough),
        weigh("standing_rise_ns", reading.rtt_standing_ns, enough),
        weigh("tcp_rtt_rise_ns", float(np.median(rises)) if rises else None, enough),
        weigh("rate_spread_ratio", reading.rate_spread_ratio, FLAT_RATE_RATIO, most=True),
    )


def _stream_evidence(stream: StreamReading, reading: FlowReading) -> tuple[Evidence, ...]:
    """Figures of one stream."""
    idle = None
    if stream.busy_s is not None and stream.steady_s:
        idle = max(0.0, 1 - stream.busy_s / stream.steady_s)
    flight, rtt_ns = None, stream.rtt_ns or reading.rtt_loaded_ns
    if stream.rate_bits_per_s is not None and rtt_ns is not None:
        flight = stream.rate_bits_per_s / 8 * rtt_ns / 1e9
    resent, allowed = _divide(stream.retransmitted_bytes, stream.sent_bytes), None
    if resent and stream.segment_bytes is not None:
        allowed = math.sqrt(1.5 / resent) * stream.segment_bytes
    return (
        weigh(
            "receiver_limited_ratio", _divide(stream.receiver_limited_s, stream.steady_s), LIMITED_TIME_RATIO
        ),
        weigh("buffer_limited_ratio", _divide(stream.buffer_limited_s, stream.steady_s), LIMITED_TIME_RATIO),
        weigh("idle_ratio", idle, LIMITED_TIME_RATIO),
        weigh("app_limited_ratio", stream.app_limited_ratio, APP_LIMITED_RATIO),
        weigh("window_filled_ratio", _divide(flight, reading.window_requested_bytes), FILLED_WINDOW_RATIO),
        weigh("retransmit_ratio", resent, RETRANSMIT_RATIO),
        weigh("mathis_share_ratio", _divide(flight, allowed), MATHIS_SHARE_RATIO),
    )


def _classify_stream(
    stream: StreamReading, reading: FlowReading, shared: tuple[Evidence, ...]
) -> LimitVerdict:
    evidence = shared + _stream_evidence(stream, reading)
    met = {one.name: one.met for one in evidence}
    starved = met["idle_ratio"] or (
        met["app_limited_ratio"] and not met["receiver_limited_ratio"] and not met["buffer_limited_ratio"]
    )
    queue = find_queue(met, kernel_stamps=reading.kernel_stamps)
    full_path = queue and met["rate_spread_ratio"]
    held = met["receiver_limited_ratio"] or met["buffer_limited_ratio"]
    # Only losses let the queue of a full path run empty.
    if met["standing_rise_ns"] is False and (held or stream.retransmitted_bytes == 0):
        full_path = False
    # Who waits for a core that others keep busy sees delays that are no queue's, but not with every probe.
    if met["busiest_core_ratio"] and met["waiting_ratio"] is None and not met["standing_rise_ns"]:
        full_path = full_path and None
    # If the queue is uncertain, so are the windows, unless the rate is all that they carry without a queue.
    windowed = full_path is not None or not queue or met["windows_share_ratio"]
    lossy = met["retransmit_ratio"] or met["mathis_share_ratio"]
    filled = met["window_filled_ratio"]
    limit = None
    if met["host_limited"]:
        limit = Limit.HOST_CPU
    elif met["requested_share_ratio"] or (starved and not filled):
        limit = Limit.APPLICATION
    elif met["line_share_ratio"] or (full_path and not met["windows_share_ratio"]):
        limit = Limit.PATH_CAPACITY
    elif met["receiver_limited_ratio"] and windowed:
        limit = Limit.RECEIVER_WINDOW
    elif windowed and (met["buffer_limited_ratio"] or (filled and met["receiver_limited_ratio"] is False)):
        limit = Limit.SEND_BUFFER
    elif met["receiver_limited_ratio"] is None and queue is False and _is_window_full(evidence):
        limit = Limit.WINDOW
    elif lossy and full_path is False:
        limit = Limit.CONGESTION
    if limit is not None:
        return LimitVerdict(limit=limit, evidence=evidence)
    missing = queue is None or any(one.met is None for one in evidence if one.name not in OPTIONAL_EVIDENCE)
    reason = Undecided.NOT_MEASURED if missing else Undecided.NO_EVIDENCE
    if not missing and queue is False and met["tcp_rtt_rise_ns"]:
        reason = Undecided.CONFLICTING_EVIDENCE
    return LimitVerdict(evidence=evidence, undecided=reason)


def _is_window_full(evidence: tuple[Evidence, ...]) -> bool:
    """Whether the rate is what the requested windows carry, no less and not much more."""
    names = ("windows_share_ratio", "window_filled_ratio")
    return any(
        one.met and one.value is not None and one.value <= OVERFULL_RATIO
        for one in evidence
        if one.name in names
    )


def _classify_flow(
    reading: FlowReading, shared: tuple[Evidence, ...], streams: tuple[LimitVerdict, ...]
) -> LimitVerdict:
    """The limit under which most of the rate was carried; streams of unknown rate count alike."""
    if not streams:
        return LimitVerdict(evidence=shared, undecided=Undecided.NO_SAMPLES)
    rates = [stream.rate_bits_per_s for stream in reading.streams]
    known = [rate for rate in rates if rate is not None]
    weights = [1.0] * len(rates) if len(known) < len(rates) or sum(known) == 0 else known
    shares: dict[Limit, float] = {}
    for verdict, weight in zip(streams, weights, strict=True):
        if verdict.limit is not None:
            shares[verdict.limit] = shares.get(verdict.limit, 0.0) + weight / sum(weights)
    limit = max(shares, key=lambda one: shares[one], default=None)
    share = min(1.0, shares[limit]) if limit else 0.0
    most = replace(weigh("rate_under_limit_ratio", share, FLOW_SHARE_RATIO), met=share > FLOW_SHARE_RATIO)
    if most.met:
        return LimitVerdict(limit=limit, evidence=(*shared, most))
    reason = Undecided.NO_EVIDENCE
    reasons = {verdict.undecided for verdict in streams}
    if len(shares) > 1 or Undecided.CONFLICTING_EVIDENCE in reasons:
        reason = Undecided.CONFLICTING_EVIDENCE
    elif Undecided.NOT_MEASURED in reasons:
        reason = Undecided.NOT_MEASURED
    return LimitVerdict(evidence=(*shared, most), undecided=reason)
