"""Rates from the bytes that the receiver counted, and the window that they imply."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pathlab.analysis.estimators.interval import Undecided, as_amounts
from pathlab.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Aggregate and per-stream rate of a flow, bit/s (decimal), with each stream's share of the bytes."""

    bits_per_s: float | None = None
    stream_bits_per_s: tuple[float, ...]
    stream_share_ratio: tuple[float, ...]
    undecided: Undecided | None = None


def aggregate_throughput(received_bytes: ArrayLike, steady_ns: int) -> Throughput:
    """Rate of a flow from each stream's received bytes over the steady window of ``steady_ns`` nanoseconds.

    Raises ``UsageError`` for negative bytes. Undecided without streams or without a window; shares are left
    empty when nothing was received.

    Notes
    -----
    Assumes the bytes were counted by the receiver in exactly that window, on the receiver's clock.
    Minimum: 1 stream. Source: METHOD section 1 (aggregate throughput).
    """
    counts = as_amounts(received_bytes, "received bytes")
    if counts.size == 0 or steady_ns <= 0:
        reason = Undecided.ZERO_LENGTH if counts.size else Undecided.NO_SAMPLES
        return Throughput(stream_bits_per_s=(), stream_share_ratio=(), undecided=reason)
    rates = counts * 8e9 / steady_ns
    total = counts.sum()
    shares = counts / total if total > 0 else np.empty(0)
    return Throughput(
        bits_per_s=float(total * 8e9 / steady_ns),
        stream_bits_per_s=tuple(float(rate) for rate in rates),
        stream_share_ratio=tuple(float(share) for share in shares),
    )


def effective_window(throughput_bits_per_s: float, streams: int, rtt_ns: float) -> float:
    """Bytes that each stream kept in flight on average: throughput per stream times RTT.

    Raises ``UsageError`` unless streams and RTT are above 0 and the throughput is 0 or more.

    Notes
    -----
    Little's law. Assumes that the RTT is the mean over the same window and that the streams share alike.
    Goodput is taken, so retransmitted bytes are not in it. Source: METHOD section 1 (effective window).
    """
    if throughput_bits_per_s < 0 or streams < 1 or not rtt_ns > 0:
        raise UsageError(
            f"effective window of {throughput_bits_per_s} bit/s, {streams} streams, RTT {rtt_ns} ns",
            hint="throughput is 0 or more, streams and RTT above 0",
        )
    return throughput_bits_per_s / 8 / streams * rtt_ns / 1e9
