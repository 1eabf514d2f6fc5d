"""What throughput does to round trips: breakpoints, agreement, distributions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pathlab.report.inputs import ReportInputs
from pathlab.report.sections import effect
from pathlab.store.records import TrialRecord
from tests.builders.sections import find_curve, make_inputs
from tests.builders.sweeps import RTT_NS, make_sweep
from tests.golden.conftest import Say
from tests.unit.report.sections.test_effect import climb, draw


@pytest.fixture(scope="module")
def inputs() -> ReportInputs:
    return make_inputs(make_sweep(8, change=climb))


def test_too_few_trials_leave_the_breakpoint_undecided(say: Say) -> None:
    plot = draw(make_inputs(make_sweep(1, change=climb)), "delay-throughput-1")
    say(plot.sentence)
    assert not any(layer.name == "breakpoint" for panel in plot.panels for layer in panel.layers)


def test_distributions_of_variability_are_steps_up_to_all_trials(say: Say, inputs: ReportInputs) -> None:
    plot = draw(inputs, "variability-cdf-1")
    for name in ("RV, loaded", "RV, unloaded"):
        curve = find_curve(plot, name)
        assert np.all(np.diff(curve.x) >= 0)
        assert np.all(np.diff(curve.y) > 0)
        assert curve.y[-1] == 100
    say(plot.sentence)


def test_without_unloaded_round_trips_the_chapter_says_so(say: Say) -> None:
    def forget(record: TrialRecord) -> TrialRecord:
        return replace(record, unloaded_rtt_mean_ns=None)

    inputs = make_inputs(make_sweep(1, change=forget))
    say(effect.SECTION.find_gap(inputs))


def test_few_trials_have_frequencies_without_fits(say: Say) -> None:
    def shift(record: TrialRecord) -> TrialRecord:
        """One rise in four is below 0, which no bin holds."""
        rise = -1e6 if record.streams == 1 else 1e6 * record.streams
        return replace(record, loaded_rtt_mean_ns=RTT_NS + rise, unloaded_rtt_mean_ns=RTT_NS)

    levels = [(streams, 65536) for streams in (1, 2, 4, 8)]
    plot = draw(make_inputs(make_sweep(2, levels=levels, change=shift)), "frequency-drtt-1")
    assert [layer.name for layer in plot.panels[0].layers] == ["trials"]
    shares = find_curve(plot, "share of trials", panel=1)
    assert (shares.y[0], shares.y[-1]) == (25, 100)
    say(plot.sentence)
