"""Trials of results as columns: values, levels, what counts, several results, results that grow."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pathlab.errors import StoreError
from pathlab.store.results import Results
from pathlab.study.analyses import Study
from pathlab.study.exploration.explored_results import ExploredResults
from tests.builders.explored import make_explored
from tests.builders.results import SyntheticResults, make_quickstart, write_results
from tests.builders.trials import make_trial


def explore(*results: SyntheticResults) -> ExploredResults:
    return ExploredResults.of(*(Study(one) for one in results))


def set_plan(source: SyntheticResults, **levels: Sequence[Any]) -> SyntheticResults:
    """The same results, of which the rows of the plan have these levels in turn."""
    plan = [
        replace(
            row, settings={**row.settings, **{name: given[n % len(given)] for name, given in levels.items()}}
        )
        for n, row in enumerate(source.plan())
    ]
    return source.copy(plan=plan)


def test_one_row_has_the_values_of_its_columns() -> None:
    found = explore(make_explored(cycles=1), make_quickstart(cycles=1))
    for row in range(0, len(found), 3):
        expected = {}
        for column in found.columns:
            if column.is_numeric:
                expected[column.name] = found.numbers(column.name)[row]
            elif column.kind != "flags":
                code = found.codes(column.name)[row]
                expected[column.name] = None if code < 0 else found.levels(column.name)[code]
        known = {name: value for name, value in expected.items() if value is not None and value == value}
        assert found.read_row(row) == known
    with pytest.raises(IndexError):
        found.read_row(len(found))


def test_control_trials_are_no_part_of_a_median() -> None:
    found = explore(set_plan(make_quickstart(cycles=1), control=[True, *[False] * 7]))
    assert found.counted.tolist() == [False, *[True] * 7]
    assert found.reasons == ("control",)
    assert found.column("control").role == "condition"


def test_autotuned_windows_have_no_number_and_say_so() -> None:
    found = explore(make_quickstart(cycles=1, levels=[(1, 65536), (1, None)]))
    assert sorted(map(str, found.numbers("window_bytes"))) == ["65536.0", "nan"]
    assert found.column("window_bytes").missing_label == "auto"


def test_a_plan_without_trials_has_its_factors_and_main_measures(tmp_path: Path) -> None:
    source = make_quickstart(cycles=1)
    source.records = []
    found = ExploredResults.open([write_results(source, tmp_path / "new")])
    assert len(found) == 0
    assert found.column("streams").level_count == 4
    assert "throughput_bits_per_s" in found


def test_of_several_results_a_damaged_one_is_named(tmp_path: Path) -> None:
    good, bad = (write_results(make_quickstart(cycles=1), tmp_path / name) for name in ("good", "bad"))
    content = (bad / "results.db").read_bytes()
    (bad / "results.db").write_bytes(content[:4096] + bytes(len(content) - 4096))
    found = ExploredResults.open([good, bad])
    assert len(found) == 8
    with pytest.raises(StoreError):
        ExploredResults.open([bad])
    with pytest.raises(StoreError):
        ExploredResults.open([good, tmp_path / "missing"])


def test_more_flags_than_bits_share_the_last_one() -> None:
    source = make_quickstart(cycles=1, levels=[(1, 65536)] * 2)
    names = tuple(f"further-{number:03d}" for number in range(70))
    source.records[0] = replace(make_trial(1, 65536, cycle=0, row=0), flags=names)
    source.records[1] = replace(make_trial(1, 65536, cycle=0, row=1), flags=("common",))
    found = explore(source)
    assert len(found.flags) == 64
    assert found.flags[-1] == "other flags"
    assert int(found.flag_bits[0]).bit_count() >= 63
    assert int(found.flag_bits[1]).bit_count() == 1


def test_results_that_are_damaged_later_keep_the_trials_that_were_read(tmp_path: Path) -> None:
    folder = write_results(make_quickstart(cycles=1), tmp_path / "results")
    found = ExploredResults.open([folder])
    (folder / "results.db").write_bytes(b"SQLite format 3\x00" + bytes(4096))
    assert found.refresh() == 0
    assert len(found) == 8


def test_results_that_are_written_say_so_until_they_are_done(tmp_path: Path) -> None:
    folder = write_results(make_quickstart(cycles=1), tmp_path / "results")
    with Results.open(folder, write=True):
        found = ExploredResults.open([folder])
        assert found.sources[0].notes[0].startswith("being written")
    found.refresh()
    assert not any(note.startswith("being written") for note in found.sources[0].notes)


def test_trials_that_came_one_by_one_are_those_read_at_once(tmp_path: Path) -> None:
    sources = [make_explored(cycles=1, hostile=True), make_explored(cycles=1, seed=3)]
    sources[1] = set_plan(sources[1], no_delay=[True])
    every = [source.records for source in sources]
    folders = []
    for place, source in enumerate(sources):
        source.records = []
        folders.append(write_results(source, tmp_path / str(place)))
    found = ExploredResults.open(folders)
    assert (found.refresh(), found.sources[0].planned, found.sources[0].trials) == (0, 16, 0)
    with Results.open(folders[0], write=True) as first, Results.open(folders[1], write=True) as second:
        for one, other in zip(*every, strict=True):
            first.add_trial(one, {})
            second.add_trial(other, {})
            assert found.refresh() == 2
    whole = ExploredResults.open(folders)
    assert found.refresh() == 0
    assert (found.columns, found.sources) == (whole.columns, whole.sources)
    rows = np.argsort(found.codes("results"), kind="stable")
    for column in whole.columns:
        if column.is_numeric:
            np.testing.assert_array_equal(found.numbers(column.name)[rows], whole.numbers(column.name))
        elif column.kind == "category":
            assert found.levels(column.name) == whole.levels(column.name)
            np.testing.assert_array_equal(found.codes(column.name)[rows], whole.codes(column.name))
    np.testing.assert_array_equal(found.flag_bits[rows], whole.flag_bits)
    np.testing.assert_array_equal(found.reason_codes[rows], whole.reason_codes)
    assert (found.flags, found.reasons, found.sources[0].trials) == (whole.flags, whole.reasons, 16)


def test_a_factor_of_numbers_here_and_texts_there_has_texts() -> None:
    source = make_quickstart(cycles=1, levels=[(1, 65536), (2, 65536)])
    found = explore(*(set_plan(source, test_parameters=levels) for levels in ((1, 2.5), ("none", "2.5"))))
    assert found.column("test_parameters").kind == "category"
    assert found.levels("test_parameters") == ("1", "2.5", "none")
    assert found.codes("test_parameters").tolist() == [0, 1, 2, 1]
