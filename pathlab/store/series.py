"""Series of a trial as compressed bytes: one Arrow IPC stream with zstd per kind."""

from __future__ import annotations

import difflib

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


def decode_series(kind: str, blob: bytes) -> pa.Table:
    """Return the table that ``encode_series`` made bytes of. Raises StoreError when the bytes are damaged."""
    check_kind(kind)
    try:
        with pa.ipc.open_stream(pa.BufferReader(blob)) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise StoreError(
            f"series '{kind}' is damaged and cannot be read",
            hint="Every other series and every trial's figures can still be read.",
        ) from error
    return table
