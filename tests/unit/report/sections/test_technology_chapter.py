"""The chapter on round trips by technology, its part of the opening, and its tables on a terminal."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from pathlab.report.blocks import Bullets, Fold, Paragraph, Section, TableBlock, list_blocks
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
from tests.unit.report.test_text import print_summary

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
    assert "Blank where fewer than 10 lie beyond it" in note


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


def test_other_sizes_and_cores_are_folded(inputs: ReportInputs) -> None:
    section = find_chapter(inputs)
    folds = [one.title for one in section.blocks if isinstance(one, Fold)]
    assert folds == ["16 KiB, core 0 for both ends", "Round trips by technology: cores 0 and 1"]
    tables = list_tables(section)
    assert {"round-trips-1-16KiB", "round-trips-2-64B", "overheads-1", "technology-facts-1"} <= set(tables)


def test_what_a_technology_does_besides_is_stated_once(inputs: ReportInputs) -> None:
    table = list_tables(find_chapter(inputs))["technology-facts-1"]
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["redis"][:4] == ("c", "broker, store and copy", "persistence", "redis 1.2.3")
    assert rows["tcp"][0] == "c"


def test_the_share_of_the_language_is_in_the_table_of_overheads(inputs: ReportInputs) -> None:
    study = Study(make_technology_results(sizes=(64,)))
    study.technology_facts = {**FACTS, "quic-aioquic": Facts("python", "tcp", "tcp-python")}
    for one, ending in ((ReportInputs(study), "% (python, 8 cycles)"), (inputs, "–")):
        table = list_tables(find_chapter(one))["overheads-1"]
        place = [one.label for one in table.headings].index("Share of the language")
        shares = {row[0]: row[place] for row in table.rows if row[1] == "64 B"}
        assert shares["quic-aioquic"].endswith(ending)
        assert shares["redis"] == "–"


def test_what_a_technology_does_besides_is_beside_its_round_trips(inputs: ReportInputs) -> None:
    table = next(one for one in build_opening(inputs).blocks if isinstance(one, TableBlock)).narrow()
    place = [one.label for one in table.headings].index("In addition")
    cells = {row[0]: row[place] for row in table.rows}
    assert cells["redis"] == "broker, store and copy; without persistence"
    assert cells["quic-aioquic"] == "TLS 1.3 encryption"


def test_the_shortest_is_named_only_where_it_is_decided() -> None:
    near = make_adapter("tcp-python", 4_001.0, 0.05)
    few = make_inputs(make_technology_results((TCP, REDIS), sizes=(64,), cycles=2))
    text = describe_technologies(few.study)[0]
    assert re.search(r"tcp has the lowest median so far, [\d.]+ µs \(2 cycles, 6 needed\); redis has", text)
    even = make_inputs(make_technology_results((TCP, near, REDIS), sizes=(64,), noise_ratio=0.05))
    text = describe_technologies(even.study)[0]
    assert re.search(
        r"the shortest is not decided between tcp(-python)? and tcp(-python)? \(median .* µs and .* µs\)",
        text,
    )


def test_the_figure_of_overheads_says_that_few_cycles_give_no_interval() -> None:
    for cycles, says in ((2, True), (8, False)):
        inputs = make_inputs(make_technology_results((TCP, REDIS), sizes=(64,), cycles=cycles))
        sentence = find(inputs, "technology-overhead-1-64B").sentence
        assert ("Without an interval: 2 cycles, 6 needed." in sentence) == says


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


def test_load_is_said_in_the_words_of_compare(loaded: ReportInputs) -> None:
    texts = describe_technologies(loaded.study)
    load = next(text for text in texts if text.startswith("p99 against that with no load: "))
    assert re.search(r"combined load worse in 4 of 4 \(1\.\d+ to 2(\.\d+)? times\)", load)
    assert "disk load equivalent in " in load
    last = texts[-1]
    assert last.startswith("p99 against that with ordinary scheduling: real-time priority 50 better in ")
    assert sum("Undecided:" in text for text in texts) <= 1


def test_latency_is_not_asked_for_where_technologies_show_it(loaded: ReportInputs) -> None:
    missing = [one for one in build_sections(loaded) if one.key == "not-decided"]
    tables = [block for one in missing for block in list_blocks(one.blocks) if isinstance(block, TableBlock)]
    assert "Latency of messages" not in {row[0] for table in tables for row in table.rows}


def test_few_cycles_are_undecided_once() -> None:
    few = make_inputs(make_technology_results((TCP, REDIS), sizes=(64,), settings=LOADED, cycles=2))
    texts = describe_technologies(few.study)
    assert texts[1].endswith("(no interval: 2 cycles, 6 needed).")
    assert texts[2:] == (
        "p99 under load and with real-time priority: undecided in all 26 combinations (2 cycles, 6 needed).",
    )


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


def test_tables_of_load_have_a_column_for_each_level(loaded: ReportInputs) -> None:
    tables = list_tables(find_chapter(loaded))
    table = tables["loaded-table-2"]
    assert table.title == "p99 of round trips under load, 64 B"
    assert [one.label for one in table.headings] == [
        *("Technology", "no load", "cpu load", "disk load", "network load", "combined load")
    ]
    redis = {row[0]: row for row in table.rows}["redis"]
    assert re.fullmatch(r"2(\.\d+)? × \[1\.\d+, 2\.\d+\] worse|1\.9\d* × \[1\.\d+, 2\.\d+\] worse", redis[5])


def test_the_opening_shows_priority_without_load_first() -> None:
    settings = [
        {"background": load, "priority": level} for load in ("combined", "none") for level in (None, 50)
    ]
    results = make_technology_results((TCP, REDIS), sizes=(64,), settings=settings, cycles=2)
    plots = [one for one in build_opening(make_inputs(results)).blocks if isinstance(one, Plot)]
    titles = [one.title for one in plots if one.name.startswith("loaded-priority")]
    assert titles == ["p99 of round trips with real-time priority, 64 B, no load"]


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


def test_weak_loads_and_missed_rates_are_noted() -> None:
    results = make_technology_results((TCP, REDIS), sizes=(64,), settings=[{"background": "cpu"}])
    results.records = [
        replace(one, flags=("background-weak",)) if one.cycle < 3 and one.adapter_versions else one
        for one in results.records
    ]
    table = next(one for one in build_opening(make_inputs(results)).blocks if isinstance(one, TableBlock))
    assert "Trials with a weak background load (background-weak): redis 3." in (table.note or "")


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


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_terminal_shows_the_smallest_and_the_largest_size(width: int) -> None:
    results = make_technology_results((TCP, REDIS), sizes=(64, 1024, 16384), cycles=7)
    lines = print_summary(results, width=width)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert "Round trips by technology: west → east, 64 B" in text
    assert "Round trips by technology: west → east, 16 KiB" in text
    assert "Round trips: west → east" not in text  # the table of messages
    assert "1 more table: pathlab analyze RESULTS --only technologies" in " ".join(text.split())
    assert "Minimum" in text
    assert "Minimum" not in text.partition("Not shown")[2].partition("(")[0]
    assert "CPU/request" not in text
    rows = [line for line in lines if line.startswith(("tcp ", "redis "))]
    assert [row.split()[0] for row in rows] == ["tcp", "redis"] * 2


def test_a_terminal_shows_many_technologies_once() -> None:
    many = [TCP, *(make_adapter(f"technology-{number}", 5_000.0 + number) for number in range(12))]
    lines = print_summary(make_technology_results(many, sizes=(64, 1024), cycles=2, histograms=False))
    assert sum(line.startswith("Round trips by technology: ") for line in lines) == 1
    assert "1 more table: pathlab analyze RESULTS --only technologies" in lines
