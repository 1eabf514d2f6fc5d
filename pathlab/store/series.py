"""Series of a trial as bytes, one blob per kind: an uncompressed Parquet file inside one zstd frame.

zstd around the whole file also compresses what columns and footer have in common, and the unpacked size is
bounded here, whatever a hostile file says of its pages. Texts come back without a dictionary. ``tcp_info`` is
stored as differences: each 32-bit word minus the same word of the stream's reading before.
"""

from __future__ import annotations

import base64
import difflib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pathlab.errors import StoreError, UsageError
from pathlab.store.parquet_footer import read_footer
from pathlab.store.series_columns import SERIES_KINDS

#: Values of 8 bytes, texts and the Parquet file may each take so many bytes in memory, or so many per byte of
#: a longer blob: measured series take up to 100 per byte.
MEMORY_BYTES = 1 << 27
MEMORY_RATIO = 1000
_VALUE_BYTES = 8
_ZSTD_LEVEL = 15
_STRUCT, _WORD_BYTES = "tcp_info", 4
_COUNTERS = ("index", "sequence")
_DAMAGE = (
    *(pa.ArrowException, OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError),
    *(MemoryError, RecursionError),  # of a size or a depth that nobody wrote
)


class SeriesError(StoreError):
    """Bytes that are no series; they do not know which trial of which file kept them."""


def check_kind(kind: str) -> None:
    """Raise UsageError unless ``kind`` is one of the documented series."""
    if kind not in SERIES_KINDS:
        nearest = difflib.get_close_matches(str(kind), SERIES_KINDS, n=1)
        meant = f"; did you mean '{nearest[0]}'?" if nearest else ""
        raise UsageError(
            f"'{kind}' is not a kind of series{meant}", hint=f"known kinds: {', '.join(SERIES_KINDS)}"
        )


def encode_series(kind: str, table: pa.Table) -> bytes:
    """Return a table as bytes; nulls stay null. Raises UsageError: unknown kind, not a table."""
    check_kind(kind)
    if not isinstance(table, pa.Table):
        raise UsageError(f"series '{kind}' is not an Arrow table", hint="give a pyarrow.Table")
    table = _replace_structs(table)
    encodings = {
        field.name: encoding for field in table.schema if (encoding := _choose_encoding(field, table))
    }
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="none",
        write_statistics=False,
        store_schema=False,
        use_dictionary=[name for name in table.column_names if name not in encodings],
        column_encoding=encodings or None,
    )
    packed: bytes = pa.Codec("zstd", compression_level=_ZSTD_LEVEL).compress(sink.getvalue(), asbytes=True)
    return packed


def decode_series(kind: str, blob: bytes, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the table that ``encode_series`` made bytes of, or those of ``columns`` that it has.

    Raises StoreError when the bytes are damaged, or would take more memory than ``MEMORY_BYTES`` and
    ``MEMORY_RATIO`` allow.
    """
    check_kind(kind)
    with _translate_damage(kind):
        file = _open_parquet(blob)
        stored = file.schema_arrow
        wanted = [name for name in stored.names if columns is None or name in columns]
        lag_from = ["stream"] if _STRUCT in wanted and "stream" in stored.names else []
        table = _flatten_texts(file.read(columns=[*wanted, *lag_from], use_threads=False), _limit_bytes(blob))
        table = _restore_structs(table).select(wanted)
        table.validate(full=True)
        return table


def decode_schema(kind: str, blob: bytes) -> pa.Schema:
    """Return the columns of a series without reading its rows. Raises as ``decode_series``."""
    check_kind(kind)
    with _translate_damage(kind):
        return pa.schema(
            [(field.name, _stored_type(field.type)) for field in _open_parquet(blob).schema_arrow]
        )


def serialize_series(table: pa.Table) -> dict[str, list[Any]]:
    """Return a series as lists by column that JSON can hold: bytes as base64."""
    columns: dict[str, list[Any]] = {}
    for field in table.schema:
        values = table[field.name].to_pylist()
        columns[field.name] = (
            [serialize_bytes(v) for v in values] if pa.types.is_binary(field.type) else values
        )
    return columns


def serialize_bytes(value: bytes | None) -> str | None:
    """Return bytes as base64; None stays None."""
    return None if value is None else base64.b64encode(value).decode("ascii")


def _choose_encoding(field: pa.Field, table: pa.Table) -> str | None:
    """The encoding that made measured trials smallest inside zstd; None: dictionary."""
    if pa.types.is_integer(field.type):
        climbs = field.name.endswith("_ns") or field.name in _COUNTERS
        return "DELTA_BINARY_PACKED" if climbs else "BYTE_STREAM_SPLIT"
    if pa.types.is_floating(field.type):
        distinct = pc.count_distinct(table[field.name]).as_py()
        return None if 2 * distinct <= table.num_rows else "BYTE_STREAM_SPLIT"
    return "BYTE_STREAM_SPLIT" if pa.types.is_fixed_size_binary(field.type) else None


def _open_parquet(blob: bytes) -> pq.ParquetFile:
    """The file of a blob, before any of its rows is read. Raises ValueError for a size that nobody wrote."""
    with pa.CompressedInputStream(pa.BufferReader(blob), "zstd") as stream:
        data = stream.read_buffer(_limit_bytes(blob) + 1)
    footer = read_footer(memoryview(data))
    if max(data.size, footer.values * _VALUE_BYTES) > _limit_bytes(blob) or footer.is_compressed:
        raise ValueError("more values than anybody stores, or compressed pages")
    file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=footer.texts)
    if len({*file.schema_arrow.names}) < len(file.schema_arrow.names):
        raise ValueError("two columns of one name")
    return file


def _stored_type(data_type: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(data_type):
        return data_type.value_type
    return pa.binary() if pa.types.is_fixed_size_binary(data_type) else data_type


def _limit_bytes(blob: bytes) -> int:
    return max(MEMORY_BYTES, MEMORY_RATIO * len(blob))


def _flatten_texts(table: pa.Table, limit_bytes: int) -> pa.Table:
    """Dictionaries as plain texts, unless a long one would be repeated in very many rows."""
    for index, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            column = table[field.name]
            sizes = (
                pc.sum(pc.binary_length(c.dictionary).take(c.indices)).as_py() or 0 for c in column.chunks
            )
            if sum(sizes) > limit_bytes:
                raise ValueError("longer texts than anybody stores")
            table = table.set_column(index, field.name, column.cast(field.type.value_type))
    return table


def _replace_structs(table: pa.Table) -> pa.Table:
    """The structs as differences, where all are of one size of whole words."""
    index = table.schema.get_field_index(_STRUCT)
    if (
        index < 0
        or not pa.types.is_binary(table[_STRUCT].type)
        or not table.num_rows
        or table[_STRUCT].null_count
    ):
        return table
    sizes = pc.unique(pc.binary_length(table[_STRUCT])).to_pylist()
    if len(sizes) > 1 or not sizes[0] or sizes[0] % _WORD_BYTES:
        return table
    words, lag = _read_words(table[_STRUCT].cast(pa.binary(sizes[0]))), _find_lag(table)
    changes = words.copy()
    changes[lag:] -= words[:-lag]
    return table.set_column(index, _STRUCT, _build_structs(changes))


def _restore_structs(table: pa.Table) -> pa.Table:
    index = table.schema.get_field_index(_STRUCT)
    if index < 0 or not pa.types.is_fixed_size_binary(table[_STRUCT].type):
        return table
    words, lag = _read_words(table[_STRUCT]).copy(), _find_lag(table)
    for first in range(min(lag, len(words))):
        np.add.accumulate(words[first::lag], axis=0, out=words[first::lag])
    return table.set_column(index, _STRUCT, _build_structs(words).cast(pa.binary()))


def _find_lag(table: pa.Table) -> int:
    """Rows from a reading to the next one of the same stream."""
    most = pc.max(table["stream"]).as_py() if "stream" in table.column_names else None
    return most + 1 if isinstance(most, int) and 0 <= most < table.num_rows else 1


def _read_words(column: pa.ChunkedArray) -> npt.NDArray[np.uint32]:
    """Structs of one size as (rows, words)."""
    joined, width = pa.concat_arrays(column.chunks), column.type.byte_width
    data = joined.buffers()[1]  # Arrow's own way to numpy imports pandas, in the middle of a run
    words = np.frombuffer(data, "<u4", len(joined) * width // _WORD_BYTES, joined.offset * width)
    return words.reshape(len(joined), -1)


def _build_structs(words: npt.NDArray[np.uint32]) -> pa.Array:
    width = words.shape[1] * _WORD_BYTES
    data = pa.py_buffer(np.ascontiguousarray(words))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(words), [None, data])


@contextmanager
def _translate_damage(kind: str) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise SeriesError(
            f"series '{kind}' is damaged and cannot be read",
            hint="every other series and every trial's figures can still be read",
        ) from error
