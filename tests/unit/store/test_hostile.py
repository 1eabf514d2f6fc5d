"""Results files that somebody made on purpose: each is named as damaged, by the check and by who reads it."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from pathlab.errors import StoreError
from pathlab.store.check import check_results
from pathlab.store.results import Results
from pathlab.store.series import decode_series, encode_series
from tests.builders.stored import fill_results
from tests.command_line import call

KIND = "loaded_probes"  # any: the bytes do not name it
_ENDLESS = "WITH RECURSIVE t(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM t) SELECT x, 'a' FROM t"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with results in ``bad``, which is the working folder."""
    fill_results(tmp_path / "bad")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "bad"


def execute(folder: Path, *statements: str) -> None:
    connection = sqlite3.connect(folder / "results.db")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def replace_series(folder: Path, kind: str, change: Callable[[pa.Table], bytes]) -> None:
    """Put other bytes in the place of a series, with their digest."""
    connection = sqlite3.connect(folder / "results.db")
    (blob,) = connection.execute("SELECT blob FROM series WHERE kind = ?", (kind,)).fetchone()
    changed = change(decode_series(kind, blob))
    row = (changed, hashlib.sha256(changed).hexdigest(), kind)
    connection.execute("UPDATE series SET blob = ?, sha256 = ? WHERE kind = ?", row)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("statements", "word"),
    [
        (("DROP TABLE journal", f"CREATE VIEW journal AS {_ENDLESS}"), "view 'journal'"),
        (("DROP TABLE series", f"CREATE VIEW Series(trial_id, kind) AS {_ENDLESS}"), "view 'Series'"),
        (("CREATE TRIGGER act AFTER UPDATE ON trial BEGIN DELETE FROM plan; END",), "trigger 'act'"),
        (("DROP TABLE journal", "CREATE VIRTUAL TABLE journal USING fts5(text)"), "virtual table 'journal'"),
    ],
)
@pytest.mark.parametrize("words", [["results", "check", "bad"], ["results", "show", "bad"]], ids=" ".join)
def test_a_table_that_computes_is_refused(
    statements: tuple[str, ...],
    word: str,
    words: list[str],
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    execute(folder, *statements)
    said = call(words, capsys)
    assert said.status == 5
    assert f"its schema holds the {word}" in said.err


@pytest.mark.parametrize(
    ("update", "place"),
    [
        ('UPDATE plan SET settings = \'{"streams": 1, "a": "\\ud800"}\'', "column 'settings' is not JSON"),
        ("UPDATE trial SET flags = '[\"\\udc00\"]'", "column 'flags' is not JSON"),
    ],
)
def test_half_a_surrogate_pair_is_not_json(
    update: str, place: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(folder, update)
    said = call(["export", "bad", "--format", "csv", "--out", "csv"], capsys)
    assert (said.status, place in said.err) == (5, True)
    assert any(place in fault for fault in check_results(folder).faults)


def test_json_of_many_levels_is_damaged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fill_results(folder.parent / "other")
    execute(folder, "UPDATE campaign SET model = '" + '{"a":' * 900 + "1" + "}" * 900 + "'")
    said = call(["results", "merge", "other", "bad", "--out", "merged"], capsys)
    assert (said.status, "column 'model' is nested too deeply" in said.err) == (5, True)


def test_a_whole_surrogate_pair_is_text(folder: Path) -> None:
    execute(folder, "UPDATE trial SET flags = '[\"\\ud83d\\ude00\"]'")
    assert check_results(folder).faults == ()


def test_a_time_outside_the_calendar_is_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    execute(folder, "UPDATE trial SET started_utc = '0001-01-01T00:00:00+14:00'")
    assert call(["results", "prune", "bad", "--failed", "--dry-run"], capsys).status == 0
    assert any("column 'started_utc' holds no time" in fault for fault in check_results(folder).faults)


@pytest.mark.parametrize(
    ("kind", "change", "fault"),
    [
        (
            "loaded_probes",
            lambda table: encode_series(KIND, table.select(["rtt_ns"])),
            "column 'sent_ns' is not there",
        ),
        (
            "loaded_probes",
            lambda table: encode_series(KIND, table.append_column("sent_ns", table["sent_ns"])),
            "series 'loaded_probes' is damaged",
        ),
        (
            "sender_intervals",
            lambda table: encode_series(KIND, table.set_column(0, "index", pa.array(["x"] * table.num_rows))),
            "column 'index' is of the type string",
        ),
        (
            "sender_intervals",
            lambda table: encode_series(
                KIND, table.set_column(0, "index", pa.nulls(table.num_rows, pa.int64()))
            ),
            "column 'index' has rows without a value",
        ),
        (
            "loaded_probes",
            lambda table: encode_series(
                KIND, table.append_column("x", pa.array([float("inf")] * table.num_rows))
            ),
            "column 'x' holds an infinite number",
        ),
    ],
)
def test_a_series_without_the_columns_of_its_kind_is_damaged(
    kind: str, change: Callable[[pa.Table], bytes], fault: str, folder: Path
) -> None:
    replace_series(folder, kind, change)
    assert any(f"series '{kind}' of trial 1: {fault}" in found for found in check_results(folder).faults)
    with Results.open(folder) as results, pytest.raises(StoreError, match=fault):
        results.series_table(1, kind)


@pytest.mark.parametrize("dropped", ["phase", "bytes"])
@pytest.mark.parametrize("kind", ["sender_intervals", "receiver_intervals"])
def test_intervals_without_counts_are_left_out(
    kind: str, dropped: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replace_series(folder, kind, lambda table: encode_series(KIND, table.drop_columns([dropped])))
    for form in ("iperf3", "flent", "hdr"):
        assert call(["export", "bad", "--format", form, "--out", form], capsys).status == 0
    assert call(["report", "bad", "--format", "md", "--out", "report.md"], capsys).status == 0
    assert check_results(folder).faults == ()


def test_two_campaigns_are_a_problem_of_that_file_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill_results(folder.parent / "good")
    execute(folder, "INSERT INTO campaign SELECT * FROM campaign")
    said = call(["results", "list", "."], capsys)
    assert (said.status, "it holds 2 campaigns" in said.out + said.err, "good" in said.out) == (0, True, True)


def test_intervals_of_no_length_are_exported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    execute(folder, "UPDATE trial SET interval_ns = 0")
    assert call(["export", "bad", "--format", "flent", "--out", "flent"], capsys).status == 0
