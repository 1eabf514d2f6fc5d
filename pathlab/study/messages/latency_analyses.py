"""The analyses of the latency of messages, as methods of results."""

from __future__ import annotations

from collections.abc import Iterable

from pathlab.study.base.answer import Answer
from pathlab.study.base.registry import UNDECIDED, AnalysesBase, AnswerColumn, analysis
from pathlab.study.messages.message_choice import FrontPoint, find_fronts
from pathlab.study.messages.message_latency import (
    MessageKnee,
    MessageLatency,
    find_message_knees,
    measure_latencies,
)
from pathlab.study.messages.round_trips import LoadTail, measure_tails

_SETUP = AnswerColumn("combination", "setup.name", left=True, stays=True)
_SIZE = AnswerColumn("size", "message_bytes", stays=True)
OFFERED = AnswerColumn(
    "offered",
    lambda answer: answer.result.offered_messages_per_s or "one at a time",
    unit="1/s",
    meaning="messages per second; one at a time: each after the reply to the one before",
)

#: The quantiles of a tail, in the order of ``tails.QUANTILE_RATIOS``.
TAIL_HEADINGS = ("median", "p90", "p99", "p99.9", "p99.99", "p99.999")


def build_quantile_column(index: int) -> AnswerColumn:
    """The column of one of ``TAIL_HEADINGS``."""
    path = f"tail.quantiles.{index}"
    return AnswerColumn(TAIL_HEADINGS[index], f"{path}.value", unit="ns", detail=f"{path}.interval")


class LatencyAnalyses(AnalysesBase):
    """The latency of messages with replies; host-limited trials are kept, with a warning."""

    @analysis(
        "Round trips of messages",
        _SETUP,
        _SIZE,
        OFFERED,
        AnswerColumn("n", "trials"),
        AnswerColumn("missed", "missed", meaning="trials that did not keep the offered rate, left out"),
        AnswerColumn("missing", "missing_ratio", meaning="messages that never returned"),
        AnswerColumn("median", "median_ns"),
        AnswerColumn("p99", "p99_ns"),
        AnswerColumn("p99.9", "p99_9_ns"),
        AnswerColumn("maximum", "max_ns.most"),
        AnswerColumn("sent late, p99", "send_late_p99_ns.median"),
        UNDECIDED,
        per="combination, size of messages and offered rate",
    )
    def message_latency(self) -> Iterable[Answer[MessageLatency]]:
        """Round-trip time of messages, from when each was due: quantiles of each trial, over trials.

        Trials that missed their offered rate are counted and left out.
        """
        return measure_latencies(self.study_table())

    @analysis(
        "Knee of latency over offered rate",
        _SETUP,
        _SIZE,
        AnswerColumn("cycles", "knee.n"),
        AnswerColumn("knee", "knee.rate_per_s", unit="1/s", detail="knee.interval"),
        AnswerColumn("beyond it at", "knee.next_per_s", unit="1/s"),
        AnswerColumn("p99 at low rates", "knee.base_ns"),
        AnswerColumn("undecided", "knee.undecided", wraps=True),
        per="combination and size of messages",
    )
    def message_knee(self) -> Iterable[Answer[MessageKnee]]:
        """The highest offered rate that was kept with a p99 of at most twice that at the lowest rates."""
        return find_message_knees(self.study_table())

    @analysis(
        "Tail of round trips",
        _SETUP,
        _SIZE,
        OFFERED,
        AnswerColumn("round trips", "tail.n"),
        *map(build_quantile_column, range(len(TAIL_HEADINGS))),
        AnswerColumn("undecided", "tail.undecided", wraps=True),
        per="combination, size of messages and offered rate",
    )
    def message_tails(self) -> Iterable[Answer[LoadTail]]:
        """Quantiles of all round trips of all trials together, as far as 10 samples lie above."""
        return measure_tails(self.study_source, self.study_table())

    @analysis(
        "Rate and latency (Pareto front)",
        _SIZE,
        AnswerColumn("offered", "figures.offered_messages_per_s", unit="1/s"),
        _SETUP,
        AnswerColumn("p99", "figures.p99_ns"),
        AnswerColumn("CPU/message", "figures.cpu_ns_per_message"),
        AnswerColumn("not shown to differ", lambda answer: answer.result.rivals or None, left=True),
        per="load that no other beats in rate and p99",
    )
    def message_front(self) -> Iterable[Answer[FrontPoint]]:
        """Offered rates with the least p99 at each size: no other combination has more rate at less p99."""
        return find_fronts(self.study_table())
