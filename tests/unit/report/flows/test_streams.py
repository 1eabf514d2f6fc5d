"""Figures over streams and windows: medians, intervals, outliers and fits are those of the trials."""

from dataclasses import replace

import numpy as np
import pytest

from pathlab.analysis.estimators.loss import pool_loss
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.points import choose_points
from pathlab.report.plots.model import Area, Curve, Grid, Points, Rule, Scale
from pathlab.store.records import TrialRecord
from tests.builders.results import LAB
from tests.builders.sections import (
    draw,
    find_curve,
    find_layer,
    find_layers,
    make_inputs,
    take_interval,
)
from tests.builders.sweeps import CAPACITY, STREAMS, WINDOWS, make_sweep

CYCLES = 8
FAST_BITS_PER_S = 90e6


def disturb(record: TrialRecord) -> TrialRecord:
    """One trial far too fast, one host-limited, one whose window was cut; the last cell loses probes."""
    cell, cycle = (record.streams, record.window_requested_bytes), record.cycle
    if cell == (4, 65536) and cycle == 3:
        return replace(record, throughput_bits_per_s=FAST_BITS_PER_S)
    if cell == (6, 65536) and cycle == 2:
        return replace(record, throughput_bits_per_s=1e6, flags=("lab", "host-limited"))
    if cell == (8, 65536) and cycle == 2:
        return replace(record, throughput_bits_per_s=1e6, flags=("lab", "window-short"))
    if cell == (12, 131072):
        return replace(record, loaded_received=18)
    return record


@pytest.fixture(scope="module")
def inputs() -> ReportInputs:
    return make_inputs(make_sweep(CYCLES, change=disturb, environment={"lab": LAB}))


def test_an_outlier_is_drawn_marked_and_kept_in_its_median(inputs: ReportInputs) -> None:
    plot = draw(inputs, "throughput-streams-1")
    points = find_layer(plot, "window 64 KiB", kind=Points)
    place = int(np.argmax(points.y))
    assert points.y[place] == pytest.approx(FAST_BITS_PER_S / 1e6)
    assert points.outlier[place]
    assert points.hover[place].endswith("cycle 4")
    assert points.y.size == 7 * CYCLES - 2  # but those that count in no median


def test_trials_that_do_not_count_are_drawn_apart_and_say_why(inputs: ReportInputs) -> None:
    plot = draw(inputs, "throughput-streams-1")
    (excluded,) = (one for name, one in find_layers(plot.panels[0], Points).items() if "excluded" in name)
    assert excluded.hollow
    assert excluded.y.tolist() == [1.0, 1.0]
    assert excluded.x == pytest.approx(np.array([6.0, 8.0]), abs=0.2)
    assert [text.split(", ")[-1] for text in excluded.hover] == ["host-limited", "window-short"]
    six = find_curve(plot, "window 64 KiB").y[STREAMS.index(6)]
    assert six > 18  # the median of the others


def test_loss_is_pooled_with_an_interval_over_trials(inputs: ReportInputs) -> None:
    curve = find_curve(draw(inputs, "loss-streams-1"), "window 128 KiB")
    found = pool_loss([20] * CYCLES, [18] * CYCLES)
    _, high = take_interval(curve)
    assert curve.y[-1] == pytest.approx(100 * (found.loss_ratio or 0))
    assert high[-1] == pytest.approx(100 * (found.interval_ratio.high or 0))


def test_what_the_lab_set_is_drawn_as_the_truth(inputs: ReportInputs) -> None:
    rule = find_layer(draw(inputs, "throughput-streams-1"), "link rate minus headers", kind=Rule)
    assert rule.value == pytest.approx(40 * 1448 / 1500)


@pytest.fixture(scope="module")
def few() -> ReportInputs:
    return make_inputs(make_sweep(3))


def test_small_samples_have_gaps_instead_of_intervals(few: ReportInputs) -> None:
    plot = draw(few, "throughput-streams-1")
    curve = find_curve(plot, "window 16 KiB")
    assert np.isnan(take_interval(curve)).all()
    assert np.isfinite(curve.y).all()
    assert "confidence interval for" not in plot.sentence  # it is said once, for the whole path


def test_powers_of_two_have_a_logarithmic_axis(inputs: ReportInputs) -> None:
    levels = [(streams, 65536) for streams in (1, 2, 4, 8)]
    plot = draw(make_inputs(make_sweep(1, levels=levels)), "throughput-streams-1")
    assert plot.panels[0].x.scale is Scale.LOG2
    linear = draw(inputs, "throughput-streams-1").panels[0].x
    assert linear.scale is Scale.LINEAR
    assert linear.ticks == tuple(float(streams) for streams in STREAMS)


def test_thinning_keeps_outliers_and_extremes() -> None:
    values = np.random.default_rng(1).normal(0, 1, 5000)
    values[17], values[4001], values[100] = 50.0, -50.0, np.nan
    always = np.zeros(values.size, dtype=bool)
    always[[100, 333, 2222]] = True
    chosen = choose_points(values, always, 200)
    assert {17, 333, 2222, 4001} <= set(chosen.tolist())
    assert 100 not in chosen
    assert 195 <= chosen.size <= 204
    gaps = np.diff(chosen)
    assert gaps.max() < 3 * values.size / 200  # evenly over the order
    assert choose_points(values[:50], always[:50], 200).size == 50


def test_the_band_holds_the_fit_and_the_capacity_has_its_interval(inputs: ReportInputs) -> None:
    plot = draw(inputs, "saturation-1-128KiB")
    band = next(one for one in plot.panels[0].layers if isinstance(one, Area))
    curve = next(one for one in plot.panels[0].layers if isinstance(one, Curve))
    assert np.all(band.low <= curve.y)
    assert np.all(curve.y <= band.high)
    capacity = find_layer(plot, "fitted capacity", kind=Rule)
    assert capacity.value == pytest.approx(CAPACITY / 1e6, rel=0.1)
    low, high = take_interval(capacity)
    assert low < capacity.value < high
    assert plot.panels[1].y.title == "Residual (%)"


def test_the_overview_of_saturation_has_every_window(inputs: ReportInputs) -> None:
    plot = draw(inputs, "saturation-1")
    bands = [one for one in plot.panels[0].layers if isinstance(one, Area)]
    assert len(bands) == len(WINDOWS)
    assert len({band.slot for band in bands}) == len(WINDOWS)


def test_the_surface_is_drawn_over_the_product_with_its_residuals(inputs: ReportInputs) -> None:
    plot = draw(inputs, "surface-1")
    fit = find_curve(plot, "fitted surface")
    assert np.all(np.diff(fit.x) >= 0)
    assert np.all(np.diff(fit.y) >= -1e-9)
    assert fit.y[-1] == pytest.approx(CAPACITY / 1e6, rel=0.1)
    (grid,) = find_layers(draw(inputs, "surface-residuals-1").panels[0], Grid).values()
    (answer,) = inputs.answers("surface")
    at = answer.result.residuals.cell_levels.index((2.0, 32768.0))
    assert grid.values[1, STREAMS.index(2)] == pytest.approx(
        100 * answer.result.residuals.cell_ratio[at], abs=0.051
    )
