"""Which trials a view shows and how many each choice has, held against one trial after the other."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.filtering import count_levels, select_rows
from pathlab.study.exploration.number_text import format_instant
from pathlab.study.exploration.view import Filter, RangeFilter, View
from pathlab.study.exploration.view_text import parse_view
from tests.builders.views import HARD_VIEWS, make_hard_results


def read_value(results: ExploredResults, name: str, row: int) -> Any:
    """A trial's level, number or set of flags; None: missing."""
    column = results.column(name)
    if column.kind == "flags":
        bits = int(results.flag_bits[row])
        return {flag for place, flag in enumerate(results.flags) if bits >> place & 1}
    if column.is_numeric:
        value = float(results.numbers(name)[row])
        return None if np.isnan(value) else value
    return results.texts(name)[row]


def fits_filter(value: Any, found: Filter) -> bool:
    if isinstance(found, RangeFilter):
        return value is not None and (
            (found.low is None or found.low <= value) and (found.high is None or value <= found.high)
        )
    if isinstance(value, set):
        inside = bool(value & set(found.levels)) or (not value and None in found.levels)
    else:
        inside = value in found.levels
    return inside != found.excluded


def fits_words(results: ExploredResults, text: str, row: int) -> bool:
    texts = []
    for column in results.columns:
        value = read_value(results, column.name, row) if column.kind in ("category", "flags") else None
        texts += sorted(value) if isinstance(value, set) else [value] if value is not None else []
    words = text.lower().replace("\t", " ").replace("\n", " ").replace("\r", " ").replace("\f", " ")
    return all(any(word in one.lower() for one in texts) for word in words.replace("\v", " ").split(" "))


def fits(results: ExploredResults, view: View, row: int, without: str | None = None) -> bool:
    return fits_words(results, view.text, row) and all(
        fits_filter(read_value(results, name, row), found)
        for name, found in view.where.items()
        if name != without
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(HARD_VIEWS)
def test_rows_and_counts_are_those_of_every_trial_by_itself(view: View) -> None:
    every = range(len(make_hard_results()))
    assert select_rows(make_hard_results(), view).tolist() == [
        row for row in every if fits(make_hard_results(), view, row)
    ]
    counts = count_levels(make_hard_results(), view)
    assert set(counts) == {one.name for one in make_hard_results().columns if one.has_levels}
    for name in {"flags", "status", *view.where} & set(counts):
        column = make_hard_results().column(name)
        levels = make_hard_results().flags if column.kind == "flags" else make_hard_results().levels(name)
        rows = [row for row in every if fits(make_hard_results(), view, row, without=name)]
        values = [read_value(make_hard_results(), name, row) for row in rows]
        if column.kind == "flags":
            expected = [sum(level in value for value in values) for level in levels]
            expected.append(sum(not value for value in values))
        else:
            expected = [values.count(level) for level in levels] + [values.count(None)]
        assert counts[name].tolist() == expected


@pytest.mark.parametrize("text", ["where.status=", "where.flags=", "where.cycle="])
def test_no_level_is_no_trial_and_all_but_none_is_every_trial(text: str) -> None:
    assert select_rows(make_hard_results(), parse_view(text, make_hard_results())).size == 0
    assert select_rows(make_hard_results(), parse_view(f"{text}!", make_hard_results())).size == len(
        make_hard_results()
    )


def test_a_time_that_is_none_is_in_no_range() -> None:
    every = parse_view("where.started_utc=..", make_hard_results())
    assert select_rows(make_hard_results(), every).size == len(make_hard_results()) - 1
    assert select_rows(
        make_hard_results(), parse_view("where.started_utc=()", make_hard_results())
    ).tolist() == [3]


def test_a_limit_includes_the_trial_of_its_own_moment() -> None:
    for row in range(len(make_hard_results())):
        moment = float(make_hard_results().numbers("started_utc")[row])
        if not np.isnan(moment):
            text = f"where.started_utc={format_instant(moment)}..{format_instant(moment)}"
            assert row in select_rows(make_hard_results(), parse_view(text, make_hard_results()))
