"""Results on disk: one writer, and faults are named and lose nothing."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from pathlab.errors import StoreError, UsageError
from pathlab.store import database
from pathlab.store.results import Results
from tests.builders.series import make_probes
from tests.builders.stored import COMPLETE, make_results
from tests.golden.conftest import Say


def test_reading_does_not_write(say: Say, tmp_path: Path) -> None:
    make_results(tmp_path).close()
    with (
        Results.open(tmp_path) as results,
        pytest.raises(UsageError) as caught,
    ):
        results.add_trial(COMPLETE, {})
    say(caught.value)


def test_a_locked_file_is_named(say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_S", 0.05)
    with make_results(tmp_path) as results:
        other = sqlite3.connect(results.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError) as caught:
            results.add_trial(COMPLETE, {})
        say(caught.value)
        other.execute("ROLLBACK")
        other.close()
        assert results.add_trial(COMPLETE, {}) == 1


def test_what_is_not_there_or_not_ours_is_named(say: Say, tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        Results.open(tmp_path)
    say(caught.value)
    with pytest.raises(StoreError) as caught:
        Results.open(tmp_path / "gone")
    say(caught.value)
    text = tmp_path / "notes.txt"
    text.write_text("not a database, though long enough to have a header of one")
    foreign = tmp_path / "foreign.db"
    other = sqlite3.connect(foreign)
    other.execute("CREATE TABLE meta (name TEXT, value TEXT)")
    other.commit()
    other.close()
    for path in (text, foreign):
        with pytest.raises(StoreError) as caught:
            Results.open(path)
        say(caught.value)


def test_a_series_that_was_not_kept_is_named(say: Say, tmp_path: Path) -> None:
    with make_results(tmp_path) as results:
        trial_id = results.add_trial(COMPLETE, {"loaded_probes": make_probes()})
        with pytest.raises(StoreError) as caught:
            results.series(trial_id, "sender_cpu")
        say(caught.value)
        assert caught.value.hint == "It kept: loaded_probes."
        with pytest.raises(UsageError) as refused:
            results.series(9, "sender_cpu")
        say(refused.value)
        with pytest.raises(UsageError) as refused:
            results.series(trial_id, "sender_cpus")
        say(refused.value)
