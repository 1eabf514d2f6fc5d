"""The analysis of searches for the lossless rate, as a method of results."""

from __future__ import annotations

from collections.abc import Iterable

from pathlab.study.base.answer import Answer
from pathlab.study.base.registry import AnalysesBase, AnswerColumn, analysis
from pathlab.study.lossless.lossless_rate import LosslessRate, measure_lossless_rates


class LosslessAnalyses(AnalysesBase):
    """The highest UDP rate with little loss."""

    @analysis(
        "Highest rate with little loss",
        AnswerColumn("answer", "text"),
        AnswerColumn("loss at most", "limit_ratio"),
        AnswerColumn("ending", "ending", meaning="of every finished search; empty: they differ"),
        AnswerColumn("cycles", "finished", meaning="whose search has ended"),
        AnswerColumn("found", "found", meaning="cycles with a confirmed rate on either side"),
        AnswerColumn("below", "below_bits_per_s", meaning="highest rate confirmed, median over cycles"),
        AnswerColumn("above", "above_bits_per_s", meaning="lowest rate with a limit, median over cycles"),
        AnswerColumn("95 % CI", "interval", "bit/s", meaning="of the rate, over cycles"),
        AnswerColumn("undecided", "undecided", meaning="why there is no interval over cycles", wraps=True),
    )
    def lossless_rate(self) -> Iterable[Answer[LosslessRate]]:
        """The highest UDP rate whose loss is at most that of `[search]`, by searches of each cycle.

        A search confirms a rate below it and one above it, each at 95 %. Limits of a host are named and are
        no rate of the path. The interval over cycles allows for serial correlation.
        """
        return measure_lossless_rates(self.study_table(), self.study_plan(), self.study_source.campaign.model)
