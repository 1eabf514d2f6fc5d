"""What a comparison says: its sentences, its table at every width, its JSON."""

from __future__ import annotations

import dataclasses

import pytest

from pathlab.report.sections.comparison_changes import list_summaries
from pathlab.report.sections.comparison_text import list_notes
from pathlab.study.comparison.rows import (
    ChangeVerdict,
    ComparisonRow,
)
from tests.builders.comparisons import compare, make_results
from tests.golden.conftest import Say
from tests.unit.report.sections.test_comparison_text import make_changed, render


def replace_verdict(row: ComparisonRow) -> ComparisonRow:
    return dataclasses.replace(row, verdict=ChangeVerdict.UNDECIDED, reason="inconclusive")


def test_what_changed_is_a_sentence_and_comes_first(say: Say) -> None:
    found = make_changed()
    (first, second) = list_summaries(found, "/srv/after")
    say(first)
    say(second)
    assert render(found, 400).startswith(f"{first}\n{second}\n")


def test_what_is_undecided_says_why(say: Say) -> None:
    found = compare(make_results(seed=1), make_results(seed=2), metrics=("throughput",))
    rows = tuple(replace_verdict(row) for row in found.rows)
    (sentence,) = list_summaries(dataclasses.replace(found, rows=rows), "r1")
    say(sentence)
    noisy = dataclasses.replace(rows[0], reason="within the noise floor", noise=1.08)
    (sentence,) = list_summaries(dataclasses.replace(found, rows=(noisy, rows[1])), "r1")
    say(sentence)


def test_the_notes_say_within_what_each_metric_is_equivalent(say: Say) -> None:
    metrics = ("throughput", "drtt", "loss")
    found = compare(make_results(seed=1), make_results(seed=2), metrics=metrics)
    say(next(list_notes(found)))


@pytest.mark.parametrize("cycles", [1, 3])
def test_too_few_trials_are_said_once_with_what_is_needed(say: Say, cycles: int) -> None:
    found = compare(*(make_results(seed=seed, cycles=cycles) for seed in (1, 2, 3)))
    text = render(found, 200)
    say(text)


def test_a_change_up_and_one_down_are_one_sentence(say: Say) -> None:
    found = compare(make_results(seed=1), make_results(seed=2, rate=0.9), metrics=("throughput",))
    faster = compare(make_results(seed=1), make_results(seed=2, rate=1.2), metrics=("throughput",))
    both = dataclasses.replace(found, rows=(found.rows[0], faster.rows[1]))
    (sentence,) = list_summaries(both, "r1")
    say(sentence)
    (alone,) = list_summaries(dataclasses.replace(found, rows=found.rows[:1]), "r1")
    assert alone.endswith("with 1 × 64 KiB.")
    (all_of_them,) = list_summaries(found, "r1")
    assert all_of_them.endswith("in both combinations.")
