"""The chapter on the latency of messages: its figures, tables and sentences, and the report's opening."""

from __future__ import annotations

import numpy as np
import pytest

from pathlab.report.blocks import Block, Paragraph, TableBlock, list_blocks
from pathlab.report.inputs import ReportInputs
from pathlab.report.plots.model import Area, Curve, Panel, Plot, Points
from pathlab.report.report_builder import build_document
from pathlab.report.sections import message_latency
from pathlab.report.sections.chapters import build_sections, find_plot, list_lazy_plots
from pathlab.report.sections.opening import build_opening
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


def test_a_tail_without_histograms_says_so() -> None:
    bare = ReportInputs(Study(make_message_results((TCP,), cycles=1)))
    assert find(bare, "latency-tail-1-64B-1k-s").empty == "no histogram of round trips was stored"


def test_the_front_joins_what_no_other_load_beats(inputs: ReportInputs) -> None:
    (panel,) = find(inputs, "latency-front-1-64B").panels
    curves = list_curves(panel)
    assert curves["front"].y == pytest.approx(curves["shared-memory"].y)
    assert [float(tick) for tick in panel.x.ticks or ()] == [1e3, 1e4, 1e5, 1e6]


def list_texts(blocks: tuple[Block, ...]) -> list[str]:
    return [one.text for one in list_blocks(blocks) if isinstance(one, Paragraph)]


def test_the_opening_is_the_front_of_each_size(inputs: ReportInputs) -> None:
    opening = build_opening(inputs)
    texts = list_texts(opening.blocks)
    assert texts[0].startswith(
        "64 B messages: shared-memory has the least p99 at every rate of the front, 6."
    )
    assert texts[1].startswith("1 KiB messages: shared-memory has the least p99 at every rate of the front")
    plots = [one.name for one in opening.blocks if isinstance(one, Plot)]
    assert plots == ["latency-front-1-64B"]


def test_the_opening_of_messages_one_at_a_time_names_the_shortest_round_trips() -> None:
    opening = build_opening(ReportInputs(Study(make_message_results(rates=(None,)))))
    texts = list_texts(opening.blocks)
    assert texts[0].startswith("64 B messages: shared-memory has the shortest round trips, median 2.0")
    assert "; tcp takes 4.8" in texts[0]
    few = build_opening(ReportInputs(Study(make_message_results(rates=(None,), cycles=2))))
    assert "(not shown to differ)" in list_texts(few.blocks)[0]


def describe_fronts(*setups: Setup, cycles: int = 8, rates: tuple[int, ...] = (1000, 5000)) -> str:
    results = make_message_results(setups, sizes=(64,), rates=rates, cycles=cycles)
    return list_texts(build_opening(ReportInputs(Study(results))).blocks)[0]


def test_a_front_of_few_trials_names_no_winner_without_a_doubt() -> None:
    unix = Setup({"transport": "unix"}, base_ns=5_000.0)
    assert describe_fronts(TCP, unix, cycles=2).endswith(" (too few trials to tell combinations apart).")
    assert "too few trials" not in describe_fronts(TCP, unix)


def test_one_setup_has_no_superlative() -> None:
    text = describe_fronts(TCP)
    assert text.startswith("64 B messages: tcp has a p99 of 30")
    assert " at 1 k/s to 3" in text
    assert text.endswith(" at 5 k/s.")


def test_setups_that_all_carry_the_highest_rate_differ_by_p99_alone() -> None:
    slow = Setup({"transport": "unix"}, base_ns=50_000.0)
    text = describe_fronts(TCP, slow, rates=(5000,))
    assert text.startswith("64 B messages: tcp has the least p99, also at the highest rate kept, 3")
    assert text.endswith(" at 5 k/s.")


def test_tables_state_the_cost_of_measuring_once(inputs: ReportInputs) -> None:
    (section,) = (one for one in build_sections(inputs) if one.key == "message-latency")
    tables = {one.name: one for one in list_blocks(section.blocks) if isinstance(one, TableBlock)}
    assert list(tables) == ["message-front-1", "message-knee-1", "message-latency-1", "message-tails-1"]
    note = tables["message-latency-1"].note or ""
    assert (
        "Measuring costs at most 22 ns for a reading of the clock and 9.5 ns to count a round trip." in note
    )
    assert "excluded: 8 rate-missed" in note
    assert len(tables["message-latency-1"].rows) == len(SETUPS) * 2 * (len(RATES) + 1)


def test_too_few_rates_for_a_knee_are_listed_once() -> None:
    few = ReportInputs(Study(make_message_results(rates=(1000, 5000))))
    sections = build_sections(few)
    assert [row for one in sections for row in list_rows(one.blocks) if row.startswith("Knee of latency")]
    (section,) = (one for one in sections if one.key == "message-latency")
    assert "message-knee-1" not in {one.name for one in section.blocks if isinstance(one, TableBlock)}


def test_points_of_few_trials_are_counted_by_rate_and_by_size() -> None:
    few = ReportInputs(Study(make_message_results([TCP], rates=RATES[:2], cycles=2)))
    for name, noun in (("latency-by-rate-1-64B", "offered rates"), ("latency-by-size-1-1k-s", "sizes")):
        sentence = find(few, name).sentence
        assert f"No confidence interval for 2 {noun}: at most 2 trials each, 6 needed." in sentence


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
