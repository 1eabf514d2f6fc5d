"""Results files of the released format can be opened, and those of any other are refused by name.

``tests/data/results-format-1.db`` may lack the latest columns: those that may be empty can be added, any
other change of the tables needs a new format number.
"""

import contextlib
import dataclasses
import shutil
import sqlite3
from pathlib import Path

import pytest

import pathlab
from pathlab.errors import StoreError
from pathlab.store.archive import list_results
from pathlab.store.check import check_results
from pathlab.store.results import Results
from pathlab.store.schema import FORMAT_VERSION
from tests.builders.series import make_intervals, make_raw
from tests.builders.stored import make_results

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A copy, so that no reader leaves its traces beside the committed file."""
    return Path(shutil.copy(DATA / f"results-format-{FORMAT_VERSION}.db", tmp_path / "results.db"))


def test_the_file_of_this_format_opens(stored: Path) -> None:
    """What it holds is in ``tests/golden/store``."""
    with pathlab.open(stored.parent) as results:
        assert (results.format_version, results.program_version) == (FORMAT_VERSION, "0.1.0")
        assert [row.row for row in results.unfinished()] == [1]
        base = make_intervals(2, 20)
        assert results.series_table(1, "sender_intervals").equals(base)
        assert results.series_table(1, "sender_tcp_info_raw").equals(make_raw(base))
    assert [path.name for path in stored.parent.glob("results*.db")] == ["results.db"]


def describe_tables(database: Path) -> dict[str, list[tuple[object, ...]]]:
    """Columns with type, emptiness and place in the key, and the columns of unique indexes, by table."""
    connection = sqlite3.connect(database)
    tables: dict[str, list[tuple[object, ...]]] = {}
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        tables[name] = [row[1:] for row in connection.execute(f"PRAGMA table_info({name})")]
        for index in connection.execute(f"PRAGMA index_list({name})").fetchall():
            tables[name].append(tuple(row[2] for row in connection.execute(f"PRAGMA index_info({index[1]})")))
    connection.close()
    return tables


def list_columns(database: Path) -> dict[str, tuple[object, ...]]:
    """Type, emptiness and place in the key of each column of the table of trials."""
    return {str(row[0]): row[1:] for row in describe_tables(database)["trial"] if len(row) > 4}


def test_the_file_lacks_only_columns_that_may_be_empty(stored: Path, tmp_path: Path) -> None:
    with make_results(tmp_path / "fresh") as fresh:
        pass
    old, new = describe_tables(stored), describe_tables(fresh.path)
    assert old.keys() == new.keys()
    for table in new:
        assert set(old[table]) <= set(new[table])
        for name, _type, needed, default, key in set(new[table]) - set(old[table]):
            assert (needed, default, key) == (0, None, 0), name


ADDED = ["datagram_bytes", "udp_received_packets"]


@pytest.fixture
def older(stored: Path) -> Path:
    """The file as a program without ``ADDED`` would have made it."""
    with contextlib.closing(sqlite3.connect(stored)) as connection:
        for name in set(ADDED) & list_columns(stored).keys():
            connection.execute(f"ALTER TABLE trial DROP COLUMN {name}")
        connection.commit()
    return stored


def test_missing_columns_are_empty_and_reading_adds_none(older: Path) -> None:
    before = older.read_bytes()
    with pathlab.open(older) as results:
        assert {getattr(record, name) for record in results.records() for name in ADDED} == {None}
        assert results.trials()[ADDED].isna().all(axis=None)
        assert results.trials(udp_received_packets=None)["trial_id"].tolist() == [1, 2]
    assert check_results(older).faults == ()
    assert older.read_bytes() == before


def test_a_file_opened_for_writing_gets_the_missing_columns(older: Path, tmp_path: Path) -> None:
    with make_results(tmp_path / "fresh") as fresh:
        pass
    with Results.open(older, write=True) as results:
        old = results.records()
        again = dataclasses.replace(old[1], attempt=2, udp_received_packets=5)
        number = results.add_trial(again, {})
    with pathlab.open(older) as results:
        assert results.records()[:-1] == old
        assert results.record(number) == again
    assert list_columns(older) == list_columns(fresh.path)
    assert check_results(older).faults == ()


#: A change that another version made to a table, and the table and column that the refusal names.
OTHER_VERSIONS = [
    ("ALTER TABLE trial DROP COLUMN warmup_ns", ("trial", "warmup_ns"), False),
    ("DROP TABLE journal", ("journal",), False),
    ("ALTER TABLE journal RENAME TO log", ("journal",), False),
    (
        "DROP TABLE host; CREATE TABLE host(host_id, name, recorded_utc, facts, site NOT NULL)",
        ("host", "site"),
        True,
    ),
]


@pytest.mark.parametrize(("change", "named", "write"), OTHER_VERSIONS)
def test_a_file_of_another_version_is_refused_by_name(
    stored: Path, change: str, named: tuple[str, ...], write: bool
) -> None:
    with contextlib.closing(sqlite3.connect(stored)) as connection:
        connection.executescript(f"UPDATE meta SET value = '0.0.9' WHERE name = 'program_version'; {change}")
    if write:
        with pathlab.open(stored) as results:  # a further column hinders no reader
            assert len(results.records()) == 2
    with pytest.raises(StoreError, match=r"made by another version, PathLab 0\.0\.9") as caught:
        Results.open(stored, write=write)
    assert all(f"'{name}'" in str(caught.value) for name in named)
    assert "damaged" not in str(caught.value)
    assert caught.value.hint is not None


def test_a_further_column_that_may_be_left_out_hinders_nobody(stored: Path) -> None:
    with contextlib.closing(sqlite3.connect(stored)) as connection, connection:
        connection.execute("ALTER TABLE host ADD COLUMN site TEXT NOT NULL DEFAULT ''")
    with pathlab.open(stored) as results:
        assert len(results.records()) == 2
    Results.open(stored, write=True).close()


@pytest.mark.parametrize("other", [FORMAT_VERSION + 1, FORMAT_VERSION - 1])
def test_another_format_is_refused_by_name(stored: Path, other: int, tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(stored)) as connection, connection:
        connection.execute("UPDATE meta SET value = ? WHERE name = 'format_version'", (str(other),))
        connection.execute("UPDATE meta SET value = '9.8' WHERE name = 'program_version'")
        connection.execute("DROP TABLE campaign")  # nothing but meta is read before the refusal
    for read in (pathlab.open, check_results):
        with pytest.raises(
            StoreError, match=rf"format {other}, .* 9\.8; .* format {FORMAT_VERSION}$"
        ) as caught:
            read(stored)
        assert "9.8" in str(caught.value.hint)
    with make_results(tmp_path / "fresh"):  # an older or newer file beside others hinders none of them
        pass
    assert [one.problem is None for one in list_results(tmp_path)] == [False, True]
