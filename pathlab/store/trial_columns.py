"""Trials and settings of the plan in one go, column by column: for studies of very many trials.

A row of the store costs some 40 µs as a record; here texts are decoded once each, and columns without a value
are not read.
"""

from __future__ import annotations

import array
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.dialects import sqlite

from pathlab.store.records import PlanRecord, TrialRecord
from pathlab.store.results import Results
from pathlab.store.schema import PLAN, TABLES, TRIAL, ColumnType, JsonText, Unreadable, column_types

if TYPE_CHECKING:
    import pandas as pd

_BATCH_ROWS = 10_000
_KEY, _ROW, _SETTINGS = "trial_id", "row", "settings"
_ABSENT = type(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSettings:
    """The settings of a plan: numbers of rows, and for each the place of its settings among the distinct."""

    rows: NDArray[np.int64]
    places: NDArray[np.intp]
    distinct: tuple[Mapping[str, Any], ...]


class _OddValueError(Exception):
    """A value of another type than its column's: the row's reader names it."""


def find_last_trial(results: Results) -> int:
    """The highest number of a stored trial; 0 without any. Raises StoreError."""
    with results.reading() as connection:
        return int(connection.execute(sa.select(sa.func.max(TRIAL.c.trial_id))).scalar() or 0)


def count_plan_rows(results: Results) -> int:
    """The rows of the plan. Raises StoreError."""
    with results.reading() as connection:
        return int(connection.execute(sa.select(sa.func.count()).select_from(PLAN)).scalar_one())


def read_plan_settings(results: Results) -> StoredSettings:
    """The settings of every row of the plan, in its order. Raises StoreError where one is damaged."""
    try:
        with results.reading() as connection:
            numbers, settings = _fetch_columns(connection, PlanRecord, (_ROW, _SETTINGS), ("", ()))
        codes, texts = _find_distinct(settings)
        distinct = tuple(_decode_json(text, as_tuple=False) for text in texts)
        if (codes < 0).any():
            raise _OddValueError
    except _OddValueError:
        plan = results.plan()  # names the damaged row
        numbers = np.array([row.row for row in plan], dtype=np.float64)
        codes, distinct = np.arange(len(plan)), tuple(row.settings for row in plan)
    order = np.argsort(numbers, kind="stable")
    return StoredSettings(rows=numbers[order].astype(np.int64), places=codes[order], distinct=distinct)


def read_trial_columns(results: Results, after: int = 0) -> pd.DataFrame:
    """The trials with a higher number than ``after``, in the order of their numbers, as ``Results.trials``.

    Numbers are floats (NaN: not measured), texts objects (None), flags tuples, ``started_utc`` a timestamp.
    Raises StoreError where a value is damaged.
    """
    import pandas as pd

    names = (_KEY, *column_types(TrialRecord))
    try:
        with results.reading() as connection:
            condition = (f"WHERE {_KEY} > ?", (after,))
            known = _list_filled(connection, names, condition)
            order = (f"{condition[0]} ORDER BY {_KEY}", (after,))
            found = dict(zip(known, _fetch_columns(connection, TrialRecord, known, order), strict=True))
        size = len(found[_KEY])
        converted = {
            name: _finish_column(found[name], column) if name in found else _leave_empty(column, size)
            for name in names
            for column in (_find_type(TrialRecord, name),)
        }
        index = pd.RangeIndex(size)  # of each its own would have to be compared
        series = {name: pd.Series(one, index, one.dtype, copy=False) for name, one in converted.items()}
        frame = pd.DataFrame(series, index, copy=False)
    except _OddValueError:
        every = results.trials()  # names the damaged row
        frame = every[every[_KEY] > after].reset_index(drop=True)
    frame["started_utc"] = pd.to_datetime(frame["started_utc"], utc=True, format="ISO8601", errors="coerce")
    return frame


def _find_type(record: type, name: str) -> ColumnType:
    found = column_types(record).get(name)
    return found or ColumnType(base=int, nullable=False, meaning="", unit=None)


def _list_filled(
    connection: sa.Connection, names: Sequence[str], condition: tuple[str, tuple[Any, ...]]
) -> tuple[str, ...]:
    """Those of the columns that a row has a value of; all where there is no row.

    Raises _OddValueError where one that may not be empty is empty.
    """
    counts = ", ".join(f"count({name})" for name in names)
    row = _open_raw(connection).execute(f"SELECT count(*), {counts} FROM trial {condition[0]}", condition[1])
    total, *filled = row.fetchone()
    for name, count in zip(names, filled, strict=True):
        if count < total and not _find_type(TrialRecord, name).nullable:
            raise _OddValueError
    return tuple(name for name, count in zip(names, filled, strict=True) if count or not total)


def _fetch_columns(
    connection: sa.Connection, record: type, names: Sequence[str], condition: tuple[str, tuple[Any, ...]]
) -> list[Any]:
    """Each column: an array of numbers, or a list of texts as bytes."""
    types = [_find_type(record, name) for name in names]
    found: list[list[Any]] = [[] for _ in names]
    cursor = _open_raw(connection).execute(
        f"SELECT {', '.join(names)} FROM {TABLES[record].name} {condition[0]}", condition[1]
    )
    while rows := cursor.fetchmany(_BATCH_ROWS):
        for values, one, column in zip(zip(*rows, strict=True), found, types, strict=True):
            if column.base in (int, float):
                one.append(_convert_numbers(values, column))
            else:
                one.extend(values)
    return [
        np.concatenate([np.empty(0), *one]) if column.base in (int, float) else one
        for one, column in zip(found, types, strict=True)
    ]


def _open_raw(connection: sa.Connection) -> sqlite3.Connection:
    """The connection of the driver, which is this reader's alone; it leaves texts undecoded."""
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    raw.text_factory = bytes
    return raw


def _leave_empty(column: ColumnType, size: int) -> NDArray[Any]:
    if column.base in (str, tuple):
        return np.full(size, None, dtype=object)
    return np.full(size, np.nan)


def _finish_column(values: Any, column: ColumnType) -> NDArray[Any]:
    """Numbers as they are; texts and lists of texts decoded, once each."""
    if column.base in (int, float):
        numbers: NDArray[np.float64] = values
        return numbers
    codes, texts = _find_distinct(values)
    as_tuples = column.base is tuple
    known = np.empty(len(texts) + 1, dtype=object)  # tuples would become rows of an array
    known[:-1] = [_decode_json(text, as_tuple=True) for text in texts] if as_tuples else _decode(texts)
    return known[codes]


def _convert_numbers(values: Sequence[Any], column: ColumnType) -> NDArray[np.float64]:
    whole = column.base is int
    try:  # refuses every other type, and is twice as fast as what follows
        numbers = np.array(array.array("q" if whole else "d", values), dtype=np.float64)
    except TypeError:
        allowed = {int, _ABSENT} if whole else {int, float, _ABSENT}
        if not allowed.issuperset(map(type, values)):
            raise _OddValueError from None
        numbers = np.array(values, dtype=np.float64)
    if np.isinf(numbers).any():
        raise _OddValueError
    return numbers


def _find_distinct(values: list[Any]) -> tuple[NDArray[np.intp], list[bytes]]:
    """The place of each value among the distinct ones, -1 for None."""
    import pandas as pd

    if not {bytes, _ABSENT}.issuperset(map(type, values)):
        raise _OddValueError
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    codes, distinct = pd.factorize(objects, use_na_sentinel=True)
    return codes, list(distinct)


def _decode(texts: list[bytes]) -> list[Any]:
    try:
        return [text.decode() for text in texts]
    except UnicodeDecodeError:
        raise _OddValueError from None


def _decode_json(stored: bytes, *, as_tuple: bool) -> Any:
    (text,) = _decode([stored])
    value = JsonText(as_tuple=as_tuple).process_result_value(text, sqlite.dialect())
    if isinstance(value, Unreadable):
        raise _OddValueError
    return value
