"""The figure of the first screen: medians, intervals, reference lines and the recommended combination."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from pathlab.report.inputs import ReportInputs
from pathlab.report.plots.model import Plot, Points, Scale
from pathlab.report.sections.answer_figure import outline_answer_figure
from pathlab.store.records import TrialRecord
from tests.builders.results import LAB
from tests.builders.sections import find_curve, make_inputs, take_trials
from tests.builders.sweeps import make_sweep

LEVELS: list[tuple[int, int | None]] = [
    (streams, window) for window in (32768, 65536) for streams in (1, 4, 8)
]


def draw(inputs: ReportInputs) -> Plot:
    """The figure of the first condition."""
    return outline_answer_figure(inputs, inputs.conditions[0]).build()


def make_results(
    cycles: int = 6,
    levels: list[tuple[int, int | None]] = LEVELS,
    change: Callable[[TrialRecord], TrialRecord] = lambda record: record,
) -> ReportInputs:
    return make_inputs(make_sweep(cycles, levels=levels, change=change, environment={"lab": LAB}))


@pytest.fixture(scope="module")
def inputs() -> ReportInputs:
    return make_results()


def test_each_window_is_a_series_of_medians_with_intervals(inputs: ReportInputs) -> None:
    plot = draw(inputs)
    assert plot.name == "answer-1"
    assert [panel.y.unit for panel in plot.panels] == ["Mbit/s", "ms"]
    assert plot.panels[0].x.scale is Scale.LOG2
    assert plot.panels[0].x.tick_labels == ("1", "4", "8")
    for window, name in ((32768, "window 32 KiB"), (65536, "window 64 KiB")):
        curve = find_curve(plot, name)
        assert curve.low is not None
        assert np.isfinite(curve.low).all()  # six trials each
        rates = [
            take_trials(
                inputs,
                partial(is_of, (streams, window)),
                lambda one: one.throughput_bits_per_s,
            )
            for streams in (1, 4, 8)
        ]
        assert curve.y == pytest.approx([np.median(some) / 1e6 for some in rates])
    trials = [layer for layer in plot.panels[0].layers if isinstance(layer, Points) and not layer.callout]
    assert trials == []  # intervals say the same


def is_of(levels: tuple[int, int], record: TrialRecord) -> bool:
    return (record.streams, record.window_requested_bytes) == levels


def test_the_recommended_combination_is_ringed_in_both_panels(inputs: ReportInputs) -> None:
    plot = draw(inputs)
    chosen = inputs.answers("recommendation")[0].result.recommended
    assert chosen is not None
    expected = (chosen.throughput_bits_per_s.median / 1e6, chosen.drtt_ns.median / 1e6)
    for panel, height in zip(plot.panels, expected, strict=True):
        (ring,) = (layer for layer in panel.layers if isinstance(layer, Points) and layer.callout)
        assert ring.callout == "recommended"
        assert ring.y == pytest.approx([height])
        assert ring.x == pytest.approx([chosen.streams], rel=0.05)


def test_trials_are_dots_where_an_interval_needs_more() -> None:
    plot = draw(make_results(cycles=2))
    dots = [layer for layer in plot.panels[0].layers if isinstance(layer, Points) and not layer.callout]
    assert sum(len(layer.x) for layer in dots) == 2 * len(LEVELS)
    assert "Dots: trials" in plot.sentence


def test_without_a_usable_trial_the_numbers_are_still_drawn() -> None:
    plot = draw(make_results(change=lambda one: replace(one, flags=("lab", "lab-limited"))))
    points = [layer for layer in plot.panels[0].layers if isinstance(layer, Points)]
    hollow = [layer for layer in points if layer.hollow]
    assert sum(len(layer.x) for layer in hollow) == len(LEVELS)
    assert all(layer.legend and layer.name.endswith("(provisional)") for layer in hollow)
    assert [layer.callout for layer in points if not layer.hollow] == ["recommended"]


def test_one_stream_count_puts_windows_on_the_axis() -> None:
    plot = draw(make_results(levels=[(4, 16384), (4, 65536), (4, None)]))
    axis = plot.panels[0].x
    assert (axis.label, axis.tick_labels) == ("Window", ("16 KiB", "64 KiB", "auto"))
    curve = find_curve(plot, "4 streams")
    assert curve.x == pytest.approx([16384, 65536, 131072])
