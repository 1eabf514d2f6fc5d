"""The figure of the first screen: medians, intervals, reference lines and the recommended combination."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from pathlab.report.inputs import ReportInputs
from pathlab.report.plots.model import Curve, Points, Rule, Scale
from pathlab.store.records import TrialRecord
from tests.builders.results import LAB
from tests.builders.sections import draw, find_curve, make_inputs, take_interval, take_trials
from tests.builders.sweeps import make_sweep
from tests.builders.trials import GOODPUT_BITS_PER_S, QUEUE_BYTES, RATE_BITS_PER_S

Levels = list[tuple[int, int | None]]
LEVELS: Levels = [(streams, window) for window in (32768, 65536) for streams in (1, 4, 8)]


def make_results(
    cycles: int = 6,
    levels: Levels = LEVELS,
    change: Callable[[TrialRecord], TrialRecord] = lambda record: record,
) -> ReportInputs:
    return make_inputs(make_sweep(cycles, levels=levels, change=change, environment={"lab": LAB}))


@pytest.fixture(scope="module")
def inputs() -> ReportInputs:
    return make_results()


def test_each_window_is_a_series_of_medians_with_intervals(inputs: ReportInputs) -> None:
    plot = draw(inputs, "answer-1")
    assert [panel.y.unit for panel in plot.panels] == ["Mbit/s", "ms"]
    assert plot.panels[0].x.scale is Scale.LOG2
    assert plot.panels[0].x.tick_labels == ("1", "4", "8")
    for window, name in ((32768, "window 32 KiB"), (65536, "window 64 KiB")):
        curve = find_curve(plot, name)
        assert np.isfinite(take_interval(curve)).all()  # six trials each
        rates = [
            take_trials(
                inputs,
                lambda one, cell=(streams, window): (one.streams, one.window_requested_bytes) == cell,  # type: ignore[misc]
                lambda one: one.throughput_bits_per_s,
            )
            for streams in (1, 4, 8)
        ]
        assert curve.y == pytest.approx([np.median(some) / 1e6 for some in rates])
    trials = [layer for layer in plot.panels[0].layers if isinstance(layer, Points) and not layer.callout]
    assert trials == []  # intervals say the same
    limits = [layer.value for panel in plot.panels for layer in panel.layers if isinstance(layer, Rule)]
    full_queue_ms = QUEUE_BYTES * 8e3 / RATE_BITS_PER_S
    assert limits == pytest.approx([GOODPUT_BITS_PER_S / 1e6, full_queue_ms], rel=1e-3)


def test_the_recommended_combination_is_ringed_in_both_panels(inputs: ReportInputs) -> None:
    chosen = inputs.answers("recommendation")[0].result.recommended
    expected = (chosen.throughput_bits_per_s.median / 1e6, chosen.drtt_ns.median / 1e6)
    for panel, height in zip(draw(inputs, "answer-1").panels, expected, strict=True):
        (ring,) = (layer for layer in panel.layers if isinstance(layer, Points) and layer.callout)
        assert ring.callout == "recommended"
        assert ring.y == pytest.approx([height])
        assert ring.x == pytest.approx([chosen.streams], rel=0.05)


def test_trials_are_dots_where_an_interval_needs_more() -> None:
    plot = draw(make_results(cycles=2), "answer-1")
    dots = [layer for layer in plot.panels[0].layers if isinstance(layer, Points) and not layer.callout]
    assert sum(len(layer.x) for layer in dots) == 2 * len(LEVELS)
    assert "Dots: single trials" in plot.sentence


@pytest.mark.parametrize(("flag", "streams"), [("lab-limited", 4), ("host-limited", 8)])
def test_limited_combinations_have_open_markers(flag: str, streams: int) -> None:
    def limit(record: TrialRecord) -> TrialRecord:
        return replace(record, flags=("lab", flag)) if record.streams == streams else record

    panel = draw(make_results(change=limit), "answer-1").panels[0]
    hollow = [layer for layer in panel.layers if isinstance(layer, Points) and layer.hollow]
    assert [layer.name for layer in hollow] == ["window 32 KiB", "window 64 KiB"]
    assert all(layer.x == pytest.approx([streams], rel=0.05) for layer in hollow)
    assert all(len(layer.x) == 2 for layer in panel.layers if isinstance(layer, Curve))


def test_without_a_usable_trial_the_numbers_are_still_drawn() -> None:
    inputs = make_results(change=lambda one: replace(one, flags=("lab", "lab-limited")))
    points = [layer for layer in draw(inputs, "answer-1").panels[0].layers if isinstance(layer, Points)]
    hollow = [layer for layer in points if layer.hollow]
    assert sum(len(layer.x) for layer in hollow) == len(LEVELS)
    assert all(layer.legend and layer.name.endswith("(provisional)") for layer in hollow)
    assert [layer.callout for layer in points if not layer.hollow] == ["recommended"]


def test_a_line_far_above_the_measurements_is_not_drawn() -> None:
    (panel, _) = draw(make_results(levels=[(1, 8192), (2, 8192)]), "answer-1").panels
    assert not any(isinstance(layer, Rule) for layer in panel.layers)


def test_one_stream_count_puts_windows_on_the_axis() -> None:
    plot = draw(make_results(levels=[(4, 16384), (4, 65536), (4, None)]), "answer-1")
    axis = plot.panels[0].x
    assert (axis.label, axis.tick_labels) == ("Window", ("16 KiB", "64 KiB", "auto"))
    assert find_curve(plot, "4 streams").x == pytest.approx([16384, 65536, 131072])
