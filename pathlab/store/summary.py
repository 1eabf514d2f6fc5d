"""A results file at a glance, read in less than a millisecond: for lists of hundreds of files.

Only what a list shows is read and checked; ``Results.open`` may still refuse the file.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from pathlab.errors import StoreError
from pathlab.store.database import check_format, connect_reading
from pathlab.store.faults import translate_faults
from pathlab.store.flags import Status
from pathlab.store.location import describe_foreign_file, locate_database
from pathlab.store.records import JournalRecord
from pathlab.store.schema import APPLICATION_ID, FORMAT_VERSION, Unreadable, decode_text

_RESULTS = """SELECT count(DISTINCT plan_row) FROM trial
WHERE status = ? OR trial_id IN (SELECT trial_id FROM origin)"""
_COMPLETE = "SELECT count(DISTINCT plan_row) FROM trial WHERE status = ?"
_FAILED = "SELECT count(*) FROM trial WHERE status != ?"
_LAST_ENTRY = "SELECT recorded_utc, kind, plan_row, text, facts FROM journal ORDER BY journal_id DESC LIMIT 1"


class ResultsFault(StrEnum):
    """Why a results file cannot be read."""

    LOCKED = "locked"
    DAMAGED = "damaged"
    OLDER = "older"  # a format that this program no longer reads
    NEWER = "newer"
    FOREIGN = "foreign"  # another program's
    UNREADABLE = "unreadable"  # gone, or not permitted


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsSummary:
    """What a list shows of a results file; with a ``fault`` the rest but ``problem`` may be unknown."""

    name: str = ""
    title: str = ""
    digest: str = ""
    created_utc: str = ""
    program_version: str = ""
    format_version: int | None = None
    planned: int = 0
    without_result: int = 0  # plan rows
    complete: int = 0  # plan rows with a complete trial
    failed: int = 0  # trials that failed or were interrupted
    trials: int = 0
    last_entry: JournalRecord | None = None
    fault: ResultsFault | None = None
    problem: str | None = None  # in a sentence


class _DamagedValueError(ValueError):
    """A value that no program of ours stores."""


def read_summary(path: Path) -> ResultsSummary:
    """The summary of a results folder or file; a fault is part of it. Nothing is written."""
    try:
        database = locate_database(path)
        with translate_faults(database), contextlib.closing(connect_reading(database)) as connection:
            connection.text_factory = decode_text
            connection.isolation_level = None
            connection.execute("BEGIN")
            return _read_summary(connection, database)
    except StoreError as error:
        return ResultsSummary(fault=_classify_fault(error), problem=str(error))
    except _DamagedValueError as error:
        return ResultsSummary(
            fault=ResultsFault.DAMAGED, problem=f"results file '{database}' is damaged: {error}"
        )


def _read_summary(connection: sqlite3.Connection, database: Path) -> ResultsSummary:
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    known = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'meta'").fetchone()
    if mark != APPLICATION_ID or not known[0]:
        raise describe_foreign_file(database)
    meta = {str(name): str(value) for name, value in connection.execute("SELECT name, value FROM meta")}
    try:
        check_format(meta, database)
    except StoreError as error:
        text = meta.get("format_version", "")
        if not text.isdecimal():
            raise
        fault = ResultsFault.NEWER if int(text) > FORMAT_VERSION else ResultsFault.OLDER
        return ResultsSummary(format_version=int(text), fault=fault, problem=str(error))
    rows = connection.execute("SELECT name, title, digest, created_utc FROM campaign").fetchall()
    if len(rows) != 1:
        raise _DamagedValueError(f"it holds {len(rows) or 'no'} campaign{'s' if len(rows) > 1 else ''}")
    name, title, digest, created_utc = (_expect_text(value) for value in rows[0])
    planned = _count(connection, "SELECT count(*) FROM plan")
    return ResultsSummary(
        name=name,
        title=title,
        digest=digest,
        created_utc=created_utc,
        program_version=meta.get("program_version", "unknown"),
        format_version=int(meta["format_version"]),
        planned=planned,
        without_result=planned - _count(connection, _RESULTS, Status.COMPLETE),
        complete=_count(connection, _COMPLETE, Status.COMPLETE),
        failed=_count(connection, _FAILED, Status.COMPLETE),
        trials=_count(connection, "SELECT count(*) FROM trial"),
        last_entry=_read_last_entry(connection),
    )


def _count(connection: sqlite3.Connection, query: str, *values: str) -> int:
    (number,) = connection.execute(query, [str(value) for value in values]).fetchone()
    return int(number)


def _expect_text(value: Any) -> str:
    if not isinstance(value, str):
        reason = value.reason if isinstance(value, Unreadable) else "is not text"
        raise _DamagedValueError(f"a text of its campaign {reason}")
    return value


def _read_last_entry(connection: sqlite3.Connection) -> JournalRecord | None:
    row = connection.execute(_LAST_ENTRY).fetchone()
    if row is None:
        return None
    try:
        facts = json.loads(row[4])
    except (TypeError, ValueError):
        facts = None
    if not isinstance(facts, dict):
        raise _DamagedValueError("the last entry of its journal cannot be read")
    return JournalRecord(
        recorded_utc=str(row[0]), kind=str(row[1]), plan_row=row[2], text=str(row[3]), facts=facts
    )


def _classify_fault(error: StoreError) -> ResultsFault:
    cause = error.__cause__
    if isinstance(cause, OSError) or cause is None:
        is_foreign = cause is None and "is not a PathLab" in str(error)
        return ResultsFault.FOREIGN if is_foreign else ResultsFault.UNREADABLE
    code = (getattr(cause, "sqlite_errorcode", None) or 0) & 0xFF
    return {
        sqlite3.SQLITE_BUSY: ResultsFault.LOCKED,
        sqlite3.SQLITE_LOCKED: ResultsFault.LOCKED,
        sqlite3.SQLITE_NOTADB: ResultsFault.FOREIGN,
        sqlite3.SQLITE_CANTOPEN: ResultsFault.UNREADABLE,
        sqlite3.SQLITE_READONLY: ResultsFault.UNREADABLE,
    }.get(code, ResultsFault.DAMAGED)
