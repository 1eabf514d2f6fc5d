"""Chapters as a whole: which there are, their order and names, what is made for a single figure."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from pathlab.discover.capacity import CapacityResult
from pathlab.report import chapters
from pathlab.report.base.blocks import Paragraph, TableBlock
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import build_blocks
from pathlab.report.paths import routes
from pathlab.report.plots.model import Plot
from pathlab.store.records import JournalRecord
from tests.builders.paths import sample_capacity, sample_report
from tests.builders.results import BareResults, SyntheticResults, join_results
from tests.builders.sections import draw, find_curve, find_table, list_blocks, make_inputs, take_interval
from tests.builders.sweeps import make_sweep
from tests.unit.study.test_bad_input import BAD


@pytest.fixture(scope="module")
def inputs() -> ReportInputs:
    return make_inputs(make_sweep(6))


def test_names_are_unique_and_those_listed_are_those_made(inputs: ReportInputs) -> None:
    blocks = list(list_blocks(chapters.build_sections(inputs)))
    names = Counter(block.name for block in blocks if isinstance(block, (Plot, TableBlock)))
    assert [name for name, count in names.items() if count > 1] == []
    made = [block.name for block in blocks if isinstance(block, Plot)]
    figures = chapters.list_lazy_plots(inputs)
    listed = [lazy.name for lazy in figures]
    assert len(set(listed)) == len(listed)
    assert [name for name in listed if name in made] == made
    for lazy in figures:  # '--figure list' names them as they name themselves
        plot = lazy.build()
        assert (plot.name, plot.condition) == (lazy.name, lazy.condition)
        assert plot.title in (lazy.title, f"{lazy.title} (Mbit/s)")


def test_one_figure_is_made_without_the_analyses_of_others() -> None:
    inputs = make_inputs(make_sweep(1))
    assert "surface-1" in [lazy.name for lazy in chapters.list_lazy_plots(inputs)]
    draw(inputs, "throughput-streams-1")
    assert inputs.study.answered == {}
    draw(inputs, "optimum-1")
    assert {key[0] for key in inputs.study.answered} == {"optimum"}
    assert chapters.find_plot(inputs, "no-such-figure") is None


def test_results_without_a_trial_say_what_is_missing() -> None:
    inputs = make_inputs(BareResults())
    (only,) = chapters.build_sections(inputs)
    assert only.key == "not-decided"
    missing = len(find_table(iter(only.blocks), "undecided").rows)
    assert missing == sum(not chapter.factors for chapter in chapters.SECTIONS)
    assert chapters.list_lazy_plots(inputs) == ()


@pytest.mark.parametrize(
    ("factor", "title"),
    [
        ("build", "Builds and configurations compared"),
        ("recording", "Cost of recording"),
        ("write_bytes", "Messages"),
        ("reply", "Latency of messages"),
    ],
)
def test_what_the_plan_asks_for_is_listed_where_it_is_missing(factor: str, title: str) -> None:
    sweep = make_sweep(1)
    rows = [replace(row, settings={**row.settings, factor: None}) for row in sweep.plan()]
    (only,) = chapters.build_sections(make_inputs(sweep.copy(plan=rows, trials=[])))
    assert title in {row[0] for row in find_table(iter(only.blocks), "undecided").rows}


def test_failed_trials_alone_fill_no_chapter() -> None:
    results = make_sweep(1)
    results.change_trials(status="failed", throughput_bits_per_s=None, failed_stage="connect")
    assert [section.key for section in chapters.build_sections(make_inputs(results))] == ["not-decided"]


def test_many_conditions_get_fewer_points_each() -> None:
    def move(number: int) -> SyntheticResults:
        results = make_sweep(1, levels=[(1, 65536)])
        results.change_trials(path_destination=f"east{number}")
        return results

    two, eight = (make_inputs(join_results([move(at) for at in range(count)])) for count in (2, 8))
    assert (len(two.conditions), two.points) == (2, 400)
    assert (len(eight.conditions), eight.points) == (8, 200)


def make_survey(when: str, capacity: CapacityResult | None) -> JournalRecord:
    """A journal's entry of a path of three hops."""
    report = sample_report(source="west", capacity=capacity).as_document()
    facts = {"when": when, "destination": "east", "report": report}
    now = "2026-01-02T03:04:05Z"
    return JournalRecord(recorded_utc=now, kind="path", plan_row=None, text="west to east", facts=facts)


def test_surveys_of_the_path_become_a_chapter() -> None:
    capacity = sample_capacity((100e6, 20e6, None))
    journal = [make_survey("before", capacity), make_survey("after", None)]
    inputs = make_inputs(make_sweep(1).copy(journal=journal))
    curve = find_curve(draw(inputs, "path-1"), "capacity")
    first, second, last = (hop.estimate for hop in capacity.hops)
    assert curve.y[:2] * 1e6 == pytest.approx([first.capacity_bits_per_s, second.capacity_bits_per_s])
    assert np.isnan(curve.y[2])
    assert take_interval(curve)[0][1] * 1e6 == pytest.approx(second.capacity_interval.low)
    assert len(draw(inputs, "path-2").panels) == 1
    blocks = list(build_blocks(routes.SECTION.blocks(inputs)))
    rows = find_table(iter(blocks), "path-table-1").rows
    assert [row[-1] for row in rows] == ["", "", str(last.undecided).replace("-", " ")]
    assert any(isinstance(one, Paragraph) and "agree" in one.text for one in blocks)


HOSTILE = ["nothing measured", "zeros", "constant", "negative", "huge", "all probes lost"]


@pytest.mark.parametrize("name", HOSTILE)
def test_bad_figures_never_end_a_report(name: str) -> None:
    for block in list_blocks(chapters.build_sections(make_inputs(BAD[name]()))):
        if isinstance(block, Plot):
            assert block.sentence or block.empty
            assert "nan" not in block.sentence
