"""What limited a UDP flow: the offered rate, the sending host, the path or the receiving host."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.evidence import Evidence, weigh
from pathlab.analysis.verdicts.host_limits import BUSY_CORE_RATIO
from pathlab.store.flags import Flag
from pathlab.store.records import TrialRecord

#: Below this share of the offered rate the sender did not reach it, as the flag ``rate-missed`` has it.
REACHED_RATIO = 0.99
#: From this share of the sent datagrams on a loss limits the flow, as the flag ``host-limited`` has it.
LOSS_RATIO = 0.001


class DatagramLimit(StrEnum):
    """What kept more datagrams from arriving. The values are stable and machine-readable."""

    OFFERED_RATE = "offered-rate"  # all that was offered was sent, and arrived
    SENDING_HOST = "sending-host"
    PATH = "path"
    RECEIVING_HOST = "receiving-host"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatagramReading:
    """The figures that the verdict is read from; None: not measured (of ``offered``: no rate was offered).

    ``received_packets_per_s`` is over the receiver's window, whichever phase the datagrams were sent in.
    ``under_way_packets_per_s``: what may be due and not sent yet at the end of the steady window, a datagram
    of each stream, over its length. ``is_stalled``: a program of the trial did not run.
    """

    offered_packets_per_s: float | None
    sent_packets_per_s: float | None
    sent_packets: float | None
    lost_packets: float | None
    lost_host_packets: float | None
    lost_path_packets: float | None
    sender_core_ratio: float | None = None
    receiver_core_ratio: float | None = None
    under_way_packets_per_s: float | None = None
    received_packets_per_s: float | None = None
    is_stalled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DatagramVerdict:
    """The limit, or why it is undecided, and the figures against their thresholds.

    ``beside`` are further places where datagrams were lost, or not sent, beyond the threshold.
    """

    limit: DatagramLimit | None
    beside: tuple[DatagramLimit, ...]
    evidence: tuple[Evidence, ...]
    undecided: Undecided | None = None

    def find(self, name: str) -> float | None:
        """A figure of the evidence by its name; None where it was not measured."""
        return next((item.value for item in self.evidence if item.name == name), None)


def read_datagrams(record: TrialRecord) -> DatagramReading:
    """The figures of one trial."""
    return DatagramReading(
        offered_packets_per_s=record.udp_offered_packets_per_s,
        sent_packets_per_s=record.udp_sent_packets_per_s,
        sent_packets=record.udp_sent_packets,
        lost_packets=record.udp_lost_packets,
        lost_host_packets=record.udp_lost_host_packets,
        lost_path_packets=record.udp_lost_path_packets,
        sender_core_ratio=record.sender_busiest_core_ratio,
        receiver_core_ratio=record.receiver_busiest_core_ratio,
        under_way_packets_per_s=record.streams * 1e9 / record.steady_ns if record.steady_ns else None,
        received_packets_per_s=record.udp_received_packets_per_s,
        is_stalled=Flag.HOST_STALLED in record.flags,
    )


def classify_datagrams(reading: DatagramReading) -> DatagramVerdict:
    """The place where the largest share of the offered rate was lost, or not sent.

    A sender without an offered rate sends as fast as its host can: unless datagrams were lost, it is the
    limit. A loss that no counter explains is of the path, or of a host whose counters were not read: then
    the verdict is undecided, unless another place lost more. So it is where clearly less arrived in the
    receiver's window than was sent and not lost: the rest was in a queue, or an end was late. Of a trial in
    which a program did not run nothing is said.
    """
    shares = _measure_shares(reading)
    evidence = tuple(
        weigh(name, value, threshold)
        for name, value, threshold in (
            ("unsent_ratio", shares[DatagramLimit.SENDING_HOST], 1 - REACHED_RATIO),
            ("lost_host_ratio", shares[DatagramLimit.RECEIVING_HOST], LOSS_RATIO),
            ("lost_path_ratio", shares[DatagramLimit.PATH], LOSS_RATIO),
            ("sender_core_ratio", reading.sender_core_ratio, BUSY_CORE_RATIO),
            ("receiver_core_ratio", reading.receiver_core_ratio, BUSY_CORE_RATIO),
        )
    )
    bounds = {DatagramLimit.SENDING_HOST: 1 - REACHED_RATIO}
    result = {
        index: share
        for index, share in shares.items()
        if share is not None and share >= bounds.get(index, LOSS_RATIO)
    }
    indices = tuple(sorted(result, key=lambda index: -result[index]))
    if reading.is_stalled:
        return DatagramVerdict(limit=None, beside=(), evidence=evidence, undecided=Undecided.STALLED)
    unexplained = _measure_unexplained(reading)
    if None in (reading.sent_packets, reading.sent_packets_per_s, reading.lost_packets):
        return DatagramVerdict(
            limit=None, beside=indices, evidence=evidence, undecided=Undecided.NOT_MEASURED
        )
    if unexplained >= max(LOSS_RATIO, result[indices[0]] if indices else 0.0):
        return DatagramVerdict(
            limit=None, beside=indices, evidence=evidence, undecided=Undecided.NOT_MEASURED
        )
    if indices:
        return DatagramVerdict(limit=indices[0], beside=indices[1:], evidence=evidence)
    if not reading.sent_packets:  # none was due
        return DatagramVerdict(limit=None, beside=(), evidence=evidence, undecided=Undecided.NO_SAMPLES)
    if _is_arrival_late(reading):
        return DatagramVerdict(
            limit=None, beside=(), evidence=evidence, undecided=Undecided.CONFLICTING_EVIDENCE
        )
    offered = reading.offered_packets_per_s is not None
    limit = DatagramLimit.OFFERED_RATE if offered else DatagramLimit.SENDING_HOST
    return DatagramVerdict(limit=limit, beside=(), evidence=evidence)


def _measure_shares(reading: DatagramReading) -> dict[DatagramLimit, float | None]:
    """Of what was offered, the share not sent; of what was sent, the shares lost on the path and after it.

    What may be under way at the end of the window is none that was not sent.
    """
    offered, sent_per_s, sent = (
        reading.offered_packets_per_s,
        reading.sent_packets_per_s,
        reading.sent_packets,
    )
    unsent = None
    if offered and sent_per_s is not None:
        missing_per_s = offered - sent_per_s
        unsent = missing_per_s / offered if missing_per_s > (reading.under_way_packets_per_s or 0.0) else 0.0
    lost = {
        DatagramLimit.PATH: reading.lost_path_packets,
        DatagramLimit.RECEIVING_HOST: reading.lost_host_packets,
    }
    shares = {place: None if count is None or not sent else count / sent for place, count in lost.items()}
    return {DatagramLimit.SENDING_HOST: unsent, **shares}


def _is_arrival_late(reading: DatagramReading) -> bool:
    """Whether less than ``REACHED_RATIO`` of what was sent and not lost arrived in the receiver's window."""
    sent_per_s, received_per_s = reading.sent_packets_per_s, reading.received_packets_per_s
    if not sent_per_s or received_per_s is None or not reading.sent_packets or reading.lost_packets is None:
        return False
    awaited_per_s = sent_per_s * (1 - reading.lost_packets / reading.sent_packets)
    return received_per_s + (reading.under_way_packets_per_s or 0.0) < REACHED_RATIO * awaited_per_s


def _measure_unexplained(reading: DatagramReading) -> float:
    """The share of the sent datagrams of which is not known who lost them."""
    if not reading.sent_packets or reading.lost_packets is None:
        return 0.0
    known = (reading.lost_host_packets or 0) + (reading.lost_path_packets or 0)
    return max(0.0, reading.lost_packets - known) / reading.sent_packets
