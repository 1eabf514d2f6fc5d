"""Results against results: changes that were made are reported, and chance is not."""

import dataclasses

from pathlab.errors import NotMeasurable, UsageError
from pathlab.report.comparison.comparison_text import describe_comparison, list_notes
from pathlab.report.comparison.comparison_times import warn_of_times
from pathlab.study.comparison.rows import ChangeVerdict, compare_results
from tests.builders.comparisons import compare, make_results
from tests.golden.conftest import Say, catch


def test_names_of_hosts_matter_unless_left_aside(say: Say) -> None:
    first, second = make_results(seed=1), make_results(seed=2)
    second.change_trials(path_source="elsewhere")
    say(catch(UsageError, compare, first, second))
    assert {row.verdict for row in compare(first, second, any_path=True).rows} == {ChangeVerdict.EQUIVALENT}


def test_other_factors_are_conditions_where_all_results_tell_them(say: Say) -> None:
    first, second = make_results(seed=1), make_results(seed=2)
    for results, dscp in ((first, 0), (second, 8)):
        for number, row in enumerate(results._plan):
            results._plan[number] = dataclasses.replace(row, settings={**row.settings, "dscp": dscp})
    say(catch(UsageError, compare, first, second))
    found = compare(first, make_results(seed=2))
    assert found.ignored_settings == ("dscp",)


def test_results_of_which_every_trial_was_left_out_are_named_with_the_reason(say: Say) -> None:
    limited = make_results(seed=2)
    limited.change_trials(flags=("lab", "lab-limited"))
    say(catch(NotMeasurable, compare, make_results(seed=1), limited))


def test_results_that_share_nothing_with_the_first_are_named_and_never_pass(say: Say) -> None:
    other = make_results(seed=3)
    other.change_trials(path_source="elsewhere")
    say(catch(UsageError, compare, make_results(seed=1), make_results(seed=2), other))
    two = [("r0", make_results(seed=1)), ("r1", make_results(seed=2))]
    say(catch(UsageError, compare_results, two, unchanged=other))


def test_what_is_not_alike_besides_is_said(say: Say) -> None:
    first, second = make_results(seed=1), make_results(seed=2)
    assert compare(first, second).unlike == ()
    second.change_trials(
        lambda one: dataclasses.replace(one, duration_ns=3 * one.duration_ns), flags=("loopback-fallback",)
    )
    found = compare(first, second)
    assert [one.fact for one in found.unlike] == ["steady window", "measured over"]
    notes = [line for line in list_notes(found) if "Different in" in line]
    say(notes[1])
    assert describe_comparison(found)["unlike"][0]["fact"] == "steady window"
    second.change_trials(duration_ns=0)
    (by_amount,) = (line for line in list_notes(compare(first, second)) if "steady window" in line)
    say(by_amount)


def test_times_apart_and_settings_that_were_ignored_are_said(say: Say) -> None:
    first, second = make_results(seed=1), make_results(seed=2, rate=0.8)
    second.change_trials(started_utc="2026-01-03T15:04:05Z", window_requested_bytes=131_072)
    say(catch(UsageError, compare, first, second))
    found = compare(first, second, ignored=("window",))
    say(warn_of_times(found, "r1"))
    say([line for line in list_notes(found) if "Different in" in line])
    second.change_trials(
        lambda one: dataclasses.replace(one, window_requested_bytes=None if one.cycle else 65_536)
    )
    say(catch(UsageError, compare, first, second, ignored=("window",)))
    say(catch(UsageError, compare, first, second, ignored=("windw",)))


def test_many_conditions_of_one_side_are_one_line(say: Say) -> None:
    first, second = make_results(seed=1), make_results(seed=2)
    second.change_trials(
        lambda one: dataclasses.replace(one, streams=8 + one.cycle % 2) if one.streams == 4 else one
    )
    notes = [line for line in list_notes(compare(first, second)) if line.startswith("Only in")]
    say(notes)


def test_wrong_use_is_one_line(say: Say) -> None:
    say(catch(UsageError, compare, make_results(seed=1)))
    say(catch(UsageError, compare, make_results(seed=1), make_results(seed=2), metrics=("speed",)))
