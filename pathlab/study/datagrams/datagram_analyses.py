"""The analyses of UDP flows, as methods of results."""

from __future__ import annotations

from collections.abc import Iterable

from pathlab.study.base.answer import Answer
from pathlab.study.base.registry import AnalysesBase, AnswerColumn, analysis
from pathlab.study.datagrams.datagrams import (
    DatagramFigures,
    OffloadGain,
    compare_offloads,
    measure_datagram_flows,
)


class DatagramAnalyses(AnalysesBase):
    """What UDP flows sent, lost and reordered; host-limited trials are kept, since the host is an answer."""

    @analysis(
        "UDP flows",
        AnswerColumn("combination", "part"),
        AnswerColumn("n", "received_packets_per_s.n", ""),
        AnswerColumn("offered", "offered_packets_per_s"),
        AnswerColumn("sent", "sent_packets_per_s.median"),
        AnswerColumn("received", "received_packets_per_s"),
        AnswerColumn("throughput", "throughput_bits_per_s.median"),
        AnswerColumn("loss", "loss.loss_ratio", detail="loss.interval_ratio"),
        AnswerColumn("by host", "packets.lost_host"),
        AnswerColumn("by path", "packets.lost_path"),
        AnswerColumn("not known", "packets.lost_unexplained"),
        AnswerColumn("reordered", "reordered.loss_ratio", detail="reordered.interval_ratio"),
        AnswerColumn("jitter", "jitter_ns"),
        AnswerColumn("limited by", "limit.limit", wraps=True),
    )
    def datagrams(self) -> Iterable[Answer[DatagramFigures]]:
        """Offered, sent and received datagrams per second, their loss, who lost them, reordering, jitter.

        Loss and reordering are pooled over the trials; their intervals allow for bursts.
        """
        return measure_datagram_flows(self.study_source, self.study_table())

    @analysis(
        "Cost of a datagram",
        AnswerColumn("combination", "part"),
        AnswerColumn("payload", "datagram_bytes"),
        AnswerColumn("CPU/packet, sender", "sender_cpu_ns_per_packet"),
        AnswerColumn("CPU/packet, receiver", "receiver_cpu_ns_per_packet"),
        AnswerColumn("pacing error, median", "pacing_error_median_ns.median"),
        AnswerColumn("p99", "pacing_error_p99_ns.median"),
    )
    def datagram_cost(self) -> Iterable[Answer[DatagramFigures]]:
        """CPU time per datagram at both ends, and how late the sender handed datagrams over."""
        return measure_datagram_flows(self.study_source, self.study_table())

    @analysis(
        "GSO and GRO",
        AnswerColumn("combination", "part"),
        AnswerColumn("offload", "offload"),
        AnswerColumn("figure", "metric"),
        AnswerColumn("pairs", "pairs"),
        AnswerColumn("ratio", "ratio", "factor", "interval"),
        AnswerColumn("undecided", "undecided", wraps=True),
        per="combination, offload and figure, where GSO or GRO vary",
    )
    def offloads(self) -> Iterable[Answer[OffloadGain]]:
        """Received datagrams and CPU time per datagram with GSO or GRO over neither, in pairs of a cycle."""
        return compare_offloads(self.study_table())
