"""The analyses of results as tables of a page, as ``pathlab analyze`` prints them."""

from __future__ import annotations

from dataclasses import dataclass

from pathlab.report.analyses_text import LAYOUTS, list_doubts, name_condition
from pathlab.report.source import ResultsSource
from pathlab.report.tables import Heading, TextTable
from pathlab.study.analyses import Study
from pathlab.study.document import ANALYSES

#: A page is written after every run: of each cell's trials so many are read for its limit.
TRIALS_PER_CELL = 3
#: In the page besides what its own tables and figures say of the cells.
SHOWN = (
    *("limits", "streams_vs_windows", "surface", "saturation", "optimum", "rfc6349", "cpu_cost"),
    *("breakpoint", "drift", "outliers", "precision", "planning"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisTable:
    """One analysis of one condition: its table, and what was left out or is doubtful, a line each."""

    title: str
    table: TextTable
    doubts: tuple[str, ...]


def tabulate_analyses(results: ResultsSource) -> tuple[AnalysisTable, ...]:
    """The tables of every analysis that has something to answer, in the order of ``SHOWN``."""
    study = Study(results)
    found = []
    for name in SHOWN:
        answers = study.limits(TRIALS_PER_CELL) if name == "limits" else ANALYSES[name](study)
        layout = LAYOUTS[name]
        for condition in dict.fromkeys(answer.condition for answer in answers):
            part = [answer for answer in answers if answer.condition == condition]
            table = TextTable(
                headings=tuple(Heading(label=column) for column in layout.columns),
                rows=tuple(row for answer in part for row in layout.tell(answer)),
                numeric=(False, *(True,) * (len(layout.columns) - 1)),
            )
            found.append(
                AnalysisTable(
                    title=f"{layout.title}: {name_condition(condition)}",
                    table=table,
                    doubts=tuple(line.strip() for line in list_doubts(part)),
                )
            )
    return tuple(found)
