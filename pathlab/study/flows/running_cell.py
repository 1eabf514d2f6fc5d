"""One combination while its campaign runs: the figures of its trials so far, selected as for a report."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from pathlab.store.flags import Flag
from pathlab.store.records import TrialRecord
from pathlab.study.base.answer import Spread, measure_bounded_records, measure_records
from pathlab.study.base.selection import LAB_FLAGS, PATH_FLAGS, PROVISIONAL_FLAGS, is_counted
from pathlab.study.flows.streams import find_drtt_bound, measure_datagram_loss, measure_drtt


class CellTraffic(StrEnum):
    """What a row of the plan carries."""

    STREAM = "stream"
    MESSAGES = "messages"
    UDP = "udp"


@dataclass(frozen=True, eq=False, kw_only=True)
class RunningCell:
    """The complete trials of one combination so far, in the order in which they ended.

    Host-limited trials of messages and of UDP flows are usable. Where none is usable, the provisional ones
    are ``counted``. Figures are computed when they are first read.
    """

    traffic: CellTraffic
    records: list[TrialRecord]

    @cached_property
    def usable(self) -> list[TrialRecord]:
        flags = PATH_FLAGS if self.traffic is CellTraffic.STREAM else LAB_FLAGS
        return [record for record in self.records if is_counted(record, flags)]

    @cached_property
    def counted(self) -> list[TrialRecord]:
        """The usable trials, else the provisional ones."""
        flags = PROVISIONAL_FLAGS if self.traffic is CellTraffic.STREAM else ()
        return self.usable or [record for record in self.records if is_counted(record, flags)]

    @property
    def is_provisional(self) -> bool:
        """Whether what is counted is provisional."""
        return bool(self.counted) and not self.usable

    @cached_property
    def rate(self) -> Spread:
        """Throughput, bit/s; messages per second where messages are carried."""
        name = "messages_per_s" if self.traffic is CellTraffic.MESSAGES else "throughput_bits_per_s"
        return measure_records(getattr(record, name) for record in self.counted)

    @cached_property
    def udp_loss_ratio(self) -> float | None:
        """Lost of the datagrams sent, over all trials that counted them."""
        known = [loss for record in self.counted if (loss := measure_datagram_loss(record)) and loss.sent]
        return sum(loss.lost for loss in known) / sum(loss.sent for loss in known) if known else None

    @cached_property
    def drtt_ns(self) -> Spread:
        return measure_bounded_records(self.counted, measure_drtt, find_drtt_bound)

    def measure_round_trips(self, quantile: str) -> Spread:
        """A quantile (``median``, ``p99`` ...) of the trials that kept their offered rate, ns."""
        kept = (record for record in self.counted if Flag.RATE_MISSED not in record.flags)
        return measure_records(getattr(record, f"round_trip_{quantile}_ns") for record in kept)
