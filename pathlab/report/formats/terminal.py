"""The report for a terminal: the answer first, then a table of each condition, then warnings in short."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console

from pathlab.printed_table import PrintedParagraph
from pathlab.report.answer_table import format_row, list_headings, name_condition, print_answers
from pathlab.report.blocks import Notice
from pathlab.report.message_text import describe_latencies
from pathlab.report.recommendation_text import SHOWN_IN_FULL, RecommendationText, describe_recommendation
from pathlab.report.text import PROVISIONAL_EXPLANATION, count_flags, tabulate_cells
from pathlab.study.analyses import Analyses
from pathlab.study.answer import Answer
from pathlab.study.registry import ANALYSES, AnalysisEntry

#: Analyses that are shown of messages, and rows of each.
MESSAGE_TABLES, ROWS_MAX = ("message_rates", "message_front"), 24
#: Kinds of warnings that the confidence of an answer says already.
SAID_BY_CONFIDENCE = ("small-sample",)
EXPLANATION = (
    "Medians of n usable trials; dRTT: RTT increase under load; "
    "Granted: Linux reports double the usable size."
)


def render_summary(study: Analyses, notices: Sequence[Notice], console: Console) -> None:
    """Print the recommendations, a table of each condition, and the warnings that neither of them says."""
    answers = [describe_recommendation(answer.result) for answer in study.recommend()]
    for words in answers:
        lead = f"{words.name}: {words.lead}" if len(answers) > 1 else words.lead
        console.print(PrintedParagraph(lead, "bold"))
        for line in _list_remarks(words) if len(answers) <= SHOWN_IN_FULL else ():
            console.print(PrintedParagraph(line, mark="  "))
    for text in describe_latencies(study):
        console.print(PrintedParagraph(text, "bold"))
    for name in MESSAGE_TABLES:
        _print_table(ANALYSES[name], ANALYSES[name](study), console)
    conditions = [one for one in study.conditions() if not one.key.is_of_messages]
    for condition in conditions:
        console.print()
        tabulate_cells(condition).print_to(console)
        if flags := count_flags(condition):
            console.print(PrintedParagraph(f"Trials: {flags}.", "yellow"))
    if conditions:
        provisional = any(condition.has_provisional for condition in conditions)
        text = f"{EXPLANATION} {PROVISIONAL_EXPLANATION if provisional else ''}".rstrip()
        console.print(PrintedParagraph(text, "dim"))
    several = len({notice.path for notice in notices if notice.path}) > 1
    for notice in notices:
        if notice.kind not in SAID_BY_CONFIDENCE or not answers:
            where = f"{notice.path}: " if several and notice.path else ""
            console.print(PrintedParagraph(where + notice.brief, "bold yellow", mark="! "))


def _print_table(entry: AnalysisEntry, answers: Sequence[Answer[Any]], console: Console) -> None:
    """Print the answers of an analysis that a terminal has room for."""
    for condition in dict.fromkeys(answer.condition for answer in answers):
        part = [answer for answer in answers if answer.condition == condition]
        console.print()
        rows = [format_row(entry, answer) for answer in part[:ROWS_MAX]]
        print_answers(list_headings(entry), rows, f"{entry.title}: {name_condition(condition)}", console)
        if len(part) > ROWS_MAX:
            text = f"{len(part) - ROWS_MAX} more: pathlab analyze RESULTS --only {entry.name}"
            console.print(PrintedParagraph(text, "dim"))


def _list_remarks(words: RecommendationText) -> Iterator[str]:
    """The key numbers that the lead does not give, in a line, and the first remarks."""
    labels = {remark.partition(":")[0] for remark in words.remarks}
    numbers = [
        f"{label}: {text}" for label, text in words.numbers if text not in words.lead and label not in labels
    ]
    if numbers:
        yield f"{'. '.join(numbers)}."
    yield from words.remarks
