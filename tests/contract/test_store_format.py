"""Results files of every format that was ever released can be opened, and newer ones are refused by name.

``tests/data/results-format-1.db`` was written once by PathLab 0.1.0 and is never made again: a change of the
tables needs a new format number, a step in ``pathlab.store.migrate`` and a file of its own here.
"""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pandas as pd
import pytest

import pathlab
from pathlab.errors import StoreError
from pathlab.store.schema import FORMAT_VERSION, METADATA

FORMAT_1 = Path(__file__).parents[1] / "data" / "results-format-1.db"


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A copy, so that no reader leaves its traces beside the committed file."""
    return Path(shutil.copy(FORMAT_1, tmp_path / "results.db"))


def test_a_file_of_format_1_opens(stored: Path) -> None:
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


def test_the_tables_of_format_1_are_still_those_of_the_records(stored: Path) -> None:
    assert FORMAT_VERSION == 1
    connection = sqlite3.connect(stored)
    written = {
        name: [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    }
    connection.close()
    assert written == {table.name: list(table.columns.keys()) for table in METADATA.sorted_tables}


def test_a_newer_format_is_refused_by_name(stored: Path) -> None:
    connection = sqlite3.connect(stored)
    connection.execute("UPDATE meta SET value = '2' WHERE name = 'format_version'")
    connection.execute("UPDATE meta SET value = '9.8' WHERE name = 'program_version'")
    connection.execute("DROP TABLE campaign")  # nothing but meta is read before the refusal
    connection.commit()
    connection.close()
    with pytest.raises(
        StoreError, match=r"has format 2, written by PathLab 9\.8; this program reads up to format 1"
    ) as caught:
        pathlab.open(stored)
    assert caught.value.hint == "Install PathLab 9.8 or newer."
