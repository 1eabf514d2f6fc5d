"""The columns of a UDP flow, from what engines and agents stated. Missing pieces stay None."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from pathlab.engines.base import Record
from pathlab.engines.spec import BOTH, TrialSpec
from pathlab.remote.engine_records import (
    DatagramSettings,
    DatagramTotals,
    PhaseDatagrams,
    Quantiles,
    Reordering,
    Worker,
)
from pathlab.runner.trial.choreography import TrialData
from pathlab.runner.trial.flow_records import find_phase, find_ready, find_result, list_intervals
from pathlab.runner.trial.message_record import RATE_RATIO, sum_steady_cpu_ns
from pathlab.runner.trial.steady_rates import sum_rates_per_s
from pathlab.store.flags import Phase

UDP = "udp"
#: Share of the sent datagrams from which on a loss at the receiving host flags the trial.
HOST_LOSS_RATIO = 0.001
#: The n of n-reordering at which TCP would retransmit (three duplicate acknowledgements).
N_REORDERED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDrops:
    """Datagrams that the receiving host dropped, by where; None: not counted.

    ``socket`` counts the flow's own sockets. ``backlog`` and ``ring`` are counters of the whole host, so
    that they include what other traffic lost there.
    """

    socket: int | None
    backlog: int | None
    ring: int | None

    def split_loss(self, lost: int) -> tuple[int | None, int | None]:
        """How many of the lost datagrams the host dropped, and how many the path.

        The host's part is what its counters explain, and never more than was lost. Where a counter was not
        read, the host may have lost more: the path's part is then not known, unless the others explain all.
        """
        counts = (self.socket, self.backlog, self.ring)
        known = [count for count in counts if count is not None]
        if not known:
            return None, 0 if lost == 0 else None
        host = min(lost, sum(known))
        return host, lost - host if len(known) == len(counts) or host == lost else None


def is_udp_flow(spec: TrialSpec) -> bool:
    """Whether the trial counts datagrams, and no messages."""
    return spec.cell.transport == UDP and spec.cell.message_bytes is None


def measure_datagrams(spec: TrialSpec, data: TrialData, tables: Mapping[str, pa.Table]) -> dict[str, Any]:
    """The columns of a UDP flow, by name; none of other trials. ``tables`` are the series of the trial."""
    if not is_udp_flow(spec):
        return {}
    sender, receiver = DatagramCounts(data.sender), DatagramCounts(data.receiver)
    sent, received = sender.sum_up("sent"), receiver.sum_up("received")
    lost = receiver.sum_up("lost")
    if sent is not None and received is not None:
        lost = max(sent - received, 0)
    bytes_each = sender.settings.get("bytes")
    return {
        "datagram_bytes": bytes_each,
        "udp_sent_packets": sent,
        "udp_received_packets": received,
        "udp_lost_packets": lost,
        "udp_duplicate_packets": receiver.sum_up("duplicate"),
        "udp_reordered_packets": receiver.sum_up("reordered"),
        "udp_refused_packets": sender.sum_up("refused"),
        "udp_foreign_packets": receiver.totals.get("foreign"),
        "udp_offered_packets_per_s": sender.settings.get("offered_packets_per_s"),
        "udp_sent_packets_per_s": sender.rate_per_s,
        "udp_received_packets_per_s": receiver.divide_bytes_rate(bytes_each),
        "udp_jitter_ns": receiver.jitter_ns,
        **_split_loss(lost, receiver, tables),
        **_describe_pacing(sender.totals.get("pacing_error_ns") or {}),
        **_describe_reordering(receiver.totals.get("histograms")),
        "sender_cpu_ns_per_packet": _divide_cpu(spec, sender, "sender", sent),
        "receiver_cpu_ns_per_packet": _divide_cpu(
            spec, receiver, "receiver", receiver.count_steady(bytes_each)
        ),
    }


def is_datagram_rate_missed(spec: TrialSpec, data: TrialData) -> bool:
    """Whether a UDP flow's sender sent less than ``RATE_RATIO`` of what was due in its steady window.

    One datagram of each stream, or one super-packet, may be under way at the end.
    """
    if not is_udp_flow(spec):
        return False
    sender = DatagramCounts(data.sender)
    offered, sent = sender.settings.get("offered_packets_per_s"), sender.sum_up("sent")
    if not offered or sent is None or sender.span_ns is None:
        return False
    under_way = spec.cell.streams * (sender.settings.get("segments") or 1)
    return bool(sent + under_way < RATE_RATIO * offered * sender.span_ns / 1e9)


def is_loss_of_host(lost_by_host: int | None, sent: int | None) -> bool:
    """Whether the receiving host lost so much that the received rate is its own, and not the path's."""
    return bool(lost_by_host and sent and lost_by_host >= HOST_LOSS_RATIO * sent)


DatagramCount = Literal["sent", "refused", "received", "lost", "duplicate", "reordered"]


class DatagramCounts:
    """What one end's records say of its datagrams."""

    def __init__(self, records: Sequence[Record]) -> None:
        result = find_result(records)
        self.ready = find_ready(records)
        self.settings: DatagramSettings = (self.ready.get("datagrams") if self.ready else None) or {}
        self.totals: DatagramTotals = (result.get("datagrams") if result else None) or {}
        self.steady = find_phase(records, Phase.STEADY)
        self.intervals = list_intervals(records)

    @property
    def _counts(self) -> PhaseDatagrams:
        return (self.steady.get("datagrams") if self.steady else None) or {}

    @property
    def span_ns(self) -> int | None:
        """The length of the steady window; None where there was none."""
        steady = self.steady
        return (
            steady["end_ns"] - steady["start_ns"]
            if steady and steady["end_ns"] > steady["start_ns"]
            else None
        )

    def sum_up(self, name: DatagramCount) -> int | None:
        """A count of the steady window over all streams; None where a stream has none."""
        values = self._counts.get(name)
        known = [value for value in values or () if value is not None]
        return None if not values or len(known) < len(values) else sum(known)

    @property
    def rate_per_s(self) -> float | None:
        """Datagrams sent per second of the steady window."""
        sent = self.sum_up("sent")
        return None if sent is None or self.span_ns is None else sent * 1e9 / self.span_ns

    @property
    def jitter_ns(self) -> float | None:
        """The mean over the streams that have one."""
        known = [value for value in self._counts.get("jitter_ns") or () if value is not None]
        return sum(known) / len(known) if known else None

    def divide_bytes_rate(self, datagram_bytes: int | None) -> float | None:
        """Datagrams received per second of the steady window, without copies."""
        if not datagram_bytes or self.steady is None or self.span_ns is None:
            return None
        rate = sum_rates_per_s(self.steady, "bytes")
        return None if rate is None else rate / datagram_bytes

    def count_steady(self, datagram_bytes: int | None) -> int | None:
        """Datagrams received in the steady window, without copies."""
        if not datagram_bytes or self.steady is None:
            return None
        return int(sum(self.steady["bytes"])) // datagram_bytes


def _split_loss(
    lost: int | None, receiver: DatagramCounts, tables: Mapping[str, pa.Table]
) -> dict[str, int | None]:
    host, path = (None, None) if lost is None else find_host_drops(receiver, tables).split_loss(lost)
    return {"udp_lost_host_packets": host, "udp_lost_path_packets": path}


def find_host_drops(receiver: DatagramCounts, tables: Mapping[str, pa.Table]) -> HostDrops:
    """What the receiving host dropped around its steady window.

    Counters of the host are read at intervals: spans that the window only overlaps are counted as a whole.
    The ring's are those of the interface that dropped most, as those of a bond include its members'.
    """
    lost = receiver.totals.get("host_lost")
    socket = lost.get("socket") if lost else None
    steady = receiver.steady
    if steady is None:
        return HostDrops(socket=socket, backlog=None, ring=None)
    window = steady["start_ns"], steady["end_ns"]
    return HostDrops(
        socket=socket,
        backlog=_sum_overlapping(tables.get("receiver_softnet"), "dropped", window),
        ring=_find_ring_drops(tables.get("receiver_nics"), window),
    )


def _find_ring_drops(nics: pa.Table | None, window: tuple[int, int]) -> int | None:
    """What the host or the device had no room for; None where no interface states both."""
    if nics is None:
        return None
    counts = []
    for interface in nics["interface"].unique().to_pylist():
        own = nics.filter(pc.equal(nics["interface"], interface))
        parts = [_sum_overlapping(own, name, window) for name in ("rx_missed", "rx_fifo")]
        if None not in parts:
            counts.append(sum(part or 0 for part in parts))
    return max(counts, default=None)


def _sum_overlapping(table: pa.Table | None, name: str, window: tuple[int, int]) -> int | None:
    """A counter over the spans that overlap the window; None without any, or where one is not known."""
    if table is None or name not in table.column_names:
        return None
    columns = (table[column].to_pylist() for column in ("time_ns", "span_ns", name))
    counts = [
        count
        for end_ns, span_ns, count in zip(*columns, strict=True)
        if end_ns > window[0] and end_ns - span_ns < window[1]
    ]
    return None if not counts or None in counts else int(sum(counts))


def _describe_pacing(error_ns: Quantiles) -> dict[str, float | None]:
    return {
        "udp_pacing_error_median_ns": error_ns.get("median"),
        "udp_pacing_error_p99_ns": error_ns.get("p99"),
        "udp_pacing_error_max_ns": error_ns.get("max"),
    }


def _describe_reordering(histograms: Reordering | None) -> dict[str, int | None]:
    """The largest extent and late time, and how many datagrams were 3-reordered."""
    if histograms is None:
        return {}
    degrees = histograms.get("n_reordering")
    return {
        "udp_reorder_extent_max_packets": _find_highest(histograms.get("reorder_extents")),
        "udp_late_time_max_ns": _find_highest(histograms.get("late_times_ns")),
        "udp_n_reordered_3_packets": None
        if degrees is None
        else sum(count for low, _, count in degrees if low >= N_REORDERED),
    }


def _find_highest(bins: Iterable[Sequence[int]] | None) -> int | None:
    """The largest value of the last bin; None of an empty histogram."""
    return max((high for _, high, count in bins or () if count), default=None)


def _divide_cpu(spec: TrialSpec, end: DatagramCounts, role: str, count: int | None) -> float | None:
    """CPU time per datagram of the threads that sent, or received, those counted."""
    intervals = end.intervals
    if spec.cell.direction == BOTH:
        intervals = [
            {**interval, "workers": _choose_threads(interval["workers"], role)} for interval in intervals
        ]
    spent_ns = sum_steady_cpu_ns(end.ready, intervals, role)
    return None if spent_ns is None or not count else spent_ns / count


def _choose_threads(workers: list[Worker], role: str) -> list[Worker]:
    """Those of an end that sends and receives: the first half receives, the other one sends."""
    half = len(workers) // 2
    return workers[:half] if role == "receiver" else workers[half:]
