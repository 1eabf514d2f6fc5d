"""Rates from bytes that the receiver counted, and the window that they imply."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pathlab.analysis.blocks import METHOD, choose_block_length, expanded_percentiles, resample_blocks
from pathlab.analysis.interval import (
    CONFIDENCE_RATIO,
    Interval,
    Undecided,
    as_samples,
    check_confidence,
    undecided_interval,
)
from pathlab.errors import UsageError

MINIMUM_RECORDS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Aggregate and per-stream rate of a flow, bit/s (decimal), with each stream's share of the bytes."""

    bits_per_s: float | None
    stream_bits_per_s: tuple[float, ...]
    stream_share_ratio: tuple[float, ...]
    undecided: Undecided | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanRate:
    """Mean rate over interval records, its interval (both bit/s) and the block length used (records)."""

    n: int
    bits_per_s: float | None
    interval_bits_per_s: Interval
    block_length: int | None
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
    counts = as_samples(received_bytes, "received bytes")
    if counts.size and counts.min() < 0:
        raise UsageError("received bytes: a count is below 0", hint="pass bytes per stream, not differences")
    if counts.size == 0 or steady_ns <= 0:
        reason = Undecided.ZERO_LENGTH if counts.size else Undecided.NO_SAMPLES
        return Throughput(bits_per_s=None, stream_bits_per_s=(), stream_share_ratio=(), undecided=reason)
    rates = counts * 8e9 / steady_ns
    total = counts.sum()
    shares = counts / total if total > 0 else np.empty(0)
    return Throughput(
        bits_per_s=float(total * 8e9 / steady_ns),
        stream_bits_per_s=tuple(float(rate) for rate in rates),
        stream_share_ratio=tuple(float(share) for share in shares),
    )


def mean_rate(
    interval_bytes: ArrayLike,
    interval_ns: ArrayLike,
    *,
    rng: np.random.Generator,
    confidence_ratio: float = CONFIDENCE_RATIO,
    resamples: int = 2000,
) -> MeanRate:
    """Mean rate of one trial from its interval records in order, with a moving-block bootstrap interval.

    ``interval_bytes`` are all streams' bytes per record, ``interval_ns`` the records' lengths. The interval
    speaks of this trial only; trials differ from each other by more than their records do.

    Notes
    -----
    Assumption: stationary records. Neighbouring 100 ms records depend on each other (windows, queues and
    recovery outlast a record), so blocks are drawn, their length from the measured correlation.
    Minimum sample: 100 records and 5 blocks, else undecided. In simulation the 95 % interval of 100 records
    holds the truth in 95 % or more without correlation, 92 % at first-order correlation 0.6, 87 % at 0.8.
    Source: Künsch, Annals of Statistics 17, 1989; Carlstein 1986 (length); Hesterberg 2015 (widening).
    """
    check_confidence(confidence_ratio)
    counts, spans = as_samples(interval_bytes, "interval bytes"), as_samples(interval_ns, "interval ns")
    if counts.size != spans.size:
        raise UsageError(
            f"{counts.size} byte counts but {spans.size} lengths", hint="pass one length per record"
        )
    if spans.size and spans.min() <= 0:
        raise UsageError("interval ns: a record has no length", hint="leave empty records out")
    n = counts.size
    if n < MINIMUM_RECORDS:
        reason = Undecided.TOO_FEW_SAMPLES if n else Undecided.NO_SAMPLES
        return MeanRate(
            n=n,
            bits_per_s=float(counts.sum() * 8e9 / spans.sum()) if n else None,
            interval_bits_per_s=undecided_interval(
                reason, n=n, confidence_ratio=confidence_ratio, method=METHOD
            ),
            block_length=None,
            undecided=None if n else reason,
        )
    length = choose_block_length(counts / spans)
    drawn = resample_blocks(n, min(length, n), resamples, rng)
    replicates = counts[drawn].sum(axis=1) * 8e9 / spans[drawn].sum(axis=1)
    return MeanRate(
        n=n,
        bits_per_s=float(counts.sum() * 8e9 / spans.sum()),
        interval_bits_per_s=expanded_percentiles(
            replicates, n=n, blocks=n / length, confidence_ratio=confidence_ratio
        ),
        block_length=length,
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
