"""Figures of single trials: what they draw is what the series hold, however large or poor those are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pathlab.report.plots.model import Area, Curve, Points
from pathlab.report.sections.trials import (
    plot_trial,
)
from tests.builders.series import make_histogram_row
from tests.builders.trials import make_failed, make_trial
from tests.golden.conftest import Say
from tests.unit.report.plots.test_trials import (
    draw_trial,
    find_layers,
    find_panel,
    make_inputs,
    make_intervals,
)

STEP_NS = 100_000_000


def test_probes_that_were_kept_as_histograms_are_not_called_missing(say: Say) -> None:
    rows = [make_histogram_row(0, [5], sent=1, lost=0, reordered=0)]
    series = {
        "receiver_intervals": make_intervals(2, 1, bytes=1000),
        "loaded_probe_histograms": pd.DataFrame(rows),
    }
    plot = draw_trial(make_inputs(make_trial(1, 65536, cycle=0, row=0), series), 1)
    say(plot.sentence)


def test_many_cores_and_probes_are_thinned(say: Say) -> None:
    times = np.arange(100) * STEP_NS
    cores = pd.DataFrame(
        {"time_ns": np.repeat(times, 64), "core": np.tile(np.arange(64), 100), "idle_ratio": 0.5}
    )
    probes = pd.DataFrame({"sent_ns": np.arange(100_000) * 10**5, "rtt_ns": 4e7})
    record = make_trial(1, 65536, cycle=0, row=0)
    plot = draw_trial(make_inputs(record, {"loaded_probes": probes, "receiver_cpu": cores}), 1)
    say(list(find_layers(find_panel(plot, "Core"), Area)))
    say(plot.sentence)
    raw = find_panel(plot_trial(make_inputs(record, {"loaded_probes": probes}), 1), "RTT")
    assert len(find_layers(raw, Points)["probes under load"].x) == 100_000


def test_what_the_sender_counted_stands_in_for_an_imported_trial(say: Say) -> None:
    record = replace(make_trial(2, None, cycle=0, row=0), flags=("imported",), engine_version="iperf3 3.12")
    series = {"sender_intervals": make_intervals(20, 2, bytes=125_000, snd_cwnd_bytes=50_000)}
    plot = draw_trial(make_inputs(record, series), 1)
    say(plot.condition)
    assert plot.panels[0].title == "Sent, streams stacked"
    assert float(find_layers(plot.panels[0], Area)["stream 1"].high[3]) == pytest.approx(20)
    assert find_layers(find_panel(plot, "Congestion"), Curve)["stream 0"].y[0] == 50
    say(plot.sentence)


def test_a_failed_trial_says_why(say: Say) -> None:
    record = make_failed(make_trial(1, 65536, cycle=0, row=0), reason="connection refused")
    plot = draw_trial(make_inputs(record, {}), 1)
    say(plot.sentence)
