"""Rows of trials and their series as the tables take them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from pathlab.errors import StoreError, UsageError
from pathlab.store.flags import Status
from pathlab.store.row_check import name_damage
from pathlab.store.schema import ORIGIN, PLAN, SERIES, TRIAL
from pathlab.store.series import SeriesError, decode_series, encode_series
from pathlab.store.series_columns import SERIES_KINDS, find_column_fault

_STREAMED_ROWS = 32  # series fetched at a time where all of a kind are read


def encode_blobs(series: Mapping[str, pa.Table]) -> list[dict[str, Any]]:
    """The rows of the series table for one trial, without its number.

    Raises as ``encode_series``, and UsageError for a series that its readers would refuse.
    """
    rows = []
    for kind, table in series.items():
        blob = encode_series(kind, table)
        _check_readable(kind, blob)
        digest = hashlib.sha256(blob).hexdigest()
        rows.append({"kind": kind, "rows": table.num_rows, "sha256": digest, "blob": blob})
    return rows


def _check_readable(kind: str, blob: bytes) -> None:
    try:
        fault = find_column_fault(kind, decode_series(kind, blob))
    except SeriesError as error:
        fault = error.message
    if fault is not None:
        raise UsageError(
            f"series '{kind}' cannot be stored: {fault}",
            hint="give the columns that docs/COLUMNS.md describes",
        )


def insert_trial(connection: sa.Connection, row: Mapping[str, Any], blobs: Sequence[dict[str, Any]]) -> int:
    """Insert a trial and its series in the caller's transaction and return its number."""
    key = connection.execute(sa.insert(TRIAL), dict(row)).inserted_primary_key
    trial_id = int(key[0]) if key else 0
    if blobs:
        connection.execute(sa.insert(SERIES), [{"trial_id": trial_id, **blob} for blob in blobs])
    return trial_id


def has_result() -> sa.Exists:
    """Whether a plan row has a complete trial or one of another program."""
    imported = sa.exists().where(ORIGIN.c.trial_id == TRIAL.c.trial_id)
    ended = sa.or_(TRIAL.c.status == Status.COMPLETE, imported)
    return sa.exists().where(TRIAL.c.plan_row == PLAN.c.row, ended)


def check_blob(path: Path, trial_id: int, kind: str, blob: Any, digest: str) -> bytes:
    """The bytes of a series, if they are those that were stored. Raises StoreError."""
    if not isinstance(blob, bytes) or hashlib.sha256(blob).hexdigest() != digest:
        raise StoreError(
            f"series '{kind}' of trial {trial_id} in '{path}' is damaged",
            hint="every other series and every trial's figures can still be read",
        )
    return blob


def read_stored_series(path: Path, row: sa.Row[Any], columns: Sequence[str] | None) -> pa.Table:
    """The table of a row of the series table, or its ``columns`` alone.

    Raises StoreError, naming file and trial: damaged, or without the columns that its readers need.
    """
    blob = check_blob(path, row.trial_id, row.kind, row.blob, row.sha256)
    try:
        table = decode_series(row.kind, blob, columns)
    except SeriesError as error:
        raise StoreError(f"results file '{path}', trial {row.trial_id}: {error}", hint=error.hint) from error
    fault = find_column_fault(row.kind, table, whole=columns is None)
    if fault is not None:
        raise name_damage(path, f"series '{row.kind}' of trial {row.trial_id}: {fault}")
    return table


def check_stored_kind(path: Path, kind: Any) -> str:
    """The kind of a stored series, if there is such a kind. Raises StoreError."""
    if kind not in SERIES_KINDS:
        raise name_damage(path, f"table 'series', column 'kind' holds no kind of series: {kind!r}")
    return str(kind)


def stream_blobs(connection: sa.Connection, path: Path, kind: str) -> Iterator[tuple[int, bytes]]:
    """Every trial's series of one kind by one query. Raises StoreError where damaged."""
    query = sa.select(SERIES).where(SERIES.c.kind == kind)
    options = {"yield_per": _STREAMED_ROWS}
    for row in connection.execute(query.order_by(SERIES.c.trial_id), execution_options=options):
        yield row.trial_id, check_blob(path, row.trial_id, kind, row.blob, row.sha256)
