"""Results files of every format that was ever released can be opened, and newer ones are refused by name.

Each ``tests/data/results-format-N.db`` was written once by the PathLab of its time and is never made again:
a change of the tables needs a new format number, a step in ``pathlab.store.migrate`` and a file of its own.
"""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pandas as pd
import pytest

import pathlab
from pathlab.errors import StoreError
from pathlab.store.check import check_results
from pathlab.store.schema import FORMAT_VERSION
from tests.unit.store.series_samples import make_intervals, make_raw
from tests.unit.store.store_samples import make_results

DATA = Path(__file__).parents[1] / "data"
FORMATS = range(1, FORMAT_VERSION + 1)


@pytest.fixture(params=FORMATS, ids=lambda number: f"format-{number}")
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy, so that no reader leaves its traces beside the committed file."""
    return Path(shutil.copy(DATA / f"results-format-{request.param}.db", tmp_path / "results.db"))


def test_a_file_of_every_format_opens(stored: Path) -> None:
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


def test_an_upgraded_file_has_the_tables_of_a_fresh_one(stored: Path, tmp_path: Path) -> None:
    with pathlab.open(stored):
        pass
    with make_results(tmp_path / "fresh") as fresh:
        pass
    assert describe_tables(stored) == describe_tables(fresh.path)
    assert check_results(stored).faults == ()


def test_the_newest_sample_is_of_this_format_and_keeps_its_origin(tmp_path: Path) -> None:
    newest = Path(shutil.copy(DATA / f"results-format-{FORMAT_VERSION}.db", tmp_path / "results.db"))
    before = describe_tables(newest)
    with pathlab.open(newest) as results:
        assert results.format_version == FORMAT_VERSION
        assert results.origins()[1].program == "iperf3"
        assert results.origins()[1].details == {"role": "client"}
    assert describe_tables(newest) == before
    assert [path.name for path in tmp_path.glob("results*.db")] == ["results.db"]


def test_the_newest_sample_keeps_its_series_packed(tmp_path: Path) -> None:
    newest = Path(shutil.copy(DATA / f"results-format-{FORMAT_VERSION}.db", tmp_path / "results.db"))
    with pathlab.open(newest) as results:
        assert results.record(1).throughput_back_bits_per_s == 28_000_002.25
        assert results.record(1).received_back_steady_bytes == 7_000_001
        base = make_intervals(2, 20)
        assert results.series_table(1, "sender_intervals").equals(base)
        assert results.series_table(1, "sender_tcp_info_raw").equals(make_raw(base))


def test_what_came_back_was_not_measured_before_format_3(tmp_path: Path) -> None:
    older = Path(shutil.copy(DATA / "results-format-2.db", tmp_path / "results.db"))
    with pathlab.open(older) as results:
        trials = results.trials()
        assert trials["throughput_back_bits_per_s"].isna().all()
        assert trials["received_back_steady_bytes"].isna().all()


def test_undelivered_bytes_were_not_stored_before_format_5(tmp_path: Path) -> None:
    for number, stored_bytes in ((4, None), (5, 5_000_003)):
        folder = tmp_path / str(number)
        folder.mkdir()
        shutil.copy(DATA / f"results-format-{number}.db", folder / "results.db")
        with pathlab.open(folder) as results:
            assert results.record(1).undelivered_bytes == stored_bytes


def test_a_newer_format_is_refused_by_name(stored: Path) -> None:
    newer = FORMAT_VERSION + 1
    connection = sqlite3.connect(stored)
    connection.execute("UPDATE meta SET value = ? WHERE name = 'format_version'", (str(newer),))
    connection.execute("UPDATE meta SET value = '9.8' WHERE name = 'program_version'")
    connection.execute("DROP TABLE campaign")  # nothing but meta is read before the refusal
    connection.commit()
    connection.close()
    reads = f"this program reads up to format {FORMAT_VERSION}"
    with pytest.raises(StoreError, match=rf"has format {newer}, written by PathLab 9\.8; {reads}") as caught:
        pathlab.open(stored)
    assert caught.value.hint == "Install PathLab 9.8 or newer."


def test_format_4_keeps_what_udp_lost_and_what_was_sent_again_in_the_steady_window(tmp_path: Path) -> None:
    newest = Path(shutil.copy(DATA / f"results-format-{FORMAT_VERSION}.db", tmp_path / "results.db"))
    with pathlab.open(newest) as results:
        record = results.record(1)
        assert record.retransmitted_steady_segments == 5
        assert (record.udp_sent_packets, record.udp_lost_packets) == (25_896, 97)
        assert record.udp_jitter_ns == 12_345.5


def test_they_were_not_measured_before_format_4(tmp_path: Path) -> None:
    older = Path(shutil.copy(DATA / "results-format-3.db", tmp_path / "results.db"))
    with pathlab.open(older) as results:
        trials = results.trials()
        for name in (
            "retransmitted_steady_segments",
            "udp_sent_packets",
            "udp_lost_packets",
            "udp_jitter_ns",
        ):
            assert trials[name].isna().all()
