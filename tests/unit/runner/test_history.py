"""A history grows by one trial a measurement, whoever writes beside it; every reader of results reads it."""

import contextlib
import dataclasses
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import pathlab
from pathlab.errors import PathlabError, StoreError, UsageError
from pathlab.runner import history
from pathlab.runner.history import append_measurement, check_history
from pathlab.runner.journal import CHANGED, FINISHED, STARTED
from pathlab.store.check import check_results
from pathlab.store.lock import FolderLock
from pathlab.store.records import HostRecord, JournalRecord
from pathlab.store.results import Results
from tests.builders.results import make_quickstart, write_results
from tests.builders.trials import make_failed
from tests.command_line import call
from tests.patience import PATIENCE_S

PROGRAMS = {"program_version": "0.1.0", "engine_sha256": "ab" * 32, "against_sha256": None}
FACTS = {"kernel": {"release": "6.1.0"}, "load": {"minute_1": 0.5}}
#: Appends one measurement again and again; the second word ends with a signal within a transaction.
WRITER = """
import os, signal, sys
from pathlib import Path
from pathlab.runner import history
from pathlab.store.results import Results
file, measured, turns, ending = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
for turn in range(turns):
    with Results.open(measured) as results:
        if ending == "killed" and turn == turns - 1:
            history.insert_trial = lambda *_given: os.kill(os.getpid(), signal.SIGKILL)
        history.append_measurement(file, results)
"""
START = datetime(2026, 3, 1, tzinfo=UTC)


@contextlib.contextmanager
def measured(folder: Path, hour: int = 0, **changes: Any) -> Iterator[Results]:
    """The results of one measurement, as `pathlab measure` makes them; ``changes``: of its trial or facts."""
    facts, programs = changes.pop("facts", FACTS), changes.pop("programs", PROGRAMS)
    made = make_quickstart(cycles=1, levels=[(1, None)], environment={"lab": None, "fallback": None})
    made.change_trials(started_utc=(START + timedelta(hours=hour)).isoformat(), **changes)
    if changes.get("status") == "failed":
        made.records = [make_failed(record) for record in made.records]
    made = made.copy(hosts=[HostRecord(name="west", recorded_utc="2026-03-01T00:00:00+00:00", facts=facts)])
    target = folder / f"measured-{len(list(folder.iterdir()))}"
    write_results(made, target)
    with Results.open(target, write=True) as results:
        for kind, text, entry_facts in (
            (STARTED, "started", programs),
            ("window-limit", "a window is beyond the limit", {}),
            (FINISHED, "1 of 1 trials are complete", {}),
        ):
            row = 0 if kind == "window-limit" else None
            results.add_journal(
                JournalRecord(
                    recorded_utc="2026-03-01T00:00:00+00:00",
                    kind=kind,
                    plan_row=row,
                    text=text,
                    facts=entry_facts,
                )
            )
        yield results


def append(file: Path, folder: Path, hour: int = 0, **changes: Any) -> list[int]:
    with measured(folder, hour, **changes) as results:
        return append_measurement(file, results)


def test_each_measurement_is_one_trial_with_its_series_and_its_time(tmp_path: Path) -> None:
    file = tmp_path / "new" / "folder" / "mon.db"
    numbers = [append(file, tmp_path, hour, path_destination=to) for hour in (0, 1, 30) for to in ("a", "b")]
    assert numbers == [[1], [2], [3], [4], [5], [6]]
    append(file, tmp_path, 31, status="failed", path_destination="a")
    with Results.open(file) as found:
        records = found.records()
        assert [record.plan_row for record in records] == list(range(7))
        assert len({record.started_utc for record in records}) == 4
        # A cycle has each path once.
        assert [record.cycle for record in records] == [0, 0, 1, 1, 2, 2, 3]
        assert [row.row for row in found.plan()] == list(range(7))
        assert [row.row for row in found.unfinished()] == [6]
        assert found.series_kinds(6) == (
            "loaded_probes",
            "receiver_intervals",
            "sender_intervals",
            "unloaded_probes",
        )
        assert found.campaign.model["history"] is True
    assert check_results(file).faults == ()


def test_a_host_is_stored_when_it_is_new_or_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "mon.db"
    append(file, tmp_path, 0)
    append(file, tmp_path, 1, facts={**FACTS, "load": {"minute_1": 9.0}})
    append(file, tmp_path, 2, facts={**FACTS, "kernel": {"release": "6.2.0"}})
    append(
        file,
        tmp_path,
        3,
        facts={**FACTS, "kernel": {"release": "6.2.0"}},
        programs={**PROGRAMS, "program_version": "0.2.0"},
    )
    with Results.open(file) as found:
        assert [host.facts["kernel"]["release"] for host in found.hosts()] == ["6.1.0", "6.2.0"]
        journal = [(entry.kind, entry.text, entry.plan_row) for entry in found.journal()]
    assert [entry for entry in journal if entry[0] == "window-limit"] == [
        ("window-limit", "a window is beyond the limit", row) for row in range(4)
    ]
    assert [entry[1] for entry in journal if entry[0] == CHANGED] == [
        "since the measurement before: west: kernel.release was 6.1.0, is 6.2.0",
        "since the measurement before: PathLab was 0.1.0, is 0.2.0",
    ]
    assert [entry[0] for entry in journal].count(STARTED) == 2
    assert FINISHED not in {entry[0] for entry in journal}


def run_writers(*words: list[str]) -> list[int]:
    root = Path(pathlab.__file__).parents[1]
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, *one], cwd=root) for one in words]
    return [writer.wait(timeout=4 * PATIENCE_S) for writer in writers]


def test_measurements_at_once_and_a_killed_one_lose_nothing(tmp_path: Path) -> None:
    """The file does not exist yet, and is named by a link as well; one writer dies in its transaction."""
    file, link = tmp_path / "mon.db", tmp_path / "link.db"
    link.symlink_to(file)
    with measured(tmp_path) as results:
        source = str(results.folder)
    words = [[str(name), source, "5", ending] for name in (file, link) for ending in ("whole", "killed")]
    assert sorted(run_writers(*words)) == [-signal.SIGKILL, -signal.SIGKILL, 0, 0]
    assert check_results(file).faults == ()
    with Results.open(file) as found:
        assert [record.plan_row for record in found.records()] == list(range(5 + 4 + 5 + 4))
    assert append(file, tmp_path, 1) == [19]


def test_another_writer_is_waited_for_and_named_at_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mon.db"
    append(file, tmp_path)
    monkeypatch.setattr(history, "WAIT_S", 0.0)
    held = FolderLock(tmp_path, "mon.lock")
    try:
        with pytest.raises(StoreError, match=rf"being written by process {os.getpid()}$"):
            append(file, tmp_path)
        FolderLock(tmp_path).release()  # the folder's own results are free
    finally:
        held.release()
    assert append(file, tmp_path) == [2]


def test_a_full_disk_is_named_and_keeps_what_was_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, opens = tmp_path / "mon.db", Results.open
    append(file, tmp_path)

    def open_on_a_full_disk(path: Path, **given: Any) -> Results:
        results = opens(path, **given)
        if given.get("write") and Path(path) == file:

            @sa.event.listens_for(results._engine, "connect")
            def _limit(connection: sqlite3.Connection, _record: object) -> None:
                connection.execute("PRAGMA max_page_count = 1")

        return results

    with measured(tmp_path, 1) as results, monkeypatch.context() as patched:
        patched.setattr(Results, "open", open_on_a_full_disk)
        with pytest.raises(StoreError, match="the disk is full"):
            append_measurement(file, results)
    assert check_results(file).faults == ()
    assert append(file, tmp_path, 2) == [2]


def _make_foreign(file: Path) -> None:
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE notes (text)")
        connection.commit()


def _change(file: Path, folder: Path, statement: str) -> None:
    append(file, folder)
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(statement)


@pytest.mark.parametrize(
    ("kind", "error", "said"),
    [
        ("folder", UsageError, "is a folder, not a file"),
        ("text", StoreError, "is not a PathLab results file"),
        ("empty", StoreError, "is not a PathLab results file"),
        ("fifo", StoreError, "is not a PathLab results file"),
        ("database", StoreError, "is not a PathLab results file"),
        ("campaign", UsageError, "holds the results of 'quickstart', not a history"),
        ("newer", StoreError, "has format 2, written by PathLab "),
        ("older", StoreError, "has no column 'digest'"),
    ],
)
def test_another_file_is_refused_before_anything_is_measured(
    kind: str, error: type[PathlabError], said: str, tmp_path: Path
) -> None:
    file = tmp_path / "mon.db"
    match kind:
        case "folder":
            file.mkdir()
        case "text":
            file.write_text("rate 5\n")
        case "empty":
            file.touch()
        case "fifo":
            os.mkfifo(file)
        case "database":
            _make_foreign(file)
        case "campaign":
            file = write_results(make_quickstart(cycles=1), tmp_path / "run") / "results.db"
        case "newer":
            _change(file, tmp_path, "UPDATE meta SET value = '2' WHERE name = 'format_version'")
        case "older":
            _change(file, tmp_path, "ALTER TABLE campaign DROP COLUMN digest")
    before = file.read_bytes() if file.is_file() else b""
    with pytest.raises(error, match=said) as caught:
        check_history(file)
    assert caught.value.hint
    with pytest.raises(error, match=said):
        append(file, tmp_path)
    assert (file.read_bytes() if file.is_file() else b"") == before


def test_a_history_of_an_older_version_gets_its_new_columns(tmp_path: Path) -> None:
    file = tmp_path / "mon.db"
    _change(file, tmp_path, "ALTER TABLE trial DROP COLUMN udp_jitter_ns")
    check_history(file)
    assert append(file, tmp_path, 1, udp_jitter_ns=5.0) == [2]
    with Results.open(file) as found:
        assert [record.udp_jitter_ns for record in found.records()] == [None, 5.0]


@pytest.mark.parametrize(
    "words",
    [
        ["results", "show", "FILE"],
        ["results", "check", "FILE"],
        ["export", "FILE", "--format", "csv", "--out", "OUT"],
        ["report", "FILE", "--format", "md", "--out", "OUT"],
        ["report", "FILE", "--format", "explorer", "--out", "OUT"],
        ["compare", "FILE", "FILE"],
    ],
    ids=" ".join,
)
def test_every_reader_of_results_reads_a_history(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mon.db"
    for hour in range(3):
        append(file, tmp_path, hour)
    places = {"FILE": str(file), "OUT": str(tmp_path / "out")}
    if "explorer" in words:
        places["OUT"] += ".html"
    said = call([places.get(word, word) for word in words], capsys)
    assert said.status == 0, said.err
    with Results.open(file) as found:
        assert len(found.records()) == 3


def test_records_are_kept_as_they_were_measured(tmp_path: Path) -> None:
    file = tmp_path / "mon.db"
    with measured(tmp_path, 5, flags=("host-limited",)) as results:
        append_measurement(file, results)
        append_measurement(file, results)
        (before,) = results.records()
    with Results.open(file) as found:
        for number, record in enumerate(found.records()):
            assert dataclasses.replace(record, plan_row=0, cycle=0) == before
            assert record.cycle == number
