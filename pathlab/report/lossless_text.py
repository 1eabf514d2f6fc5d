"""The lossless rate in words and in tables: the answer of each combination, and the loss at each rate."""

from __future__ import annotations

from collections.abc import Iterator

from pathlab.analysis.planning.loss_search import RateVerdict
from pathlab.printed_table import PrintedColumn, PrintedTable
from pathlab.report.phrases import format_count, format_interval
from pathlab.report.summary import AnswerText, TableGroup, format_more
from pathlab.study.analyses import Analyses
from pathlab.study.answer import Answer
from pathlab.study.lossless_rate import LosslessRate, TriedRate
from pathlab.units import NOT_MEASURED, format_rate, format_ratio

#: Combinations whose rates have a table on a terminal.
TABLES_MAX = 4
TITLE = "Highest UDP rate"
EXPLANATION = (
    "Loss: of all packets of n trials, with its confidence interval, which allows for losses in bursts. "
    "Verdict: 95 % confidence over all checks of a rate, so a single check and its interval have more. "
    "Host: lost by the receiving host, as its counters show; path: all others. "
    "Reordered: packets that arrived after a later one."
)
VERDICTS = {
    RateVerdict.BELOW: "below limit",
    RateVerdict.ABOVE: "above limit",
    RateVerdict.SENDER: "sender too slow",
    RateVerdict.RECEIVER: "receiver too slow",
    RateVerdict.UNDECIDED: "undecided",
}
HEADINGS = ("Rate", "Loss", "CI", "Verdict", "Path", "Host", "Refused", "Reordered", "Sender too slow", "n")
MEANINGS = (
    "offered, payload",
    "of all packets sent",
    "of the loss, at the confidence of a single check",
    "against the limit; of several cycles, how many",
    "packets lost on the path",
    "packets lost by the receiving host",
    "packets that the sending host's kernel refused",
    "packets that arrived after a later one",
    "trials in which the sender did not reach the rate; excluded from the loss",
    "trials",
)
_COLUMNS = (
    PrintedColumn("Rate"),
    PrintedColumn("Loss"),
    PrintedColumn("CI", 1),
    PrintedColumn("Verdict", left=True, wraps=True),
    PrintedColumn("Path", 3),
    PrintedColumn("Host", 3),
    PrintedColumn("Refused", 5, constant="refused by the sender: {}"),
    PrintedColumn("Reordered", 4, constant="reordered: {}"),
    PrintedColumn("Sender too slow", 4, constant="trials in which the sender was too slow: {}"),
    PrintedColumn("n", 2),
)


def answer_lossless_rates(study: Analyses) -> Iterator[AnswerText]:
    """The answer of every combination."""
    return map(AnswerText, describe_lossless_rates(study))


def describe_lossless_rates(study: Analyses) -> tuple[str, ...]:
    """The answer of every combination in a sentence; none without a search."""
    answers = study.lossless_rate()
    return tuple(f"{TITLE}, {answer.result.name}: {answer.result.text}." for answer in answers)


def tabulate_lossless_rates(study: Analyses) -> Iterator[TableGroup]:
    """The rates tried of the first combinations."""
    answers = study.lossless_rate()
    tables = [
        PrintedTable(
            title=f"Rates tried, {answer.result.name}, limit {format_ratio(answer.result.limit_ratio)}",
            columns=_COLUMNS,
            rows=list_rate_rows(answer.result),
            elsewhere="pathlab analyze RESULTS --only lossless_rate --json",
        )
        for answer in answers[:TABLES_MAX]
        if answer.result.rates
    ]
    if tables:
        more = format_more(max(0, len(answers) - TABLES_MAX), "table", "lossless_rate")
        yield TableGroup(tables=tables, explanation=EXPLANATION, more=more)


def list_rate_rows(result: LosslessRate) -> list[tuple[str, ...]]:
    """The texts of every rate, as ``HEADINGS``."""
    return [
        (
            format_rate(rate.rate_bits_per_s),
            format_ratio(rate.loss_ratio),
            format_interval(rate.interval_ratio, format_ratio),
            format_verdicts(rate, result.searches),
            _format_packets(rate.path_lost),
            _format_packets(rate.host_lost),
            _format_packets(rate.refused),
            _format_packets(rate.reordered),
            str(rate.short),
            str(rate.trials),
        )
        for rate in result.rates
    ]


def format_verdicts(rate: TriedRate, searches: int) -> str:
    """``below limit``; of several cycles ``below limit 5, undecided 1``; nothing where no search decided."""
    if not rate.verdicts:
        return "not decided"
    if searches == 1:
        return VERDICTS[rate.verdicts[0][0]]
    return ", ".join(f"{VERDICTS[verdict]} {count}" for verdict, count in rate.verdicts)


def describe_excluded(answer: Answer[LosslessRate]) -> str:
    """Trials that are in no loss, with their reasons; nothing where all are."""
    words = {
        "sender-short": "in which the sender did not reach the rate",
        "not-counted": "with the lab at its limit, or without counts",
        "not-complete": "not complete",
    }
    parts = [f"{format_count(one.trials, 'trial')} {words[one.reason]}" for one in answer.selection.excluded]
    return f"Excluded from the loss: {'; '.join(parts)}." if parts else ""


def _format_packets(count: int | None) -> str:
    return NOT_MEASURED if count is None else f"{count:,}"
