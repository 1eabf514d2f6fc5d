"""Several links in the report: the answer first, no wrong "no", each statement once."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from pathlab.report.blocks import TableBlock, list_blocks, list_figures
from pathlab.report.inputs import ReportInputs
from pathlab.report.multipath_text import describe_multipath
from pathlab.report.plots.model import Plot
from pathlab.report.report_builder import arrange_report
from pathlab.report.sections.chapters import find_plot, list_lazy_plots
from pathlab.study.analyses import Study
from tests.builders.multipath import UNEQUAL, Bonds, make_multipath_results
from tests.builders.results import make_quickstart


@cache
def study(**changes: Any) -> Study:
    """The same changes give the same study, which tests only read."""
    return Study(make_multipath_results(replace(Bonds(), **changes)))


def test_the_answer_is_first_and_says_yes_no_and_why_it_is_undecided() -> None:
    lead, *remarks = describe_multipath(study(rates=UNEQUAL))
    assert "mptcp" in lead.partition("; no with ")[0]
    assert "no with round-robin" in lead
    assert "undecided with" in lead
    collapse = [text for text in remarks if "as much over the slow link as over the fast one" in text]
    assert len(collapse) == 1
    assert "2 × the slowest, 2 × 19." in collapse[0]


def test_few_cycles_never_say_no() -> None:
    lead, *remarks = describe_multipath(study(rates=UNEQUAL, cycles=3))
    assert "no with" not in lead
    assert lead.count("3 cycles, 6 needed") == 1
    assert not any("slow link" in text for text in remarks)


def test_each_statement_is_made_once() -> None:
    texts = " ".join(describe_multipath(study(reordering=(3, 127))))
    for statement in (
        "GRO was on at the receiver",
        "include headers and acknowledgements",
        "super-packets of several segments",
        "more streams cannot help",
        "6 streams between one pair of hosts use 90 % of all links",
    ):
        assert texts.count(statement) == 1, statement


def test_the_chapter_has_figures_and_tables() -> None:
    inputs = ReportInputs(study(rates=UNEQUAL))
    report = arrange_report(inputs)
    (chapter,) = [one for one in report.sections if one.key == "multipath"]
    tables = {block.name for block in list_blocks(chapter.blocks) if isinstance(block, TableBlock)}
    assert tables == {
        "multipath-table",
        "member-shares-table",
        "subflow-shares-table",
        "streams-needed-table",
    }
    figures = [block.name for block in list_blocks(chapter.blocks) if isinstance(block, Plot)]
    assert figures == ["member-shares-1", "hash-streams-1"]
    assert "multipath-1" in [figure.name for figure in list_figures(report)]
    for lazy in list_lazy_plots(inputs):
        if lazy.name.startswith(("multipath", "member-shares", "hash-streams")):
            plot = find_plot(inputs, lazy.name)
            assert plot is not None
            assert plot.panels


def test_ordinary_results_have_neither_the_chapter_nor_the_answer() -> None:
    found = Study(make_quickstart(cycles=2))
    assert describe_multipath(found) == ()
    assert not {"multipath", "tcp-reordering"} & {
        one.key for one in arrange_report(ReportInputs(found)).sections
    }
