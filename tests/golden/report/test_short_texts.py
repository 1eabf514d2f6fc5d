"""Short texts of the report: names, notes, reasons and errors, each in a situation of its own."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pathlab.errors import UsageError
from pathlab.reference.series import describe_source
from pathlab.report.base.answer_table import format_row, list_undecided
from pathlab.report.base.blocks import Facts, list_figures
from pathlab.report.base.names import enumerate_cells
from pathlab.report.comparison.comparison import build_comparison
from pathlab.report.explorer.figure import FigureTexts, plot_exploration, write_subject
from pathlab.report.explorer.trial_document import read_details
from pathlab.report.explorer.verdict_document import read_verdicts
from pathlab.report.formats.output_file import write_whole
from pathlab.report.hosts.host_text import render_check
from pathlab.report.report_builder import write_comparison
from pathlab.report.runs.method import build_method
from pathlab.study.analyses import Study
from pathlab.study.base.registry import ANALYSES
from pathlab.study.exploration.exploration import Facet
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.view_text import parse_view
from tests.builders.comparisons import compare, make_results
from tests.builders.explorations import RATE, explore
from tests.builders.explored import make_explored
from tests.builders.printed import print_text
from tests.builders.results import make_quickstart, write_results
from tests.builders.sections import list_blocks, make_inputs
from tests.builders.sweeps import make_sweep
from tests.golden.conftest import Say, catch

KIB = 1024
LEVELS: list[tuple[int, int | None]] = [(1, 64 * KIB), (4, 64 * KIB)]
CELLS = [(2, 64 * KIB), (1, 64 * KIB), (1, 256 * KIB), (2, 256 * KIB), (1, None), (1, None)]


def say_row() -> list[str]:
    (answer, _) = Study(make_quickstart(cycles=2, levels=LEVELS)).cells()
    row = format_row(ANALYSES["cells"], answer)
    return [" | ".join(row), *list_undecided(ANALYSES["cells"], [answer])]


def say_exploration(*facets: Facet, **changes: Any) -> list[str]:
    plot = plot_exploration(replace(explore(*facets), **changes), FigureTexts(statistic="median"))
    return [plot.sentence, plot.empty or f"{len(plot.panels)} panels"]


def say_window(*lengths_ns: int | None, **settings: int) -> str:
    """The steady window of trials that took so long, as the section on the method has it."""
    results = make_sweep(1, levels=LEVELS, settings=settings)
    for place, length_ns in enumerate(lengths_ns):
        results.records[place] = replace(results.records[place], duration_ns=0, steady_ns=length_ns)
    facts = next(one for one in list_blocks([build_method(make_inputs(results))]) if isinstance(one, Facts))
    return dict(facts.items)["Steady window"]


def say_many_combinations() -> str:
    base = make_quickstart(cycles=6, levels=[(streams, 64 * KIB) for streams in range(1, 50)])
    found = compare(base, base, metrics=("throughput",))
    return next(list_figures(build_comparison(found))).sentence


SITUATIONS: Mapping[str, Callable[[], object]] = {
    "an undecided interval": say_row,
    "no facet is explored": say_exploration,
    "a facet without a curve": lambda: say_exploration(Facet(name="", curves=())),
    "no trial is selected": lambda: say_exploration(excluded=(), notes=()),
    "a distribution of a measure": lambda: write_subject(
        replace(explore(x=RATE), statistic="trials per bin", range=""), "histogram"
    ),
    "trials by time": say_window,
    "trials by amount": lambda: say_window(940_000_000, 310_000_000, transfer_bytes=5_000_000),
    "one of them was not measured": lambda: say_window(940_000_000, None, transfer_bytes=5_000_000),
    "the amount is not known": lambda: say_window(None, None),
    "windows with the same streams": lambda: enumerate_cells(CELLS),
    "more combinations than a figure shows": say_many_combinations,
    "an unknown table": lambda: catch(UsageError, describe_source, "ibm"),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_situation_is_stated(say: Say, situation: str) -> None:
    say(SITUATIONS[situation]())


def test_another_ending_is_refused(say: Say, tmp_path: Path) -> None:
    found = compare(make_results(seed=1), make_results(seed=2), metrics=("throughput",))
    say(catch(UsageError, write_comparison, found, tmp_path / "x.json"))


def test_a_results_file_is_never_replaced_by_a_report(say: Say, tmp_path: Path) -> None:
    stored = tmp_path / "results.db"
    before = b"SQLite format 3\x00 and what took a night to measure"
    stored.write_bytes(before)
    say(catch(UsageError, write_whole, stored, b"<html>"))
    assert stored.read_bytes() == before


FOUND = "windows up to 4 MiB can be requested; autotuning goes to 32 MiB received, 4 MiB sent"
FIX = "as root: sysctl -w net.core.rmem_max=16777216 net.core.wmem_max=16777216"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_what_was_found_wraps_beside_its_name(say: Say, width: int) -> None:
    text = print_text(lambda console: render_check("limited", "windows", FOUND, FIX, console), width)
    say(text)
    *found, fix = text.splitlines()
    assert max(map(len, found)) <= width
    assert " ".join(line[29:] for line in found) == FOUND
    assert fix.endswith(f"fix: {FIX}")


@pytest.fixture(scope="module")
def explored(tmp_path_factory: pytest.TempPathFactory) -> ExploredResults:
    folder = tmp_path_factory.mktemp("details") / "results"
    return ExploredResults.open([write_results(make_explored(cycles=2), folder)])


def test_flags_carry_their_meaning_and_a_trial_that_does_not_count_says_why(
    say: Say, explored: ExploredResults
) -> None:
    document = read_details(explored, explored.find_row("A:18"))
    say(document["excluded"])
    say({one["name"]: one["meaning"] for one in document["flags"]}["lab-limited"])


def test_a_failed_trial_names_its_stage_and_reason_and_no_figure(say: Say, explored: ExploredResults) -> None:
    document = read_details(explored, explored.find_row("A:6"))
    say(document["failure"])
    assert (document["excluded"], document["remarks"]) == ("failed", [])
    assert [one["key"] for one in document["sections"]] == ["settings"]
    beside = read_details(explored, explored.find_row("A:7"))["before"]
    assert {one["name"]: one["failure"] for one in beside}["A:6"] == document["failure"]


def test_long_tables_are_cut_and_say_so(say: Say, tmp_path: Path) -> None:
    many = write_results(make_explored(cycles=1, streams=(200,), destinations=("east",)), tmp_path / "many")
    sections = read_details(ExploredResults.open([many]), 0)["sections"]
    (table,) = (one for one in sections if one["key"] == "streams")
    say(f"{len(table['rows'])} rows, first: {table['rows'][0][0]}")
    say(table["notes"])


@pytest.fixture(scope="module")
def two() -> ExploredResults:
    made = (make_explored(cycles=1), make_explored(cycles=1, seed=2))
    return ExploredResults.of(*map(Study, made))


@pytest.mark.parametrize(
    "text",
    [
        "x=streams&y=throughput_bits_per_s&colour=results",
        "x=streams&y=fairness_jain&colour=results&baseline=A",
        "x=streams&y=throughput_bits_per_s&colour=results&baseline=A&where.results=A",
        "x=cycle&y=throughput_bits_per_s&colour=streams&baseline=1",
        "x=streams&y=throughput_bits_per_s&colour=status&baseline=complete",
    ],
)
def test_what_cannot_be_compared_is_said(say: Say, two: ExploredResults, text: str) -> None:
    say(read_verdicts(two, parse_view(text, two))["refused"])
