"""Cells and pairs, CPU time, durations, limits: tables and figures hold the trials' own figures."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from pathlab.report.base.blocks import Fold
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import build_blocks
from pathlab.report.flows import cells, duration, limits
from pathlab.report.plots.model import Rule
from pathlab.store.records import TrialRecord
from pathlab.units import format_bytes, format_rate, format_time
from tests.builders.results import SyntheticResults, join_results
from tests.builders.sections import (
    draw,
    find_curve,
    find_layers,
    find_table,
    make_inputs,
    take_interval,
    take_trials,
)
from tests.builders.sweeps import make_sweep

PAIR = ((8, 65536), (2, 262144))


def with_rate(choose: Callable[[TrialRecord], float]) -> Callable[[TrialRecord], TrialRecord]:
    """Trials of a rate of choice; noise of 1 %."""

    def change(record: TrialRecord) -> TrialRecord:
        noise = float(np.random.default_rng([3, record.plan_row]).lognormal(0, 0.01))
        return replace(record, throughput_bits_per_s=choose(record) * noise)

    return change


@pytest.fixture(scope="module")
def measured() -> ReportInputs:
    """The measurement cycle of the source: eight streams carry a fifth more than two."""
    change = with_rate(lambda one: 24e6 if one.streams == 8 else 20e6)
    return make_inputs(make_sweep(20, levels=PAIR, change=change))


def test_the_table_of_the_source_is_that_of_the_trials(measured: ReportInputs) -> None:
    table = find_table(build_blocks(cells.COMBINATIONS.blocks(measured)), "windows-streams")
    labels = [heading.heading for heading in table.columns]
    assert labels[:10] == [
        *("Window", "Streams", "n", "Throughput", "95 % CI", "IQR"),
        *("RTT loaded, min", "RTT loaded, avg", "RTT unloaded, min", "RTT unloaded, avg"),
    ]

    def take(figure: Callable[[TrialRecord], float | None]) -> np.ndarray:
        return take_trials(measured, lambda one: one.streams == 8, figure)

    rates = take(lambda one: one.throughput_bits_per_s)
    q1, median, q3 = np.quantile(rates, (0.25, 0.5, 0.75))
    means, counts = take(lambda one: one.loaded_rtt_mean_ns), take(lambda one: one.loaded_received)
    row = table.rows[0]
    assert row[:4] == ("64 KiB", "8", "20", format_rate(median))
    assert row[5] == format_rate(q3 - q1)
    assert row[6] == format_time(take(lambda one: one.loaded_rtt_min_ns).min())
    assert row[7] == format_time(float(np.average(means, weights=counts)))
    assert all(column.meaning for column in table.columns)


def test_windows_are_shown_as_requested_granted_and_used() -> None:
    def cut(record: TrialRecord) -> TrialRecord:
        if record.cycle:
            return record
        return replace(record, window_granted_receiver_bytes=65536, flags=("lab", "window-short"))

    inputs = make_inputs(make_sweep(3, levels=[(1, 65536), (2, 65536)], change=cut))
    folds = list(build_blocks(limits.SECTION.blocks(inputs)))
    fold = next(one for one in folds if isinstance(one, Fold) and one.title.startswith("Windows requested"))
    table = find_table(iter(fold.blocks), "windows-granted")
    labels = [heading.heading for heading in table.columns]
    row = dict(zip(labels, table.rows[0], strict=False))
    assert row["Window"] == "64 KiB"
    assert row["n"] == "3"  # that of another window too, which is in no median
    assert (row["granted"], row["flags"]) == ("128 KiB/64 KiB", "1 × window-short")
    effective = take_trials(inputs, lambda one: one.streams == 1, lambda one: one.window_effective_bytes)
    assert row["effective"] == format_bytes(float(np.median(effective)))


def test_the_pair_is_drawn_with_its_verdict_and_costs(measured: ReportInputs) -> None:
    plot = draw(measured, "streams-windows-1")
    curve = find_curve(plot, "more streams win")
    low, high = take_interval(curve)
    assert curve.y[0] == pytest.approx(1.2, rel=0.02)
    assert low[0] < curve.y[0] < high[0]
    margin = next(iter(find_layers(plot.panels[0], Rule).values()))
    assert [margin.value, margin.low, margin.high] == pytest.approx([1.0, 1 / 1.05, 1.05])
    assert plot.panels[0].x.tick_labels == ("8 × 64 KiB : 2 × 256 KiB",)
    blocks = list(build_blocks(cells.SECTION.blocks(measured)))
    costs = next(one for one in blocks if isinstance(one, Fold) and "Each pair" in one.title)
    table = find_table(iter(costs.blocks), "streams-windows-costs-1")
    assert [heading.heading for heading in table.columns[2:]] == ["dRTT", "RV", "loss", "Jain", "CPU-s/GB"]


def test_throughput_over_durations_joins_their_conditions() -> None:
    def last(seconds: int) -> SyntheticResults:
        def rate(record: TrialRecord) -> float:
            """Cycles differ by 0.1 %, since what never varies has no interval."""
            return (
                20e6 * (1 + 0.1 * math.log2(seconds)) * (1 + 1e-3 * (record.cycle % 2) * math.log2(seconds))
            )

        results = make_sweep(6, levels=[(8, 65536)])
        results.change_trials(
            lambda one: replace(one, throughput_bits_per_s=rate(one)), duration_ns=seconds * 10**9
        )
        return results

    inputs = make_inputs(join_results([last(seconds) for seconds in (4, 1, 2)]))
    assert len(inputs.conditions) == 3
    plot = draw(inputs, "duration-1")
    curve = find_curve(plot, "8 × 64 KiB")
    assert curve.x.tolist() == [1, 2, 4]
    assert curve.y == pytest.approx(np.array([20, 22, 24]), rel=2e-3)
    assert "duration" not in plot.condition
    rows = find_table(build_blocks(duration.SECTION.blocks(inputs)), "durations-1").rows
    assert [row[1] for row in rows] == ["1 s", "2 s", "4 s"]


def test_fairness_has_the_least_that_can_be(measured: ReportInputs) -> None:
    plot = draw(measured, "fairness-1")
    least = find_curve(plot, "all to one stream")
    assert least.y == pytest.approx(np.array([1 / 2, 1 / 8]))
    assert find_curve(plot, "window 64 KiB").y.tolist() == [0.97]
    assert limits.SECTION.find_gap(measured) is None
