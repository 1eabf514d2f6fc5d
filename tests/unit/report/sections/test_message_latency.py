"""The chapter on the latency of messages: its figures, tables and sentences, and the report's opening."""

from __future__ import annotations

import numpy as np
import pytest

from pathlab.report.blocks import Block, TableBlock, list_blocks
from pathlab.report.inputs import ReportInputs
from pathlab.report.plots.model import Area, Curve, Panel, Plot, Points
from pathlab.report.report_builder import build_document
from pathlab.report.sections import message_latency
from pathlab.report.sections.chapters import build_sections, find_plot, list_lazy_plots
from pathlab.study.analyses import Study
from tests.builders.messages import RATES, SETUPS, TCP, Setup, make_message_results
from tests.builders.results import make_quickstart


@pytest.fixture(scope="module")
def inputs() -> ReportInputs:
    return ReportInputs(Study(make_message_results(histograms=True)))


def find(inputs: ReportInputs, name: str) -> Plot:
    plot = find_plot(inputs, name)
    assert plot is not None
    return plot


def list_curves(panel: Panel) -> dict[str, Curve]:
    return {one.name: one for one in panel.layers if isinstance(one, Curve)}


def test_latency_by_rate_marks_the_knee_and_trials_that_missed(inputs: ReportInputs) -> None:
    plot = find(inputs, "latency-by-rate-1-64B")
    assert [panel.title for panel in plot.panels] == ["Median", "p99", "p99.9"]
    curves = list_curves(plot.panels[1])
    assert list(curves) == ["tcp", "tcp, batch 8 KiB", "shared-memory"]
    assert curves["tcp"].x.tolist() == list(RATES[:-1])  # 200,000 a second are beyond it
    assert curves["shared-memory"].x.tolist() == list(RATES)
    points = {one.name: one for one in plot.panels[1].layers if isinstance(one, Points)}
    missed = points["tcp, rate-missed"]
    assert missed.hollow
    assert missed.x.tolist() == [TCP.capacity_per_s] * 8
    assert "200 k/s offered" in (missed.hover or ("",))[0]
    assert points["knee of tcp"].x.tolist() == [50_000]
    assert "tcp 50 k/s (95 % CI 50–50 k/s); tcp, batch 8 KiB none up to 200 k/s" in plot.sentence
    assert "8 trials that missed the offered rate left out of the curves. Open markers" in plot.sentence


def test_latency_by_size_has_a_figure_for_each_rate_and_for_one_at_a_time(inputs: ReportInputs) -> None:
    plot = find(inputs, "latency-by-size-1-oneatatime")
    curve = list_curves(plot.panels[0])["tcp"]
    assert curve.x.tolist() == [64, 1024]
    assert curve.y == pytest.approx([10.06, 11.02], rel=0.03)
    names = [one.name for one in list_lazy_plots(inputs)]
    assert sum(name.startswith("latency-by-size") for name in names) == len(RATES) + 1
    shown = [one.name for one in list_lazy_plots(inputs) if not one.on_demand]
    assert sum(name.startswith("latency-by-size") for name in shown) == message_latency.FIGURES_SHOWN


def test_a_tail_ends_where_ten_round_trips_are_left(inputs: ReportInputs) -> None:
    plot = find(inputs, "latency-tail-1-64B-50k-s")
    (panel,) = plot.panels
    curve = list_curves(panel)["shared-memory"]
    assert curve.y[-1] == pytest.approx(10 / (8 * 4000), rel=0.3)
    assert (np.diff(curve.y) < 0).all()
    middle = curve.x[np.argmin(np.abs(curve.y - 0.5))]
    assert middle == pytest.approx(2.064 / (1 - 50 / 600), rel=0.05)  # of the steady window alone
    assert sum(isinstance(one, Area) for one in panel.layers) == len(SETUPS)
    assert "Of up to 32000 round trips; a curve ends where 10 are left." in plot.sentence


def test_the_front_joins_what_no_other_load_beats(inputs: ReportInputs) -> None:
    (panel,) = find(inputs, "latency-front-1-64B").panels
    curves = list_curves(panel)
    assert curves["front"].y == pytest.approx(curves["shared-memory"].y)
    assert [float(tick) for tick in panel.x.ticks or ()] == [1e3, 1e4, 1e5, 1e6]


def test_tables_state_the_cost_of_measuring_once(inputs: ReportInputs) -> None:
    (section,) = (one for one in build_sections(inputs) if one.key == "message-latency")
    tables = {one.name: one for one in list_blocks(section.blocks) if isinstance(one, TableBlock)}
    assert list(tables) == ["message-front-1", "message-knee-1", "message-latency-1", "message-tails-1"]
    note = tables["message-latency-1"].note or ""
    assert "excluded: 8 rate-missed" in note
    assert len(tables["message-latency-1"].rows) == len(SETUPS) * 2 * (len(RATES) + 1)


def test_too_few_rates_for_a_knee_are_listed_once() -> None:
    few = ReportInputs(Study(make_message_results(rates=(1000, 5000))))
    sections = build_sections(few)
    assert [row for one in sections for row in list_rows(one.blocks) if row.startswith("Knee of latency")]
    (section,) = (one for one in sections if one.key == "message-latency")
    assert "message-knee-1" not in {one.name for one in section.blocks if isinstance(one, TableBlock)}


def test_round_trips_alone_ask_for_no_rates_of_messages() -> None:
    """A command that adds sizes to them would measure round trips again."""
    replied = ReportInputs(Study(make_message_results([TCP], rates=RATES[:2], cycles=2)))
    titles = [row for one in build_sections(replied) for row in list_rows(one.blocks)]
    assert titles
    assert "Messages" not in titles


def test_many_setups_are_split_into_figures() -> None:
    setups = [Setup({"batch_bytes": 1024 * (place + 1)}) for place in range(10)]
    split = ReportInputs(Study(make_message_results(setups, sizes=(64,), rates=(1000, 5000), cycles=1)))
    for part, count in (("-1", 8), ("-2", 2)):
        panel = find(split, f"latency-by-rate-1-64B{part}").panels[0]
        assert len(list_curves(panel)) == count


def test_results_without_messages_have_no_such_chapter() -> None:
    plain = ReportInputs(Study(make_quickstart()))
    sections = build_sections(plain)
    assert "message-latency" not in {one.key for one in sections}
    assert not any("Latency of messages" in row for one in sections for row in list_rows(one.blocks))


def list_rows(blocks: tuple[Block, ...]) -> list[str]:
    tables = [one for one in list_blocks(blocks) if isinstance(one, TableBlock)]
    return [row[0] for one in tables if one.name == "undecided" for row in one.rows]


def test_a_report_of_messages_alone_can_be_built() -> None:
    report = build_document(make_message_results(cycles=1))
    assert report.opening.blocks
    assert {one.key for one in report.sections} >= {"message-latency", "trials", "method"}
