"""The chapter on round trips by technology, its part of the opening, and its tables on a terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pathlab.report.blocks import Fold, TableBlock
from pathlab.report.inputs import ReportInputs
from pathlab.report.plots.model import Plot
from pathlab.report.sections.opening import build_opening
from pathlab.report.technology_text import describe_technologies
from tests.builders.technologies import (
    LOADS,
    Technology,
    make_adapter,
    make_technology_results,
)
from tests.golden.conftest import Say
from tests.unit.report.sections.test_technology_chapter import find, find_chapter, list_tables, make_inputs
from tests.unit.report.test_text import print_summary

TCP, REDIS = Technology(), make_adapter("redis", 20_000.0)
LOADED = [{"background": load, "priority": level} for load in LOADS for level in (None, 50)]


@pytest.fixture(scope="module")
def inputs() -> ReportInputs:
    cores = [{"cpus_sender": "0", "cpus_receiver": core} for core in ("1", "0")]
    return make_inputs(make_technology_results(settings=cores))


@pytest.fixture(scope="module")
def loaded() -> ReportInputs:
    return make_inputs(
        make_technology_results((TCP, REDIS), sizes=(64,), settings=LOADED, noise_ratio=0.003, cycles=12)
    )


def test_other_sizes_and_cores_are_folded(say: Say, inputs: ReportInputs) -> None:
    section = find_chapter(inputs)
    folds = [one.title for one in section.blocks if isinstance(one, Fold)]
    say(folds)
    tables = list_tables(section)
    assert {"round-trips-1-16KiB", "round-trips-2-64B", "overheads-1", "technology-facts-1"} <= set(tables)


def test_what_a_technology_does_besides_is_stated_once(say: Say, inputs: ReportInputs) -> None:
    table = list_tables(find_chapter(inputs))["technology-facts-1"]
    rows = {row[0]: row[1:] for row in table.rows}
    say(rows["redis"][:4])
    assert rows["tcp"][0] == "c"


def test_what_a_technology_does_besides_is_beside_its_round_trips(say: Say, inputs: ReportInputs) -> None:
    table = next(one for one in build_opening(inputs).blocks if isinstance(one, TableBlock)).narrow()
    place = [one.label for one in table.headings].index("In addition")
    cells = {row[0]: row[place] for row in table.rows}
    say(cells["redis"])
    assert cells["quic-aioquic"] == "TLS 1.3 encryption"


def test_the_shortest_is_named_only_where_it_is_decided(say: Say) -> None:
    near = make_adapter("tcp-python", 4_001.0, 0.05)
    few = make_inputs(make_technology_results((TCP, REDIS), sizes=(64,), cycles=2))
    text = describe_technologies(few.study)[0]
    say(text)
    even = make_inputs(make_technology_results((TCP, near, REDIS), sizes=(64,), noise_ratio=0.05))
    text = describe_technologies(even.study)[0]
    say(text)


def test_the_figure_of_overheads_says_that_few_cycles_give_no_interval(say: Say) -> None:
    for cycles in (2, 8):
        inputs = make_inputs(make_technology_results((TCP, REDIS), sizes=(64,), cycles=cycles))
        sentence = find(inputs, "technology-overhead-1-64B").sentence
        say(sentence)


def test_load_is_said_in_the_words_of_compare(say: Say, loaded: ReportInputs) -> None:
    texts = describe_technologies(loaded.study)
    load = next(text for text in texts if text.startswith("p99 against that with no load: "))
    say(load)
    last = texts[-1]
    say(last)
    assert sum("Undecided:" in text for text in texts) <= 1


def test_few_cycles_are_undecided_once(say: Say) -> None:
    few = make_inputs(make_technology_results((TCP, REDIS), sizes=(64,), settings=LOADED, cycles=2))
    texts = describe_technologies(few.study)
    say(texts[1])
    say(texts[2:])


def test_tables_of_load_have_a_column_for_each_level(say: Say, loaded: ReportInputs) -> None:
    tables = list_tables(find_chapter(loaded))
    table = tables["loaded-table-2"]
    say(table.title)
    assert [one.label for one in table.headings] == [
        *("Technology", "no load", "cpu load", "disk load", "network load", "combined load")
    ]
    redis = {row[0]: row for row in table.rows}["redis"]
    say(redis[5])


def test_the_opening_shows_priority_without_load_first(say: Say) -> None:
    settings = [
        {"background": load, "priority": level} for load in ("combined", "none") for level in (None, 50)
    ]
    results = make_technology_results((TCP, REDIS), sizes=(64,), settings=settings, cycles=2)
    plots = [one for one in build_opening(make_inputs(results)).blocks if isinstance(one, Plot)]
    titles = [one.title for one in plots if one.name.startswith("loaded-priority")]
    say(titles)


def test_weak_loads_and_missed_rates_are_noted(say: Say) -> None:
    results = make_technology_results((TCP, REDIS), sizes=(64,), settings=[{"background": "cpu"}])
    results.records = [
        replace(one, flags=("background-weak",)) if one.cycle < 3 and one.adapter_versions else one
        for one in results.records
    ]
    table = next(one for one in build_opening(make_inputs(results)).blocks if isinstance(one, TableBlock))
    say(table.note or "")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_terminal_shows_the_smallest_and_the_largest_size(say: Say, width: int) -> None:
    results = make_technology_results((TCP, REDIS), sizes=(64, 1024, 16384), cycles=7)
    lines = print_summary(results, width=width)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    say(text)
    assert "Minimum" not in text.partition("Not shown")[2].partition("(")[0]
    rows = [line for line in lines if line.startswith(("tcp ", "redis "))]
    assert [row.split()[0] for row in rows] == ["tcp", "redis"] * 2


def test_a_terminal_shows_many_technologies_once(say: Say) -> None:
    many = [TCP, *(make_adapter(f"technology-{number}", 5_000.0 + number) for number in range(12))]
    lines = print_summary(make_technology_results(many, sizes=(64, 1024), cycles=2, histograms=False))
    say(lines)
