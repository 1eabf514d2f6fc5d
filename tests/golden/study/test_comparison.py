"""Results against results: changes that were made are reported, and chance is not."""

from __future__ import annotations

import dataclasses

import pytest

from pathlab.errors import UsageError
from pathlab.report.sections.comparison_text import describe_comparison, list_notes
from pathlab.study.comparison.rows import (
    ChangeVerdict,
    compare_results,
)
from tests.builders.comparisons import compare, make_results
from tests.golden.conftest import Say


def test_names_of_hosts_matter_unless_left_aside(say: Say) -> None:
    first, second = make_results(seed=1), make_results(seed=2)
    second.records = [dataclasses.replace(record, path_source="elsewhere") for record in second.records]
    with pytest.raises(UsageError) as caught:
        compare(first, second)
    say(caught.value)
    assert {row.verdict for row in compare(first, second, any_path=True).rows} == {ChangeVerdict.EQUIVALENT}


def test_other_factors_are_conditions_where_all_results_tell_them(say: Say) -> None:
    first, second = make_results(seed=1), make_results(seed=2)
    for results, dscp in ((first, 0), (second, 8)):
        for number, row in enumerate(results._plan):
            results._plan[number] = dataclasses.replace(row, settings={**row.settings, "dscp": dscp})
    with pytest.raises(UsageError) as caught:
        compare(first, second)
    say(caught.value)
    found = compare(first, make_results(seed=2))
    assert found.ignored_settings == ("dscp",)


def test_results_of_which_every_trial_was_left_out_are_named_with_the_reason(say: Say) -> None:
    limited = make_results(seed=2)
    limited.records = [
        dataclasses.replace(record, flags=("lab", "lab-limited")) for record in limited.records
    ]
    with pytest.raises(UsageError) as caught:
        compare(make_results(seed=1), limited)
    say(caught.value)


def test_results_that_share_nothing_with_the_first_are_named_and_never_pass(say: Say) -> None:
    other = make_results(seed=3)
    other.records = [dataclasses.replace(record, path_source="elsewhere") for record in other.records]
    with pytest.raises(UsageError) as caught:
        compare(make_results(seed=1), make_results(seed=2), other)
    say(caught.value)
    two = [("r0", make_results(seed=1)), ("r1", make_results(seed=2))]
    with pytest.raises(UsageError) as caught:
        compare_results(two, unchanged=other)
    say(caught.value)


def test_what_is_not_alike_besides_is_said(say: Say) -> None:
    first, second = make_results(seed=1), make_results(seed=2)
    assert compare(first, second).unlike == ()
    second.records = [
        dataclasses.replace(record, duration_ns=3 * record.duration_ns, flags=("loopback-fallback",))
        for record in second.records
    ]
    found = compare(first, second)
    assert [one.fact for one in found.unlike] == ["steady window", "measured over"]
    notes = [line for line in list_notes(found) if "Different in" in line]
    say(notes[1])
    assert describe_comparison(found)["unlike"][0]["fact"] == "steady window"
    second.records = [dataclasses.replace(record, duration_ns=0) for record in second.records]
    (by_amount,) = (line for line in list_notes(compare(first, second)) if "steady window" in line)
    say(by_amount)


def test_many_conditions_of_one_side_are_one_line(say: Say) -> None:
    first, second = make_results(seed=1), make_results(seed=2)
    for number, record in enumerate(second.records):
        if record.streams == 4:
            second.records[number] = dataclasses.replace(record, streams=8 + record.cycle % 2)
    notes = [line for line in list_notes(compare(first, second)) if line.startswith("Only in")]
    say(notes)


def test_wrong_use_is_one_line(say: Say) -> None:
    with pytest.raises(UsageError) as caught:
        compare(make_results(seed=1))
    say(caught.value)
    with pytest.raises(UsageError) as caught:
        compare(make_results(seed=1), make_results(seed=2), metrics=("speed",))
    say(caught.value)
