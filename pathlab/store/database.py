"""The SQLite file of a results folder: opened, made, recognised."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

from pathlab._version import VERSION
from pathlab.errors import StoreError
from pathlab.files import FILE_MODE
from pathlab.store.faults import translate_faults
from pathlab.store.location import describe_foreign_file
from pathlab.store.lock import find_writer, name_lock
from pathlab.store.records import CampaignRecord, PlanRecord
from pathlab.store.row_check import build_row
from pathlab.store.schema import (
    APPLICATION_ID,
    CAMPAIGN,
    FORMAT_VERSION,
    META,
    METADATA,
    PLAN,
    decode_text,
)

BUSY_TIMEOUT_S = 5.0
_PAGE_BYTES = 1024  # a trial has some twenty series, each of which leaves half a page empty


def open_engine(database: Path, *, write: bool) -> sa.Engine:
    """Return an engine that opens the file for each transaction and leaves nothing open in between.

    A transaction that writes takes the write lock at its start and is on the disk when it ends.
    """

    def connect() -> sqlite3.Connection:
        if not write:
            return connect_reading(database)
        uri = _format_uri(database, "rwc")
        return sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, check_same_thread=False)

    engine = sa.create_engine("sqlite://", creator=connect, poolclass=sa.NullPool)

    @sa.event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: object) -> None:
        connection.text_factory = decode_text
        connection.isolation_level = None  # transactions begin where SQLAlchemy begins them, see below
        connection.execute("PRAGMA foreign_keys = ON")
        if write:
            connection.execute(
                f"PRAGMA page_size = {_PAGE_BYTES}"
            )  # of a new file; before the journal's mode
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def read_meta(engine: sa.Engine, database: Path) -> dict[str, str]:
    """Return the file's ``meta`` table. Raises StoreError: not PathLab's, or of another format."""
    with translate_faults(database), engine.connect() as connection:
        marked = connection.exec_driver_sql("PRAGMA application_id").scalar_one() == APPLICATION_ID
        if not marked or not sa.inspect(connection).has_table(META.name):
            raise describe_foreign_file(database)
        _check_no_programs(connection, database)
        rows = connection.execute(sa.select(META.c.name, META.c.value)).all()
    meta = {str(row.name): str(row.value) for row in rows}
    check_format(meta, database)
    return meta


def check_format(meta: Mapping[str, str], database: Path) -> None:
    """Raise StoreError unless the ``meta`` table is that of a format which this program reads."""
    if not re.fullmatch(r"[0-9]{1,9}", meta.get("format_version", "")):
        raise describe_foreign_file(database)
    if int(meta["format_version"]) != FORMAT_VERSION:
        writer = meta.get("program_version", "unknown")
        raise StoreError(
            f"results file '{database}' has format {meta['format_version']}, written by PathLab {writer}; "
            f"this program reads format {FORMAT_VERSION}",
            hint=f"install PathLab {writer} or newer",
        )


def create_database(database: Path, campaign: CampaignRecord, plan: Sequence[PlanRecord]) -> None:
    """Make a results file with its plan, whole or not at all: without a plan it never bears its final name.

    Raises StoreError, also for a plan that names a row twice.
    """
    fresh = database.with_name(database.name + ".new")
    with translate_faults(database, subject="a plan that names a row twice"):
        for ending in ("", "-wal", "-shm"):  # of a writer that was killed
            fresh.with_name(fresh.name + ending).unlink(missing_ok=True)
        # SQLite gives the files alongside it the same mode.
        os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))
        with open_engine(fresh, write=True).begin() as connection:
            METADATA.create_all(connection)
            write_meta(connection, VERSION)
            connection.execute(sa.insert(CAMPAIGN), build_row(campaign))
            if plan:
                connection.execute(sa.insert(PLAN), [build_row(row) for row in plan])
        fresh.rename(database)
        sync_folder(database.parent)


def _check_no_programs(connection: sa.Connection, database: Path) -> None:
    """Raise StoreError for a table of ours that computes its rows or acts on a change.

    A view may have rows without end, a virtual table code, a trigger change what PathLab stores.
    """
    names = {table.name for table in METADATA.sorted_tables}
    query = "SELECT type, name, tbl_name, rootpage FROM sqlite_schema"
    for kind, name, table, page in connection.exec_driver_sql(query):
        if str(table).lower() in names and (kind in ("view", "trigger") or (kind == "table" and not page)):
            word = "virtual table" if kind == "table" else kind
            raise StoreError(
                f"results file '{database}' is damaged: its schema holds the {word} {str(name)!r}, which "
                "PathLab does not make",
                hint="restore the file from a copy",
            )


def write_meta(connection: sa.Connection, program_version: str) -> None:
    """Mark a new file as PathLab's, of this format."""
    connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
    rows = {"format_version": str(FORMAT_VERSION), "program_version": program_version}
    connection.execute(sa.insert(META), [{"name": name, "value": value} for name, value in rows.items()])


def connect_reading(database: Path) -> sqlite3.Connection:
    """Open a file for queries alone, on a read-only medium too. Raises sqlite3.Error.

    SQLite makes a ``-wal`` and a ``-shm`` file for readers as well; the last connection to close removes
    them, alongside a writer that is the writer's.
    """
    uri = _format_uri(database, _choose_reading_mode(database))
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, check_same_thread=False)
    connection.execute("PRAGMA query_only = ON")
    return connection


def _choose_reading_mode(database: Path) -> str:
    if os.access(database, os.W_OK) and os.access(database.parent, os.W_OK):
        return "rw"  # a connection that is "ro" makes both files too and may not remove them
    unsettled = database.with_name(f"{database.name}-wal").exists()
    if unsettled or find_writer(database.parent, name_lock(database)) is not None:
        return "ro"
    return "ro&immutable=1"  # makes no file: SQLite could not make, or not remove, its own


def _format_uri(database: Path, mode: str) -> str:
    return f"file:{quote(os.fsencode(database.absolute()))}?mode={mode}"


def sync_folder(folder: Path) -> None:
    """Make a new name in a folder survive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
