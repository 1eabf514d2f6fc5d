"""The chapter of UDP flows, the report's opening and the terminal's table, from flows with known losses."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from pathlab.report.blocks import Paragraph, Report, Section, TableBlock
from pathlab.report.datagram_answers import describe_flows, list_other_recommendations
from pathlab.report.datagram_table import ROWS_MAX, count_flows_left
from pathlab.report.formats.html import render_html
from pathlab.report.formats.terminal import render_summary
from pathlab.report.inputs import ReportInputs
from pathlab.report.plots.model import Plot
from pathlab.report.report_builder import build_document
from pathlab.report.sections.chapters import find_plot
from pathlab.study.analyses import Study
from tests.builders.datagrams import carry_flow, make_udp_trials
from tests.builders.results import Settings

RATES = [{"pacing_bits_per_s": rate * 10**6} for rate in (32, 48, 80)]
FLOWS = [{**rate, "gso": on} for rate in RATES for on in (False, True)]
BINS = {
    "loss_runs": [(1, 1, 30), (4, 4, 5)],
    "reorder_extents": [(1, 1, 9), (3, 4, 2)],
    "reorder_density": [(-1, -1, 9), (0, 0, 900), (2, 2, 9)],
}


def find_section(report: Report, key: str) -> Section:
    return next(one for one in report.sections if one.key == key)


def test_the_opening_says_what_arrived_and_who_lost_the_rest() -> None:
    study = Study(make_udp_trials(RATES[:1], carry_flow))
    (text,) = describe_flows(study)
    assert text.startswith("west → east: 31.8 Mbit/s of UDP arrived (3.98 k packets/s), 0.")
    assert "lost: the receiving host 1," in text
    assert "Limited by: the receiving host (it lost 0." in text
    assert list_other_recommendations(study) == ()
    first, limits = describe_flows(Study(make_udp_trials(FLOWS, carry_flow)))
    assert first.startswith("west → east: each of 6 combinations of UDP flows lost 0.1 % or more; ")
    assert limits.startswith("What limits the 6 combinations: the path ")


def test_a_clean_combination_is_the_answer_of_many() -> None:
    def carry_clean(settings: Settings, rng: np.random.Generator) -> dict[str, Any]:
        found = carry_flow(settings, rng)
        if found["udp_lost_path_packets"] == 0:
            counts = {"udp_lost_packets": 0, "udp_lost_host_packets": 0}
            found |= {**counts, "udp_received_packets": found["udp_sent_packets"]}
        return found

    first, _ = describe_flows(Study(make_udp_trials(FLOWS, carry_clean)))
    assert first.startswith("west → east: up to 31.8 Mbit/s of UDP arrived with less than 0.1 % lost (")
    assert "(95 % CI up to " in first


def test_a_loss_that_was_not_measured_is_not_the_least() -> None:
    def carry_unknown(settings: Settings, rng: np.random.Generator) -> dict[str, Any]:
        found = carry_flow(settings, rng)
        unknown = dict.fromkeys(("udp_lost_packets", "udp_lost_host_packets", "udp_lost_path_packets"))
        return {**found, **unknown} if settings["pacing_bits_per_s"] in hidden else found

    hidden = {32 * 10**6}
    first, _ = describe_flows(Study(make_udp_trials(FLOWS, carry_unknown)))
    assert first.startswith("west → east: each of 4 combinations of UDP flows lost 0.1 % or more; 48 Mbit/s")
    hidden |= {rate["pacing_bits_per_s"] for rate in RATES}
    first, _ = describe_flows(Study(make_udp_trials(FLOWS, carry_unknown)))
    assert first == "west → east: the loss was not measured in any of 6 combinations of UDP flows."


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
    leads = [block.text for block in opening.blocks if isinstance(block, Paragraph) and block.lead]
    assert leads[0].startswith("west → east: each of 6 combinations of UDP flows")
    assert not any("Nothing can be recommended" in text for text in leads)
    page = render_html(report)
    assert "UDP: loss and jitter" not in page
    assert "Lost by the host: datagrams" in page
    for name in ("datagram-loss-1", "datagram-runs-1", "reorder-density-1"):
        plot = find_plot(ReportInputs(Study(results)), name)
        assert plot is not None
        assert plot.panels


def test_results_without_udp_have_no_such_chapter() -> None:
    tcp = [{**one, "transport": "tcp"} for one in RATES]
    report = build_document(make_udp_trials(tcp, carry_flow))
    assert "datagrams" not in {one.key for one in report.sections}
    assert describe_flows(Study(make_udp_trials(tcp, carry_flow))) == ()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_terminal_shows_answer_and_table_at_any_width(width: int) -> None:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    render_summary(Study(make_udp_trials(FLOWS, carry_flow)), (), console)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    shown = " ".join(" ".join(lines).split())
    assert "west → east, UDP" in shown
    assert "By host: what counters of the receiving host explain" in shown
    assert "UDP has no window" not in shown


def test_rows_beyond_the_table_are_counted() -> None:
    many = [{"pacing_bits_per_s": 10**6 * rate} for rate in range(1, ROWS_MAX + 4)]
    assert count_flows_left(Study(make_udp_trials(many, carry_flow, cycles=1))) == 3
