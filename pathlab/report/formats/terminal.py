"""The report for a terminal: the answers, tables of messages and of each condition, warnings in short."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from pathlab.printed_table import PrintedParagraph
from pathlab.report.answer_text import AnswerText, find_answers, list_recommendation_answers
from pathlab.report.blocks import Notice
from pathlab.report.datagram_answers import describe_flows
from pathlab.report.datagram_table import EXPLANATION as FLOW_EXPLANATION
from pathlab.report.datagram_table import count_flows_left, tabulate_flows
from pathlab.report.lossless_text import EXPLANATION as EXPLANATION_OF_RATES
from pathlab.report.lossless_text import (
    count_rate_tables_left,
    describe_lossless_rates,
    tabulate_lossless_rates,
)
from pathlab.report.message_scope import list_message_paths
from pathlab.report.message_table import (
    explain_messages,
    tabulate_messages,
)
from pathlab.report.message_text import describe_latencies
from pathlab.report.multipath_table import EXPLANATION as MULTIPATH_EXPLANATION
from pathlab.report.multipath_table import count_rows_left, tabulate_multipath
from pathlab.report.multipath_text import describe_multipath
from pathlab.report.phrases import explain_cut_texts, format_count
from pathlab.report.technology_table import (
    count_tables_left,
    explain_technologies,
    tabulate_technologies,
)
from pathlab.report.technology_text import describe_technologies
from pathlab.report.text import PROVISIONAL_EXPLANATION, count_flags, tabulate_cells
from pathlab.study.analyses import Analyses
from pathlab.study.cells import MeasuredCondition

#: Kinds of warnings that the confidence of an answer says already.
SAID_BY_CONFIDENCE = ("small-sample",)
EXPLANATION = (
    "Medians of n usable trials; dRTT: RTT increase under load; "
    "Granted: Linux reports double the usable size."
)

#: ``phrases.CUT_NOTE`` in short, so that a summary fits a terminal of 24 lines.
CUT_EXPLANATION = "CI cut at the range: its level is not known."


def render_summary(study: Analyses, notices: Sequence[Notice], console: Console) -> None:
    """Print the answers, the tables, and the warnings that no answer says."""
    _print_group(describe_multipath(study), console)
    _print_links(study, console)
    _print_group(describe_flows(study), console)
    _print_flows(study, console)
    answers = list_recommendation_answers(study)
    _print_answers(answers, console)
    _print_lossless_rates(study, console)
    technologies = describe_technologies(study)
    for text in (*technologies[:1], *describe_latencies(study)):
        console.print(PrintedParagraph(text, "bold"))
    for text in technologies[1:]:
        console.print(PrintedParagraph(text, mark="  "))
    rows = _print_technologies(study, console)
    for path in list_message_paths(study.conditions()):
        rows += _print_messages(study, path, console)
    if note := explain_cut_texts([*technologies, *describe_latencies(study), *rows]):
        console.print(PrintedParagraph(note, "dim"))
    shown = {one.condition for one in study.datagrams()}
    conditions = [one for one in study.conditions() if not one.key.is_of_messages and one.key not in shown]
    for condition in conditions:
        console.print()
        tabulate_cells(condition).print_to(console)
        if flags := count_flags(condition):
            console.print(PrintedParagraph(f"Trials: {flags}.", "yellow"))
    if conditions:
        provisional = any(condition.has_provisional for condition in conditions)
        cut = explain_cut_texts([text for answer in answers for text in (answer.lead, *answer.remarks)])
        notes = (EXPLANATION, PROVISIONAL_EXPLANATION * provisional, CUT_EXPLANATION * bool(cut))
        console.print(PrintedParagraph(" ".join(filter(None, notes)), "dim"))
    several = len({notice.path for notice in notices if notice.path}) > 1
    for notice in notices:
        if notice.kind not in SAID_BY_CONFIDENCE or not answers:
            where = f"{notice.path}: " if several and notice.path else ""
            console.print(PrintedParagraph(where + notice.brief, "bold yellow", mark="! "))


def render_answers(study: Analyses, console: Console) -> bool:
    """Print the answers that a summary begins with, without its tables; whether there is any."""
    answers = find_answers(study)
    _print_answers(answers, console)
    return bool(answers)


def _print_answers(answers: Sequence[AnswerText], console: Console) -> None:
    for answer in answers:
        console.print(PrintedParagraph(answer.lead, "bold"))
        for line in answer.remarks:
            console.print(PrintedParagraph(line, mark="  "))


def _print_group(texts: Sequence[str], console: Console) -> None:
    """Print an answer, and below it what is said of it."""
    if texts:
        _print_answers([AnswerText(texts[0], tuple(texts[1:]))], console)


def _print_flows(study: Analyses, console: Console) -> None:
    """Print the tables of UDP flows, and what their columns mean."""
    tables = list(tabulate_flows(study))
    for table in tables:
        console.print()
        table.print_to(console)
    if tables:
        provisional = any(answer.result.provisional for answer in study.datagrams())
        text = f"{FLOW_EXPLANATION} {PROVISIONAL_EXPLANATION if provisional else ''}".rstrip()
        console.print(PrintedParagraph(text, "dim"))
    if left := count_flows_left(study):
        text = f"{format_count(left, 'more row')}: pathlab analyze RESULTS --only datagrams"
        console.print(PrintedParagraph(text, "dim"))


def _print_links(study: Analyses, console: Console) -> None:
    """Print the tables of several links, and what their columns mean."""
    tables = list(tabulate_multipath(study))
    for table in tables:
        console.print()
        table.print_to(console)
    if tables:
        console.print(PrintedParagraph(MULTIPATH_EXPLANATION, "dim"))
    if left := count_rows_left(study):
        text = f"{format_count(left, 'more row')}: pathlab analyze RESULTS --only multipath"
        console.print(PrintedParagraph(text, "dim"))
    if tables:
        console.print()


def _print_lossless_rates(study: Analyses, console: Console) -> None:
    """Print the answer of every search, the rates tried, and what the columns mean."""
    for text in describe_lossless_rates(study):
        console.print(PrintedParagraph(text, "bold"))
    tables = list(tabulate_lossless_rates(study))
    for table in tables:
        console.print()
        table.print_to(console)
    if tables:
        console.print(PrintedParagraph(EXPLANATION_OF_RATES, "dim"))
    if left := count_rate_tables_left(study.lossless_rate()):
        text = f"{format_count(left, 'more table')}: pathlab analyze RESULTS --only lossless_rate"
        console.print(PrintedParagraph(text, "dim"))


def _print_technologies(study: Analyses, console: Console) -> list[str]:
    """Print the tables of technologies, what their columns mean, and where the others are; their texts."""
    tables = list(tabulate_technologies(study))
    for table in tables:
        console.print()
        table.print_to(console)
    if tables:
        console.print(PrintedParagraph(explain_technologies(study), "dim"))
    if left := count_tables_left(study):
        text = f"{format_count(left, 'more table')}: pathlab analyze RESULTS --only technologies"
        console.print(PrintedParagraph(text, "dim"))
    return [text for table in tables for row in table.rows for text in row]


def _print_messages(study: Analyses, conditions: Sequence[MeasuredCondition], console: Console) -> list[str]:
    """Print the tables of the messages of one path, their flags, and what the columns mean; their texts."""
    shown = [one for one in conditions if not study.is_condition_of_technologies(one.key)]
    texts: list[str] = []
    for table, name, left_out in tabulate_messages(shown):
        texts += [text for row in table.rows for text in row]
        console.print()
        table.print_to(console)
        if left_out:
            text = f"{format_count(left_out, 'more row')}: pathlab analyze RESULTS --only {name}"
            console.print(PrintedParagraph(text, "dim"))
    if flags := count_flags(*conditions):
        console.print(PrintedParagraph(f"Trials: {flags}.", "yellow"))
    if shown:
        console.print(PrintedParagraph(explain_messages(shown), "dim"))
    return texts
