"""Results files at a glance: counts, and the fault of those that cannot be read."""

import sqlite3
from pathlib import Path

import pytest

from pathlab.store.location import HEADER
from pathlab.store.records import JournalRecord
from pathlab.store.results import Results
from pathlab.store.summary import ResultsFault, read_summary
from tests.builders.stored import CAMPAIGN, change_database, fill_results


def test_a_summary_counts_rows_and_trials(tmp_path: Path) -> None:
    fill_results(tmp_path)
    entry = JournalRecord(
        recorded_utc="2026-01-02T03:04:05Z", kind="ended", plan_row=None, text="x", facts={"missing": 0}
    )
    with Results.open(tmp_path, write=True) as results:
        results.add_journal(entry)
        planned, left = len(results.plan()), len(results.unfinished())
        trials = len(results.records())
    found = read_summary(tmp_path)
    for name in ("name", "digest", "created_utc"):
        assert getattr(found, name) == getattr(CAMPAIGN, name)
    assert (found.planned, found.without_result, found.complete, found.failed) == (planned, left, 2, 1)
    assert found.trials == trials == 3
    assert (found.last_entry, found.fault, found.problem) == (entry, None, None)
    assert read_summary(tmp_path / "results.db") == found


FAULTS = {
    "UPDATE meta SET value = '99' WHERE name = 'format_version'": (ResultsFault.NEWER, "has format 99"),
    "UPDATE meta SET value = '0' WHERE name = 'format_version'": (ResultsFault.OLDER, "has format 0"),
    "DELETE FROM meta": (ResultsFault.FOREIGN, "is not a PathLab results file"),
    "PRAGMA application_id = 1": (ResultsFault.FOREIGN, "is not a PathLab results file"),
    "DELETE FROM campaign": (ResultsFault.DAMAGED, "it holds no campaign"),
    "INSERT INTO campaign SELECT * FROM campaign": (ResultsFault.DAMAGED, "it holds 2 campaigns"),
    "UPDATE campaign SET name = x'ff'": (ResultsFault.DAMAGED, "a text of its campaign is not text"),
    "UPDATE campaign SET title = CAST(x'ff' AS TEXT)": (ResultsFault.DAMAGED, "is not UTF-8"),
    "DROP TABLE journal": (ResultsFault.DAMAGED, "no such table: journal"),
    "INSERT INTO journal VALUES (99, '', '', NULL, '', '{')": (ResultsFault.DAMAGED, "its journal cannot be"),
}


@pytest.mark.parametrize("statement", FAULTS)
def test_a_file_that_cannot_be_read_is_named_with_its_fault(statement: str, tmp_path: Path) -> None:
    found = read_summary(change_database(fill_results(tmp_path), statement))
    fault, part = FAULTS[statement]
    assert found.fault == fault, found.problem
    assert part in str(found.problem)
    assert str(tmp_path) in str(found.problem)


def test_what_is_no_database_or_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "results.db").write_bytes(HEADER + b"\xff" * 5000)
    assert read_summary(tmp_path).fault in (ResultsFault.DAMAGED, ResultsFault.FOREIGN)
    (tmp_path / "results.db").write_text("hello", encoding="utf-8")
    assert read_summary(tmp_path).fault == ResultsFault.FOREIGN
    (tmp_path / "results.db").unlink()
    found = read_summary(tmp_path)
    assert found.fault == ResultsFault.UNREADABLE
    assert "does not exist" in str(read_summary(tmp_path / "none").problem)


def test_a_file_in_exclusive_use_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill_results(tmp_path)
    monkeypatch.setattr("pathlab.store.database.BUSY_TIMEOUT_S", 0)
    other = sqlite3.connect(tmp_path / "results.db", isolation_level=None)
    other.execute("PRAGMA journal_mode = DELETE")
    other.execute("BEGIN EXCLUSIVE")
    found = read_summary(tmp_path)
    other.close()
    assert found.fault == ResultsFault.LOCKED
    assert read_summary(tmp_path).fault is None
