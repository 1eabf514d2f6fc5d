"""Faults of SQLite and of the file system in house words."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa

from pathlab.errors import StoreError

_KEPT = "what was stored before is kept"
_PRIMARY_CODE = 0xFF  # the low byte of an extended SQLite code names the kind of fault

_LOCKED = ("is locked by another process", "wait until the other process is done, then try again")
_DAMAGED = ("is damaged", "restore it from a copy, or save what can be read with: sqlite3 FILE .recover")
_FAULTS: dict[int, tuple[str, str]] = {
    sqlite3.SQLITE_FULL: ("cannot grow: the disk is full", f"free some space and run again; {_KEPT}"),
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_NOTADB: (
        "is not a PathLab results file",
        "give a results folder, or the results.db inside one",
    ),
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_ERROR: _DAMAGED,
    sqlite3.SQLITE_READONLY: (
        "cannot be written: it is read-only",
        "check the owner and the mode of folder and file",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "cannot be opened",
        "check that folder and file exist and may be read and written",
    ),
    sqlite3.SQLITE_IOERR: ("could not be read or written: input/output error", f"check the disk; {_KEPT}"),
    sqlite3.SQLITE_CONSTRAINT: ("refused a row that contradicts others", _KEPT),
}


@contextlib.contextmanager
def translate_faults(path: Path, *, subject: str | None = None) -> Iterator[None]:
    """Turn any fault of the store below into a StoreError that names the file and the next step.

    ``subject`` names what was being stored, for a row that contradicts others.
    """
    try:
        yield
    except (sa.exc.DBAPIError, sqlite3.Error) as error:
        raise _translate(path, error, subject) from error
    except (sa.exc.SQLAlchemyError, UnicodeError) as error:
        # A message of SQLite that is not text, a name that is none: only a damaged schema has these.
        what, hint = _DAMAGED
        raise StoreError(f"results file '{path}' {what}", hint=hint) from error
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        what, hint = (
            _FAULTS[sqlite3.SQLITE_FULL] if full else ("cannot be used", "check folder, owner and mode")
        )
        reason = "" if full else f": {(error.strerror or str(error)).lower()}"
        raise StoreError(f"results file '{path}' {what}{reason}", hint=hint) from error


def _translate(path: Path, error: Exception, subject: str | None) -> StoreError:
    original = getattr(error, "orig", None) or error
    code = getattr(original, "sqlite_errorcode", None)
    what, hint = _FAULTS.get((code or 0) & _PRIMARY_CODE, ("could not be used", "run 'pathlab doctor'"))
    if (code or 0) & _PRIMARY_CODE == sqlite3.SQLITE_CONSTRAINT and subject:
        what = f"refused {subject}"
    known = code is not None and (code & _PRIMARY_CODE) in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_NOTADB)
    reason = "" if known else f" ({original})"
    return StoreError(f"results file '{path}' {what}{reason}", hint=hint)
