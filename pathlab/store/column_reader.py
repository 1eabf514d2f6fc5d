"""The reader of tables with many rows: column by column, some thousand rows at a time, checked and decoded.

A row costs some 40 µs as a record; here each distinct text is kept and decoded once, and columns without a
value are not read.
"""

from __future__ import annotations

import itertools
import math
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from pathlab.store.schema import ColumnType, JsonText, Unreadable, column_types

#: Values by column; of a column that no row of the query has a value of, None for each row.
ColumnBatch = Mapping[str, Sequence[Any]]
BATCH_ROWS = 10_000
_ABSENT = type(None)
_KEY = ColumnType(base=int, nullable=False, meaning="", unit=None)


class OddValueError(Exception):
    """A value of another type than its column's: who reads the rows one by one can name it."""


def stream_columns(
    connection: sa.Connection, record: type, query: sa.Select[Any], names: Sequence[str]
) -> Iterator[ColumnBatch]:
    """Yield these columns of a query over a record's table, as Python's values, at most BATCH_ROWS at a time.

    Equal texts, and what they are decoded to, are one object. Raises
    OddValueError where a value is not of its column's type.
    """
    types = {name: column_types(record).get(name, _KEY) for name in names}
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    filled = _list_filled(connection, query, types)
    columns = [query.selected_columns[name] for name in filled]
    text = query.with_only_columns(*columns).compile(connection, compile_kwargs={"render_postcompile": True})
    bound = tuple(text.params[name] for name in text.positiontup or ())
    decoders = {name: _make_decoder(types[name]) for name in filled}
    try:
        cursor = raw.execute(str(text), bound)
        while rows := _fetch(raw, cursor):
            nothing = (None,) * len(rows)
            result = {
                name: _check(read, types[name], decoders[name])
                for name, read in zip(filled, zip(*rows, strict=True), strict=True)
            }
            yield {name: result.get(name, nothing) for name in names}
    except sqlite3.OperationalError as error:
        if "decode" not in str(error):
            raise
        raise OddValueError from None


def _fetch(connection: sqlite3.Connection, cursor: sqlite3.Cursor) -> list[tuple[Any, ...]]:
    """The next rows; a text that is none raises ``sqlite3.OperationalError``, which costs nothing else."""
    lenient, connection.text_factory = connection.text_factory, str
    try:
        return cursor.fetchmany(BATCH_ROWS)
    finally:
        connection.text_factory = lenient


def filter_columns(batch: ColumnBatch, kept: Sequence[bool]) -> ColumnBatch:
    """The rows of a batch that are kept."""
    if all(kept):
        return batch
    return {name: tuple(itertools.compress(values, kept)) for name, values in batch.items()}


def _list_filled(
    connection: sa.Connection, query: sa.Select[Any], types: Mapping[str, ColumnType]
) -> tuple[str, ...]:
    """Those of the columns that a row has a value of; OddValueError where one lacks a value that it needs."""
    counts = (sa.func.count(query.selected_columns[name]) for name in types)
    counting = query.with_only_columns(sa.func.count(), *counts, maintain_column_froms=True).order_by(None)
    total, *filled = connection.execute(counting).one()
    if any(count < total and not types[name].nullable for name, count in zip(types, filled, strict=True)):
        raise OddValueError
    return tuple(name for name, count in zip(types, filled, strict=True) if count or not total)


def _make_decoder(column: ColumnType) -> Callable[[str], Any] | None:
    """What a text of the column is decoded to; None of a column of numbers."""
    if column.base in (int, float):
        return None
    if column.base is str:
        return str
    parse = JsonText(as_tuple=column.base is tuple).process_result_value

    def decode(text: str) -> Any:
        value = parse(text, None)
        if isinstance(value, Unreadable):
            raise OddValueError
        return value

    known: dict[str, Any] = {}

    def decode_once(text: str) -> Any:
        if text not in known:
            known[text] = decode(text)
        return known[text]

    return decode_once


def _check(values: Sequence[Any], column: ColumnType, decode: Callable[[str], Any] | None) -> Sequence[Any]:
    kinds = set(map(type, values))
    if decode is not None:
        if not kinds <= {str, _ABSENT}:
            raise OddValueError
        distinct = {text: None if text is None else decode(text) for text in set(values)}
        return tuple(map(distinct.__getitem__, values))
    if not kinds <= ({int, _ABSENT} if column.base is int else {int, float, _ABSENT}):
        raise OddValueError
    if float in kinds and (math.inf in values or -math.inf in values):
        raise OddValueError
    return values
