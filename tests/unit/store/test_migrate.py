"""Older formats are upgraded step by step, newer ones refused; the steps here are made for the tests."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa

from pathlab.errors import StoreError
from pathlab.store.database import needs_upgrade, open_engine, read_meta, upgrade_database
from pathlab.store.migrate import check_format
from pathlab.store.results import Results
from pathlab.store.schema import FORMAT_VERSION
from tests.unit.store.store_samples import COMPLETE, make_results


def rename_title(connection: sa.Connection) -> None:
    connection.exec_driver_sql("ALTER TABLE campaign RENAME COLUMN title TO heading")


def add_colour(connection: sa.Connection) -> None:
    connection.exec_driver_sql("ALTER TABLE trial ADD COLUMN colour TEXT")


def do_nothing(connection: sa.Connection) -> None:
    pass


def fail_half_way(connection: sa.Connection) -> None:
    connection.exec_driver_sql("ALTER TABLE trial ADD COLUMN shade TEXT")
    connection.exec_driver_sql("SELECT no_such_column FROM trial")


def make_file(folder: Path) -> Path:
    with make_results(folder) as results:
        results.add_trial(COMPLETE, {})
        return results.path


def columns_of(path: Path, table: str) -> list[str]:
    connection = sqlite3.connect(path)
    names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    connection.close()
    return names


def format_of(path: Path) -> str:
    return read_meta(open_engine(path, write=False), path)["format_version"]


def test_steps_run_in_order_and_the_old_file_is_kept(tmp_path: Path) -> None:
    path = make_file(tmp_path)
    set_format(path, "1")
    copy = upgrade_database(path, 1, wanted=3, steps={2: add_colour, 1: rename_title})
    assert format_of(path) == "3"
    assert "heading" in columns_of(path, "campaign")
    assert "colour" in columns_of(path, "trial")
    assert copy.name == "results.format-1.db"
    assert format_of(copy) == "1"
    assert "colour" not in columns_of(copy, "trial")
    set_format(copy, str(FORMAT_VERSION))
    with Results.open(copy) as old:
        assert old.records() == [COMPLETE]


def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = make_file(tmp_path)
    set_format(path, "1")
    with pytest.raises(StoreError, match="no_such_column"):
        upgrade_database(path, 1, wanted=3, steps={1: add_colour, 2: fail_half_way})
    assert format_of(path) == "1"
    assert not {"colour", "shade"} & set(columns_of(path, "trial"))
    set_format(path, str(FORMAT_VERSION))
    with Results.open(path) as results:
        assert results.records() == [COMPLETE]


def test_a_missing_step_means_too_old(tmp_path: Path) -> None:
    path = make_file(tmp_path)
    with pytest.raises(
        StoreError, match="has format 1, and this program cannot upgrade from format 2"
    ) as caught:
        upgrade_database(path, 1, wanted=3, steps={1: add_colour})
    assert "older PathLab" in str(caught.value.hint)
    assert "colour" not in columns_of(path, "trial")


def set_format(path: Path, version: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE meta SET value = ? WHERE name = 'format_version'", (version,))
    connection.commit()
    connection.close()


@pytest.mark.parametrize("write", [False, True])
def test_opening_an_older_file_upgrades_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: bool
) -> None:
    path = make_file(tmp_path)
    connection = sqlite3.connect(path)
    connection.execute("ALTER TABLE campaign RENAME COLUMN title TO heading")
    connection.commit()
    connection.close()
    set_format(path, "0")

    def rename_back(connection: sa.Connection) -> None:
        connection.exec_driver_sql("ALTER TABLE campaign RENAME COLUMN heading TO title")

    def upgrade_from_0(database: Path, found: int) -> Path:
        steps = {0: rename_back, **dict.fromkeys(range(1, FORMAT_VERSION), do_nothing)}
        return upgrade_database(database, found, steps=steps)

    monkeypatch.setattr("pathlab.store.database.upgrade_database", upgrade_from_0)
    with Results.open(tmp_path, write=write) as results:
        assert results.format_version == FORMAT_VERSION
        assert results.records() == [COMPLETE]
    assert (tmp_path / "results.format-0.db").exists()


def test_an_older_file_without_a_step_is_too_old(tmp_path: Path) -> None:
    path = make_file(tmp_path)
    set_format(path, "0")
    with pytest.raises(StoreError, match="has format 0, and this program cannot upgrade"):
        Results.open(tmp_path)
    set_format(path, str(FORMAT_VERSION))
    with Results.open(tmp_path, write=True) as results:  # the refusal gave the lock back
        assert results.records() == [COMPLETE]


def test_a_newer_format_names_both_numbers_and_the_writer() -> None:
    with pytest.raises(
        StoreError, match=r"format 7, written by PathLab 3\.1; this program reads up to format 2"
    ):
        check_format(7, "3.1", wanted=2)
    assert check_format(2, "1.0", wanted=2) is False
    assert needs_upgrade({"format_version": "1"}, wanted=2) is True
