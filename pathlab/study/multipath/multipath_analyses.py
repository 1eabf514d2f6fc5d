"""The analyses of several links between two hosts, as methods of results."""

from __future__ import annotations

from collections.abc import Iterable

from pathlab.study.base.answer import Answer
from pathlab.study.base.registry import UNDECIDED, AnalysesBase, AnswerColumn, analysis
from pathlab.study.multipath.bond_counters import (
    ReorderingSeen,
    ThresholdChange,
    compare_thresholds,
    count_reordering,
)
from pathlab.study.multipath.bond_latency import BondLatency, measure_bond_latencies
from pathlab.study.multipath.failover import Failover, measure_failovers
from pathlab.study.multipath.member_shares import (
    MemberShares,
    StreamsNeeded,
    measure_member_shares,
    plan_streams,
)
from pathlab.study.multipath.multipath import MeasuredBond, compare_bonds
from pathlab.study.multipath.subflow_shares import SubflowShares, measure_subflow_shares
from pathlab.units import format_ratio

_BOND = AnswerColumn("bond", "name")
_COMBINATION = AnswerColumn("combination", "part")
_SIZE = AnswerColumn("size", "message_bytes", meaning="of messages; empty: a stream of bytes")
_TRIALS = AnswerColumn("n", "trials")


def _format_shares(answer: Answer[MemberShares]) -> str:
    texts = [(member.name, member.sent.median) for member in answer.result.members]
    return ", ".join(f"{name} {format_ratio(round(share, 3))}" for name, share in texts if share is not None)


def _format_subflows(answer: Answer[SubflowShares]) -> str:
    texts = []
    for subflow in answer.result.subflows:
        if subflow.sent.median is not None:
            ratio, rtt_ns = subflow.retransmitted_ratio.median, subflow.rtt_ns.median
            text = f"{subflow.local} {format_ratio(round(subflow.sent.median, 3))}"
            text += f", retransmitted {format_ratio(ratio)}" if ratio is not None else ""
            texts.append(text + (f", RTT {rtt_ns / 1e6:.1f} ms" if rtt_ns is not None else ""))
    return "; ".join(texts)


class MultipathAnalyses(AnalysesBase):
    """Several links between two hosts: what using them together gains, and how each is used."""

    @analysis(
        "Is the bond worth it?",
        _BOND,
        _COMBINATION,
        _SIZE,
        AnswerColumn("throughput", "throughput_bits_per_s.median"),
        AnswerColumn("best link", "best_link"),
        AnswerColumn("over best link", "gain.gain", "factor", detail="gain.gain_interval"),
        AnswerColumn("verdict", "verdict", meaning="against the best link alone", wraps=True),
        AnswerColumn("efficiency", "gain.efficiency", "ratio", detail="gain.efficiency_interval"),
        AnswerColumn("against the sum", "gain.sum_verdict", meaning="of all links alone"),
        AnswerColumn("pairs", "gain.pairs", meaning="cycles with the bond and every link alone"),
        AnswerColumn("more cycles", "gain.more_cycles", meaning="that would decide"),
        UNDECIDED,
        per="way to use several links",
    )
    def multipath(self) -> Iterable[Answer[MeasuredBond]]:
        """Several links together against the best one alone and against their sum, cycle by cycle.

        Verdicts: gains, equal (within ±5 %), harms, or undecided. Intervals are
        corrected (Holm) over all rows of a path. Trials in which a link failed are left out.
        """
        return compare_bonds(self.study_table(), self.study_source.campaign.environment)

    @analysis(
        "Share of each member link",
        _BOND,
        _COMBINATION,
        _SIZE,
        _TRIALS,
        AnswerColumn("shares", _format_shares, meaning="of all bytes that the sender sent, headers included"),
        AnswerColumn("idle", "idle_trials", meaning="trials in which a member carried less than 1 %"),
        AnswerColumn("hash of", "fields"),
        AnswerColumn("hash", "test.verdict", meaning="even, bad luck or polarised, against a good hash"),
        AnswerColumn("p", "test.p_value", unit="p", meaning="how often a good hash is as uneven"),
        AnswerColumn("undecided", "test.undecided", wraps=True),
        per="way to use several links",
        draws=7,
    )
    def member_shares(self) -> Iterable[Answer[MemberShares]]:
        """What each member link carried, by counters of both ends, against a good hash over the streams.

        Counters of members include headers and acknowledgements. Verdicts are corrected (Holm) over all rows.
        """
        return measure_member_shares(self.study_source, self.study_table(), self._generator("member_shares"))

    @analysis(
        "Share of each MPTCP subflow",
        _BOND,
        _COMBINATION,
        _TRIALS,
        AnswerColumn("shares", _format_subflows, meaning="of all bytes sent, by the sender's address"),
        per="way to use several links",
    )
    def subflow_shares(self) -> Iterable[Answer[SubflowShares]]:
        """What the subflows between each pair of addresses carried, by the sender's kernel.

        All connections of a trial together; counters include retransmissions.
        """
        return measure_subflow_shares(self.study_source, self.study_table())

    @analysis(
        "Streams needed to use 90 % of all links",
        _BOND,
        AnswerColumn("hash of", "fields"),
        AnswerColumn("streams", "plan.streams", meaning="for 90 % of all links with 95 % confidence"),
        AnswerColumn("none, because", "plan.reason", wraps=True),
        AnswerColumn("measured with", "streams", meaning="streams of the combination"),
        AnswerColumn("chance", "chance_ratio", meaning="that these use 90 % of all links"),
        per="hash and number of streams",
    )
    def streams_needed(self) -> Iterable[Answer[StreamsNeeded]]:
        """Streams between one pair of hosts with which a good hash uses 90 % of all links in 95 % of runs.

        Computed exactly, from what each link carries alone. None for a hash of addresses: all streams between
        one pair of hosts share one link.
        """
        return plan_streams(self.study_source, self.study_table(), self.member_shares())

    @analysis(
        "Round trips over several links",
        _BOND,
        AnswerColumn("size", "message_bytes"),
        AnswerColumn("offered", "offered_messages_per_s"),
        _TRIALS,
        AnswerColumn("p50", "median_ns.median", detail="median_ns.interval"),
        AnswerColumn("p99", "p99_ns.median", detail="p99_ns.interval"),
        AnswerColumn("over", "baseline"),
        AnswerColumn("factor of p50", "median_ratio.ratio", "factor", detail="median_ratio.interval_ratio"),
        AnswerColumn("factor of p99", "p99_ratio.ratio", "factor", detail="p99_ratio.interval_ratio"),
        AnswerColumn("missed", "missed", meaning="trials that did not keep the offered rate, left out"),
        AnswerColumn("undecided", "median_ratio.undecided", wraps=True),
        per="way to use the links, size and offered rate",
    )
    def bond_latency(self) -> Iterable[Answer[BondLatency]]:
        """Round trips of messages over several links, over those of the first link alone, cycle by cycle."""
        return measure_bond_latencies(self.study_table())

    @analysis(
        "A link fails",
        _BOND,
        _COMBINATION,
        AnswerColumn("failure", "failure"),
        _TRIALS,
        AnswerColumn("least rate", "dip_ratio.median", detail="dip_ratio.interval"),
        AnswerColumn("recovered", "recovery_ns.recovered", "", meaning="trials, of n"),
        AnswerColumn("after", "recovery_ns.median", "ns", "recovery_ns.interval"),
        AnswerColumn("retransmitted", "retransmitted_bytes.median"),
        AnswerColumn("undecided", "recovery_ns.undecided", wraps=True),
        per="way to use the links",
    )
    def failover(self) -> Iterable[Answer[Failover]]:
        """How deep the rate falls when a link fails, and after which time it is back.

        The median time counts trials that did not recover in their steady window (Kaplan-Meier).
        """
        return measure_failovers(self.study_table())

    @analysis(
        "Reordering as TCP sees it",
        _COMBINATION,
        AnswerColumn("bond", "bond"),
        AnswerColumn("tcp reordering", "tcp_reordering", meaning="empty: the kernel's default"),
        _TRIALS,
        AnswerColumn("seen", "seen_events.median", meaning="times that the sender noticed it, per trial"),
        AnswerColumn("duplicates", "duplicate_segments.median", meaning="segments that came twice (DSACK)"),
        AnswerColumn("out of order", "out_of_order_segments.median", meaning="those behind a loss included"),
        AnswerColumn("spurious", "spurious_ratio", meaning="duplicates of retransmitted segments"),
        AnswerColumn("GRO", "gro", meaning="joins packets at the receiver and hides reordering"),
    )
    def tcp_reordering(self) -> Iterable[Answer[ReorderingSeen]]:
        """Counters of TCP at both ends where reordering was seen, for each level of ``tcp_reordering``."""
        return count_reordering(self.study_source, self.study_table())

    @analysis(
        "Levels of tcp_reordering compared",
        _COMBINATION,
        AnswerColumn("bond", "bond"),
        AnswerColumn("metric", "metric"),
        AnswerColumn("compared", "compared"),
        AnswerColumn("pairs", "pairs"),
        AnswerColumn("ratio", "ratio", "factor"),
        AnswerColumn("95 % CI (Holm)", "interval", "factor"),
        AnswerColumn("verdict", "verdict", wraps=True),
        AnswerColumn("undecided", "reason", wraps=True),
        per="combination and level",
    )
    def reordering_thresholds(self) -> Iterable[Answer[ThresholdChange]]:
        """Throughput at each level of ``tcp_reordering`` over that at the lowest, in pairs of a cycle."""
        return compare_thresholds(self.study_table())
