"""What set a rate: a window, an application, losses, the path or a host; each with its evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.evidence import Evidence, weigh
from pathlab.analysis.verdicts.flow_evidence import (
    OPTIONAL_EVIDENCE,
    PathState,
    find_path_state,
    is_window_full,
    weigh_flow,
    weigh_stream,
)
from pathlab.analysis.verdicts.flow_reading import FlowReading, StreamReading, check_reading
from pathlab.analysis.verdicts.loss_laws import ignores_losses

#: Share of the flow's rate that streams with one and the same limit must carry to name the flow's.
FLOW_SHARE_RATIO = 0.5


class Limit(StrEnum):
    """What a rate is limited by. The values are stable and machine-readable."""

    RECEIVER_WINDOW = "receiver-window"
    SEND_BUFFER = "send-buffer"
    WINDOW = "window"  # of one end or the other: which one was not measured
    CONGESTION = "congestion-loss"
    PATH_CAPACITY = "path-capacity"
    RATE_LIMIT = "rate-limit"  # of the path, which drops what exceeds it and does not queue: a policer
    RETURN_PATH = "return-path"  # acknowledgements wait in a queue on the way back
    APPLICATION = "sending-application"
    RECEIVING_APPLICATION = "receiving-application"
    HOST_CPU = "host-cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitVerdict:
    """The limit, the figures that it was read from, and why there is none where it is ``None``."""

    limit: Limit | None = None
    evidence: tuple[Evidence, ...]
    undecided: Undecided | None = None

    def find(self, name: str) -> Evidence:
        """The evidence of that name; ``KeyError`` if there is none."""
        return {item.name: item for item in self.evidence}[name]

    @property
    def at_requested_rate(self) -> bool:
        """Whether the application is the limit because the flow came to the rate requested."""
        named = (item for item in self.evidence if item.name == "requested_share_ratio")
        return self.limit is Limit.APPLICATION and any(item.met for item in named)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowVerdict:
    """The limit of the flow and of each stream, in the order of the reading."""

    flow: LimitVerdict
    streams: tuple[LimitVerdict, ...]


def classify_limits(reading: FlowReading) -> FlowVerdict:
    """Name what limited each stream and the flow, with every figure and threshold that was looked at.

    Raises ``UsageError`` for a negative figure. Needs at least one stream; with none the flow is undecided.

    Notes
    -----
    In this order, first match: host CPU (as ``is_host_limited``); sending application (its configured rate is
    reached, or it had too little to send and did not fill the requested window); receiving application (the
    kernel's clock says that the receiver's window held, and most of the largest one is neither offered any
    more nor in flight); path capacity (a known line is reached, or the queue builds on the way of the data,
    the rate is flat and the windows over the unloaded RTT would carry more; without losses, or where a window
    holds the flow, the least RTT must have risen too: else the delays come from elsewhere; alongside a busy
    core, either that or the waits of the traffic's threads for it must be known, else path and windows stay
    undecided); return path (the RTT rises and the data's own way has at most ``BACKWARD_RATIO`` of it); the
    receiver's window (the kernel's clock); send buffer (the kernel's clock, or the requested window is filled
    while the receiver's is measured not to hold: the kernel's clock stays at 0 with small writes although the
    buffer is the limit); a window of either end (the rate is what the windows carry, no queue builds, the
    kernel's clock of the receiver's was not measured); a rate limit of the path (no queue, losses, a flat
    rate that independent losses would not leave); congestion and loss (at least ``RESENT_LEAST`` segments
    lost, and at least ``LOSS_LAW_RATIO`` of what that allows in flight, by ``loss_laws``). Else
    undecided: not measured where a figure is missing, conflicting evidence where readings of the queue differ
    or it may be of either way, no evidence otherwise. Whether a queue builds is read from probes before the
    streams' smoothed RTT (``evidence.find_queue``); of that, the median over streams of each one's median
    over the steady window counts. The flow's limit is the one under which streams carry more than half of its
    rate; streams that differ make it undecided (conflicting evidence).

    A verdict is wrong where: (host CPU) a thread that waited had time to spare; (path capacity) all traffic
    of the queue is that of others, or the queue is on the way back and the ends' counts do not show it
    (other programs' results); (return path) others keep that queue full and the windows are small as
    well; (receiving application) the receiver's kernel, short of memory, takes its window back; (rate
    limit) BBR keeps a link full that loses packets at random and that it leaves without a queue; (losses)
    the rate of one stream swings behind a policer. Assumption: steady state; dRTT by probes that pass the
    same queue. One trial suffices; repeated trials are better evidence than any threshold. Source: METHOD
    section 4; policers: Flach et al. 2016; tcp_info: RFC 4898 and the Linux kernel; the thresholds are
    this project's.
    """
    check_reading(reading)
    shared = weigh_flow(reading)
    streams = tuple(_classify_stream(stream, reading, shared) for stream in reading.streams)
    return FlowVerdict(flow=_classify_flow(reading, shared, streams), streams=streams)


def _classify_stream(
    stream: StreamReading, reading: FlowReading, shared: tuple[Evidence, ...]
) -> LimitVerdict:
    evidence = shared + weigh_stream(stream, reading)
    met = {item.name: item.met for item in evidence}
    starved = met["idle_ratio"] or (
        met["app_limited_ratio"] and not met["receiver_limited_ratio"] and not met["buffer_limited_ratio"]
    )
    path = find_path_state(stream, reading, met, {item.name: item.value for item in evidence})
    # If the queue is uncertain, so are the windows, unless the rate is all that they carry without a queue.
    windowed = path.full is not None or not path.queue or met["windows_share_ratio"]
    lossy = met["resent_segments"] and met["loss_law_share_ratio"]
    filled = met["window_filled_ratio"]
    limit = None
    if met["host_limited"]:
        limit = Limit.HOST_CPU
    elif met["requested_share_ratio"] or (starved and not filled):
        limit = Limit.APPLICATION
    elif met["receiver_limited_ratio"] and met["unread_window_ratio"]:
        # Acknowledgements of a window that was closed come late, as from a queue.
        limit = Limit.RECEIVING_APPLICATION
    elif met["line_share_ratio"] and path.policed and not ignores_losses(reading.congestion):
        limit = Limit.RATE_LIMIT
    elif met["line_share_ratio"] or (path.full and not met["windows_share_ratio"]):
        limit = Limit.PATH_CAPACITY
    elif path.backward and not lossy and not met["windows_share_ratio"]:
        limit = Limit.RETURN_PATH
    elif met["receiver_limited_ratio"] and windowed:
        limit = Limit.RECEIVER_WINDOW
    elif windowed and (met["buffer_limited_ratio"] or (filled and met["receiver_limited_ratio"] is False)):
        limit = Limit.SEND_BUFFER
    elif met["receiver_limited_ratio"] is None and path.queue is False and is_window_full(evidence):
        limit = Limit.WINDOW
    elif path.policed:
        limit = Limit.RATE_LIMIT
    elif lossy and path.full is False and path.policed is False and not path.backward:
        limit = Limit.CONGESTION
    if limit is not None:
        return LimitVerdict(limit=limit, evidence=evidence)
    return LimitVerdict(evidence=evidence, undecided=_find_reason(reading, evidence, path))


def _find_reason(reading: FlowReading, evidence: tuple[Evidence, ...], path: PathState) -> Undecided:
    met = {item.name: item.met for item in evidence}
    if path.queue is None or any(item.met is None for item in evidence if item.name not in OPTIONAL_EVIDENCE):
        return Undecided.NOT_MEASURED
    late_streams = path.queue is False and met["tcp_rtt_rise_ns"]
    either_way = path.queue and met["forward_share_ratio"] is False
    if late_streams or either_way or path.policed is None:
        return Undecided.CONFLICTING_EVIDENCE
    blind = ignores_losses(reading.congestion)
    if met["resent_segments"] and met["loss_law_share_ratio"] is None and not blind:
        return Undecided.NOT_MEASURED  # no law for this congestion control
    return Undecided.NO_EVIDENCE


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
    limit = max(shares, key=lambda item: shares[item], default=None)
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
