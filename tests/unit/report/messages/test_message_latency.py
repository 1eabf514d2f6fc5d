"""The chapter on the latency of messages: its figures and tables."""

import numpy as np
import pytest

from pathlab.report.base.blocks import TableBlock
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.chapters import list_lazy_plots
from pathlab.report.messages import message_latency
from pathlab.report.messages.latency_figures import build_rate_axis
from pathlab.report.plots.model import Area, Curve
from pathlab.study.analyses import Study
from tests.builders.messages import RATES, SETUPS, TCP, Setup, make_message_results
from tests.builders.sections import draw, find_layers, find_section, find_table


@pytest.fixture(scope="module")
def inputs() -> ReportInputs:
    return ReportInputs(Study(make_message_results(histograms=True)))


def test_an_axis_of_offered_rates_marks_each_of_them(inputs: ReportInputs) -> None:
    for name in ("latency-by-rate-1-64B", "latency-front-1-64B"):
        axis = draw(inputs, name).panels[0].x
        assert axis.ticks == tuple(sorted({float(rate) for rate in RATES if rate is not None}))
    two = build_rate_axis([5000, 1000, 5000.0])
    assert (two.ticks, two.tick_labels) == ((1000.0, 5000.0), ("1 k/s", "5 k/s"))


def test_latency_by_size_has_a_figure_for_each_rate_and_for_one_at_a_time(inputs: ReportInputs) -> None:
    plot = draw(inputs, "latency-by-size-1-oneatatime")
    curve = find_layers(plot.panels[0], Curve)["tcp"]
    assert curve.x.tolist() == [64, 1024]
    assert curve.y == pytest.approx([10.06, 11.02], rel=0.03)
    fast = draw(inputs, "latency-by-size-1-200k-s").panels[0]
    assert list(find_layers(fast, Curve)) == ["tcp, batch 8 KiB", "shared-memory"]  # tcp misses this rate
    by_size = [one for one in list_lazy_plots(inputs) if one.name.startswith("latency-by-size")]
    assert len(by_size) == len(RATES) + 1
    assert sum(not one.on_demand for one in by_size) == message_latency.FIGURES_SHOWN


def test_a_tail_ends_where_ten_round_trips_are_left(inputs: ReportInputs) -> None:
    (panel,) = draw(inputs, "latency-tail-1-64B-50k-s").panels
    curve = find_layers(panel, Curve)["shared-memory"]
    assert curve.y[-1] == pytest.approx(10 / (8 * 4000), rel=0.3)
    assert (np.diff(curve.y) < 0).all()
    middle = curve.x[np.argmin(np.abs(curve.y - 0.5))]
    assert middle == pytest.approx(2.064 / (1 - 50 / 600), rel=0.05)  # of the steady window alone
    assert sum(isinstance(one, Area) for one in panel.layers) == len(SETUPS)


def test_the_front_joins_what_no_other_load_beats(inputs: ReportInputs) -> None:
    (panel,) = draw(inputs, "latency-front-1-64B").panels
    curves = find_layers(panel, Curve)
    assert curves["front"].y == pytest.approx(curves["shared-memory"].y)


def list_missing(inputs: ReportInputs) -> list[str]:
    """The analyses that are not shown."""
    table = find_table(iter(find_section(inputs, "not-decided").blocks), "undecided")
    return [row[0] for row in table.rows]


def test_too_few_rates_for_a_knee_are_listed_once() -> None:
    few = ReportInputs(Study(make_message_results([TCP], rates=(1000, 5000))))
    assert [title for title in list_missing(few) if title.startswith("Knee of latency")]
    assert "Messages" not in list_missing(few)  # a command that adds sizes would measure round trips again
    blocks = find_section(few, "message-latency").blocks
    assert "message-knee-1" not in {one.name for one in blocks if isinstance(one, TableBlock)}


def test_many_setups_are_split_into_figures() -> None:
    setups = [Setup({"batch_bytes": 1024 * (place + 1)}) for place in range(10)]
    split = ReportInputs(Study(make_message_results(setups, sizes=(64,), rates=(1000, 5000), cycles=1)))
    for part, count in (("-1", 8), ("-2", 2)):
        panel = draw(split, f"latency-by-rate-1-64B{part}").panels[0]
        assert len(find_layers(panel, Curve)) == count
