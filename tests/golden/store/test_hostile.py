"""Results files that somebody made on purpose: each is named as damaged, by the check and by who reads it."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from pathlab.errors import StoreError
from pathlab.store.check import check_results
from pathlab.store.results import Results
from pathlab.store.series import encode_series
from tests.builders.stored import change_database, fill_results, replace_series
from tests.command_line import call
from tests.golden.conftest import Say, catch

KIND = "loaded_probes"  # any: the bytes do not name it
_ENDLESS = "WITH RECURSIVE t(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM t) SELECT x, 'a' FROM t"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with results in ``bad``, which is the working folder."""
    fill_results(tmp_path / "bad")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "bad"


@pytest.mark.parametrize(
    "statements",
    [
        ("DROP TABLE journal", f"CREATE VIEW journal AS {_ENDLESS}"),
        ("DROP TABLE series", f"CREATE VIEW Series(trial_id, kind) AS {_ENDLESS}"),
        ("CREATE TRIGGER act AFTER UPDATE ON trial BEGIN DELETE FROM plan; END",),
        ("DROP TABLE journal", "CREATE VIRTUAL TABLE journal USING fts5(text)"),
    ],
)
@pytest.mark.parametrize("words", [["results", "check", "bad"], ["results", "show", "bad"]], ids=" ".join)
def test_a_table_that_computes_is_refused(
    say: Say, statements: tuple[str, ...], words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for statement in statements:
        change_database(folder, statement)
    said = call(words, capsys)
    assert said.status == 5
    say(said.err)


@pytest.mark.parametrize(
    "update",
    [
        'UPDATE plan SET settings = \'{"streams": 1, "a": "\\ud800"}\'',
        "UPDATE trial SET flags = '[\"\\udc00\"]'",
    ],
)
def test_half_a_surrogate_pair_is_not_json(
    say: Say, update: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change_database(folder, update)
    said = call(["export", "bad", "--format", "csv", "--out", "csv"], capsys)
    assert said.status == 5
    say(said.err)
    say(check_results(folder).faults)


def test_json_of_many_levels_is_damaged(say: Say, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fill_results(folder.parent / "other")
    change_database(folder, "UPDATE campaign SET model = '" + '{"a":' * 900 + "1" + "}" * 900 + "'")
    said = call(["results", "merge", "other", "bad", "--out", "merged"], capsys)
    assert said.status == 5
    say(said.err)


def test_a_time_outside_the_calendar_is_none(
    say: Say, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change_database(folder, "UPDATE trial SET started_utc = '0001-01-01T00:00:00+14:00'")
    assert call(["results", "prune", "bad", "--failed", "--dry-run"], capsys).status == 0
    say(check_results(folder).faults)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("loaded_probes", lambda table: table.select(["rtt_ns"])),
        ("loaded_probes", lambda table: table.append_column("sent_ns", table["sent_ns"])),
        ("sender_intervals", lambda table: table.set_column(0, "index", pa.array(["x"] * len(table)))),
        ("sender_intervals", lambda table: table.set_column(0, "index", pa.nulls(len(table), pa.int64()))),
        ("loaded_probes", lambda table: table.append_column("x", pa.array([float("inf")] * len(table)))),
    ],
)
def test_a_series_without_the_columns_of_its_kind_is_damaged(
    say: Say, kind: str, change: Callable[[pa.Table], pa.Table], folder: Path
) -> None:
    replace_series(folder, kind, lambda table: encode_series(KIND, change(table)))
    say(check_results(folder).faults)
    with Results.open(folder) as results:
        say(catch(StoreError, results.series_table, 1, kind))


def test_two_campaigns_are_a_problem_of_that_file_alone(
    say: Say, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill_results(folder.parent / "good")
    change_database(folder, "INSERT INTO campaign SELECT * FROM campaign")
    said = call(["results", "list", "."], capsys)
    assert said.status == 0
    say(said.out)
