"""Many trials at once, column by column: the same values as one by one, and damage is named."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pathlab.errors import StoreError
from pathlab.store.results import Results
from pathlab.store.trial_columns import (
    count_plan_rows,
    find_last_trial,
    read_plan_settings,
    read_trial_columns,
)
from pathlab.study.trials import column
from tests.builders.explored import make_explored
from tests.builders.results import make_quickstart, write_results


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_results(make_explored(cycles=2, hostile=True), tmp_path / "results")


def check_same(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    assert list(found.columns) == list(expected.columns)
    for name in expected:
        if pd.api.types.is_numeric_dtype(expected[name].dtype):
            np.testing.assert_array_equal(column(found, str(name)), column(expected, str(name)))
        elif name == "started_utc":
            assert found[name].tolist() == expected[name].tolist()
        else:
            one = expected[name].astype(object)
            assert found[name].tolist() == one.where(one.notna(), None).tolist()


@pytest.mark.parametrize("after", [0, 7, 31, 32])
def test_columns_are_those_of_the_trials_one_by_one(folder: Path, after: int) -> None:
    with Results.open(folder) as results:
        every = results.trials()
        found = read_trial_columns(results, after)
        check_same(found, every[every["trial_id"] > after].reset_index(drop=True))
        assert find_last_trial(results) == 32


def test_settings_are_those_of_the_plan(folder: Path) -> None:
    with Results.open(folder) as results:
        found, plan = read_plan_settings(results), results.plan()
        assert found.rows.tolist() == [row.row for row in plan]
        assert [found.distinct[place] for place in found.places] == [row.settings for row in plan]
        assert (len(found.distinct), count_plan_rows(results)) == (8, 32)


def test_a_file_without_later_columns_has_them_empty(folder: Path) -> None:
    with sqlite3.connect(folder / "results.db") as connection:
        connection.execute("ALTER TABLE trial DROP COLUMN spurious_retransmission_ratio")
    with Results.open(folder) as results:
        assert read_trial_columns(results)["spurious_retransmission_ratio"].isna().all()


def test_a_plan_without_trials_has_no_rows(tmp_path: Path) -> None:
    source = make_quickstart()
    source.records = []
    with Results.open(write_results(source, tmp_path / "new")) as results:
        assert (len(read_trial_columns(results)), find_last_trial(results)) == (0, 0)


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE trial SET throughput_bits_per_s = 'fast' WHERE trial_id = 9", "trial_id 9.*throughput"),
        ("UPDATE trial SET throughput_bits_per_s = 9e999 WHERE trial_id = 9", "trial_id 9.*throughput"),
        ("UPDATE trial SET streams = 1.5 WHERE trial_id = 9", "trial_id 9.*'streams'"),
        ("UPDATE trial SET failure = X'ff' WHERE trial_id = 9", "trial_id 9.*'failure'"),
        ("UPDATE trial SET failure = CAST(X'ff' AS TEXT) WHERE trial_id = 9", "trial_id 9.*'failure'"),
        ("UPDATE trial SET flags = '{}' WHERE trial_id = 9", "trial_id 9.*'flags'"),
        ("UPDATE plan SET settings = '[]' WHERE row = 9", "row 9.*'settings'"),
        ("UPDATE plan SET settings = 7 WHERE row = 9", "row 9.*'settings'"),
    ],
)
def test_a_damaged_value_is_named_with_its_row(folder: Path, statement: str, named: str) -> None:
    with sqlite3.connect(folder / "results.db") as connection:
        connection.execute(statement)
    results = Results.open(folder)
    with pytest.raises(StoreError, match=named):
        read_plan_settings(results)
        read_trial_columns(results)
