"""Series of a trial as compressed bytes, one blob per kind; packed by columns, or as an Arrow stream.

A packed series is, in this order (sizes as LEB128):

    magic "PLSC", version 1
    what it refers to: 0 nothing, 1 the intervals of its side, without which it cannot be read
    rows, rows that belong together, number of columns, size of the head
    head: JSON [[name, type], …], deflated
    per column: size of its bytes, its bytes (pathlab/store/packed_columns.py)

What has no form there (other types, metadata, very many rows) is one Arrow IPC stream with zstd, as every
series was before format 3 of the store; both are read.
"""

from __future__ import annotations

import base64
import difflib
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pathlab.errors import StoreError, UsageError
from pathlab.store.kernel_structs import Beside
from pathlab.store.links import EarlierColumns
from pathlab.store.numbers import ROWS_MAX, ByteReader, DamageError, Numbers, encode_size
from pathlab.store.packed_columns import TYPES, Layout, decode_column, encode_column, name_type, to_numbers
from pathlab.store.records import SERIES_KINDS

BATCH_ROWS = 65_536
_MAGIC = b"PLSC\x01"
_HEAD_MAX_BYTES = 1 << 20
_RAW = "_tcp_info_raw"
#: A series may have that many values when packed; more are written, and believed, as an Arrow stream.
_VALUES_MAX = 1 << 26
_DAMAGE = (
    *(pa.ArrowException, OSError, ValueError, KeyError, TypeError, ArithmeticError, zlib.error),
    *(MemoryError, RecursionError),  # of a size or a depth that nobody wrote
)
_SAME_READING = ("index", "stream")


class SeriesError(StoreError):
    """Bytes that are no series; they do not know which trial of which file kept them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """What stands before the columns."""

    refers: bool
    rows: int
    group: int
    schema: pa.Schema


def check_kind(kind: str) -> None:
    """Raise UsageError unless ``kind`` is one of the documented series."""
    if kind not in SERIES_KINDS:
        nearest = difflib.get_close_matches(str(kind), SERIES_KINDS, n=1)
        meant = f"; did you mean '{nearest[0]}'?" if nearest else ""
        raise UsageError(
            f"'{kind}' is no kind of series{meant}", hint=f"Known kinds: {', '.join(SERIES_KINDS)}."
        )


def base_kind(kind: str) -> str | None:
    """The kind that a series may refer to: the intervals of its side for the raw structs, else None."""
    return f"{kind.removesuffix(_RAW)}_intervals" if kind.endswith(_RAW) else None


def encode_series(kind: str, table: pa.Table, base: pa.Table | None = None) -> bytes:
    """Return a table as bytes, nulls and column types kept. Raises UsageError for an unknown kind.

    ``base`` is the trial's series of ``base_kind(kind)``, where there is one; ``find_base`` says whether the
    bytes refer to it.
    """
    check_kind(kind)
    if not isinstance(table, pa.Table):
        raise UsageError(f"series '{kind}' is not an Arrow table", hint="Give a pyarrow.Table.")
    names = [name_type(field.type) for field in table.schema]
    plain = table.schema.equals(pa.schema([(f.name, f.type) for f in table.schema]), check_metadata=True)
    if (
        None in names
        or not plain
        or table.num_rows > ROWS_MAX
        or table.num_rows * table.num_columns > _VALUES_MAX
    ):
        return encode_arrow(table)
    columns = [_join(column) for column in table.columns]
    group = _count_group(columns)
    layout = Layout(group=group, beside=_find_beside(table, base), earlier=EarlierColumns(group))
    packed = [encode_column(column, layout, place) for place, column in enumerate(columns)]
    head = json.dumps(list(zip(table.schema.names, names, strict=True)), separators=(",", ":"))
    head_bytes = zlib.compress(head.encode(), 9, wbits=-15)
    sizes = (table.num_rows, layout.group, len(columns), len(head_bytes))
    parts = [_MAGIC, bytes((any(uses for _, uses in packed),)), *map(encode_size, sizes), head_bytes]
    for data, _ in packed:
        parts += (encode_size(len(data)), data)
    return b"".join(parts)


def encode_arrow(table: pa.Table) -> bytes:
    """Return a table as an Arrow IPC stream with zstd, which ``decode_series`` reads as well."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=BATCH_ROWS)
    return bytes(sink.getvalue().to_pybytes())


def find_base(kind: str, blob: bytes) -> str | None:
    """Return the kind of the series without which these bytes cannot be read, None where they stand alone."""
    referring = blob[: len(_MAGIC)] == _MAGIC and blob[len(_MAGIC) : len(_MAGIC) + 1] == b"\1"
    return base_kind(kind) if referring else None


def decode_series(
    kind: str, blob: bytes, columns: Sequence[str] | None = None, *, base: pa.Table | None = None
) -> pa.Table:
    """Return the table that ``encode_series`` made bytes of, or those of the columns that it has.

    ``base`` is the series that ``find_base`` names, which only the column ``tcp_info`` needs. Raises
    StoreError when the bytes are damaged, or ``base`` is needed and not given.
    """
    check_kind(kind)
    with _telling(kind):
        if not blob.startswith(_MAGIC):
            return _decode_arrow(blob, columns)
        reader = ByteReader(blob)
        head = _read_head(reader)
        parts = [reader.take(reader.take_size()) for _ in head.schema]
        if not reader.is_done:
            raise DamageError("more bytes than there should be")
        beside = _read_beside(base, head.rows) if head.refers and base is not None else None
        unpacking = _Unpacking(head, parts, beside)
        wanted = [place for place, name in enumerate(head.schema.names) if columns is None or name in columns]
        arrays = [unpacking.column(place) for place in wanted]
        return pa.Table.from_arrays(arrays, schema=pa.schema([head.schema.field(place) for place in wanted]))


def decode_schema(kind: str, blob: bytes) -> pa.Schema:
    """Return the columns of a series without reading its rows. Raises as ``decode_series``."""
    check_kind(kind)
    with _telling(kind):
        if blob.startswith(_MAGIC):
            return _read_head(ByteReader(blob)).schema
        with pa.ipc.open_stream(pa.BufferReader(blob)) as reader:
            return reader.schema


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


def _decode_arrow(blob: bytes, columns: Sequence[str] | None) -> pa.Table:
    places = None
    if columns is not None:
        names = pa.ipc.open_stream(pa.BufferReader(blob)).schema.names
        places = [place for place, name in enumerate(names) if name in columns]
    options = pa.ipc.IpcReadOptions(included_fields=places, use_threads=False)
    with pa.ipc.open_stream(pa.BufferReader(blob), options=options) as reader:
        table = reader.read_all()
    table.validate(full=True)
    return table


def _read_head(reader: ByteReader) -> _Head:
    reader.take(len(_MAGIC))
    refers = reader.take_byte()
    rows, group, columns, size = (reader.take_size() for _ in range(4))
    inflater = zlib.decompressobj(wbits=-15)
    text = inflater.decompress(reader.take(size), _HEAD_MAX_BYTES)
    too_many = rows > ROWS_MAX or rows * columns > _VALUES_MAX
    if refers > 1 or too_many or not 0 < group <= max(rows, 1):
        raise DamageError("a head that cannot be")
    fields = [(str(name), TYPES[kind]) for name, kind in json.loads(text)]
    if len(fields) != columns:
        raise DamageError("another number of columns")
    return _Head(refers=bool(refers), rows=rows, group=group, schema=pa.schema(fields))


class _Unpacking:
    """The columns of one blob, each unpacked once, with those that tell it."""

    def __init__(self, head: _Head, parts: Sequence[memoryview], beside: Beside | None) -> None:
        self._head = head
        self._parts = parts
        self._beside = beside
        self._known: dict[int, pa.Array] = {}

    def column(self, place: int) -> pa.Array:
        """One column by its place."""
        if place not in self._known:

            def find(other: int) -> Numbers:
                if other >= place or self._head.schema.field(other).type != pa.int64():
                    raise DamageError("a column told by one behind it, or by texts")
                return to_numbers(self.column(other))

            reader = ByteReader(self._parts[place])
            layout = Layout(group=self._head.group, beside=self._beside, find=find)
            data_type = self._head.schema.field(place).type
            self._known[place] = decode_column(reader, data_type, self._head.rows, layout)
            if not reader.is_done:
                raise DamageError("more bytes than there should be")
        return self._known[place]


def _join(column: pa.ChunkedArray) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    joined = column.combine_chunks()
    return joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined


def _count_group(columns: Sequence[pa.Array]) -> int:
    """Rows at the beginning with the same first value: the streams of an interval, the cores of a span."""
    if not columns or not pa.types.is_int64(columns[0].type) or not len(columns[0]):
        return 1
    numbers = to_numbers(columns[0])
    other = np.flatnonzero(numbers != numbers[0])
    return int(other[0]) if other.size else 1


def _find_beside(table: pa.Table, base: pa.Table | None) -> Beside | None:
    """The intervals, where the first rows of the raw structs are their readings."""
    if base is None or not 0 < base.num_rows <= table.num_rows:
        return None
    for name in _SAME_READING:
        if name not in base.schema.names or name not in table.schema.names:
            return None
        if not table[name].slice(0, base.num_rows).equals(base[name]):
            return None
    return _read_beside(base, table.num_rows)


def _read_beside(base: pa.Table, rows: int) -> Beside:
    if base.num_rows > rows:
        raise DamageError("the series that it refers to is a longer one")
    whole = [place for place, field in enumerate(base.schema) if field.type == pa.int64()]
    columns = {place: to_numbers(_join(base.column(place))) for place in whole}
    return Beside(rows=base.num_rows, columns=columns)


@contextmanager
def _telling(kind: str) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise SeriesError(
            f"series '{kind}' is damaged and cannot be read",
            hint="Every other series and every trial's figures can still be read.",
        ) from error
