"""Results on disk: one writer, and faults are named and lose nothing."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import sqlalchemy as sa

import pathlab
from pathlab.errors import StoreError
from pathlab.store.results import Results
from pathlab.store.series import encode_series
from tests.builders.series import make_probes
from tests.builders.stored import COMPLETE, FAILED, PLAN, change_database, make_results

WRITER = """
import sys
from pathlib import Path
from tests.builders.series import make_probes
from tests.builders.stored import COMPLETE, make_results
results = make_results(Path(sys.argv[1]))
print(results.add_trial(COMPLETE, {"loaded_probes": make_probes()}), flush=True)
sys.stdin.read()
"""


def test_a_folder_with_results_is_not_overwritten(tmp_path: Path) -> None:
    with make_results(tmp_path) as results:
        results.add_trial(COMPLETE, {})
    with pytest.raises(StoreError, match="already holds results"):
        make_results(tmp_path)
    with Results.open(tmp_path, write=True) as results:  # the refusal gave the lock back
        assert results.records() == [COMPLETE]


def test_what_a_killed_creation_left_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "results.db.new").write_bytes(b"half a file")
    with make_results(tmp_path) as results:
        assert results.plan() == list(PLAN)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["results.db", "results.lock"]


def test_a_second_writer_is_refused_and_a_reader_is_not(tmp_path: Path) -> None:
    with make_results(tmp_path) as results:
        with pytest.raises(StoreError, match=f"is being written by process {os.getpid()}$"):
            Results.open(tmp_path, write=True)
        with Results.open(tmp_path) as reader:
            results.add_trial(COMPLETE, {})
            assert reader.records() == [COMPLETE]
    with Results.open(tmp_path, write=True) as results:
        assert results.unfinished() == [PLAN[1]]


def test_a_writer_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(pathlab.__file__).parents[1],
    ) as writer:
        assert writer.stdout.readline() == "1\n"
        with pytest.raises(StoreError, match=f"process {writer.pid}$"):
            Results.open(folder, write=True)
        writer.send_signal(signal.SIGKILL)
        assert writer.wait(timeout=30) == -signal.SIGKILL
    with Results.open(folder, write=True) as results:
        assert results.records() == [COMPLETE]
        assert results.series_table(1, "loaded_probes").equals(make_probes())
        assert results.add_trial(FAILED, {}) == 2


def test_each_commit_is_synced_to_the_disk(tmp_path: Path) -> None:
    with make_results(tmp_path) as results, results._engine.connect() as connection:
        pragmas = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        ]
    assert pragmas == ["wal", 2, 1]


def test_a_full_disk_is_named_and_keeps_what_was_stored(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    drawn = pa.array(random.integers(0, 2**62, 200_000))
    bulk = pa.table({"sent_ns": drawn, "rtt_ns": drawn})
    with make_results(tmp_path) as results:
        results.add_trial(COMPLETE, {"loaded_probes": make_probes()})

        @sa.event.listens_for(results._engine, "connect")
        def _limit(connection: sqlite3.Connection, _record: object) -> None:
            connection.execute("PRAGMA max_page_count = 40")  # SQLite then finds no room, as on a full disk

        with pytest.raises(StoreError, match="the disk is full") as caught:
            results.add_trial(FAILED, {"loaded_probes": bulk})
        assert caught.value.exit_status == 5
    with Results.open(tmp_path) as results:
        assert results.records() == [COMPLETE]
        assert results.series_table(1, "loaded_probes").equals(make_probes())


def test_one_damaged_series_spoils_nothing_else(tmp_path: Path) -> None:
    """One bit of it, which its compression may not find."""
    with make_results(tmp_path) as results:
        results.add_trial(COMPLETE, {"loaded_probes": make_probes(), "unloaded_probes": make_probes(5)})
    blob = bytearray(encode_series("loaded_probes", make_probes()))
    blob[len(blob) // 2] ^= 1
    change_database(tmp_path, "UPDATE series SET blob = ? WHERE kind = 'loaded_probes'", bytes(blob))
    with Results.open(tmp_path) as results:
        with pytest.raises(StoreError, match=r"'loaded_probes' of trial 1 .* is damaged"):
            results.series(1, "loaded_probes")
        assert results.series_table(1, "unloaded_probes").equals(make_probes(5))
        assert results.records() == [COMPLETE]


def test_a_torn_file_is_named(tmp_path: Path) -> None:
    with make_results(tmp_path) as results:
        path = results.path
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * 10_000)
    with pytest.raises(StoreError, match="is damaged"):
        Results.open(tmp_path)
