"""The analyses of messages and writes by their size, as methods of results."""

from __future__ import annotations

from collections.abc import Iterable

from pathlab.analysis.fits.message_cost import MessageCost
from pathlab.study.base.answer import Answer
from pathlab.study.base.registry import UNDECIDED, AnalysesBase, AnswerColumn, analysis
from pathlab.study.messages.batching import BatchingGain, compare_batching, describe_sending
from pathlab.study.messages.fan_out import FanOut, measure_fan_outs
from pathlab.study.messages.message_rates import (
    MESSAGES,
    WRITES,
    MessageRate,
    fit_size_costs,
    measure_message_rates,
)

_COST_COLUMNS = (
    AnswerColumn("combination", "part"),
    AnswerColumn("n", "n"),
    AnswerColumn("per message", "message_ns", detail="message_interval_ns"),
    AnswerColumn("per byte", "rate_bits_per_s", detail="rate_interval_bits_per_s"),
    AnswerColumn("half size", "half_size_bytes", detail="half_size_interval_bytes"),
    UNDECIDED,
)


class MessageAnalyses(AnalysesBase):
    """What is carried of messages and writes, by their size; host-limited trials are kept, and named."""

    @analysis(
        "Messages by size",
        AnswerColumn("size", "size_bytes"),
        AnswerColumn("n", "messages_per_s.n", ""),
        AnswerColumn("messages", "messages_per_s"),
        AnswerColumn("throughput", "throughput_bits_per_s"),
        AnswerColumn("CPU/message, sender", "sender_cpu_ns_per_message"),
        AnswerColumn("CPU/message, receiver", "receiver_cpu_ns_per_message"),
        AnswerColumn("per call", "messages_per_call"),
        AnswerColumn("missing", "missing"),
        AnswerColumn("out of order", "out_of_order"),
        per="combination and size of messages",
    )
    def message_rates(self) -> Iterable[Answer[MessageRate]]:
        """Messages per second, their throughput and CPU time per message at both ends, by message size.

        Round trips and offered rates are left out: they do not show what can be carried.
        """
        return measure_message_rates(self.study_table())

    @analysis("Cost of a message", *_COST_COLUMNS)
    def message_cost(self) -> Iterable[Answer[MessageCost]]:
        """The cost of a message and of a byte, t(m) = a + m/r, where the plan varies ``message``."""
        return fit_size_costs(self.study_table(), MESSAGES)

    @analysis("Cost of a write", *_COST_COLUMNS)
    def write_cost(self) -> Iterable[Answer[MessageCost]]:
        """The same cost of a write and of a byte, where the plan varies ``write``."""
        return fit_size_costs(self.study_table(), WRITES)

    @analysis(
        "Batching",
        AnswerColumn("streams × window", "part"),
        AnswerColumn("unbatched", lambda answer: describe_sending(answer.result.baseline)),
        AnswerColumn("largest gain", "largest.ratio", "factor", "largest.interval"),
        AnswerColumn("at", "largest.size_bytes"),
        AnswerColumn("pays up to", "limit.shown_to", "bytes"),
        AnswerColumn("not shown from", "limit.level", "bytes"),
        AnswerColumn("pays no more from", "limit.gone_from", "bytes"),
        AnswerColumn("added delay", "delays.0.rise_ns", detail="delays.0.interval"),
        AnswerColumn("undecided", "limit.undecided", wraps=True),
        per="combination that batches messages",
    )
    def batching(self) -> Iterable[Answer[BatchingGain]]:
        """Batched over unbatched messages per second, the size from which that pays no more, and its delay.

        A gain of less than 5 % does not pay. Ratios are those of pairs within a cycle.
        """
        return compare_batching(self.study_table())

    @analysis(
        "Fan-out",
        AnswerColumn("sinks", "sinks"),
        AnswerColumn("n", "total_messages_per_s.n", ""),
        AnswerColumn("all sinks", "total_messages_per_s"),
        AnswerColumn("each sink", "sink_messages_per_s"),
        AnswerColumn("throughput", "throughput_bits_per_s"),
        AnswerColumn("of the fewest", "total_ratio", "factor", "total_ratio_interval"),
        AnswerColumn("Jain's index", "jain_ratio", ""),
        per="combination, where streams vary",
    )
    def fan_out(self) -> Iterable[Answer[FanOut]]:
        """Messages per second of each sink and of all, and Jain's index, by number of sinks."""
        return measure_fan_outs(self.study_table())
