"""Figures of single trials: what they draw is what the series hold, however large or poor those are."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pathlab.errors import UsageError
from pathlab.report.base.blocks import Fold, list_blocks
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.plots.live import describe_plot
from pathlab.report.plots.model import Area, Bars, Curve, Panel, Plot, Points, Span
from pathlab.report.plots.printed import render_svg
from pathlab.report.report_builder import gather_inputs
from pathlab.report.trials.trial_panels import STEPS_MAX
from pathlab.report.trials.trials import (
    TRIALS_MAX,
    build_trials,
    find_trial_plot,
    list_trial_plots,
    plot_trial,
)
from tests.builders.results import make_quickstart
from tests.builders.sections import draw_trial, find_layers, make_trial_inputs
from tests.builders.series import make_stream_intervals
from tests.builders.trials import make_trial

STEP_NS = 100_000_000


def find_panel(plot: Plot, label: str) -> Panel:
    return next(panel for panel in plot.panels if panel.y.label.startswith(label))


@pytest.fixture(scope="module")
def quickstart() -> ReportInputs:
    return gather_inputs(make_quickstart(cycles=2))


def test_stacked_rates_are_the_bytes_of_each_stream() -> None:
    carried = np.tile([125_000, 250_000, 500_000], 20)  # 10, 20 and 40 Mbit/s
    carried[9] *= 2  # the first stream's fourth interval
    record = make_trial(3, 65536)
    plot = draw_trial(record, {"receiver_intervals": make_stream_intervals(20, 3, bytes=carried)})
    rates = find_panel(plot, "Rate")
    stack = find_layers(rates, Area)
    assert list(stack) == ["stream 0", "stream 1", "stream 2"]
    assert [float(band.high[5]) for band in stack.values()] == pytest.approx([10, 30, 70])
    assert [float(band.low[5]) for band in stack.values()] == pytest.approx([0, 10, 30])
    assert stack["stream 0"].x[6:8].tolist() == pytest.approx([0.3, 0.4])
    assert stack["stream 0"].high[5:9].tolist() == pytest.approx([10, 20, 20, 10])
    assert all(band.solid for band in stack.values())
    (window,) = find_layers(rates, Span).values()
    assert (window.start, window.end) == (0.5, 3.5)


def test_every_series_has_its_panel_on_one_time_axis() -> None:
    record = make_trial(2, 65536, cycle=4)
    steps = np.repeat(np.arange(30), 2)
    sent = make_stream_intervals(
        30,
        2,
        rtt_us=41_000 + steps,
        snd_cwnd_segments=10 + steps,
        snd_mss_bytes=1000,
        total_retrans_segments=steps // 10,
    )
    probes = pd.DataFrame({"sent_ns": np.arange(20) * STEP_NS, "rtt_ns": [4e7] * 18 + [np.nan] * 2})
    cores = pd.DataFrame(
        {"time_ns": np.repeat([0, STEP_NS], 2), "core": [0, 1] * 2, "idle_ratio": [0.25, 1.0, 0.5, 0.0]}
    )
    series = {
        "receiver_intervals": make_stream_intervals(30, 2, bytes=125_000),
        "sender_intervals": sent,
        "loaded_probes": probes,
        "unloaded_probes": probes.assign(rtt_ns=3e7),
        "sender_cpu": cores,
        "receiver_cpu": cores,
    }
    plot = draw_trial(record, series)
    assert plot.shared_x
    assert plot.title == "Trial 1, cycle 5: 2 × 64 KiB"
    labels = [panel.y.title for panel in plot.panels]
    assert labels == [
        "Rate (Mbit/s)",
        "Congestion window (kB)",
        "RTT (ms)",
        "Retransmissions (segments)",
        "Core busy (%)",
        "Core busy (%)",
    ]
    windows = find_layers(find_panel(plot, "Congestion"), Curve)
    assert windows["stream 1"].y[[0, 29]].tolist() == [10, 39]
    trips = find_panel(plot, "RTT")
    points = find_layers(trips, Points)
    assert points["probes under load"].y.tolist() == [40] * 18
    assert points["probes under load, lost (2)"].at_axis
    assert points["probes under load, lost (2)"].x.tolist() == pytest.approx([1.8, 1.9])
    assert find_layers(trips, Curve)["TCP's RTT, median stream"].y[1] == pytest.approx(41.001)
    again = find_layers(find_panel(plot, "Retransmissions"), Curve)["retransmissions"]
    assert again.y[[9, 10, 20]].tolist() == [0, 2, 2]
    assert find_layers(plot.panels[-1], Curve)["core 0"].y.tolist() == [75, 50]
    assert "Not recorded" not in plot.sentence
    describe_plot(plot)
    assert render_svg(plot, "t").startswith("<svg")


def test_a_thousand_streams_are_their_total_and_their_spread() -> None:
    rng = np.random.default_rng(2)
    steps, streams = 500, 1000
    counted = rng.integers(1000, 2000, steps * streams)
    record = replace(make_trial(4, 65536), streams=streams)
    series = {"receiver_intervals": make_stream_intervals(steps, streams, bytes=counted)}
    plot = draw_trial(record, series)
    total, spread = plot.panels
    (curve,) = find_layers(total, Curve).values()
    assert curve.name == "all 1,000 streams"
    joined = -(-steps // STEPS_MAX)
    first = counted[: joined * streams].sum() * 8 / (joined * 0.1) / 1e6
    assert curve.y[0] == pytest.approx(first)
    assert list(find_layers(spread, Area)) == ["all streams", "middle half of the streams"]
    assert f"mean of {joined} consecutive intervals" in plot.sentence
    assert len(render_svg(plot, "t")) < 150_000


LOST = pd.DataFrame({"sent_ns": [2_000_000_000], "rtt_ns": [np.nan]})


@pytest.mark.parametrize(
    "series",
    [{}, {"receiver_intervals": make_stream_intervals(0, 1, bytes=0)}, {"loaded_probes": LOST[:0]}],
    ids=["none", "no rows", "no probe"],
)
def test_a_trial_that_recorded_nothing_says_so(series: dict[str, pd.DataFrame]) -> None:
    plot = draw_trial(make_trial(1, 65536), series)
    assert plot.panels == ()
    assert plot.empty
    assert render_svg(plot, "t").startswith("<svg")


def test_a_probe_that_was_lost_is_a_cross_at_its_time() -> None:
    plot = draw_trial(make_trial(1, 65536), {"loaded_probes": LOST})
    (lost,) = find_layers(plot.panels[0], Points).values()
    assert (lost.at_axis, lost.x.tolist()) == (True, [2])
    assert render_svg(plot, "t").startswith("<svg")


@pytest.mark.parametrize("streams", [1, 2, 17])
def test_a_single_interval_is_drawn(streams: int) -> None:
    intervals = make_stream_intervals(1, streams, bytes=125_000, rtt_us=40_000, total_retrans_segments=None)
    series = {"receiver_intervals": intervals, "sender_intervals": intervals}
    plot = draw_trial(make_trial(streams), series)
    assert plot.panels
    assert render_svg(plot, "t").startswith("<svg")


def test_many_cores_and_probes_are_thinned() -> None:
    cores = {"core": np.tile(np.arange(64), 100), "idle_ratio": 0.5}
    cpu = pd.DataFrame({"time_ns": np.repeat(np.arange(100) * STEP_NS, 64), **cores})
    probes = pd.DataFrame({"sent_ns": np.arange(100_000) * 10**5, "rtt_ns": 4e7})
    plot = draw_trial(make_trial(1, 65536), {"loaded_probes": probes, "receiver_cpu": cpu})
    assert list(find_layers(find_panel(plot, "Core"), Area)) == ["all cores", "middle half of the cores"]
    assert len(find_layers(find_panel(plot, "RTT"), Points)["probes under load"].x) < 10_000
    raw = plot_trial(make_trial_inputs(make_trial(1, 65536), {"loaded_probes": probes}), 1)
    assert len(find_layers(find_panel(raw, "RTT"), Points)["probes under load"].x) == 100_000


def test_an_unknown_trial_is_one_line(quickstart: ReportInputs) -> None:
    with pytest.raises(UsageError, match="no trial 99"):
        plot_trial(quickstart, 99)


def test_contributions_are_the_streams_own_bytes(quickstart: ReportInputs) -> None:
    plot = find_trial_plot(quickstart, "contributions-1-4-64KiB")
    (panel,) = plot.panels
    bars = find_layers(panel, Bars)
    assert list(bars) == [f"stream {number}" for number in range(4)]
    top = bars["stream 3"].bottom + bars["stream 3"].height
    (condition,) = quickstart.conditions
    cell = next(one for one in condition.cells if one.name == "4 × 64 KiB")
    assert top == pytest.approx(cell.sample.rates_bits_per_s / 1e6, rel=1e-3)
    assert panel.x.tick_labels == ("1", "2")


def test_contributions_of_very_many_streams_are_tenths_that_add_up() -> None:
    carried = np.tile(np.arange(100) * 1000, 12)
    record = replace(make_trial(4, 65536), streams=100, steady_ns=1_000_000_000)
    series = {"receiver_intervals": make_stream_intervals(12, 100, bytes=carried)}
    (lazy,) = list_trial_plots(make_trial_inputs(record, series))
    plot = lazy.build()
    assert (plot.name, plot.title, plot.condition) == (lazy.name, lazy.title, lazy.condition)
    bars = find_layers(plot.panels[0], Bars)
    assert list(bars) == [f"tenth {number}" for number in range(1, 11)]
    heights = [float(layer.height[0]) for layer in bars.values()]
    assert heights == sorted(heights)
    assert sum(heights) == pytest.approx(np.arange(100).sum() * 1000 * 10 * 8 / 1e6)


def test_the_chapter_shows_some_and_names_the_rest(quickstart: ReportInputs) -> None:
    section = build_trials(quickstart)
    names = [block.name for block in list_blocks(section.blocks) if isinstance(block, Plot)]
    assert len([name for name in names if name.startswith("trial-")]) == 8
    assert len(set(names)) == len(names)
    contributions = {name for name in names if name.startswith("contributions")}
    assert contributions == {lazy.name for lazy in list_trial_plots(quickstart)}
    assert [type(block) for block in section.blocks].count(Plot) == 2
    assert [type(block) for block in section.blocks].count(Fold) == 2


def test_the_chapter_stays_small_for_many_combinations() -> None:
    levels = [(streams, size * 1024) for streams in (1, 2, 3, 4) for size in range(8, 16)]
    section = build_trials(gather_inputs(make_quickstart(cycles=1, levels=levels)))
    names = [block.name for block in list_blocks(section.blocks) if isinstance(block, Plot)]
    assert len([name for name in names if name.startswith("trial-")]) == TRIALS_MAX
