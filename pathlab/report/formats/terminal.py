"""The report for a terminal: the answers of every topic, its tables, warnings in short."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console

from pathlab.printed_table import PrintedParagraph
from pathlab.report.base.blocks import Notice
from pathlab.report.base.phrases import CUT_MARK, explain_cut_texts
from pathlab.report.base.summary import AnswerText, TableGroup, TopicSummary

#: ``phrases.CUT_NOTE`` in short, so that a summary fits a terminal of 24 lines.
CUT_EXPLANATION = f"CI cut ({CUT_MARK}) at the range: its level is not known."


def render_summary(topics: Iterable[TopicSummary], notices: Sequence[Notice], console: Console) -> None:
    """Print the answers and tables of every topic, and the warnings that no answer says."""
    stated: set[str] = set()
    apart = cut = explained = False
    for topic in topics:
        if topic.answers:
            stated.update(topic.stated)
            if apart:
                console.print()
            render_answers(topic.answers, console)
        texts = [text for answer in topic.answers for text in (answer.lead, *answer.remarks)]
        texts += [text for group in topic.groups for text in group.texts]
        cut = cut or bool(explain_cut_texts(texts))
        for group in topic.groups:
            explains = cut and not explained and group is topic.groups[-1]
            _print_group(group, CUT_EXPLANATION * explains, console)
            explained = explained or explains
        apart = bool(topic.groups) or (apart and not topic.answers)
    if cut and not explained:
        console.print(PrintedParagraph(CUT_EXPLANATION, "dim"))
    several = len({notice.path for notice in notices if notice.path}) > 1
    for notice in notices:
        if notice.kind not in stated:
            where = f"{notice.path}: " if several and notice.path else ""
            console.print(PrintedParagraph(where + notice.brief, "bold yellow", mark="! "))


def render_answers(answers: Iterable[AnswerText], console: Console) -> None:
    """Print answers, each with its remarks below it."""
    for answer in answers:
        console.print(PrintedParagraph(answer.lead, "bold"))
        for line in answer.remarks:
            console.print(PrintedParagraph(line, mark="  "))


def _print_group(group: TableGroup, cut: str, console: Console) -> None:
    """Print the tables of a group, the flags of its trials, its explanation and what shows the other rows."""
    for table in group.tables:
        console.print()
        table.print_to(console)
    if group.flags:
        console.print(PrintedParagraph(f"Trials: {group.flags}.", "yellow"))
    if note := " ".join(filter(None, (group.explanation, cut))):
        console.print(PrintedParagraph(note, "dim"))
    for text in group.more:
        console.print(PrintedParagraph(text, "dim"))
