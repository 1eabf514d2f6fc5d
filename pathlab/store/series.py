"""Series of a trial as compressed bytes: one Arrow IPC stream with zstd per kind."""

from __future__ import annotations

import base64
import difflib
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pathlab.errors import StoreError, UsageError
from pathlab.store.records import SERIES_KINDS

BATCH_ROWS = 65_536


def check_kind(kind: str) -> None:
    """Raise UsageError unless ``kind`` is one of the documented series."""
    if kind not in SERIES_KINDS:
        nearest = difflib.get_close_matches(str(kind), SERIES_KINDS, n=1)
        meant = f"; did you mean '{nearest[0]}'?" if nearest else ""
        raise UsageError(
            f"'{kind}' is no kind of series{meant}", hint=f"Known kinds: {', '.join(SERIES_KINDS)}."
        )


def encode_series(kind: str, table: pa.Table) -> bytes:
    """Return a table as bytes, nulls and column types kept. Raises UsageError for an unknown kind."""
    check_kind(kind)
    if not isinstance(table, pa.Table):
        raise UsageError(f"series '{kind}' is not an Arrow table", hint="Give a pyarrow.Table.")
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=BATCH_ROWS)
    return bytes(sink.getvalue().to_pybytes())


def decode_series(kind: str, blob: bytes, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the table that ``encode_series`` made bytes of, or those of the columns that it has.

    Raises StoreError when the bytes are damaged.
    """
    check_kind(kind)
    try:
        places = None
        if columns is not None:
            names = pa.ipc.open_stream(pa.BufferReader(blob)).schema.names
            places = [place for place, name in enumerate(names) if name in columns]
        options = pa.ipc.IpcReadOptions(included_fields=places, use_threads=False)
        with pa.ipc.open_stream(pa.BufferReader(blob), options=options) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _damaged(kind) from error
    return table


def decode_schema(kind: str, blob: bytes) -> pa.Schema:
    """Return the columns of a series without reading its rows. Raises as ``decode_series``."""
    check_kind(kind)
    try:
        with pa.ipc.open_stream(pa.BufferReader(blob)) as reader:
            return reader.schema
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _damaged(kind) from error


def spell_series(table: pa.Table) -> dict[str, list[Any]]:
    """Return a series as lists by column that JSON can hold: bytes as base64."""
    columns: dict[str, list[Any]] = {}
    for field in table.schema:
        values = table[field.name].to_pylist()
        columns[field.name] = [spell_bytes(v) for v in values] if pa.types.is_binary(field.type) else values
    return columns


def spell_bytes(value: bytes | None) -> str | None:
    """Return bytes as base64; None stays None."""
    return None if value is None else base64.b64encode(value).decode("ascii")


def _damaged(kind: str) -> StoreError:
    return StoreError(
        f"series '{kind}' is damaged and cannot be read",
        hint="Every other series and every trial's figures can still be read.",
    )
