"""Results files of the released format can be opened, and those of any other are refused by name.

``tests/data/results-format-1.db`` may lack the latest columns: those that may be empty can be added, any
other change of the tables needs a new format number.
"""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import sqlite3
from pathlib import Path

import pandas as pd
import pytest

import pathlab
from pathlab.errors import StoreError
from pathlab.store.archive import list_results
from pathlab.store.check import check_results
from pathlab.store.records import TrialRecord
from pathlab.store.results import Results
from pathlab.store.schema import FORMAT_VERSION, column_types
from tests.builders.series import make_intervals, make_raw
from tests.builders.stored import make_results

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A copy, so that no reader leaves its traces beside the committed file."""
    return Path(shutil.copy(DATA / f"results-format-{FORMAT_VERSION}.db", tmp_path / "results.db"))


def test_the_file_of_this_format_opens(stored: Path) -> None:
    with pathlab.open(stored.parent) as results:
        assert results.program_version == "0.1.0"
        assert (results.campaign.name, results.campaign.seed) == ("sample", 7)
        assert results.campaign.environment == {"lab": {"backend": "packet"}, "fallback": None}
        assert [row.settings["streams"] for row in results.plan()] == [4, 1]
        assert [host.facts for host in results.hosts()] == [{"kernel": "6.1", "cores": 2}]
        complete, failed = results.records()
        assert complete.received_steady_bytes == 9_007_199_254_740_993
        assert complete.throughput_bits_per_s == 38_612_345.678
        assert complete.flags == ("lab", "window-short")
        assert (failed.failed_stage, failed.failure) == ("connect", "connection refused")
        assert failed.throughput_bits_per_s is None
        assert [row.row for row in results.unfinished()] == [1]
        probes = results.series(1, "loaded_probes")
        assert probes["rtt_ns"].iloc[1] is pd.NA
        assert [int(probes["rtt_ns"].iloc[n]) for n in (0, 2)] == [40_000_001, 40_000_003]


def test_every_column_and_series_of_the_file_is_read(stored: Path) -> None:
    with pathlab.open(stored) as results:
        assert results.format_version == FORMAT_VERSION
        assert results.origins()[1].program == "iperf3"
        assert results.origins()[1].details == {"role": "client"}
        record = results.record(1)
        assert (record.throughput_reverse_bits_per_s, record.received_reverse_steady_bytes) == (
            28_000_002.25,
            7_000_001,
        )
        assert (record.retransmitted_steady_segments, record.undelivered_bytes) == (5, 5_000_003)
        assert (record.udp_sent_packets, record.udp_lost_packets) == (25_896, 97)
        assert record.udp_jitter_ns == 12_345.5
        names = [*column_types(TrialRecord)]
        messages = [name for name in names[names.index("messages_per_s") :] if name in list_columns(stored)]
        assert [getattr(record, name) for name in messages[:3]] == [1000.5, 1001.5, 1002]
        assert None not in [getattr(record, name) for name in messages]
        (interval,) = results.series_table(1, "round_trips").to_pylist()
        assert (interval["count"], interval["max_ns"], interval["histogram"][-4:]) == (
            5,
            1_000_003,
            b"\x04\xdf\x1b\x04",
        )
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


def list_columns(database: Path, table: str = "trial") -> dict[str, tuple[object, ...]]:
    """Type, emptiness and place in the key of each column of a table."""
    return {str(row[0]): row[1:] for row in describe_tables(database)[table] if len(row) > 4}


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


OTHER_VERSIONS = [
    ("ALTER TABLE trial DROP COLUMN warmup_ns", "table 'trial' has no column 'warmup_ns'", False),
    ("DROP TABLE journal", "no table 'journal'", False),
    ("ALTER TABLE host ADD COLUMN site TEXT NOT NULL DEFAULT ''", None, True),
    ("ALTER TABLE journal RENAME TO log", "no table 'journal'", False),
    (
        "DROP TABLE host; CREATE TABLE host(host_id INTEGER PRIMARY KEY, name TEXT NOT NULL, "
        "recorded_utc TEXT NOT NULL, facts TEXT NOT NULL, site TEXT NOT NULL)",
        "table 'host' needs the column 'site', which this version does not fill",
        True,
    ),
]


@pytest.mark.parametrize(("change", "fault", "write"), OTHER_VERSIONS)
def test_a_file_of_another_version_is_refused_by_name(
    stored: Path, change: str, fault: str | None, write: bool
) -> None:
    with contextlib.closing(sqlite3.connect(stored)) as connection:
        connection.execute("UPDATE meta SET value = '0.0.9' WHERE name = 'program_version'")
        connection.executescript(change)
        connection.commit()
    if write or fault is None:
        with pathlab.open(stored) as results:  # further columns hinder no reader
            assert len(results.records()) == 2
    if fault is None:
        Results.open(stored, write=True).close()
        return
    with pytest.raises(StoreError) as caught:
        Results.open(stored, write=write)
    assert f"results file '{stored}' was made by another version, PathLab 0.0.9: it" in str(caught.value)
    assert fault in str(caught.value)
    assert "damaged" not in str(caught.value)
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("Use it with the PathLab that made it; this one (")


@pytest.mark.parametrize("other", [FORMAT_VERSION + 1, FORMAT_VERSION - 1])
def test_another_format_is_refused_by_name(stored: Path, other: int, tmp_path: Path) -> None:
    connection = sqlite3.connect(stored)
    connection.execute("UPDATE meta SET value = ? WHERE name = 'format_version'", (str(other),))
    connection.execute("UPDATE meta SET value = '9.8' WHERE name = 'program_version'")
    connection.execute("DROP TABLE campaign")  # nothing but meta is read before the refusal
    connection.commit()
    connection.close()
    message = rf"has format {other}, written by PathLab 9\.8; this program reads format {FORMAT_VERSION}"
    with pytest.raises(StoreError, match=message) as caught:
        pathlab.open(stored)
    assert caught.value.hint == "Install PathLab 9.8 or newer."
    with pytest.raises(StoreError, match=message):
        check_results(stored)
    (listing,) = list_results(tmp_path)
    assert "this program reads format" in str(listing.problem)
    with make_results(tmp_path / "fresh"):  # an older or newer file beside others hinders none of them
        pass
    assert [one.problem is None for one in list_results(tmp_path)] == [False, True]
