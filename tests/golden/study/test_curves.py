"""The curves of a view: grouping, estimates, exclusions, limits and order."""

from __future__ import annotations

import numpy as np
import pytest

from pathlab.study.exploration.curves import build_from_rows
from tests.builders.tables import MadeColumn, MadeTable, make_table
from tests.golden.conftest import Say
from tests.unit.study.exploration.test_curves import all_rows, make_view


@pytest.fixture
def table() -> MadeTable:
    return make_table(np.random.default_rng(1), 400)


def test_trials_without_a_value_are_counted_in_a_note(say: Say, table: MadeTable) -> None:
    found = build_from_rows(table, make_view(x="window", y=("rtt",)), all_rows(table))
    say(found.notes)


def test_the_title_names_what_all_trials_share(say: Say, table: MadeTable) -> None:
    assert build_from_rows(table, make_view(), all_rows(table)).title == "duration 10 s"
    first = table.values["results"] == 0
    rows = np.flatnonzero((table.values["window"] == 65536) & (table.values["congestion"] == 1) & first)
    title = build_from_rows(table, make_view(), rows).title
    say(title)
    autotuned = np.flatnonzero(np.isnan(table.values["window"]))
    say(build_from_rows(table, make_view(), autotuned).title)


def test_pooled_factors_are_named(say: Say, table: MadeTable) -> None:
    """Those of which one point has several levels; a factor that colours tell apart is not pooled."""
    pooled = build_from_rows(table, make_view(), all_rows(table)).notes
    say(pooled)
    apart = build_from_rows(table, make_view(colour="window", facet="congestion"), all_rows(table)).notes
    assert not any(note.startswith("Points pool") for note in apart)
    whole = build_from_rows(table, make_view(statistic="cdf", colour="window"), all_rows(table)).notes
    say(whole)
    table.values["window"] = np.where(table.values["streams"] > 2, 65536.0, 262144.0)
    notes = build_from_rows(table, make_view(), all_rows(table)).notes
    assert not any("window" in note for note in notes)


def test_too_many_levels_are_limited_and_said(say: Say) -> None:
    count = 2**16
    made = MadeTable(count=count)
    made.add(MadeColumn(name="started_utc", label="start", kind="time", role="identity"), np.arange(count))
    made.add(MadeColumn(name="streams", label="streams"), np.arange(count))
    made.add(MadeColumn(name="throughput", label="throughput", role="measured"), np.arange(count) * 2.0)
    made.add(MadeColumn(name="duration", label="duration"), np.full(count, 10.0))
    panels = build_from_rows(made, make_view(x="duration", facet="streams"), np.arange(count))
    assert len(panels.facets) == 12
    say(panels.notes)
    colours = build_from_rows(made, make_view(x="duration", colour="streams"), np.arange(count))
    assert [curve.name for curve in colours.facets[0].curves][::23] == ["0", "65535"]
    say(colours.notes)
    found = build_from_rows(made, make_view(), np.arange(count))
    note = "512 of 65536 places on the x axis shown, chosen evenly: filter to see the others."
    assert found.notes == (note,)
    (curve,) = found.facets[0].curves
    assert len(curve.points) == 512
    assert (curve.points[0].x, curve.points[-1].x) == (0, count - 1)


def test_a_course_is_left_to_the_trial(say: Say, table: MadeTable) -> None:
    found = build_from_rows(table, make_view(statistic="course"), all_rows(table))
    assert found.facets == ()
    say(found.notes)
    opened = build_from_rows(table, make_view(statistic="course", trial="A:1"), all_rows(table))
    assert opened.notes == ()
