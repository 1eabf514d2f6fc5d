"""Messages and writes by size, batching and fan-out: figures and sentences hold the trials' own figures."""

from typing import Any

import numpy as np
import pytest

from pathlab.report import chapters
from pathlab.report.base.blocks import Block, Bullets, Paragraph, TableBlock
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.messages import messages
from pathlab.report.messages.size_text import describe_messages
from pathlab.report.opening import build_opening
from pathlab.report.plots.model import Curve, Plot, Rule
from tests.builders.messages import BATCH, WRITE_SIZES, Model, carry, make_message_trials, make_writes
from tests.builders.results import Settings
from tests.builders.sections import (
    draw,
    find_curve,
    find_layer,
    find_section,
    find_table,
    list_blocks,
    make_inputs,
)

PLAIN: Settings = {"batch_bytes": None, "batch_max_delay_ns": None, "placement": "process"}
BATCHED: Settings = {**PLAIN, **BATCH}


def make_message_inputs(*curves: Settings, model: Model = carry, **options: Any) -> ReportInputs:
    return make_inputs(make_message_trials(curves, model, **options))


@pytest.fixture(scope="module")
def chapter(both: ReportInputs) -> list[Block]:
    return list(list_blocks(chapters.build_sections(both)))


@pytest.fixture(scope="module")
def both() -> ReportInputs:
    return make_message_inputs(PLAIN, BATCHED)


def test_the_opening_has_the_figure_which_is_shown_once(both: ReportInputs, chapter: list[Block]) -> None:
    lead, figure = build_opening(both).blocks
    assert isinstance(lead, Paragraph)
    assert lead.lead
    assert isinstance(figure, Plot)
    assert figure.name == "messages-1"
    names = [block.name for block in chapter if isinstance(block, Plot)]
    assert "messages-1" not in names
    assert "batching-1" in names


def test_a_curve_for_each_setting_and_the_published_one_faint(
    both: ReportInputs, chapter: list[Block]
) -> None:
    plot = draw(both, "messages-1")
    plain, batched = (find_curve(plot, name) for name in ("tcp", "tcp, batch 64 KiB"))
    assert plain.x.tolist() == list(WRITE_SIZES)
    assert plain.y[0] == pytest.approx(1e9 / 2064, rel=0.02)
    assert batched.slot != plain.slot
    assert plain.low is not None
    below = find_curve(plot, "tcp", 1)
    assert below.y[0] == pytest.approx(512 / 2064, rel=0.02)  # Gbit/s
    faint = find_curve(plot, "Streams 3.0 intranode: tcp batched")
    assert (faint.faint, faint.slot) == (True, batched.slot)
    assert faint.y[faint.x == 64] == pytest.approx(3.81e9 / 512)
    assert find_curve(plot, faint.name, 1).y[faint.x == 64] == pytest.approx(3.81)
    rows = find_table(iter(chapter), "published-1").rows
    assert len(rows) == 2 * len(WRITE_SIZES)
    assert rows[0][:3] == ("tcp", "Streams 3.0 intranode: tcp", "64 B")


def test_tables_have_the_cost_and_the_cpu_time_of_every_curve(chapter: list[Block]) -> None:
    cost, rates = (find_table(iter(chapter), name) for name in ("messages-cost-1", "message-rates-1"))
    first = dict(zip((heading.heading for heading in cost.columns), cost.rows[0], strict=True))
    assert cost.rows[0][0] == "tcp"
    assert first["per message"].startswith(("2.0", "1.9"))
    first = dict(zip((heading.heading for heading in rates.columns), rates.rows[0], strict=True))
    assert first["CPU/message, sender"].startswith("2 µs")
    assert len(rates.rows) == 2 * len(WRITE_SIZES)


def test_one_curve_is_drawn_with_its_fit() -> None:
    inputs = make_message_inputs({"placement": "process", "transport": "pipe"})
    plot = draw(inputs, "messages-1")
    fit = find_curve(plot, "a + m / r")
    assert fit.y[0] == pytest.approx(1e9 / 2064, rel=0.02)
    assert find_layer(plot, "half size", 1, kind=Rule).value == pytest.approx(2000, rel=0.05)
    assert not any(isinstance(layer, Curve) and layer.faint for layer in plot.panels[0].layers)


def test_many_curves_are_split_by_the_factor_of_fewest_levels() -> None:
    curves = [
        {"transport": transport, "no_delay": delay, "placement": "process"}
        for transport in ("tcp", "mptcp", "unix", "unix-datagram", "pipe", "shared-memory")
        for delay in (False, True)
    ]
    inputs = make_message_inputs(*curves, cycles=1)
    first, second = draw(inputs, "messages-1"), draw(inputs, "messages-2")
    assert chapters.find_plot(inputs, "messages-3") is None
    assert ", Nagle · " in first.condition
    assert ", no delay · " in second.condition
    named = [layer.name for layer in second.panels[0].layers if isinstance(layer, Curve) and not layer.faint]
    assert named == ["tcp", "mptcp", "unix", "unix-datagram", "pipe", "shared-memory"]
    rest = build_opening(inputs).blocks[1]
    assert isinstance(rest, Bullets)
    assert ", no delay: " in rest.items[0]


def test_a_placement_has_a_figure_of_its_own_before_other_factors_are_split() -> None:
    curves = [
        {"placement": placement, "transport": transport, "batch_bytes": size}
        for placement in ("host", "process")
        for transport in ("tcp", "mptcp", "unix")
        for size in (None, 4096)
    ]
    inputs = make_message_inputs(*curves, cycles=1)
    first, second = (draw(inputs, f"messages-{number}").condition for number in (1, 2))
    assert ", two hosts · " in first
    assert ", two hosts · " not in second


def test_two_sizes_have_no_table_of_costs_but_a_line() -> None:
    inputs = make_message_inputs(PLAIN, BATCHED, sizes=(64, 1024))
    blocks = list(list_blocks(chapters.build_sections(inputs)))
    assert "messages-cost-1" not in {one.name for one in blocks if isinstance(one, TableBlock)}
    rows = {row[0]: row for row in find_table(iter(blocks), "undecided").rows}
    (row,) = (row for title, row in rows.items() if title.startswith("Cost of a message"))
    assert row[1] == "4 sizes"
    assert "factors.message=" in row[2]


def test_messages_at_a_rate_that_was_offered_ask_for_none() -> None:
    inputs = make_message_inputs({**PLAIN, "reply": False, "message_rate_per_s": 1000}, cycles=1)
    table = find_table(list_blocks([find_section(inputs, "not-decided")]), "undecided")
    (row,) = (row for row in table.rows if row[0] == "Messages")
    assert "factors.message_rate=" in row[2]


def test_fan_out_has_each_sink_all_sinks_and_fairness() -> None:
    def share(settings: Settings) -> dict[str, Any]:
        return carry(settings) | {"fairness_jain": 0.9}

    curves = [{"streams": sinks, **PLAIN} for sinks in (1, 2, 4)]
    inputs = make_message_inputs(*curves, model=share, sizes=(22, 1004))
    plot = draw(inputs, "fan-out-1")
    name = "tcp, message 22 B"
    each, total, fair = (find_curve(plot, name, panel) for panel in range(3))
    assert each.x.tolist() == [1, 2, 4]
    assert each.y == pytest.approx(total.y / np.array([1, 2, 4]))
    assert np.isnan(fair.y[0])
    assert fair.y[1:].tolist() == [0.9, 0.9]
    assert find_curve(plot, "Streams 2.0: tcp 22B", 1).faint
    names = [name, "tcp, message 1004 B"]
    leads = [one for one in build_opening(inputs).blocks if isinstance(one, Paragraph)]
    assert [one.text.partition(": ")[0] for one in leads] == names
    bullets = [one for one in find_section(inputs, "message-size").blocks if isinstance(one, Bullets)]
    assert names in [[item.partition(": ")[0] for item in one.items] for one in bullets]


def test_writes_share_the_figures_of_messages() -> None:
    inputs = make_inputs(make_writes(1.0, [(1, 65536)]))
    plot = draw(inputs, "writes-1")
    fit, median = (find_curve(plot, name) for name in ("a + m / r", "median"))
    assert median.x.tolist() == list(WRITE_SIZES)
    assert fit.y[0] == pytest.approx(median.y[0], rel=1e-3)
    assert messages.SECTION.find_gap(inputs) is None
    assert describe_messages(inputs.study) == ()
