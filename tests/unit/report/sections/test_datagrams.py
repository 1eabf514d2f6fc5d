"""The chapter of UDP flows, the report's opening and the terminal's table, from flows with known losses."""

from __future__ import annotations

from pathlab.report.blocks import Report, Section, TableBlock
from pathlab.report.datagram_answers import describe_flows
from pathlab.report.datagram_table import ROWS_MAX, count_flows_left
from pathlab.report.formats.html import render_html
from pathlab.report.inputs import ReportInputs
from pathlab.report.plots.model import Plot
from pathlab.report.report_builder import build_document
from pathlab.report.sections.chapters import find_plot
from pathlab.study.analyses import Study
from tests.builders.datagrams import carry_flow, make_udp_trials

RATES = [{"pacing_bits_per_s": rate * 10**6} for rate in (32, 48, 80)]
FLOWS = [{**rate, "gso": on} for rate in RATES for on in (False, True)]
BINS = {
    "loss_runs": [(1, 1, 30), (4, 4, 5)],
    "reorder_extents": [(1, 1, 9), (3, 4, 2)],
    "reorder_density": [(-1, -1, 9), (0, 0, 900), (2, 2, 9)],
}


def find_section(report: Report, key: str) -> Section:
    return next(one for one in report.sections if one.key == key)


def test_the_chapter_has_its_tables_and_figures() -> None:
    results = make_udp_trials(FLOWS, carry_flow, bins=BINS)
    report = build_document(results)
    section = find_section(report, "datagrams")
    tables = {block.name: block for block in section.blocks if isinstance(block, TableBlock)}
    assert [*tables] == ["datagrams-table", "datagram-cost-table", "offloads-table"]
    plots = [block.name for block in section.blocks if isinstance(block, Plot)]
    assert plots == ["datagram-runs-1", "reorder-density-1"]
    opening = report.opening
    assert opening is not None
    assert [block.name for block in opening.blocks if isinstance(block, Plot)] == ["datagram-loss-1"]
    page = render_html(report)
    assert "UDP: loss and jitter" not in page
    for name in ("datagram-loss-1", "datagram-runs-1", "reorder-density-1"):
        plot = find_plot(ReportInputs(Study(results)), name)
        assert plot is not None
        assert plot.panels


def test_results_without_udp_have_no_such_chapter() -> None:
    tcp = [{**one, "transport": "tcp"} for one in RATES]
    report = build_document(make_udp_trials(tcp, carry_flow))
    assert "datagrams" not in {one.key for one in report.sections}
    assert describe_flows(Study(make_udp_trials(tcp, carry_flow))) == ()


def test_rows_beyond_the_table_are_counted() -> None:
    many = [{"pacing_bits_per_s": 10**6 * rate} for rate in range(1, ROWS_MAX + 4)]
    assert count_flows_left(Study(make_udp_trials(many, carry_flow, cycles=1))) == 3
