"""The figures of RFC 6349: what a path could carry, how near a transfer came to it, and at what cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.payload import ETHERNET_BYTES, IP_BYTES, TCP_BYTES, Segment, payload_rate
from pathlab.errors import UsageError

#: IPv4 and TCP without options, as the RFC counts.
HEADER_BYTES = IP_BYTES[4] + TCP_BYTES
MTU_BYTES = 1500


@dataclass(frozen=True, slots=True, kw_only=True)
class PathFigures:
    """What the path is: its bottleneck as a line rate, the RTT without load, and what surrounds the data."""

    bottleneck_bits_per_s: float
    rtt_ns: float
    mtu_bytes: int = MTU_BYTES
    header_bytes: int = HEADER_BYTES
    link_bytes: int = ETHERNET_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferFigures:
    """What one transfer did; ``None`` where it was not measured.

    ``sent_bytes`` counts every byte that TCP sent, those sent again included.
    """

    transfer_bytes: float
    transfer_s: float
    sent_bytes: float | None = None
    retransmitted_bytes: float | None = None
    rtt_mean_ns: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """Bandwidth-delay product and the most that TCP can carry over the path."""

    bdp_bytes: float
    achievable_bits_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpTest:
    """The RFC's metrics; per cent are 0 to 100. ``None`` where what they need was not measured.

    ``transfer_time_ratio`` is actual / ideal: 1 is the best there is; below 1 the bottleneck was taken for
    too slow. ``efficiency_percent`` is what was not sent again. ``buffer_delay_percent`` is the rise of the
    mean RTT during the transfer; below 0 the RTT without load was taken for too long.
    """

    capacity: Capacity
    ideal_s: float | None
    actual_s: float
    transfer_time_ratio: float | None
    efficiency_percent: float | None
    buffer_delay_percent: float | None
    undecided: Undecided | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferMetrics:
    """The metrics of many transfers over one path, one value each; NaN where they were not measured."""

    ideal_s: NDArray[np.float64]
    transfer_time_ratio: NDArray[np.float64]
    efficiency_percent: NDArray[np.float64]
    buffer_delay_percent: NDArray[np.float64]


def measure_capacity(path: PathFigures) -> Capacity:
    """Bandwidth-delay product of the line and the achievable TCP rate, by what each packet carries.

    Raises ``UsageError`` for a bottleneck or RTT that is not above 0, or packets without room for data.

    Notes
    -----
    Assumption: full-sized packets, windows of at least the product. Source: RFC 6349, sections 3.3.1 and 4.1.
    """
    if not (0 < path.bottleneck_bits_per_s < math.inf and 0 < path.rtt_ns < math.inf):
        raise UsageError(
            f"a path of {path.bottleneck_bits_per_s} bit/s and {path.rtt_ns} ns cannot be judged",
            hint="bottleneck and RTT are above 0",
        )
    if not (0 <= path.header_bytes < path.mtu_bytes and path.link_bytes >= 0):
        raise UsageError(
            f"packets of {path.mtu_bytes} bytes with {path.header_bytes} of headers carry nothing",
            hint="the MTU is larger than the headers",
        )
    segment = Segment(
        payload_bytes=path.mtu_bytes - path.header_bytes,
        packet_bytes=path.mtu_bytes,
        link_bytes=path.link_bytes,
    )
    return Capacity(
        bdp_bytes=path.bottleneck_bits_per_s * path.rtt_ns / 8e9,
        achievable_bits_per_s=payload_rate(path.bottleneck_bits_per_s, segment),
    )


def judge_transfer(path: PathFigures, transfer: TransferFigures) -> TcpTest:
    """Hold one transfer against its path by the metrics of RFC 6349.

    Raises ``UsageError`` for figures that contradict each other or lie below 0. Undecided without bytes.

    Notes
    -----
    Assumption: equilibrium, that is a window of at least the bandwidth-delay product and a bottleneck
    measured before by other means. Minimum: one transfer; the RFC asks for at least 30 s of it.
    Source: RFC 6349, sections 4.1 to 4.3.
    """
    capacity = measure_capacity(path)
    if not (0 <= transfer.transfer_bytes < math.inf and 0 < transfer.transfer_s < math.inf):
        raise UsageError(
            f"a transfer of {transfer.transfer_bytes} bytes in {transfer.transfer_s} s cannot be judged",
            hint="bytes are 0 or more, the time is above 0",
        )
    ideal = transfer.transfer_bytes * 8 / capacity.achievable_bits_per_s
    return TcpTest(
        capacity=capacity,
        ideal_s=ideal if ideal > 0 else None,
        actual_s=transfer.transfer_s,
        transfer_time_ratio=transfer.transfer_s / ideal if ideal > 0 else None,
        efficiency_percent=_measure_efficiency(transfer.sent_bytes, transfer.retransmitted_bytes),
        buffer_delay_percent=_measure_buffer_delay(transfer.rtt_mean_ns, path.rtt_ns),
        undecided=None if ideal > 0 else Undecided.ALL_ZERO,
    )


def measure_transfers(path: PathFigures, transfers: Mapping[str, ArrayLike]) -> TransferMetrics:
    """The metrics of many transfers at once.

    ``transfers`` has an array for each field of ``TransferFigures``, NaN where it was not measured. A
    transfer whose figures contradict each other or lie out of range has no metric that needs them.
    """
    capacity = measure_capacity(path)
    figures = {
        field.name: np.asarray(transfers[field.name], dtype=np.float64) for field in fields(TransferFigures)
    }
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


def _measure_efficiency(sent_bytes: float | None, retransmitted_bytes: float | None) -> float | None:
    if sent_bytes is None or retransmitted_bytes is None:
        return None
    if not 0 <= retransmitted_bytes <= sent_bytes < math.inf:
        raise UsageError(
            f"{retransmitted_bytes} bytes sent again of {sent_bytes} sent",
            hint="count every byte that was sent, those sent again included",
        )
    return 100 * (sent_bytes - retransmitted_bytes) / sent_bytes if sent_bytes else None


def _measure_buffer_delay(rtt_mean_ns: float | None, rtt_ns: float) -> float | None:
    if rtt_mean_ns is None:
        return None
    if not 0 < rtt_mean_ns < math.inf:
        raise UsageError(f"mean RTT {rtt_mean_ns} ns is not above 0", hint="pass None if it was not measured")
    return 100 * (rtt_mean_ns - rtt_ns) / rtt_ns
