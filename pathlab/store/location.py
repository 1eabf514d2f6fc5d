"""Where results are: the folder, and the database in it. Loads nothing that takes long."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pathlab.errors import StoreError
from pathlab.files import open_for_reading

DATABASE_NAME = "results.db"
RESULTS_ROOT = Path("results")  # results go below it, and are looked for there, unless a folder is named
HEADER = b"SQLite format 3\x00"
_HINT = "give a results folder, or the results.db inside one"


def locate_database(path: Path) -> Path:
    """Return the database of a results folder, or the path itself when it is a file. Raises StoreError."""
    try:
        database = path / DATABASE_NAME if path.is_dir() else path
        if not database.exists():
            there = f"there is no {DATABASE_NAME} in folder '{path}'"
            raise StoreError(there if path.is_dir() else f"'{path}' does not exist", hint=_HINT)
        with open_for_reading(database) as file:
            if file.read(len(HEADER)) != HEADER:
                raise describe_foreign_file(database)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise StoreError(
            f"results file '{path}' cannot be used: {reason}", hint="check folder, owner and mode"
        ) from error
    return database


def list_once(paths: Iterable[Path]) -> list[Path]:
    """The paths without those that name the same results again, also through a link."""
    kept: dict[str, Path] = {}
    for path in paths:
        kept.setdefault(os.path.realpath(path / DATABASE_NAME if path.is_dir() else path), path)
    return list(kept.values())


def describe_foreign_file(database: Path) -> StoreError:
    """The error for a file of another program."""
    return StoreError(f"'{database}' is not a PathLab results file", hint=_HINT)
