"""The chapter on round trips by technology, its part of the opening, and its tables on a terminal."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from pathlab.report.blocks import Bullets, Paragraph, Section, TableBlock, list_blocks
from pathlab.report.inputs import ReportInputs
from pathlab.report.plots.model import Curve, Panel, Plot, Points
from pathlab.report.sections.chapters import build_sections, find_plot, list_lazy_plots
from pathlab.report.sections.opening import build_opening
from pathlab.report.technology_text import describe_technologies
from pathlab.study.analyses import Study
from tests.builders.messages import make_message_results
from tests.builders.results import SyntheticResults
from tests.builders.technologies import (
    FACTS,
    LOADS,
    Facts,
    Technology,
    make_adapter,
    make_technology_results,
)

TCP, REDIS = Technology(), make_adapter("redis", 20_000.0)
LOADED = [{"background": load, "priority": level} for load in LOADS for level in (None, 50)]


def make_inputs(results: SyntheticResults) -> ReportInputs:
    study = Study(results)
    study.technology_facts = FACTS
    return ReportInputs(study)


@pytest.fixture(scope="module")
def inputs() -> ReportInputs:
    cores = [{"cpus_sender": "0", "cpus_receiver": core} for core in ("1", "0")]
    return make_inputs(make_technology_results(settings=cores))


@pytest.fixture(scope="module")
def loaded() -> ReportInputs:
    return make_inputs(
        make_technology_results((TCP, REDIS), sizes=(64,), settings=LOADED, noise_ratio=0.003, cycles=12)
    )


def find(inputs: ReportInputs, name: str) -> Plot:
    plot = find_plot(inputs, name)
    assert plot is not None
    return plot


def find_chapter(inputs: ReportInputs) -> Section:
    (section,) = (one for one in build_sections(inputs) if one.key == "technologies")
    return section


def list_points(panel: Panel) -> dict[str, Points]:
    return {one.name: one for one in panel.layers if isinstance(one, Points)}


def list_tables(section: Section) -> dict[str, TableBlock]:
    return {one.name: one for one in list_blocks(section.blocks) if isinstance(one, TableBlock)}


def test_the_opening_has_the_answer_the_picture_and_the_table(inputs: ReportInputs) -> None:
    opening = build_opening(inputs)
    kinds = [type(one) for one in opening.blocks]
    assert kinds == [Paragraph, Bullets, Plot, TableBlock, Plot]
    lead, remarks, ranges, table, overhead = opening.blocks
    assert isinstance(lead, Paragraph)
    assert isinstance(remarks, Bullets)
    assert isinstance(table, TableBlock)
    assert re.fullmatch(
        r"Round trips of 64 B, core 0 for both ends: shared-memory \(spinning\) has the shortest, median "
        r"[34]\d\d ns \(95 % CI .*\); quic-aioquic has the largest median of 9, 1[67]\d µs\.",
        lead.text,
    )
    assert "grpc: 6." in remarks.items[1]
    assert re.search(
        r"grpc: 6\.\d+ × \[6\.\d+, [67]\.?\d*\] tcp; quic-aioquic: 3\d\.\d × \[.*\] udp\.", remarks.items[1]
    )
    assert [getattr(one, "name", "") for one in (ranges, table, overhead)] == [
        *("technologies-1-64B", "round-trips-1-64B", "technology-overhead-1-64B")
    ]


def test_ranges_are_drawn_from_low_to_high(inputs: ReportInputs) -> None:
    (panel,) = find(inputs, "technologies-1-64B").panels
    assert panel.y.rows
    assert (panel.y.tick_labels or ())[0] == "shared-memory (spinning)"
    assert (panel.y.tick_labels or ())[-1] == "quic-aioquic"
    points = list_points(panel)
    assert list(points) == ["mean", "median", "p99"]
    assert (np.diff(points["median"].x) > 0).all()
    (line,) = (one for one in panel.layers if isinstance(one, Curve))
    low, high = line.x[0::3], line.x[1::3]
    assert (low < points["median"].x).all()
    assert (points["p99"].x < high).all()


def test_the_table_has_every_quantile_that_ten_samples_carry(inputs: ReportInputs) -> None:
    table = next(one for one in build_opening(inputs).blocks if isinstance(one, TableBlock)).narrow()
    labels = [one.label for one in table.headings]
    assert labels[:7] == ["Technology", "Minimum", "Mean", "Maximum", "p50", "p90", "p99"]
    assert "p99.9" in labels
    assert "p99.99" not in labels  # 3.2 samples beyond it
    assert {"CPU, asking", "CPU, answering", "Language"} <= set(labels)
    assert len(table.rows) == 9
    note = table.note or ""
    assert "tcp-pipe: 2.2 µs of each round trip, 27.6 % of p50" in note


def test_a_quantile_that_some_lack_is_blank_there() -> None:
    results = make_technology_results((TCP, REDIS), sizes=(64,))
    short = [number for number, one in enumerate(results.records, 1) if one.adapter_versions]
    for number in short:
        frame = results.series(number, "round_trips")
        results._series[number] = {"round_trips": frame[frame["phase"] == "warmup"].assign(phase="steady")}
    big = make_technology_results((TCP, REDIS), sizes=(64,), samples=20_000)
    for number in range(1, len(results.records) + 1):
        if number not in short:
            results._series[number] = {"round_trips": big.series(number, "round_trips")}
    table = next(one for one in build_opening(make_inputs(results)).blocks if isinstance(one, TableBlock))
    place = [one.label for one in table.headings].index("p99.99")
    cells = {row[0]: row[place] for row in table.rows}
    assert cells["redis"] == ""
    assert cells["tcp"].endswith("µs")


def test_the_share_of_the_language_is_in_the_table_of_overheads(inputs: ReportInputs) -> None:
    study = Study(make_technology_results(sizes=(64,)))
    study.technology_facts = {**FACTS, "quic-aioquic": Facts("python", "tcp", "tcp-python")}
    for one, ending in ((ReportInputs(study), "% (python, 8 cycles)"), (inputs, "–")):
        table = list_tables(find_chapter(one))["overheads-1"]
        place = [one.label for one in table.headings].index("Share of the language")
        shares = {row[0]: row[place] for row in table.rows if row[1] == "64 B"}
        assert shares["quic-aioquic"].endswith(ending)
        assert shares["redis"] == "–"


def test_curves_over_size_and_tails_are_those_of_latency(inputs: ReportInputs) -> None:
    names = [one.name for one in list_lazy_plots(inputs)]
    assert len(names) == len(set(names))
    assert "technology-tail-1-64B-1" in names
    assert not any(name.startswith("latency-") for name in names)  # no second set of them
    tail = find(inputs, "technology-tail-1-64B-1")
    curves = [one.name for one in tail.panels[0].layers if isinstance(one, Curve)]
    assert curves == ["shared-memory (spinning)", "unix", "tcp", "udp"]
    assert tail.title == "Tail of round trips, 64 B, core 0 for both ends (1 of 2)"
    sizes = find(inputs, "technologies-by-size-1-1")
    assert [panel.title for panel in sizes.panels] == ["Median", "p99", "p99.9"]
    assert "message-latency" not in {one.key for one in build_sections(inputs)}


def test_offered_rates_keep_their_chapter() -> None:
    """Knees are of one technology each, and messages one after the other have the chapter on technologies."""
    results = make_technology_results((TCP, REDIS), sizes=(64,), cycles=8)
    offered = make_technology_results(
        (TCP, REDIS), sizes=(64,), cycles=8, settings=[{"message_rate_per_s": 1000}], seed=6
    )
    count = len(results.plan())
    results._plan += [replace(row, row=row.row + count) for row in offered.plan()]
    series = {number + count: one for number, one in offered._series.items()}
    results._series.update(series)
    results.records += [
        replace(one, plan_row=one.plan_row + count, offered_messages_per_s=1000) for one in offered.records
    ]
    inputs = make_inputs(results)
    keys = {one.key for one in build_sections(inputs)}
    assert {"technologies", "message-latency"} <= keys
    names = [one.name for one in list_lazy_plots(inputs)]
    assert "latency-tail-1-64B-1k-s" in names
    assert "latency-tail-1-64B-oneatatime" not in names
    assert {"technologies-1-64B", "technologies-2-64B"} <= set(names)
    assert find(inputs, "technologies-2-64B").title.endswith("1 k/s offered")


def test_latency_is_not_asked_for_where_technologies_show_it(loaded: ReportInputs) -> None:
    missing = [one for one in build_sections(loaded) if one.key == "not-decided"]
    tables = [block for one in missing for block in list_blocks(one.blocks) if isinstance(block, TableBlock)]
    assert "Latency of messages" not in {row[0] for table in tables for row in table.rows}


def test_loads_are_drawn_beside_each_other_and_open_where_undecided(loaded: ReportInputs) -> None:
    plots = {one.name: one for one in build_opening(loaded).blocks if isinstance(one, Plot)}
    name = next(one for one in plots if one.startswith("loaded-background"))
    (panel,) = plots[name].panels
    assert (panel.y.tick_labels or ()) == ("tcp", "redis")
    points = list_points(panel)
    assert points["combined load"].x == pytest.approx([2.0, 2.0], rel=0.05)
    assert any(one.startswith("loaded-priority") for one in plots)
    few = make_inputs(make_technology_results((TCP, REDIS), sizes=(64,), settings=LOADED, cycles=7))
    drawn = next(one for one in list_lazy_plots(few) if one.name.startswith("loaded-background")).build()
    assert all(one.hollow for one in list_points(drawn.panels[0]).values() if "undecided" in one.name)


def test_weak_loads_are_counted_beside_sentence_table_and_figure() -> None:
    settings = [{"background": load} for load in ("none", "cpu")]
    results = make_technology_results((TCP, REDIS), sizes=(64,), settings=settings, cycles=12)
    cpu = {row.row for row in results.plan() if row.settings["background"] == "cpu"}
    results.records = [
        replace(one, flags=("background-weak",), background_cpu_ratio=0.02 if one.adapter_versions else 0.01)
        if one.plan_row in cpu
        else one
        for one in results.records
    ]
    inputs = make_inputs(results)
    weak = "Weak, less than `least_share`: cpu load in 24 of 24 trials (1.5 % of its threads' time)."
    texts = describe_technologies(inputs.study)
    assert texts[-2:] == (
        "p99 under load: undecided in all 2 combinations (the load hardly ran).",
        weak,
    )
    table = list_tables(find_chapter(inputs))["loaded-table-2"]
    assert weak in (table.note or "")
    assert "Background load, median of trials: cpu load 1.5 % of its threads' time." in (table.note or "")
    assert all(row[2].endswith(" undecided") for row in table.rows)
    drawn = next(one for one in list_lazy_plots(inputs) if one.name.startswith("loaded-background")).build()
    assert weak in drawn.sentence
    assert all(one.hollow for one in list_points(drawn.panels[0]).values())


def test_thirty_technologies_fit() -> None:
    many = [TCP, *(make_adapter(f"technology-{number}", 5_000.0 * 1.1**number) for number in range(30))]
    study = Study(make_technology_results(many, sizes=(64,), cycles=7, samples=200))
    study.technology_facts = {f"technology-{number}": Facts() for number in range(30)}
    inputs = ReportInputs(study)
    (panel,) = find(inputs, "technologies-1-64B").panels
    assert len(panel.y.ticks or ()) == 31
    tails = [one.name for one in list_lazy_plots(inputs) if one.name.startswith("technology-tail")]
    assert tails == [f"technology-tail-1-64B-{part}" for part in (1, 2, 3, 4)]
    (sentence,) = (text for text in describe_technologies(study) if "over the transport beneath" in text)
    assert "technology-29: " in sentence
    assert "(5 of 30 shown)" in sentence


def test_results_without_technologies_have_no_such_chapter() -> None:
    inputs = ReportInputs(Study(make_message_results(cycles=2)))
    assert describe_technologies(inputs.study) == ()
    assert "technologies" not in {one.key for one in build_sections(inputs)}
