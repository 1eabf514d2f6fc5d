"""Results files damaged in every way that a disk, a program or a person can damage them, by a seed."""

import contextlib
import hashlib
import json
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

PAGE_BYTES = 1024
VALUES: tuple[Any, ...] = (
    None,
    "",
    "text",
    -1,
    0,
    3,
    2**62,
    -(2**63),
    0.5,
    1e308,
    float("inf"),
    b"\xff\x00",
    b"",
    "{}",
    "[]",
    "null",
    "NaN",
    '{"a":',
    '{"lab": 3, "streams": "many"}',
    '{"lab": {"links": [{"between": 7}]}, "streams": []}',
    "[1, null]",
    '"x"',
    "[" * 20_000,
    "1e999",
    "2026-13-45",
    "1" * 5000,
)


def mutate(database: Path, seed: int) -> str:
    """Damage a file by the seed and return what was done."""
    rng = random.Random(seed)
    ways: tuple[Callable[[Path, random.Random], str], ...] = (
        _flip_bits,
        _flip_bits,
        _truncate,
        _zero_page,
        _swap_pages,
        _set_value,
        _set_value,
        _set_value,
        _break_text,
        _change_json,
        _change_json,
        _cut_blob,
        _delete_rows,
        _change_schema,
    )
    way = rng.choice(ways)
    return f"seed {seed}: {way.__name__} {way(database, rng)}"


def _flip_bits(database: Path, rng: random.Random) -> str:
    content = bytearray(database.read_bytes())
    places = [rng.randrange(len(content)) for _ in range(rng.choice((1, 1, 3, 40)))]
    for place in places:
        content[place] ^= 1 << rng.randrange(8)
    database.write_bytes(content)
    return str(places[:3])


def _truncate(database: Path, rng: random.Random) -> str:
    content = database.read_bytes()
    size = rng.choice((rng.randrange(len(content)), rng.randrange(len(content) // PAGE_BYTES) * PAGE_BYTES))
    database.write_bytes(content[:size])
    return f"to {size} bytes"


def _zero_page(database: Path, rng: random.Random) -> str:
    content = bytearray(database.read_bytes())
    page = rng.randrange(len(content) // PAGE_BYTES)
    content[page * PAGE_BYTES : (page + 1) * PAGE_BYTES] = bytes(PAGE_BYTES)
    database.write_bytes(content)
    return str(page)


def _swap_pages(database: Path, rng: random.Random) -> str:
    content = bytearray(database.read_bytes())
    one, other = (rng.randrange(len(content) // PAGE_BYTES) * PAGE_BYTES for _ in range(2))
    first, second = content[one : one + PAGE_BYTES], content[other : other + PAGE_BYTES]
    content[one : one + PAGE_BYTES], content[other : other + PAGE_BYTES] = second, first
    database.write_bytes(content)
    return f"{one} {other}"


def _set_value(database: Path, rng: random.Random) -> str:
    table, column, row = _choose_place(database, rng)
    value = rng.choice(VALUES)
    _execute(database, f'UPDATE OR IGNORE "{table}" SET "{column}" = ? WHERE rowid = ?', (value, row))
    return f"{table}.{column} of {row} = {str(value)[:30]!r}"


def _break_text(database: Path, rng: random.Random) -> str:
    table, column, row = _choose_place(database, rng)
    _execute(
        database,
        f'UPDATE OR IGNORE "{table}" SET "{column}" = CAST(x\'41ff42\' AS TEXT) WHERE rowid = ?',
        (row,),
    )
    return f"{table}.{column} of {row}"


def _change_json(database: Path, rng: random.Random) -> str:
    """One value somewhere in a JSON text becomes another one, or its key another key."""
    table, column = rng.choice(
        (
            ("plan", "settings"),
            ("plan", "settings"),
            ("campaign", "environment"),
            ("campaign", "environment"),
            ("campaign", "model"),
            ("host", "facts"),
            ("host", "facts"),
            ("journal", "facts"),
            ("origin", "details"),
            ("trial", "flags"),
        )
    )
    with contextlib.closing(sqlite3.connect(database)) as connection:
        rows = connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
    if not rows:
        return "nothing"
    row, text = rng.choice(rows)
    loaded = json.loads(text)
    holder: Any = {"": loaded}
    key: Any = ""
    while isinstance(holder[key], (dict, list)) and holder[key] and rng.random() < 0.8:
        holder = holder[key]
        key = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    if isinstance(holder, dict) and holder.get("") is not loaded and rng.random() < 0.3:
        holder[f"{key}x"] = holder.pop(key)
    else:
        holder[key] = rng.choice((None, -1, 0, "x", "", [], {}, 1e300, True, [[]], {"a": None}, 2**70))
        loaded = holder[key] if key == "" else loaded
    _execute(database, f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (json.dumps(loaded), row))
    return f"{table}.{column} of {row}: {json.dumps(loaded)[:60]}"


def _cut_blob(database: Path, rng: random.Random) -> str:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        row, blob = rng.choice(connection.execute("SELECT rowid, blob FROM series").fetchall())
    cut = blob[: rng.randrange(len(blob))]
    digest = hashlib.sha256(cut).hexdigest()
    sealed = rng.random() < 0.5
    _execute(
        database,
        "UPDATE series SET blob = ?, sha256 = CASE WHEN ? THEN ? ELSE sha256 END WHERE rowid = ?",
        (cut, sealed, digest, row),
    )
    return f"series {row} to {len(cut)} bytes, {'sealed' if sealed else 'unsealed'}"


def _delete_rows(database: Path, rng: random.Random) -> str:
    table = rng.choice(_list_tables(database))
    _execute(database, f'DELETE FROM "{table}" WHERE rowid % 2 = ?', (rng.randrange(2),))
    return table


def _change_schema(database: Path, rng: random.Random) -> str:
    table = rng.choice(_list_tables(database))
    column = rng.choice(_list_columns(database, table))
    statement = rng.choice(
        (
            f'DROP TABLE "{table}"',
            f'ALTER TABLE "{table}" RENAME TO "{table}x"',
            f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "{column}x"',
            f"UPDATE sqlite_schema SET sql = CAST(CAST(sql AS BLOB) || x'ff' AS TEXT) WHERE name = '{table}'",
            f"UPDATE sqlite_schema SET name = CAST(x'ff' AS TEXT) WHERE name = '{table}'",
            f"UPDATE sqlite_schema SET rootpage = 3 WHERE name = '{table}'",
            f"UPDATE sqlite_schema SET rootpage = 999999 WHERE name = '{table}'",
            "PRAGMA application_id = 7",
            f"PRAGMA user_version = {rng.randrange(9)}",
        )
    )
    _execute(database, statement, ())
    return statement


def _choose_place(database: Path, rng: random.Random) -> tuple[str, str, int]:
    filled = [table for table in _list_tables(database) if _list_rows(database, table)]
    table = rng.choice(filled)
    return table, rng.choice(_list_columns(database, table)), rng.choice(_list_rows(database, table))


def _list_tables(database: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        found = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        return [name for (name,) in found if not name.startswith("sqlite_")]


def _list_columns(database: Path, table: str) -> list[str]:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        return [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]


def _list_rows(database: Path, table: str) -> list[int]:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        return [row for (row,) in connection.execute(f'SELECT rowid FROM "{table}"')]


def _execute(database: Path, statement: str, values: tuple[Any, ...]) -> None:
    """Run a statement without the constraints that would keep damage out."""
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') WHERE type = 'table'"
        )
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        with contextlib.suppress(sqlite3.OperationalError, sqlite3.IntegrityError):
            connection.execute(statement, values)
