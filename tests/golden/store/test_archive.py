"""Results among results: listed as they are, merged whole, thinned out on request, checked for damage."""

import os
import sqlite3
from pathlib import Path

import pytest

from pathlab.errors import StoreError
from pathlab.store.archive import list_results
from pathlab.store.check import check_results
from tests.builders.stored import change_database, fill_results
from tests.golden.conftest import Say, catch


def test_a_listing_names_what_reads_and_why_others_do_not(say: Say, tmp_path: Path) -> None:
    fill_results(tmp_path / "good")
    fill_results(tmp_path / "deep" / "er")
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "results.db").write_text("hello")
    fill_results(tmp_path / "newer")
    change_database(tmp_path / "newer", "UPDATE meta SET value = '99' WHERE name = 'format_version'")
    (tmp_path / "other").mkdir()
    sqlite3.connect(tmp_path / "other" / "results.db").close()
    fill_results(tmp_path / "too" / "deep" / "down")
    listings = {one.path.relative_to(tmp_path).as_posix(): one for one in list_results(tmp_path)}
    assert set(listings) == {"good", "deep/er", "text", "newer", "other"}
    good = listings["good"]
    assert (good.name, good.planned, good.complete, good.failed) == ("sample", 2, 2, 1)
    assert good.problem is None
    say(str(listings["newer"].problem))
    say(str(listings["text"].problem))
    say(str(listings["other"].problem))


def test_where_nothing_may_be_written_results_are_checked_and_closed_folders_are_named(
    say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_results(tmp_path / "stored")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert check_results(tmp_path / "stored").faults == ()
    problems = [one.problem for one in list_results(tmp_path) if one.problem is not None]
    say(problems)


def test_no_folder_is_one_line(say: Say, tmp_path: Path) -> None:
    say(catch(StoreError, list_results, tmp_path / "none"))
    assert list_results(tmp_path) == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE series SET blob = x'00' WHERE kind = 'loaded_probes'",
        "UPDATE series SET rows = 7 WHERE kind = 'loaded_probes'",
        "UPDATE series SET blob = x'41', sha256 = "
        "'559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd' WHERE kind = 'loaded_probes'",
        "UPDATE trial SET throughput_bits_per_s = 'fast' WHERE trial_id = 1",
        "UPDATE trial SET cycle = 5 WHERE trial_id = 2",
        "DELETE FROM plan WHERE row = 1",
        "DELETE FROM trial WHERE trial_id = 3",
        "UPDATE plan SET row = 5 WHERE row = 0",
        "UPDATE trial SET status = 'complete' WHERE trial_id = 2",
        "UPDATE plan SET settings = '{\"a\":' WHERE row = 1",
        "UPDATE plan SET settings = 'NaN'",
        "UPDATE host SET facts = '[1]'",
        "UPDATE campaign SET environment = x'ff'",
        "UPDATE campaign SET environment = '{\"lab\": 3}'",
        'UPDATE campaign SET environment = \'{"lab": {"links": [{"between": 7}]}}\'',
        'UPDATE campaign SET environment = \'{"lab": {"links": [{"delay_ns": "x"}]}}\'',
        "UPDATE campaign SET title = CAST(x'41ff' AS TEXT)",
        "UPDATE trial SET streams = 'many' WHERE trial_id = 2",
        "UPDATE trial SET throughput_bits_per_s = 9e999 WHERE trial_id = 1",
        "UPDATE trial SET loaded_sent = -1 WHERE trial_id = 1",
        "UPDATE trial SET started_utc = 'then' WHERE trial_id = 1",
        "UPDATE trial SET flags = '[1]' WHERE trial_id = 1",
    ],
)
def test_each_kind_of_damage_is_named_with_its_place(say: Say, tmp_path: Path, statement: str) -> None:
    folder = change_database(fill_results(tmp_path / "stored"), statement)
    say(check_results(folder).faults)
