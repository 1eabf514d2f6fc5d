"""The chapter on several links: its tables and figures, and results that have none."""

from pathlab.report.blocks import TableBlock, list_blocks, list_figures
from pathlab.report.inputs import ReportInputs
from pathlab.report.multipath_text import describe_multipath
from pathlab.report.plots.model import Plot
from pathlab.report.report_builder import arrange_report
from pathlab.report.sections.chapters import list_lazy_plots
from pathlab.study.analyses import Study
from tests.builders.multipath import UNEQUAL, Bonds, make_multipath_results
from tests.builders.results import make_quickstart


def test_the_chapter_has_figures_and_tables() -> None:
    inputs = ReportInputs(Study(make_multipath_results(Bonds(rates=UNEQUAL, cycles=6))))
    report = arrange_report(inputs)
    (chapter,) = [one for one in report.sections if one.key == "multipath"]
    names = {"multipath", "member-shares", "subflow-shares", "streams-needed"}
    tables = {block.name for block in list_blocks(chapter.blocks) if isinstance(block, TableBlock)}
    assert tables == {f"{name}-table" for name in names}
    figures = [block.name for block in list_blocks(chapter.blocks) if isinstance(block, Plot)]
    assert figures == ["member-shares-1", "hash-streams-1"]
    assert "multipath-1" in [figure.name for figure in list_figures(report)]
    own = ("multipath", "member-shares", "hash-streams")
    assert all(lazy.build().panels for lazy in list_lazy_plots(inputs) if lazy.name.startswith(own))


def test_ordinary_results_have_neither_the_chapter_nor_the_answer() -> None:
    found = Study(make_quickstart(cycles=2))
    assert describe_multipath(found) == ()
    keys = {one.key for one in arrange_report(ReportInputs(found)).sections}
    assert keys.isdisjoint({"multipath", "tcp-reordering"})
