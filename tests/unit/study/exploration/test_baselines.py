"""Curves against a baseline: pairs of the same cycles, else independent groups."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from pathlab.analysis.estimators.shifts import hodges_lehmann
from pathlab.analysis.verdicts.paired_samples import compare_paired
from pathlab.analysis.verdicts.two_samples import compare_groups, compare_levels
from pathlab.study.exploration.curves import build_from_rows
from pathlab.study.exploration.exploration import Exploration, PointState
from pathlab.study.exploration.view import View
from tests.builders.tables import WINDOW_CYCLES, MadeColumn, MadeTable, make_two_windows

CYCLES = WINDOW_CYCLES


@pytest.fixture
def table() -> MadeTable:
    return make_two_windows()


def build(table: MadeTable, **given: Any) -> Exploration:
    view = View(**{"x": "streams", "y": ("rate",), **given})
    return build_from_rows(table, view, np.arange(len(table)))


def split(table: MadeTable) -> tuple[np.ndarray, np.ndarray]:
    rates, windows = table.values["rate"], table.values["window"]
    return rates[windows == 65536], rates[windows == 262144]


def test_cycles_are_pairs(table: MadeTable) -> None:
    first, second = split(table)
    ratio, shift = compare_paired(first, second), hodges_lehmann(second - first)
    truth = {"ratio": (ratio.ratio, ratio.interval_ratio), "difference": (shift.shift, shift.interval)}
    for against, (y, interval) in truth.items():
        found = build(table, colour="window", baseline="65536", against=against)
        assert found.against is not None
        (curve,) = found.against
        assert (curve.name, curve.colour_level, curve.facet) == ("256 KiB", 1, "")
        (point,) = curve.points
        changes = second / first if against == "ratio" else second - first
        shown = interval.cut_at(changes.min(), changes.max())  # no change of a pair was larger
        assert (point.y, point.low, point.high) == (y, shown.low, shown.high)
        assert (point.x, point.trials, point.baseline_trials, point.paired) == (4, CYCLES, CYCLES, True)
        assert point.state is (PointState.CUT if shown.cut else PointState.ESTIMATED)
        assert any("cut at the range" in note for note in found.notes) == shown.cut


DRAWN_ALL = (
    "The intervals against the baseline rest on the drawn order of each cycle: exact signed-rank tests, "
    "whatever changed over time."
)
WIDENED = "The intervals against the baseline allow for serial correlation."


@pytest.mark.parametrize("against", ["ratio", "difference"])
def test_pairs_of_a_drawn_order_rest_on_it(table: MadeTable, against: str) -> None:
    """The exact interval, also in noise that wanders; of a factor, and of results that drew the order."""
    table.values["rate"] *= np.exp(np.repeat(np.linspace(0, 5, CYCLES) ** 2, 2))
    first, second = split(table)
    found = compare_paired(first, second, drawn_tests=1)
    exact = found.interval_ratio
    if against == "difference":
        exact = hodges_lehmann(second - first, drawn_tests=1).interval
    drawn = tuple(dataclasses.replace(one, order_drawn=True) for one in table.sources)
    for sources, role, rests in (
        (table.sources, "factor", False),
        ((drawn[0], table.sources[1]), "factor", False),
        (drawn, "measured", False),
        (drawn, "factor", True),
    ):
        table.sources = sources
        table.columns[[one.name for one in table.columns].index("window")] = MadeColumn(
            name="window", label="window", unit="B", role=role
        )
        shown = build(table, colour="window", baseline="65536", against=against)
        point = shown.against[0].points[0]
        assert (point.paired, point.drawn) == (True, rests)
        assert ((point.low, point.high) == (exact.low, exact.high)) == rests
        decided = point.state is not PointState.UNDECIDED
        assert [note for note in shown.notes if "against the baseline" in note] == (
            [DRAWN_ALL] if rests else [WIDENED] if decided else []
        )


def test_cycles_of_different_results_are_no_pairs(table: MadeTable) -> None:
    table.values["cycle"] = table.values["cycle"] % (CYCLES // 2)
    half = table.values["results"] == 0
    first, second = table.values["rate"][half], table.values["rate"][~half]
    ratio = compare_groups(first, second)
    difference = compare_levels(first, second, margins=(-1.0, 1.0))
    for against, y, interval in (
        ("ratio", ratio.ratio, ratio.interval_ratio),
        ("difference", difference.shift, difference.interval),
    ):
        found = build(table, colour="results", baseline="A", against=against)
        point = found.against[0].points[0]
        changes = second / first[:, None] if against == "ratio" else second - first[:, None]
        shown = interval.cut_at(changes.min(), changes.max())
        assert (point.y, point.low, point.high, point.paired) == (y, shown.low, shown.high, False)
        assert point.state is (PointState.CUT if shown.cut else PointState.ESTIMATED)


def test_few_pairs_are_shown_and_undecided(table: MadeTable) -> None:
    rows = np.arange(6)
    view = View(x="streams", y=("rate",), colour="window", baseline="262144")
    found = build_from_rows(table, view, rows)
    point = found.against[0].points[0]
    assert point.y == pytest.approx(1 / 1.2, rel=0.1)
    assert (point.low, point.state, point.trials) == (None, PointState.UNDECIDED, 3)


def test_excluded_trials_are_not_compared(table: MadeTable) -> None:
    table.exclude([0, 1, 2], 0)
    found = build(table, colour="window", baseline="65536")
    assert found.against[0].points[0].trials == CYCLES - 2


def test_a_factor_needs_values_above_0(table: MadeTable) -> None:
    table.values["rate"][0] = 0.0
    found = build(table, colour="window", baseline="65536")
    point = found.against[0].points[0]
    assert (point.y, point.low, point.state) == (None, None, PointState.UNDECIDED)
