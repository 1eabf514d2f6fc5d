"""Many trials at once, column by column: the same values as one by one, and damage is named."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pathlab.errors import StoreError
from pathlab.store.results import Results
from pathlab.store.trial_columns import (
    find_last_trial,
    read_plan_settings,
    read_trial_columns,
)
from pathlab.store.usable import serialize_flags
from pathlab.study.base.trials import column
from tests.builders.explored import make_explored
from tests.builders.results import write_results
from tests.builders.stored import change_database


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(
        make_explored(cycles=2, hostile=True), tmp_path_factory.mktemp("explored") / "results"
    )


@pytest.fixture
def copied(stored: Path, tmp_path: Path) -> Path:
    """A copy that may be changed."""
    return shutil.copytree(stored, tmp_path / "results")


def check_same(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    assert [*found.columns, "usable"] == list(expected.columns)
    for name in found:
        if pd.api.types.is_numeric_dtype(expected[name].dtype):
            np.testing.assert_array_equal(column(found, str(name)), column(expected, str(name)))
        elif name == "flags":
            assert [serialize_flags(one) for one in found[name]] == expected[name].tolist()
        elif name == "started_utc":
            assert found[name].tolist() == expected[name].tolist()
        else:
            one = expected[name].astype(object)
            assert found[name].tolist() == one.where(one.notna(), None).tolist()


@pytest.mark.parametrize("after", [0, 7, 31, 32])
def test_columns_are_those_of_the_trials_one_by_one(stored: Path, after: int) -> None:
    with Results.open(stored) as results:
        every = results.trials()
        found = read_trial_columns(results, after)
        check_same(found, every[every["trial_id"] > after].reset_index(drop=True))
        assert find_last_trial(results) == 32


def test_a_file_without_later_columns_has_them_empty(copied: Path) -> None:
    change_database(copied, "ALTER TABLE trial DROP COLUMN spurious_retransmission_ratio")
    with Results.open(copied) as results:
        assert read_trial_columns(results)["spurious_retransmission_ratio"].isna().all()


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE trial SET throughput_bits_per_s = 'fast'", "trial_id 9.*throughput"),
        ("UPDATE trial SET throughput_bits_per_s = 9e999", "trial_id 9.*throughput"),
        ("UPDATE trial SET streams = 1.5", "trial_id 9.*'streams'"),
        ("UPDATE trial SET failure = X'ff'", "trial_id 9.*'failure'"),
        ("UPDATE trial SET failure = CAST(X'ff' AS TEXT)", "trial_id 9.*'failure'"),
        ("UPDATE trial SET flags = '{}'", "trial_id 9.*'flags'"),
        ("UPDATE plan SET settings = '[]'", "row 9.*'settings'"),
        ("UPDATE plan SET settings = 7", "row 9.*'settings'"),
    ],
)
def test_a_damaged_value_is_named_with_its_row(copied: Path, statement: str, named: str) -> None:
    change_database(copied, f"{statement} WHERE {named.partition(' ')[0]} = 9")
    results = Results.open(copied)
    with pytest.raises(StoreError, match=named):
        read_plan_settings(results)
        read_trial_columns(results)
