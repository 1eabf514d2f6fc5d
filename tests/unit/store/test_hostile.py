"""Results files that somebody made on purpose: each is named as damaged, by the check and by who reads it."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from pathlab.store.check import check_results
from pathlab.store.series import decode_series, encode_series
from tests.builders.stored import fill_results
from tests.command_line import call

KIND = "loaded_probes"  # any: the bytes do not name it


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


def test_a_whole_surrogate_pair_is_text(folder: Path) -> None:
    execute(folder, "UPDATE trial SET flags = '[\"\\ud83d\\ude00\"]'")
    assert check_results(folder).faults == ()


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


def test_intervals_of_no_length_are_exported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    execute(folder, "UPDATE trial SET interval_ns = 0")
    assert call(["export", "bad", "--format", "flent", "--out", "flent"], capsys).status == 0
