"""Results files of the same format whose tables lack columns of this program, or have further ones.

A column that may be empty can come with any version: readers see it empty, and a file that is opened for
writing gets it. Without any other column, or table, the file is refused by name; it is not damaged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pathlab._version import VERSION
from pathlab.errors import StoreError
from pathlab.store.faults import translate_faults
from pathlab.store.schema import METADATA


def add_missing_columns(engine: sa.Engine, database: Path, writer: str, *, write: bool) -> None:
    """Let every later connection of ``engine`` see all columns; ``write`` adds them to the file.

    ``writer`` is the version that made the file. Raises StoreError for a file that this program cannot use.
    """
    with translate_faults(database):
        with engine.connect() as connection:
            result = {table.name: _read_columns(connection, table) for table in METADATA.sorted_tables}
        missing: dict[sa.Table, list[sa.Column[Any]]] = {}
        for table in METADATA.sorted_tables:
            _check_usable_columns(table, result[table.name], database, writer, write=write)
            if lacking := [column for column in table.columns if column.name not in result[table.name]]:
                missing[table] = lacking
        if missing and write:
            _alter_tables(engine, missing)
        elif missing:
            _show_views(engine, list(_format_views(missing)))


def _read_columns(connection: sa.Connection, table: sa.Table) -> Mapping[str, bool]:
    """Whether each column of the file's table has to be given, by name; nothing where there is no table."""
    rows = connection.exec_driver_sql(f"PRAGMA main.table_info({table.name})").all()
    return {str(row.name): bool(row.notnull) and row.dflt_value is None and not row.pk for row in rows}


def _check_usable_columns(
    table: sa.Table, result: Mapping[str, bool], database: Path, writer: str, *, write: bool
) -> None:
    """Raise StoreError: no table, no column that may not be empty, or a further one that has to be filled."""
    needed = [column.name for column in table.columns if column.name not in result and not column.nullable]
    further = [name for name, is_needed in result.items() if is_needed and name not in table.columns]
    _check_letter_case(table, result, database)
    if not result:
        fault = f"it has no table '{table.name}'"
    elif needed:
        fault = f"its table '{table.name}' has no column '{needed[0]}'"
    elif further and write:
        fault = f"its table '{table.name}' needs the column '{further[0]}', which this version does not fill"
    else:
        return
    raise StoreError(
        f"results file '{database}' was made by another version, PathLab {writer}: {fault}",
        hint=f"use it with the PathLab that made it; this one ({VERSION}) can measure into another folder",
    )


def _check_letter_case(table: sa.Table, result: Mapping[str, bool], database: Path) -> None:
    """Raise StoreError for a column of ours in other letters: SQLite takes both names for the same column."""
    columns = {column.name.lower(): column.name for column in table.columns}
    for name in result:
        expected = columns.get(name.lower(), name)
        if name != expected:
            raise StoreError(
                f"results file '{database}' is damaged: table '{table.name}' has the column {name!r} "
                f"instead of '{expected}'",
                hint="restore the file from a copy",
            )


def _alter_tables(engine: sa.Engine, missing: Mapping[sa.Table, Sequence[sa.Column[Any]]]) -> None:
    """Add the columns, all or none."""
    with engine.begin() as connection:
        for table, columns in missing.items():
            for column in columns:
                words = sa.schema.CreateColumn(column).compile(engine)
                connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {words}")


def _format_views(missing: Mapping[sa.Table, Sequence[sa.Column[Any]]]) -> Iterator[str]:
    """Statements whose views hide the file's tables behind ones with all columns."""
    for table, columns in missing.items():
        empty = ", ".join(f"NULL AS {column.name}" for column in columns)
        yield f"CREATE TEMP VIEW {table.name} AS SELECT *, {empty} FROM main.{table.name}"


def _show_views(engine: sa.Engine, statements: Sequence[str]) -> None:
    @sa.event.listens_for(engine, "connect")
    def _create(connection: Any, _record: object) -> None:
        connection.execute("PRAGMA query_only = OFF")  # a view of this connection, in no file
        for statement in statements:
            connection.execute(statement)
        connection.execute("PRAGMA query_only = ON")
