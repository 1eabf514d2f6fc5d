"""What throughput does to round trips: breakpoints, agreement, distributions."""

from dataclasses import replace

import numpy as np
import pytest

from pathlab.report.base.blocks import list_blocks
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import build_blocks
from pathlab.report.flows import effect
from pathlab.report.plots.model import Rule
from pathlab.store.records import TrialRecord
from tests.builders.sections import (
    draw,
    find_curve,
    find_layer,
    find_table,
    make_inputs,
    take_interval,
    take_trials,
)
from tests.builders.sweeps import RTT_NS, make_sweep

KNEE_BITS_PER_S = 20e6


def climb(record: TrialRecord) -> TrialRecord:
    """A rise that begins at 20 Mbit/s, 3 ms per Mbit/s, and an idle path that varies little."""
    noise = np.random.default_rng([5, record.plan_row])
    rate = record.throughput_bits_per_s or 0.0
    rise = max(0.0, rate - KNEE_BITS_PER_S) * 3.0 + 2e6 * noise.normal(1, 0.3)
    return replace(
        record,
        loaded_rtt_min_ns=RTT_NS,
        loaded_rtt_mean_ns=RTT_NS + rise,
        unloaded_rtt_mean_ns=RTT_NS,
        unloaded_rtt_min_ns=0.99 * RTT_NS,
    )


@pytest.fixture(scope="module")
def inputs() -> ReportInputs:
    return make_inputs(make_sweep(8, change=climb))


def test_two_lines_meet_at_the_breakpoint(inputs: ReportInputs) -> None:
    plot = draw(inputs, "delay-throughput-1")
    rule = find_layer(plot, "breakpoint", kind=Rule)
    assert rule.vertical
    assert rule.value == pytest.approx(KNEE_BITS_PER_S / 1e6, rel=0.05)
    low, high = take_interval(rule)
    assert low < rule.value < high
    lines = find_curve(plot, "two lines")
    assert lines.x[1] == pytest.approx(rule.value)
    slope = (lines.y[2] - lines.y[1]) / (lines.x[2] - lines.x[1])
    assert slope == pytest.approx(3.0, rel=0.1)  # ms per Mbit/s
    assert lines.y[0] == pytest.approx(2, abs=1)
    assert len(plot.panels) == 3


def test_too_few_trials_leave_the_breakpoint_undecided() -> None:
    plot = draw(make_inputs(make_sweep(1, change=climb)), "delay-throughput-1")
    assert not any(layer.name == "breakpoint" for panel in plot.panels for layer in panel.layers)


def test_agreement_is_that_of_the_straight_line(inputs: ReportInputs) -> None:
    plot = draw(inputs, "variability-drtt-1")
    rise = take_trials(inputs, lambda _: True, lambda one: (one.loaded_rtt_mean_ns or 0.0) - RTT_NS)
    variability = rise / (rise + RTT_NS)
    r_squared = np.corrcoef(rise, variability)[0, 1] ** 2
    assert f"R² = {r_squared - 0.0005:.3f}" in plot.sentence
    line = find_curve(plot, "straight line")
    slope = np.polyfit(rise / 1e6, 100 * variability, 1)[0]
    assert (line.y[1] - line.y[0]) / (line.x[1] - line.x[0]) == pytest.approx(slope)


def test_loaded_and_unloaded_variability_stand_side_by_side(inputs: ReportInputs) -> None:
    table = find_table(list_blocks(list(build_blocks(effect.SECTION.blocks(inputs)))), "variability-table")
    assert [row[1] for row in table.rows] == ["loaded", "unloaded"]
    assert [row[2] for row in table.rows] == ["224", "224"]
    assert table.rows[1][6] == "1.00 %"
