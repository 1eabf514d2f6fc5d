"""Cells and pairs, CPU time, durations, limits: tables and figures hold the trials' own figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pathlab.report.blocks import Paragraph
from pathlab.report.inputs import ReportInputs
from pathlab.report.plots.model import Curve
from pathlab.report.sections import certainty, cpu, duration
from pathlab.report.sections.answer_tables import list_caveats
from pathlab.report.sections.lazy import build_blocks
from pathlab.store.records import TrialRecord
from tests.builders.results import SyntheticResults, join_results
from tests.builders.sections import find_curve, find_table, make_inputs
from tests.builders.sweeps import make_sweep
from tests.golden.conftest import Say
from tests.unit.report.sections.test_costs import draw, with_rate

PAIR = ((8, 65536), (2, 262144))


@pytest.fixture(scope="module")
def measured() -> ReportInputs:
    """The measurement cycle of the source: eight streams carry a fifth more than two."""
    change = with_rate(lambda one: 24e6 if one.streams == 8 else 20e6)
    return make_inputs(make_sweep(20, levels=PAIR, change=change))


def test_cpu_without_figures_is_a_gap(say: Say) -> None:
    def forget(record: TrialRecord) -> TrialRecord:
        names = [f"{end}_cpu_{part}_s" for end in ("sender", "receiver") for part in ("user", "system")]
        return replace(record, **dict.fromkeys(names))  # type: ignore[arg-type]

    inputs = make_inputs(make_sweep(1, change=forget))
    say(cpu.COSTS.find_gap(inputs))
    assert cpu.PRODUCTS.find_gap(inputs) is not None


def test_one_duration_is_a_gap(say: Say, measured: ReportInputs) -> None:
    say(duration.SECTION.find_gap(measured))


def test_tables_over_conditions_do_not_repeat_their_caveats(say: Say) -> None:
    def last(seconds: int) -> SyntheticResults:
        def change(record: TrialRecord) -> TrialRecord:
            flags = {0: ("lab-limited",), 1: ("busy-core",)}.get(record.cycle, ())
            return replace(record, duration_ns=seconds * 10**9, flags=flags)

        return make_sweep(3, levels=[(8, 65536)], change=change)

    inputs = make_inputs(join_results([last(seconds) for seconds in (1, 2)]))
    (found,) = list_caveats(inputs.conditions)
    assert isinstance(found, Paragraph)
    say(found.text)
    assert find_table(build_blocks(duration.SECTION.outline(inputs)), "durations-1").note is None


def test_how_sure_is_said_in_words_for_every_condition(say: Say) -> None:
    def change(record: TrialRecord) -> TrialRecord:
        far = 3.0 if record.cycle == 5 and record.streams == 1 else 1.0
        return replace(record, throughput_bits_per_s=far * (record.throughput_bits_per_s or 0.0))

    inputs = make_inputs(make_sweep(12, levels=[(1, 65536), (2, 65536)], change=change))
    blocks = list(build_blocks(certainty.SECTION.outline(inputs)))
    (words,) = (one.text for one in blocks if isinstance(one, Paragraph))
    say(words)
    folds = [getattr(one, "title", "") for one in blocks]
    assert "Outliers (kept)" in folds
    sure = make_inputs(make_sweep(3, levels=[(1, 65536)]))
    (words,) = (
        one.text for one in build_blocks(certainty.SECTION.outline(sure)) if isinstance(one, Paragraph)
    )
    say(words)
    assert isinstance(find_curve(draw(inputs, "throughput-streams-1"), "window 64 KiB"), Curve)
