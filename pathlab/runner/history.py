"""A history: every measurement of `pathlab measure --history` in one results file that grows.

Each measurement is one trial with its series, stored in one transaction under the lock of the file. It is
measured into a results folder of its own first, so that the lock is held for a moment only, and measurements
at the same time do not wait for each other.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa

from pathlab import __version__
from pathlab.errors import StoreError, UsageError
from pathlab.files import make_folder
from pathlab.runner.hosts.changes import PROGRAMS, find_changes
from pathlab.runner.journal import CHANGED, FINISHED, STARTED
from pathlab.store.database import create_database
from pathlab.store.faults import translate_faults
from pathlab.store.import_cycles import continue_cycles, time_trial
from pathlab.store.location import HEADER
from pathlab.store.lock import FolderLock, name_lock
from pathlab.store.records import CampaignRecord, HostRecord, JournalRecord
from pathlab.store.results import Results
from pathlab.store.rows import encode_blobs, insert_trial
from pathlab.store.schema import HOST, JOURNAL, PLAN, to_row

#: Another measurement holds the lock for a moment; a slow disk under many of them for longer.
WAIT_S = 60.0
NAME = "history"
_HINT = "name a history, or a file that is not there yet, such as history.db"


def check_history(path: Path) -> None:
    """Raise unless measurements can be appended to ``path``: a history, or no file yet.

    UsageError for a folder or for results that are no history, StoreError for any other file, one of another
    version, or one that cannot be read.
    """
    if path.is_dir():
        raise UsageError(f"--history: '{path}' is a folder, not a file", hint=_HINT)
    if not path.exists():
        return
    with translate_faults(path):
        is_database = path.is_file() and _starts_as_database(path)
    if not is_database:
        raise StoreError(f"--history: '{path}' is not a PathLab results file", hint=_HINT)
    if not os.access(path, os.W_OK):
        raise StoreError(f"--history: '{path}' cannot be written: permission denied", hint=_HINT)
    with Results.open(path) as results:
        _check_kind(results)


def append_measurement(path: Path, measured: Results) -> list[int]:
    """Append every trial of ``measured`` to the history, which is made if it is not there.

    Return the numbers of its trials. Hosts are stored where they are new or have changed, with an entry of
    the journal. When this returns, everything is on the disk; where it raises, nothing is stored. Raises as
    ``check_history``, and StoreError where the file cannot be written or is held by another writer for longer
    than ``WAIT_S``.
    """
    with translate_faults(path):
        path = path.resolve()  # one lock, whatever link names the file
        make_folder(path.parent)
        lock = FolderLock(path.parent, name_lock(path), wait_s=WAIT_S)
    try:
        if not path.exists():
            create_database(path, _describe_history(measured.campaign), ())
    finally:
        lock.release()
    check_history(path)
    with Results.open(path, write=True, wait_s=WAIT_S) as history:
        return _append(history, measured)


def _starts_as_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(HEADER)) == HEADER


def _check_kind(results: Results) -> None:
    campaign = results.campaign
    if not campaign.model.get(NAME):
        raise UsageError(
            f"--history: '{results.path}' holds the results of '{campaign.name}', not a history", hint=_HINT
        )


def _describe_history(measured: CampaignRecord) -> CampaignRecord:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return CampaignRecord(
        name=NAME,
        title="History of measurements",
        digest=hashlib.sha256(f"{NAME} {now}".encode()).hexdigest(),
        text="",
        model={"name": NAME, NAME: True},
        seed=0,
        created_utc=now,
        program_version=__version__,
        environment=measured.environment,
    )


def _append(history: Results, measured: Results) -> list[int]:
    plan = {row.row: row for row in measured.plan()}
    records = measured.records_by_id()
    timed = [time_trial(record, plan[record.plan_row].settings) for record in records.values()]
    cycles = continue_cycles(history, timed)
    next_row, _ = history.find_plan_end()
    moved: dict[int, int] = {}
    numbers = []
    hosts, entries = list(_list_new_hosts(history, measured)), list(_list_entries(history, measured))
    with history.writing("a measurement") as connection:
        for (number, record), cycle in zip(records.items(), cycles, strict=True):
            next_row += 1
            moved[record.plan_row] = next_row
            row = dataclasses.replace(plan[record.plan_row], row=next_row, cycle=cycle)
            connection.execute(sa.insert(PLAN), to_row(row))
            kept = dataclasses.replace(record, plan_row=next_row, cycle=cycle, attempt=1)
            series = {kind: measured.series_table(number, kind) for kind in measured.series_kinds(number)}
            numbers.append(insert_trial(connection, to_row(kept), encode_blobs(series)))
        for host in hosts:
            connection.execute(sa.insert(HOST), to_row(host))
        for entry in entries:
            placed = None if entry.plan_row is None else moved.get(entry.plan_row)
            connection.execute(sa.insert(JOURNAL), to_row(dataclasses.replace(entry, plan_row=placed)))
    return numbers


def _list_new_hosts(history: Results, measured: Results) -> Iterator[HostRecord]:
    """The hosts that the history does not have, or whose watched facts are other ones than stored last."""
    known = {host.name: host for host in history.hosts()}
    for host in measured.hosts():
        before = known.get(host.name)
        if before is None or find_changes([before], [host], (), {}):
            yield host


def _list_entries(history: Results, measured: Results) -> Iterator[JournalRecord]:
    """What happened to the measurement, and what has changed since the one before.

    Its start only where it is the first one, or of other programs; each trial has its time.
    """
    entries, before = measured.journal(), history.journal()
    programs = next((entry.facts for entry in entries if entry.kind == STARTED), {})
    changes = find_changes(history.hosts(), measured.hosts(), before, programs)
    known = [entry.facts for entry in before if entry.kind == STARTED]
    is_other = not known or any(known[-1].get(name) != programs.get(name) for name in PROGRAMS)
    for entry in entries:
        if entry.kind == STARTED:
            if is_other:
                yield entry
            for text in changes:
                line = f"since the measurement before: {text}"
                yield dataclasses.replace(entry, kind=CHANGED, text=line, facts={})
        elif entry.kind != FINISHED:
            yield entry
