"""The chapter of UDP flows and the terminal's table, from flows with known losses."""

from pathlab.report.base.blocks import TableBlock
from pathlab.report.datagrams.datagram_table import ROWS_MAX, build_flows_table
from pathlab.report.plots.model import Plot
from pathlab.report.report_builder import build_document
from pathlab.study.analyses import Study
from tests.builders.datagrams import carry_flow, make_udp_trials

RATES = [{"pacing_bits_per_s": rate * 10**6} for rate in (32, 48, 80)]
FLOWS = [{**rate, "gso": on} for rate in RATES for on in (False, True)]
BINS = {
    "loss_runs": [(1, 1, 30), (4, 4, 5)],
    "reorder_extents": [(1, 1, 9), (3, 4, 2)],
    "reorder_density": [(-1, -1, 9), (0, 0, 900), (2, 2, 9)],
}


def test_the_chapter_has_its_tables_and_figures() -> None:
    report = build_document(make_udp_trials(FLOWS, carry_flow, bins=BINS))
    section = next(one for one in report.sections if one.key == "datagrams")
    tables = [block.name for block in section.blocks if isinstance(block, TableBlock)]
    assert tables == ["datagrams-table", "datagram-cost-table", "offloads-table"]
    plots = [block for part in (report.opening, section) for block in part.blocks if isinstance(block, Plot)]
    assert [plot.name for plot in plots] == ["datagram-loss-1", "datagram-runs-1", "reorder-density-1"]
    assert all(plot.panels for plot in plots)


def test_rows_beyond_the_table_are_counted() -> None:
    many = [{"pacing_bits_per_s": 10**6 * rate} for rate in range(1, ROWS_MAX + 4)]
    (group,) = build_flows_table(Study(make_udp_trials(many, carry_flow, cycles=1)))
    assert group.more == ("3 more rows: pathlab analyze RESULTS --only datagrams",)
