"""Figures of a flow and of its streams against their thresholds, and what they say of the path."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from pathlab.analysis.verdicts.evidence import Evidence, find_queue, weigh
from pathlab.analysis.verdicts.flow_reading import FlowReading, StreamReading, divide, estimate_windows_rate
from pathlab.analysis.verdicts.host_limits import (
    BUSY_CORE_RATIO,
    CEILING_RATIO,
    EXPLAINED_RATIO,
    OWN_WORK_RATIO,
    WAITING_RATIO,
    is_host_limited,
)
from pathlab.analysis.verdicts.loss_laws import estimate_loss_window, ignores_losses

#: Share of the steady window from which the kernel's clock of a limit makes it the limit.
LIMITED_TIME_RATIO = 0.5
#: From this share of application-limited delivery-rate samples on, the sender had too little to send.
APP_LIMITED_RATIO = 0.5
#: A window counts as filled when this share of the requested window is in flight.
FILLED_WINDOW_RATIO = 0.8
#: Receive buffers hold up to a third more than requested: a rate above this share of what the requested
#: windows would carry is not limited by them.
OVERFULL_RATIO = 1.35
#: Fewer lost segments than this, over all streams, say nothing of what losses allow: its error is then too
#: large.
RESENT_LEAST = 10
#: From this share of retransmitted data on, losses are part of what a steady rate shows.
RETRANSMIT_RATIO = 1e-4
#: Share of what the losses allow from which they explain what was in flight: below it something else does.
LOSS_LAW_RATIO = 0.5
#: Loss up to which every version of BBR keeps its rate (draft-ietf-ccwg-bbr: BBRLossThresh).
BBR_LOSS_RATIO = 0.02
#: Spread of a flat rate, of what as many independent losses would leave, up to which they are not
#: independent, ...
STEADINESS_RATIO = 0.35
#: ... and from which on they may be taken for such.
INDEPENDENT_RATIO = 0.6
#: Inter-quartile range over median of a flow's rates, times the square root of the streams and of the losses
#: in a span, where losses are independent: the median of simulations
#: (tests/unit/analysis/verdicts/test_policer.py).
INDEPENDENT_SPREAD = 0.6
#: Share of the largest offered window, not in flight and not offered, from which it holds what was not read.
UNREAD_RATIO = 0.5
#: From this share of the rise of the RTT on, the way of the data has the queue, ...
FORWARD_RATIO = 0.5
#: ... up to this one the way back has it; between them each may have one.
BACKWARD_RATIO = 0.25
#: Smaller rises are not divided between the two ways: the counts of the ends are read too seldom.
DIVIDED_LEAST_NS = 5_000_000.0
#: A queue builds where the RTT rises by this share of the unloaded RTT, ...
QUEUE_RISE_RATIO = 0.1
#: ... by no less than this, which hosts cause by themselves, ...
QUEUE_RISE_LEAST_NS = 200_000.0
#: ... and on long paths by no more than this.
QUEUE_RISE_MOST_NS = 5_000_000.0
#: Inter-quartile range over median of the flow's interval rates up to which its rate is flat.
FLAT_RATE_RATIO = 0.1
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
        "loss_law_share_ratio",
        "loss_steadiness_ratio",
        "forward_share_ratio",
        "unread_window_ratio",
        "probe_rtt_rise_ns",
        "tcp_rtt_rise_ns",
    }
)


def weigh_flow(reading: FlowReading) -> tuple[Evidence, ...]:
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
    risen = _find_rise(rise, rises)
    forward = None
    if reading.forward_rise_ns is not None and risen >= max(enough, DIVIDED_LEAST_NS):
        forward = reading.forward_rise_ns / risen
    limited = is_host_limited(
        rate,
        reading.hosts,
        (reading.line_bits_per_s, windows, reading.requested_bits_per_s),
        reading.ceiling_bits_per_s,
    )
    return (
        weigh(
            "busiest_core_ratio", _most(host.busiest_core_ratio for host in reading.hosts), BUSY_CORE_RATIO
        ),
        weigh("engine_core_ratio", _most(host.engine_core_ratio for host in reading.hosts), OWN_WORK_RATIO),
        weigh("waiting_ratio", _most(host.waiting_ratio for host in reading.hosts), WAITING_RATIO),
        weigh("requested_share_ratio", divide(rate, reading.requested_bits_per_s), EXPLAINED_RATIO),
        weigh("ceiling_share_ratio", divide(rate, reading.ceiling_bits_per_s), CEILING_RATIO),
        weigh("host_limited", float(limited) if rate is not None else None, 1.0),
        weigh("line_share_ratio", divide(rate, reading.line_bits_per_s), EXPLAINED_RATIO),
        weigh("windows_share_ratio", divide(rate, windows), EXPLAINED_RATIO),
        weigh("probe_rtt_rise_ns", rise, enough),
        weigh("standing_rise_ns", reading.rtt_standing_ns, enough),
        weigh("tcp_rtt_rise_ns", float(np.median(rises)) if rises else None, enough),
        weigh("forward_share_ratio", forward, FORWARD_RATIO),
        weigh("rate_spread_ratio", reading.rate_spread_ratio, FLAT_RATE_RATIO, most=True),
        weigh("resent_segments", reading.lost_segments, RESENT_LEAST),
        weigh("loss_steadiness_ratio", _measure_steadiness(reading), STEADINESS_RATIO, most=True),
    )


def _find_rise(probe_rise_ns: float | None, tcp_rises_ns: list[float]) -> float:
    """The rise of the RTT that probes saw, else streams; 0 where neither was measured."""
    if probe_rise_ns is not None:
        return probe_rise_ns
    return float(np.median(tcp_rises_ns)) if tcp_rises_ns else 0.0


def _measure_steadiness(reading: FlowReading) -> float | None:
    """Spread of the rate, of what that number of losses leaves where each meets a stream by chance.

    What a path drops beyond a rate keeps the sum of the streams at that rate: it then spreads by far less.
    Streams that lose together, as behind a policer that ran out of tokens, count as so many fewer, and so do
    their losses: if chance had it so, all would slow down at once.
    """
    spread, lost, spans = reading.rate_spread_ratio, reading.lost_segments, reading.rate_spans
    if not spread or lost is None or not spans:
        return spread if lost is not None and spans else None
    together = min(max(reading.loss_synchrony_ratio or 1.0, 1.0), len(reading.streams))
    return spread * math.sqrt((len(reading.streams) + lost / spans) / together) / INDEPENDENT_SPREAD


def weigh_stream(stream: StreamReading, reading: FlowReading) -> tuple[Evidence, ...]:
    """Figures of one stream."""
    idle = None
    if stream.busy_s is not None and stream.steady_s:
        idle = max(0.0, 1 - stream.busy_s / stream.steady_s)
    flight, rtt_ns = None, stream.rtt_ns or reading.rtt_loaded_ns
    if stream.rate_bits_per_s is not None and rtt_ns is not None:
        flight = stream.rate_bits_per_s / 8 * rtt_ns / 1e9
    return (
        weigh(
            "receiver_limited_ratio", divide(stream.receiver_limited_s, stream.steady_s), LIMITED_TIME_RATIO
        ),
        weigh("buffer_limited_ratio", divide(stream.buffer_limited_s, stream.steady_s), LIMITED_TIME_RATIO),
        weigh("idle_ratio", idle, LIMITED_TIME_RATIO),
        weigh("app_limited_ratio", stream.app_limited_ratio, APP_LIMITED_RATIO),
        weigh("window_filled_ratio", divide(flight, reading.window_requested_bytes), FILLED_WINDOW_RATIO),
        weigh("unread_window_ratio", _find_unread(stream, flight), UNREAD_RATIO),
        weigh("retransmit_ratio", stream.loss_ratio, RETRANSMIT_RATIO),
        weigh("loss_law_share_ratio", _compare_with_law(stream, reading, flight, rtt_ns), LOSS_LAW_RATIO),
    )


def _find_unread(stream: StreamReading, flight_bytes: float | None) -> float | None:
    """Share of the largest offered window that the receiver neither offers nor has on its way to it."""
    if flight_bytes is None or stream.offered_bytes is None or not stream.offered_most_bytes:
        return None
    return max(0.0, 1 - max(flight_bytes, stream.offered_bytes) / stream.offered_most_bytes)


def _compare_with_law(
    stream: StreamReading, reading: FlowReading, flight_bytes: float | None, rtt_ns: float | None
) -> float | None:
    """What was in flight, of what the losses allow; few losses of a stream are taken with those of all."""
    loss, lost = stream.loss_ratio, stream.lost_segments
    if loss is None or lost is None or flight_bytes is None or rtt_ns is None or not stream.segment_bytes:
        return None
    if 0 < lost < RESENT_LEAST and reading.loss_ratio is not None:
        loss = reading.loss_ratio
    allowed = estimate_loss_window(reading.congestion, loss, rtt_ns)
    return None if allowed is None else divide(flight_bytes, allowed * stream.segment_bytes)


def _most(ratios: Iterable[float | None]) -> float | None:
    return max((ratio for ratio in ratios if ratio is not None), default=None)


def is_window_full(evidence: tuple[Evidence, ...]) -> bool:
    """Whether the rate is what the requested windows carry, no less and not much more."""
    names = ("windows_share_ratio", "window_filled_ratio")
    return any(
        item.met and item.value is not None and item.value <= OVERFULL_RATIO
        for item in evidence
        if item.name in names
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PathState:
    """What the path seems to do; None: not known, or the readings contradict each other.

    ``full``: its queue on the way of the data is never empty. ``backward``: the queue is on the way back, and
    the sender is one that waits for what comes that way. ``policed``: it drops beyond a rate without a queue.
    """

    queue: bool | None
    full: bool | None
    backward: bool | None
    policed: bool | None


def find_path_state(
    stream: StreamReading,
    reading: FlowReading,
    met: Mapping[str, bool | None],
    values: Mapping[str, float | None],
) -> PathState:
    queue = find_queue(met, kernel_stamps=reading.kernel_stamps)
    full, backward = queue and met["rate_spread_ratio"], False
    forward = values["forward_share_ratio"]
    if queue and forward is not None and forward < FORWARD_RATIO:
        backward = forward <= BACKWARD_RATIO
        full = False if backward else None
    held = met["receiver_limited_ratio"] or met["buffer_limited_ratio"]
    # Only losses let the queue of a full path run empty.
    if met["standing_rise_ns"] is False and (held or stream.lost_segments == 0):
        full = backward = False
    # Who waits for a core that others keep busy sees delays that are no queue's, but not with every probe.
    if met["busiest_core_ratio"] and met["waiting_ratio"] is None and not met["standing_rise_ns"]:
        full, backward = full and None, False
    # BBR keeps to the rate of the path without a queue, whatever waits on the way back.
    if reading.congestion is None or ignores_losses(reading.congestion):
        full, backward = None if backward else full, False
    policed = _is_policed(reading, met, queue, values["loss_steadiness_ratio"])
    return PathState(queue=queue, full=full, backward=backward, policed=policed)


def _is_policed(
    reading: FlowReading, met: Mapping[str, bool | None], queue: bool | None, steadiness_ratio: float | None
) -> bool | None:
    """Whether the rate is steady in spite of losses and nothing queues; None: it may be so by chance."""
    if queue is not False or not met["rate_spread_ratio"] or met["loss_law_share_ratio"] is False:
        return False
    if not met["resent_segments"] or not met["retransmit_ratio"]:
        return False
    # The rate of BBR is that of the path as long as no version of it takes so few losses for a sign.
    kept = ignores_losses(reading.congestion) and (reading.loss_ratio or 0.0) < BBR_LOSS_RATIO
    if kept or met["loss_steadiness_ratio"]:
        return True
    return None if steadiness_ratio is not None and steadiness_ratio < INDEPENDENT_RATIO else False
