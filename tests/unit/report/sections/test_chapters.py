"""Chapters as a whole: which there are, their order and names, what is made for a single figure."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from pathlab.report.blocks import Paragraph, Section, TableBlock
from pathlab.report.inputs import ReportInputs
from pathlab.report.plots.model import Curve, Plot, Points
from pathlab.report.sections import chapters, routes
from pathlab.report.sections.lazy import build_blocks
from pathlab.store.records import JournalRecord, TrialRecord
from tests.builders.results import BareResults, SyntheticResults, join_results
from tests.builders.sections import find_curve, find_table, list_blocks, make_inputs
from tests.builders.sweeps import make_sweep
from tests.unit.study.test_bad_input import BAD

SEVERAL = 3


@pytest.fixture(scope="module")
def inputs() -> ReportInputs:
    return make_inputs(make_sweep(6))


@pytest.fixture(scope="module")
def sections(inputs: ReportInputs) -> tuple[Section, ...]:
    return chapters.build_sections(inputs)


def test_a_sweep_fills_the_chapters_it_can_and_names_the_others(sections: tuple[Section, ...]) -> None:
    assert [section.key for section in sections] == [
        *("combinations", "streams-sweep", "windows-vs-streams", "surface", "limits", "streams-cost"),
        *("throughput-effect", "cpu-cost", "fixed-product", "certainty", "not-decided"),
    ]
    rows = find_table(iter(sections[-1].blocks), "undecided").rows
    titles = [title for title, _, _ in rows]
    kept = ["Trial duration", "Route and capacity of the paths"]
    assert [title for title in titles if title in kept] == kept
    not_asked_for = {"Builds and configurations compared", "Cost of recording", "Messages"}
    assert not_asked_for.isdisjoint(titles)
    assert "several durations" in rows[titles.index("Trial duration")][1]


def test_names_are_unique_and_those_listed_are_those_made(
    inputs: ReportInputs, sections: tuple[Section, ...]
) -> None:
    blocks = list(list_blocks(sections))
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


def test_every_figure_has_a_sentence_and_layers_of_equal_length(sections: tuple[Section, ...]) -> None:
    plots = [block for block in list_blocks(sections) if isinstance(block, Plot)]
    assert len(plots) > 20
    for plot in plots:
        assert plot.sentence or plot.empty, plot.name
        assert "nan" not in plot.sentence, plot.name
        assert plot.condition.startswith("west → east"), plot.name
        for panel in plot.panels:
            for layer in panel.layers:
                if isinstance(layer, (Curve, Points)):
                    assert layer.x.shape == layer.y.shape, (plot.name, layer.name)


def test_one_figure_is_made_without_the_analyses_of_others() -> None:
    inputs = make_inputs(make_sweep(6))
    assert "surface-1" in [lazy.name for lazy in chapters.list_lazy_plots(inputs)]
    assert inputs.study.answered == {}
    plot = chapters.find_plot(inputs, "throughput-streams-1")
    assert plot is not None
    assert plot.name == "throughput-streams-1"
    assert inputs.study.answered == {}
    assert chapters.find_plot(inputs, "optimum-1") is not None
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
    results = sweep.copy(plan=rows, trials=[])
    (only,) = chapters.build_sections(make_inputs(results))
    assert title in {row[0] for row in find_table(iter(only.blocks), "undecided").rows}


def test_failed_trials_alone_fill_no_chapter() -> None:
    def fail(record: TrialRecord) -> TrialRecord:
        return replace(record, status="failed", throughput_bits_per_s=None, failed_stage="connect")

    inputs = make_inputs(make_sweep(1, change=fail))
    assert [section.key for section in chapters.build_sections(inputs)] == ["not-decided"]


def make_conditions() -> SyntheticResults:
    """The same sweep under two congestion controls, the second 20 % faster."""

    def speed(record: TrialRecord) -> TrialRecord:
        rate = record.throughput_bits_per_s or 0.0
        return replace(
            record,
            congestion_requested="reno",
            congestion_sender="reno",
            throughput_bits_per_s=1.2 * rate,
            started_utc=record.started_utc.replace("2026-01-02", "2026-01-03"),
        )

    levels = [(streams, 65536) for streams in (1, 2, 4)]
    return join_results([make_sweep(6, levels=levels), make_sweep(6, levels=levels, change=speed)])


def test_conditions_are_numbered_named_and_kept_apart() -> None:
    inputs = make_inputs(make_conditions())
    first, second = (chapters.find_plot(inputs, f"throughput-streams-{number}") for number in (1, 2))
    assert first is not None
    assert second is not None
    assert "congestion cubic" in first.condition
    assert "congestion reno" in second.condition
    assert first.condition.endswith("2026-01-02")
    assert second.condition.endswith("2026-01-03")
    ratio = find_curve(second, "window 64 KiB").y / find_curve(first, "window 64 KiB").y
    assert ratio == pytest.approx(np.full(3, 1.2))
    table = find_table(list_blocks(chapters.build_sections(inputs)), "windows-streams")
    assert [row[0] for row in table.rows] == ["west → east, congestion cubic"] * SEVERAL + [
        "west → east, congestion reno"
    ] * SEVERAL


def test_many_conditions_get_fewer_points_each() -> None:
    def move(number: int) -> SyntheticResults:
        return make_sweep(
            1, levels=[(1, 65536)], change=lambda one: replace(one, path_destination=f"east{number}")
        )

    two, eight = (make_inputs(join_results([move(at) for at in range(count)])) for count in (2, 8))
    assert (len(two.conditions), two.points) == (2, 400)
    assert (len(eight.conditions), eight.points) == (8, 200)


def make_survey(when: str, capacity_bits_per_s: float | None) -> JournalRecord:
    """A journal's entry of a path of two hops, the second of that capacity."""
    hops = [
        {
            "hop": number,
            "addresses": [f"198.18.0.{number}"],
            "rtt_min_ns": 1e6 * number,
            "rtt_median_ns": 2e6 * number,
            "loss": {"loss_ratio": 0.05},
        }
        for number in (1, 2)
    ]
    ends = (None, None) if capacity_bits_per_s is None else (30e6, 50e6)
    estimate = {
        "capacity_bits_per_s": capacity_bits_per_s,
        "capacity_interval": {"low": ends[0], "high": ends[1]},
        "latency_ns": 5e5,
        "undecided": "not-positive" if capacity_bits_per_s is None else None,
    }
    report = {
        "source": "west",
        "target": "198.18.0.2",
        "routes": [{"hops": hops, "reached": True}],
        "mtu": {"mtu_bytes": 1500},
        "capacity": {"hops": [{"hop": 2, "estimate": estimate}]},
    }
    return JournalRecord(
        recorded_utc="2026-01-02T03:04:05Z",
        kind="path",
        plan_row=None,
        text="west to east",
        facts={"when": when, "destination": "east", "report": report},
    )


def test_surveys_of_the_path_become_a_chapter() -> None:
    swept = make_sweep(1)
    journal = [make_survey("before", 40e6), make_survey("after", None)]
    results = swept.copy(journal=journal)
    inputs = make_inputs(results)
    plot = chapters.find_plot(inputs, "path-1")
    assert plot is not None
    curve = find_curve(plot, "capacity")
    assert curve.y[1] == pytest.approx(40)
    assert np.isnan(curve.y[0])
    assert curve.low is not None
    assert curve.low[1] == pytest.approx(30)
    assert "40 Mbit/s (95 % CI 30–50 Mbit/s)" in plot.sentence
    undecided = chapters.find_plot(inputs, "path-2")
    assert undecided is not None
    assert "no hop's capacity was estimated" in undecided.sentence
    assert len(undecided.panels) == 1
    blocks = list(build_blocks(routes.SECTION.outline(inputs)))
    assert find_table(iter(blocks), "path-table-2").rows[1][-1] == "not positive"
    assert any(isinstance(one, Paragraph) and "agree" in one.text for one in blocks)


HOSTILE = ["nothing measured", "zeros", "constant", "negative", "huge", "all probes lost"]


@pytest.mark.parametrize("name", HOSTILE)
def test_bad_figures_never_end_a_report(name: str) -> None:
    for block in list_blocks(chapters.build_sections(make_inputs(BAD[name]()))):
        if isinstance(block, Plot):
            assert block.sentence or block.empty
            assert "nan" not in block.sentence
