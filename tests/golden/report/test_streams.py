"""Figures over streams and windows: medians, intervals, outliers and fits are those of the trials."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pathlab.analysis.estimators.loss import probe_loss
from pathlab.report.blocks import Paragraph
from pathlab.report.inputs import ReportInputs
from pathlab.report.sections.answer_tables import list_caveats
from pathlab.store.records import TrialRecord
from tests.builders.results import LAB
from tests.builders.sections import find_curve, make_inputs
from tests.builders.sweeps import make_sweep
from tests.golden.conftest import Say
from tests.unit.report.sections.test_streams import disturb, draw

CYCLES = 8


@pytest.fixture(scope="module")
def inputs() -> ReportInputs:
    return make_inputs(make_sweep(CYCLES, change=disturb, environment={"lab": LAB}))


def test_exclusions_and_small_samples_are_stated_once(say: Say, inputs: ReportInputs) -> None:
    (found,) = list_caveats(inputs.conditions)
    assert isinstance(found, Paragraph)
    say(found.text)
    few = make_inputs(make_sweep(3))
    (found,) = list_caveats(few.conditions)
    assert isinstance(found, Paragraph)
    say(found.text)
    assert "confidence interval for" not in draw(few, "throughput-streams-1").sentence


def test_what_was_not_measured_is_an_empty_figure_with_the_reason(say: Say) -> None:
    def forget(record: TrialRecord) -> TrialRecord:
        return replace(record, loaded_rtt_iqr_ns=None, unloaded_rtt_iqr_ns=None)

    plot = draw(make_inputs(make_sweep(1, change=forget)), "iqr-streams-1")
    assert plot.panels == ()
    say(plot.empty)


def test_loss_is_pooled_over_probes_with_wilsons_interval(say: Say, inputs: ReportInputs) -> None:
    plot = draw(inputs, "loss-streams-1")
    curve = find_curve(plot, "window 128 KiB")
    found = probe_loss(20 * CYCLES, 18 * CYCLES)
    assert found.loss_ratio is not None
    assert curve.high is not None
    assert curve.y[-1] == pytest.approx(100 * found.loss_ratio)
    assert curve.high[-1] == pytest.approx(100 * (found.interval_ratio.high or 0))
    say(plot.sentence)
