"""Chapters as a whole: which there are, their order and names, what is made for a single figure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pathlab.report.blocks import Section
from pathlab.report.inputs import ReportInputs
from pathlab.report.plots.model import Points
from pathlab.report.sections import chapters
from pathlab.store.records import TrialRecord
from tests.builders.results import LAB
from tests.builders.sections import find_table, list_blocks, make_inputs
from tests.builders.sweeps import make_sweep
from tests.golden.conftest import Say


@pytest.fixture(scope="module")
def inputs() -> ReportInputs:
    return make_inputs(make_sweep(6))


@pytest.fixture(scope="module")
def sections(inputs: ReportInputs) -> tuple[Section, ...]:
    return chapters.build_sections(inputs)


def test_lab_limited_trials_are_drawn_and_marked_but_counted_nowhere(say: Say) -> None:
    def flag(record: TrialRecord) -> TrialRecord:
        return replace(record, flags=("lab", "lab-limited"))

    inputs = make_inputs(make_sweep(2, change=flag, environment={"lab": LAB}))
    sections = chapters.build_sections(inputs)
    plot = chapters.find_plot(inputs, "throughput-streams-1")
    assert plot is not None
    points = [one for one in plot.panels[0].layers if isinstance(one, Points)]
    assert [one.slot for one in points] == [0, 1, 2, 3]
    say(points[2].name)
    assert all(one.hollow and one.x.size == 14 for one in points)
    say(plot.sentence)
    table = find_table(list_blocks(sections), "windows-streams-1")
    say(table.note or "")
    assert "95 % CI" not in [heading.label for heading in table.headings]
    gaps = find_table(iter(sections[-1].blocks), "undecided").rows
    again = ("no usable trial (56 lab-limited)", "pathlab run CAMPAIGN --new --wait-idle 2m")
    assert again in {(needs, command) for _, needs, command in gaps}
