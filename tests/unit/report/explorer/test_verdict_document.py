"""The verdicts of a view: those of `pathlab compare` and of levels in pairs of a cycle, in the same words."""

from typing import Any

import pytest

from pathlab.report.comparison.comparison_table import render_comparison
from pathlab.report.explorer.verdict_document import read_verdicts, write_verdicts
from pathlab.study.analyses import Study
from pathlab.study.comparison.levels import compare_levels_of
from pathlab.study.comparison.metrics import ChosenMetrics
from pathlab.study.comparison.rows import ComparisonRules, compare_results
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.view_text import parse_view
from tests.builders.explored import make_explored
from tests.builders.levels import measure_levels
from tests.builders.printed import print_text
from tests.builders.results import SyntheticResults

AGAINST_A = "x=streams&y=throughput_bits_per_s&colour=results&baseline=A"


@pytest.fixture(scope="module")
def made() -> list[SyntheticResults]:
    return [make_explored(cycles=9), make_explored(cycles=9, speed=0.8, seed=2)]


@pytest.fixture(scope="module")
def results(made: list[SyntheticResults]) -> ExploredResults:
    return ExploredResults.of(*map(Study, made))


def read(results: ExploredResults, text: str) -> dict[str, Any]:
    return read_verdicts(results, parse_view(text, results))


def test_two_results_have_the_verdicts_that_compare_prints(
    made: list[SyntheticResults], results: ExploredResults
) -> None:
    found = read(results, AGAINST_A)
    sides = list(zip("AB", made, strict=True))
    compared = compare_results(sides, ComparisonRules(metrics=("throughput",)))
    assert found == write_verdicts(compared)
    printed = print_text(lambda console: render_comparison(compared, console), 400)
    assert found["sentences"]
    assert all(sentence in printed for sentence in found["sentences"] + found["notes"])
    assert "fell by" in found["sentences"][0]
    (table,) = found["tables"]
    assert {"worse"} <= set(table["verdicts"]) <= {"worse", "undecided"}
    assert all(cell in printed for row in table["rows"] for cell in row)


def test_filters_choose_the_trials_that_are_compared(results: ExploredResults) -> None:
    one = read(results, f"{AGAINST_A}&where.streams=4&where.path=west%20%E2%86%92%20east")
    (table,) = one["tables"]
    assert len(table["rows"]) == 2  # the windows
    few = read(results, f"{AGAINST_A}&where.cycle=1..5")
    assert few["undecided"]
    (sentence,) = few["sentences"]
    assert sentence.startswith("No verdict: ")
    assert "Verdict" not in few["tables"][0]["columns"]  # it is said once


@pytest.mark.parametrize(("factor", "other"), [("window_bytes", "stream"), ("streams", "window")])
def test_levels_of_streams_and_windows_are_compared_in_pairs_of_a_cycle(
    results: ExploredResults, factor: str, other: str
) -> None:
    levels = {"window_bytes": "262144", "streams": "1"}
    text = f"x=cycle&y=throughput_bits_per_s&colour={factor}&baseline={levels[factor]}&where.results=A"
    found = read(results, text)
    assert found["tables"]
    assert all(other in row[0] for table in found["tables"] for row in table["rows"])
    verdicts = {one for table in found["tables"] for one in table["verdicts"]}
    assert verdicts <= {"better", "worse", "equivalent", "undecided"}
    assert verdicts & {"better", "worse"}  # below the line's rate both windows and streams matter


def test_another_factor_has_the_verdicts_of_its_analysis() -> None:
    made = measure_levels("recording", {"off": {}, "full": {"throughput_bits_per_s": 0.9}}, cycles=12)
    study = Study(made)
    results = ExploredResults.of(study)
    found = read(results, "x=streams&y=throughput_bits_per_s&colour=recording&baseline=off")
    metrics = ChosenMetrics(streams=("throughput",))
    compared = compare_levels_of(study.study_table(), "recording", "off", metrics)
    (table,) = found["tables"]
    (row,) = [one for one in compared.found.rows if one.metric.name == "throughput"]
    assert table["verdicts"] == [str(row.verdict)] == ["worse"]
