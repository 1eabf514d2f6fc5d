"""The figure of the first screen: medians, intervals, reference lines and the recommended combination."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from pathlab.report.base.inputs import ReportInputs
from pathlab.report.plots.model import Curve, Points
from pathlab.store.records import TrialRecord
from tests.builders.results import LAB
from tests.builders.sections import draw, find_curve, make_inputs
from tests.builders.sweeps import make_sweep

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


def test_the_recommended_combination_is_ringed_in_both_panels(inputs: ReportInputs) -> None:
    chosen = inputs.answers("recommendation")[0].result.recommended
    expected = (chosen.throughput_bits_per_s.median / 1e6, chosen.drtt_ns.median / 1e6)
    for panel, height in zip(draw(inputs, "answer-1").panels, expected, strict=True):
        (ring,) = (layer for layer in panel.layers if isinstance(layer, Points) and layer.callout)
        assert ring.callout == "recommended"
        assert ring.y == pytest.approx([height])
        assert ring.x == pytest.approx([chosen.streams], rel=0.05)


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


def test_one_stream_count_puts_windows_on_the_axis() -> None:
    plot = draw(make_results(levels=[(4, 16384), (4, 65536), (4, None)]), "answer-1")
    axis = plot.panels[0].x
    assert (axis.label, axis.tick_labels) == ("Window", ("16 KiB", "64 KiB", "auto"))
    assert find_curve(plot, "4 streams").x == pytest.approx([16384, 65536, 131072])
