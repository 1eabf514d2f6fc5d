"""The report for a terminal: the tables of the cells, recommendations and warnings."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from pathlab.report.blocks import Notice
from pathlab.report.recommendation_text import SHOWN_IN_FULL, RecommendationText, describe_recommendation
from pathlab.report.text import list_flags, tabulate_cells
from pathlab.study.analyses import Analyses

WIDE_COLUMNS = 100  # from here on there is room for the rates' extremes


def render_summary(study: Analyses, notices: Sequence[Notice], console: Console) -> None:
    """Print a table of each condition, then its recommendation and warnings."""
    answers = study.recommend()
    for condition in study.conditions():
        console.print()
        wide = console.width >= WIDE_COLUMNS
        console.print(tabulate_cells(condition, wide=wide))
        for cell in () if wide else condition.all_cells:
            if flags := list_flags(cell):
                console.print(Text(f"{cell.name}: {flags}", style="yellow"))
    if answers:
        console.print(
            "Medians of each combination over its usable trials (n): complete, windows and congestion "
            "control as requested, neither a host nor the lab at its limit. Windows: requested; granted by "
            "the sender's and the receiver's kernel (Linux reports double the usable size); effective (rate "
            "per stream × loaded RTT). dRTT: RTT increase under load, a difference of averages. Loss: of the "
            "probes under load.",
            style="dim",
        )
    console.print()
    for answer in answers:
        _print_answer(
            describe_recommendation(answer.result),
            console,
            several=len(answers) > 1,
            full=len(answers) <= SHOWN_IN_FULL,
        )
    several = len({notice.path for notice in notices if notice.path}) > 1
    for notice in notices:
        where = f"{notice.path}: " if several and notice.path else ""
        _print_point("!", where + notice.text, "bold yellow", console)


def _print_answer(words: RecommendationText, console: Console, *, several: bool, full: bool) -> None:
    _print_point("•", f"{words.name}: {words.lead}" if several else words.lead, "bold", console)
    if not full:
        return
    for label, text in words.numbers:
        _print_point(" ", f"{label}: {text}", "", console)
    for sentence in words.remarks:
        _print_point("•", sentence, "", console)


def _print_point(mark: str, text: str, style: str, console: Console) -> None:
    line = Table.grid(padding=(0, 1))
    line.add_row(Text(mark, style=style), Text(text, style=style))
    console.print(line)
