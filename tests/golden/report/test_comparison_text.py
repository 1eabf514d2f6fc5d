"""What a comparison says: its sentences and its notes."""

import dataclasses

import pytest

from pathlab.report.comparison.comparison_changes import list_summaries
from pathlab.report.comparison.comparison_table import render_comparison
from pathlab.report.comparison.comparison_text import list_notes
from pathlab.study.comparison.rows import ChangeVerdict, ResultsComparison
from tests.builders.comparisons import compare, make_changed, make_results
from tests.builders.printed import print_text
from tests.golden.conftest import Say


def print_comparison(found: ResultsComparison, width: int) -> str:
    return print_text(lambda console: render_comparison(found, console), width)


@pytest.fixture(scope="module")
def slower() -> ResultsComparison:
    return compare(make_results(seed=1), make_results(seed=2, rate=0.9), metrics=("throughput",))


def test_what_changed_is_a_sentence_and_comes_first(say: Say) -> None:
    found = make_changed()
    summaries = list_summaries(found, "/srv/after")
    say(summaries)
    assert print_comparison(found, 400).splitlines()[: len(summaries)] == list(summaries)


def test_what_is_undecided_says_why(say: Say, slower: ResultsComparison) -> None:
    rows = tuple(
        dataclasses.replace(row, verdict=ChangeVerdict.UNDECIDED, reason="inconclusive")
        for row in slower.rows
    )
    say(list_summaries(dataclasses.replace(slower, rows=rows), "r1"))
    noisy = dataclasses.replace(rows[0], reason="within the noise floor", noise=1.08)
    say(list_summaries(dataclasses.replace(slower, rows=(noisy, rows[1])), "r1"))


def test_the_notes_say_within_what_each_metric_is_equivalent(say: Say) -> None:
    metrics = ("throughput", "drtt", "loss")
    say(next(list_notes(compare(make_results(seed=1), make_results(seed=2), metrics=metrics))))


@pytest.mark.parametrize("cycles", [1, 3])
def test_too_few_trials_are_said_once_with_what_is_needed(say: Say, cycles: int) -> None:
    found = compare(*(make_results(seed=seed, cycles=cycles) for seed in (1, 2, 3)))
    say(print_comparison(found, 200))


def test_a_change_up_and_one_down_are_one_sentence(say: Say, slower: ResultsComparison) -> None:
    faster = compare(make_results(seed=1), make_results(seed=2, rate=1.2), metrics=("throughput",))
    for rows in ((slower.rows[0], faster.rows[1]), slower.rows[:1], slower.rows):
        say(list_summaries(dataclasses.replace(slower, rows=rows), "r1"))
