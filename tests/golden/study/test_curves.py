"""The curves of a view: grouping, estimates, exclusions, limits and order."""

from typing import Any

import numpy as np
import pytest

from pathlab.study.exploration.curves import build_from_rows
from tests.builders.tables import MadeColumn, MadeTable, make_table
from tests.golden.conftest import Say
from tests.unit.study.exploration.test_curves import all_rows, make_view


@pytest.fixture
def table() -> MadeTable:
    return make_table(np.random.default_rng(1), 400)


@pytest.mark.parametrize(
    "view",
    [
        {},
        {"x": "window", "y": ("rtt",)},
        {"colour": "window", "facet": "congestion"},
        {"statistic": "cdf", "colour": "window"},
        {"statistic": "course"},
        {"statistic": "course", "trial": "A:1"},
    ],
)
def test_notes_of_a_view(say: Say, table: MadeTable, view: dict[str, Any]) -> None:
    """Trials without a value; factors of which one point has several levels; what is left to a trial."""
    found = build_from_rows(table, make_view(**view), all_rows(table))
    assert (found.facets == ()) == (view.get("statistic") == "course")
    say(found.notes)


def test_a_factor_with_one_level_at_each_point_is_not_pooled(table: MadeTable) -> None:
    table.values["window"] = np.where(table.values["streams"] > 2, 65536.0, 262144.0)
    notes = build_from_rows(table, make_view(), all_rows(table)).notes
    assert not any("window" in note for note in notes)


def test_the_title_names_what_all_trials_share(say: Say, table: MadeTable) -> None:
    values = table.values
    first = (values["window"] == 65536) & (values["congestion"] == 1) & (values["results"] == 0)
    for rows in (all_rows(table), np.flatnonzero(first), np.flatnonzero(np.isnan(values["window"]))):
        say(build_from_rows(table, make_view(), rows).title)


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
    say(found.notes)
    (curve,) = found.facets[0].curves
    assert len(curve.points) == 512
    assert (curve.points[0].x, curve.points[-1].x) == (0, count - 1)
