"""The chapter on round trips by technology and its part of the opening, in words."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from pathlab.report.base.blocks import Fold, TableBlock
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.opening import build_opening
from pathlab.report.plots.model import Plot
from pathlab.report.technologies.technology_text import describe_technologies
from tests.builders.results import SyntheticResults
from tests.builders.sections import draw, find_section, find_table, list_blocks
from tests.builders.technologies import (
    FACTS,
    LOADS,
    Facts,
    Technology,
    make_adapter,
    make_technology_inputs,
    make_technology_results,
    weaken_loads,
)
from tests.golden.conftest import Say

TCP, REDIS = Technology(), make_adapter("redis", 20_000.0)
NEAR, QUIC = make_adapter("tcp-python", 4_001.0, 0.05), make_adapter("quic-aioquic", 164_000.0, 80.0)
LOADED = [{"background": load, "priority": level} for load in LOADS for level in (None, 50)]
CORES = [{"cpus_sender": "0", "cpus_receiver": core} for core in ("1", "0")]
WEAK = [{"background": load} for load in ("none", "cpu")]


def make(*technologies: Technology, **options: Any) -> SyntheticResults:
    """Messages of 64 B without histograms, unless changed."""
    return make_technology_results(technologies, **{"sizes": (64,), "histograms": False, **options})


SITUATIONS: Mapping[str, Callable[[], SyntheticResults]] = {
    "few cycles": lambda: make(TCP, REDIS, cycles=2),
    "the shortest is not decided": lambda: make(TCP, NEAR, REDIS, noise_ratio=0.05),
    "loads and priorities": lambda: make(TCP, REDIS, settings=LOADED, noise_ratio=0.003, cycles=12),
    "loads and priorities, few cycles": lambda: make(TCP, REDIS, settings=LOADED, cycles=2),
    "weak loads": lambda: weaken_loads(make(TCP, REDIS, settings=WEAK, cycles=12)),
    "many technologies": lambda: make(
        TCP, *(make_adapter(f"technology-{number}", 5_000.0 * 1.1**number) for number in range(30)), cycles=7
    ),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_situation_is_stated(say: Say, situation: str) -> None:
    facts = {**FACTS, **{f"technology-{number}": Facts() for number in range(30)}}
    texts = describe_technologies(make_technology_inputs(SITUATIONS[situation](), facts).study)
    assert sum("Undecided:" in text for text in texts) <= 1
    say(texts)


@pytest.fixture(scope="module")
def inputs() -> ReportInputs:
    return make_technology_inputs(make_technology_results((TCP, REDIS, QUIC), settings=CORES, samples=200))


def test_other_sizes_and_cores_are_folded(say: Say, inputs: ReportInputs) -> None:
    section = find_section(inputs, "technologies")
    say(one.title for one in section.blocks if isinstance(one, Fold))
    table = find_table(list_blocks([section]), "technology-facts-1")
    say(" | ".join(row[:5]) for row in table.rows)


def test_what_a_technology_does_besides_is_beside_its_round_trips(say: Say, inputs: ReportInputs) -> None:
    table = next(one for one in build_opening(inputs).blocks if isinstance(one, TableBlock)).narrow()
    place = [one.heading for one in table.columns].index("In addition")
    say({row[0]: row[place] for row in table.rows})


@pytest.mark.parametrize("cycles", [2, 8])
def test_the_figure_of_overheads_says_that_few_cycles_give_no_interval(say: Say, cycles: int) -> None:
    inputs = make_technology_inputs(make(TCP, REDIS, cycles=cycles))
    say(draw(inputs, "technology-overhead-1-64B").sentence)


def test_tables_of_load_have_a_column_for_each_level(say: Say) -> None:
    inputs = make_technology_inputs(make(TCP, REDIS, settings=LOADED, noise_ratio=0.003, cycles=12))
    table = find_table(list_blocks([find_section(inputs, "technologies")]), "loaded-table-2")
    say(table.title)
    say(" | ".join(one.heading for one in table.columns))
    say(" | ".join(row) for row in table.rows)


def test_the_opening_shows_priority_without_load_first(say: Say) -> None:
    settings = [
        {"background": load, "priority": level} for load in ("combined", "none") for level in (None, 50)
    ]
    opening = build_opening(make_technology_inputs(make(TCP, REDIS, settings=settings, cycles=2)))
    plots = [one for one in opening.blocks if isinstance(one, Plot)]
    say(one.title for one in plots if one.name.startswith("loaded-priority"))


def test_weak_loads_are_noted(say: Say) -> None:
    results = make(TCP, REDIS, settings=[{"background": "cpu"}])
    results.change_trials(
        lambda one: (
            replace(one, flags=("background-weak",)) if one.cycle < 3 and one.adapter_versions else one
        )
    )
    opening = build_opening(make_technology_inputs(results))
    say(next(one.note for one in opening.blocks if isinstance(one, TableBlock)))
