"""What a view says of trials that do not count, also where they are counted all the same."""

import numpy as np
import pytest

from pathlab.study.exploration.curves import build_from_rows
from pathlab.study.exploration.estimates import name_statistic
from pathlab.study.exploration.view import View
from tests.builders.tables import make_table


@pytest.mark.parametrize("statistic", ["median", "cdf", "histogram", "course"])
def test_counted_unusable_trials_are_named(statistic: str) -> None:
    table = make_table(np.random.default_rng(1), 400)
    rows = np.arange(len(table))
    usable = build_from_rows(table, View(x="streams", y=("throughput",), statistic=statistic), rows)
    view = View(x="streams", y=("throughput",), statistic=statistic, count="all")
    everything = build_from_rows(table, view, rows)
    (first, most), (second, fewer) = usable.excluded
    note = f"Unusable trials are counted: {most} {first}, {fewer} {second}."
    assert most >= fewer > 0
    assert note not in usable.notes
    assert (note in everything.notes) is (statistic != "course")
    counted = build_from_rows(table, view, rows[table.counted])
    assert not [one for one in counted.notes if "nusable" in one]


@pytest.mark.parametrize(
    ("statistic", "name"),
    [
        *(("p1", "1st"), ("p2", "2nd"), ("p11", "11th")),
        *(("p23", "23rd"), ("p90", "90th"), ("p99.9", "99.9th")),
    ],
)
def test_a_percentile_is_named_by_its_number(statistic: str, name: str) -> None:
    assert name_statistic(statistic) == f"{name} percentile"
