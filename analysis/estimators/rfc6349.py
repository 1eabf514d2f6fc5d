"""The metrics of RFC 6349: achievable rate, transfer time ratio, TCP efficiency and buffer delay."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.payload import ETHERNET_BYTES, IP_BYTES, TCP_BYTES, Segment, payload_rate
from pathlab.errors import UsageError

#: IPv4 and TCP without options, as the RFC counts, in a full frame of Ethernet.
SEGMENT = Segment(payload_bytes=1500 - IP_BYTES[4] - TCP_BYTES, packet_bytes=1500, link_bytes=ETHERNET_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathFigures:
    """What the path is: its bottleneck as a line rate, the RTT without load, and what surrounds the data."""

    bottleneck_bits_per_s: float
    rtt_ns: float
    segment: Segment = SEGMENT


#: What is known of each transfer; ``sent_bytes`` counts every byte that TCP sent, retransmissions included.
TRANSFER_FIGURES = ("transfer_bytes", "transfer_s", "sent_bytes", "retransmitted_bytes", "rtt_mean_ns")


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """Bandwidth-delay product and the most that TCP can carry over the path."""

    bdp_bytes: float
    achievable_bits_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferMetrics:
    """The RFC's metrics, one value for each transfer; NaN where what they need was not measured.

    ``transfer_time_ratio`` is actual / ideal: 1 is ideal; below 1 the bottleneck rate was assumed too low.
    ``efficiency_percent`` (0 to 100) is the share of sent bytes that are no retransmissions.
    ``buffer_delay_percent`` is the rise of the mean RTT during the transfer; below 0 the RTT without load was
    assumed too long.
    """

    ideal_s: NDArray[np.float64]
    transfer_time_ratio: NDArray[np.float64]
    efficiency_percent: NDArray[np.float64]
    buffer_delay_percent: NDArray[np.float64]


def compute_rfc6349_capacity(path: PathFigures) -> Capacity:
    """Bandwidth-delay product of the line and the achievable TCP rate, from the payload of each packet.

    Raises ``UsageError`` for a bottleneck or RTT that is not above 0.

    Notes
    -----
    Assumption: full-sized packets, windows of at least the product. Source: RFC 6349, sections 3.3.1 and 4.1.
    """
    if not (0 < path.bottleneck_bits_per_s < math.inf and 0 < path.rtt_ns < math.inf):
        raise UsageError(
            f"a path of {path.bottleneck_bits_per_s} bit/s and {path.rtt_ns} ns has no capacity",
            hint="bottleneck and RTT are above 0",
        )
    return Capacity(
        bdp_bytes=path.bottleneck_bits_per_s * path.rtt_ns / 8e9,
        achievable_bits_per_s=payload_rate(path.bottleneck_bits_per_s, path.segment),
    )


def measure_transfers(path: PathFigures, transfers: Mapping[str, ArrayLike]) -> TransferMetrics:
    """Compute the metrics of RFC 6349 for transfers over one path.

    ``transfers`` has an array for each of ``TRANSFER_FIGURES``, NaN where it was not measured. A transfer
    whose figures contradict each other or are out of range has no metric that needs them.

    Notes
    -----
    Assumption: equilibrium, that is a window of at least the bandwidth-delay product and a bottleneck rate
    measured before by other means. The RFC asks for transfers of at least 30 s.
    Source: RFC 6349, sections 4.1 to 4.3.
    """
    capacity = compute_rfc6349_capacity(path)
    figures = {name: np.asarray(transfers[name], dtype=np.float64) for name in TRANSFER_FIGURES}
    carried, span_s = figures["transfer_bytes"], figures["transfer_s"]
    sent, again, rtt_ns = figures["sent_bytes"], figures["retransmitted_bytes"], figures["rtt_mean_ns"]
    with np.errstate(divide="ignore", invalid="ignore"):
        ideal_s = carried * 8 / capacity.achievable_bits_per_s
        time_ratio = span_s / ideal_s
        efficiency = 100 * (sent - again) / sent
        delay = 100 * (rtt_ns - path.rtt_ns) / path.rtt_ns
    return TransferMetrics(
        ideal_s=np.where(carried > 0, ideal_s, np.nan),
        transfer_time_ratio=np.where((carried > 0) & (span_s > 0), time_ratio, np.nan),
        efficiency_percent=np.where((again >= 0) & (again <= sent) & (sent > 0), efficiency, np.nan),
        buffer_delay_percent=np.where(rtt_ns > 0, delay, np.nan),
    )
