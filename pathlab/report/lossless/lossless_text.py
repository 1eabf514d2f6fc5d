"""The lossless rate in words and in tables: the answer of each combination, and the loss at each rate."""

from __future__ import annotations

from collections.abc import Iterator

from pathlab.analysis.planning.loss_search import RateVerdict
from pathlab.printed_table import PrintedTable
from pathlab.report.base.phrases import format_count, format_interval
from pathlab.report.base.summary import AnswerText, TableGroup, format_more
from pathlab.study.analyses import Analyses
from pathlab.study.base.answer import Answer
from pathlab.study.lossless.lossless_rate import LosslessRate, TriedRate
from pathlab.table_columns import ItemColumn, list_rows
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


def list_rate_columns(searches: int) -> tuple[ItemColumn[TriedRate], ...]:
    """The columns of the rates tried, in a terminal and on pages; ``searches``: of the combination."""
    sender_slow = "trials in which the sender was too slow: {}"
    return (
        ItemColumn(
            "Rate",
            stays=True,
            read=lambda rate: format_rate(rate.rate_bits_per_s),
            meaning="offered, payload",
        ),
        ItemColumn(
            "Loss", stays=True, read=lambda rate: format_ratio(rate.loss_ratio), meaning="of all packets sent"
        ),
        ItemColumn(
            "CI",
            stays=True,
            priority=1,
            read=lambda rate: format_interval(rate.interval_ratio, format_ratio),
            meaning="of the loss, at the confidence of a single check",
        ),
        ItemColumn(
            "Verdict",
            stays=True,
            left=True,
            wraps=True,
            read=lambda rate: format_verdicts(rate, searches),
            meaning="against the limit; of several cycles, how many",
        ),
        ItemColumn(
            "Path",
            priority=3,
            read=lambda rate: _format_packets(rate.path_lost),
            meaning="packets lost on the path",
        ),
        ItemColumn(
            "Host",
            priority=3,
            read=lambda rate: _format_packets(rate.host_lost),
            meaning="packets lost by the receiving host",
        ),
        ItemColumn(
            "Refused",
            priority=5,
            constant="refused by the sender: {}",
            read=lambda rate: _format_packets(rate.refused),
            meaning="packets that the sending host's kernel refused",
        ),
        ItemColumn(
            "Reordered",
            priority=4,
            constant="reordered: {}",
            read=lambda rate: _format_packets(rate.reordered),
            meaning="packets that arrived after a later one",
        ),
        ItemColumn(
            "Sender too slow",
            priority=4,
            constant=sender_slow,
            read=lambda rate: str(rate.short),
            meaning="trials in which the sender did not reach the rate; excluded from the loss",
        ),
        ItemColumn("n", priority=2, read=lambda rate: str(rate.trials), meaning="trials"),
    )


def answer_lossless_rates(study: Analyses) -> Iterator[AnswerText]:
    """The answer of every combination."""
    return map(AnswerText, describe_lossless_rates(study))


def describe_lossless_rates(study: Analyses) -> tuple[str, ...]:
    """The answer of every combination in a sentence; none without a search."""
    answers = study.lossless_rate()
    return tuple(f"{TITLE}, {answer.result.name}: {answer.result.text}." for answer in answers)


def build_lossless_rates_table(study: Analyses) -> Iterator[TableGroup]:
    """The rates tried of the first combinations."""
    answers = study.lossless_rate()
    tables = [_build_table(answer.result) for answer in answers[:TABLES_MAX] if answer.result.rates]
    if tables:
        more = format_more(max(0, len(answers) - TABLES_MAX), "table", "lossless_rate")
        yield TableGroup(tables=tables, explanation=EXPLANATION, more=more)


def _build_table(result: LosslessRate) -> PrintedTable:
    columns = list_rate_columns(result.searches)
    return PrintedTable(
        title=f"Rates tried, {result.name}, limit {format_ratio(result.limit_ratio)}",
        columns=columns,
        rows=list_rows(columns, result.rates),
        elsewhere="pathlab analyze RESULTS --only lossless_rate --json",
    )


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
    parts = [
        f"{format_count(item.trials, 'trial')} {words[item.reason]}" for item in answer.selection.excluded
    ]
    return f"Excluded from the loss: {'; '.join(parts)}." if parts else ""


def _format_packets(count: int | None) -> str:
    return NOT_MEASURED if count is None else f"{count:,}"
