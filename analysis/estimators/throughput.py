"""The window that a rate and a round trip imply."""

from __future__ import annotations

from pathlab.errors import UsageError


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
