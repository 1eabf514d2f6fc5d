"""Messages and writes by size, batching and fan-out: figures and sentences hold the trials' own figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pathlab.report.blocks import Bullets, Paragraph, TableBlock
from pathlab.report.inputs import ReportInputs
from pathlab.report.plots.model import Curve, Plot, Rule
from pathlab.report.sections import chapters, messages
from pathlab.report.sections.opening import build_opening
from pathlab.report.size_text import describe_messages
from pathlab.store.records import TrialRecord
from tests.builders.messages import BATCH, WRITE_SIZES, carry, make_message_trials
from tests.builders.results import Settings, SyntheticResults, join_results
from tests.builders.sections import find_curve, find_layer, find_table, list_blocks, make_inputs
from tests.builders.sweeps import make_sweep

PLAIN: Settings = {"batch_bytes": None, "batch_max_delay_ns": None, "placement": "process"}
BATCHED: Settings = {**PLAIN, **BATCH}


def draw(inputs: ReportInputs, name: str) -> Plot:
    """The figure of that name, which there must be."""
    plot = chapters.find_plot(inputs, name)
    assert plot is not None
    return plot


def make_message_inputs(
    *curves: Settings, model: Callable[[Settings], dict[str, Any]] = carry
) -> ReportInputs:
    return make_inputs(make_message_trials(curves, model))


@pytest.fixture(scope="module")
def both() -> ReportInputs:
    return make_message_inputs(PLAIN, BATCHED)


def test_the_opening_says_what_carries_most_messages(both: ReportInputs) -> None:
    lead, figure = build_opening(both).blocks
    assert isinstance(lead, Paragraph)
    assert lead.lead
    # 1 / (125 + 400 + 64 ns), and 2064 / 589 = 3.5 as many
    assert lead.text.startswith("From 64 B to 16 KiB, tcp, batch 64 KiB carries most messages: 1.")
    assert isinstance(figure, Plot)
    assert figure.name == "messages-1"
    names = [block.name for block in list_blocks(chapters.build_sections(both)) if isinstance(block, Plot)]
    assert "messages-1" not in names  # a figure is shown once
    assert "batching-1" in names


def test_a_curve_for_each_setting_and_the_published_one_faint(both: ReportInputs) -> None:
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
    rows = find_table(list_blocks(chapters.build_sections(both)), "published-1").rows
    assert len(rows) == 2 * len(WRITE_SIZES)
    assert rows[0][:3] == ("tcp", "Streams 3.0 intranode: tcp", "64 B")


def test_tables_have_the_cost_and_the_cpu_time_of_every_curve(both: ReportInputs) -> None:
    sections = chapters.build_sections(both)
    assert sections[0].key == "message-size"
    cost = find_table(list_blocks(sections), "messages-cost-1")
    assert cost.rows[0][0] == "tcp"
    headings = [heading.label for heading in cost.headings]
    assert cost.rows[0][headings.index("per message")].startswith(("2.0", "1.9"))
    rates = find_table(list_blocks(sections), "message-rates-1")
    headings = [heading.label for heading in rates.headings]
    assert rates.rows[0][headings.index("CPU/message, sender")].startswith("2 µs")
    assert len(rates.rows) == 2 * len(WRITE_SIZES)


def test_one_curve_is_drawn_with_its_fit() -> None:
    inputs = make_message_inputs({"placement": "process", "transport": "pipe"})
    plot = draw(inputs, "messages-1")
    fit = find_curve(plot, "a + m / r")
    assert fit.y[0] == pytest.approx(1e9 / 2064, rel=0.02)
    half = find_layer(plot, "half size", 1, Rule)
    assert isinstance(half, Rule)
    assert half.value == pytest.approx(2000, rel=0.05)
    assert "A message costs" in plot.sentence
    assert not any(isinstance(layer, Curve) and layer.faint for layer in plot.panels[0].layers)


def test_many_curves_are_split_by_the_factor_of_fewest_levels() -> None:
    curves = [
        {"transport": transport, "no_delay": delay, "placement": "process"}
        for transport in ("tcp", "mptcp", "unix", "unix-datagram", "pipe", "shared-memory")
        for delay in (False, True)
    ]
    inputs = make_inputs(make_message_trials(curves, carry, cycles=1))
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
    inputs = make_inputs(make_message_trials(curves, carry, cycles=1))
    assert [", two hosts · " in draw(inputs, f"messages-{number}").condition for number in (1, 2)] == [
        True,
        False,
    ]


def test_two_sizes_have_no_table_of_costs_but_a_line() -> None:
    inputs = make_inputs(make_message_trials([PLAIN, BATCHED], carry, sizes=(64, 1024)))
    tables = {
        one.name: one for one in list_blocks(chapters.build_sections(inputs)) if isinstance(one, TableBlock)
    }
    assert "messages-cost-1" not in tables
    assert "message-rates-1" in tables
    (row,) = (row for row in tables["undecided"].rows if row[0].startswith("Cost of a message"))
    assert row[1] == "4 sizes"
    assert "factors.message=" in row[2]


def test_messages_at_a_rate_that_was_offered_ask_for_none() -> None:
    inputs = make_message_inputs({**PLAIN, "reply": False, "message_rate_per_s": 1000})
    blocks = list_blocks(chapters.build_sections(inputs))
    (table,) = (one for one in blocks if isinstance(one, TableBlock) and one.name == "undecided")
    (row,) = (row for row in table.rows if row[0] == "Messages")
    assert "factors.message_rate=" in row[2]


def test_fan_out_has_each_sink_all_sinks_and_fairness() -> None:
    def share(settings: Settings) -> dict[str, Any]:
        return carry(settings) | {"fairness_jain": 0.9}

    curves = [{"streams": sinks, **PLAIN} for sinks in (1, 2, 4)]
    inputs = make_inputs(make_message_trials(curves, share, sizes=(22, 1004)))
    plot = draw(inputs, "fan-out-1")
    name = "tcp, message 22 B"
    each, total, fair = (find_curve(plot, name, panel) for panel in range(3))
    assert each.x.tolist() == [1, 2, 4]
    assert each.y == pytest.approx(total.y / np.array([1, 2, 4]))
    assert np.isnan(fair.y[0])
    assert fair.y[1:].tolist() == [0.9, 0.9]
    assert find_curve(plot, "Streams 2.0: tcp 22B", 1).faint
    leads = [one for one in build_opening(inputs).blocks if isinstance(one, Paragraph)]
    assert [one.text.partition(": ")[0] for one in leads] == [name, "tcp, message 1004 B"]
    assert all("with 4 sinks" in one.text for one in leads)
    bullets = [block for block in list_blocks(chapters.build_sections(inputs)) if isinstance(block, Bullets)]
    assert any(
        item.startswith(f"{name}: ") and "with 4 sinks" in item for block in bullets for item in block.items
    )


def make_writes(share: float, levels: list[tuple[int, int | None]]) -> ReportInputs:
    def measure(size: int) -> SyntheticResults:
        def change(record: TrialRecord) -> TrialRecord:
            return replace(record, throughput_bits_per_s=share * record.streams * size * 8e9 / (2000 + size))

        return make_sweep(2, levels=levels, change=change, settings={"write_bytes": size})

    return make_inputs(join_results([measure(size) for size in WRITE_SIZES]))


def test_writes_share_the_figures_of_messages() -> None:
    inputs = make_writes(1.0, [(1, 65536)])
    plot = draw(inputs, "writes-1")
    fit = find_curve(plot, "a + m / r")
    assert find_curve(plot, "median").x.tolist() == list(WRITE_SIZES)
    assert fit.y[0] == pytest.approx(find_curve(plot, "median").y[0], rel=1e-3)
    assert "A write costs 2" in plot.sentence
    assert messages.SECTION.find_gap(inputs) is None
    assert describe_messages(inputs.study) == ()


def test_results_of_messages_alone_have_no_chapter_of_paths(both: ReportInputs) -> None:
    keys = [section.key for section in chapters.build_sections(both)]
    assert "combinations" not in keys
    assert both.study.recommend() == ()
    tables = [block for block in list_blocks(chapters.build_sections(both)) if isinstance(block, TableBlock)]
    undecided = [table for table in tables if table.name == "undecided"]
    assert not any("RFC 6349" in row[0] for table in undecided for row in table.rows)
