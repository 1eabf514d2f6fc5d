"""Arrow's arrays from Python's values and numpy's from Arrow's, by their buffers.

Arrow imports pandas to convert any value, a literal of ``pyarrow.compute`` included: 0.4 s, in every trial.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def build_array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """An array of 64-bit integers, floats, truth values, texts, bytes, or lists of them; None is null.

    Raises TypeError, OverflowError or AttributeError for a value of another type.
    """
    count = len(values)
    known = np.fromiter((value is not None for value in values), bool, count)
    valid = None if known.all() else _pack(known)
    if pa.types.is_list(kind):
        flat = build_array([item for value in values for item in value or ()], kind.value_type)
        return pa.Array.from_buffers(kind, count, [valid, _pack_offsets(values)], children=[flat])
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        data = [value.encode() if isinstance(value, str) else bytes(value or b"") for value in values]
        return pa.Array.from_buffers(kind, count, [valid, _pack_offsets(data), pa.py_buffer(b"".join(data))])
    if pa.types.is_boolean(kind):
        return pa.Array.from_buffers(kind, count, [valid, _pack(np.fromiter(map(bool, values), bool, count))])
    whole = pa.types.is_int64(kind)
    if not whole and not pa.types.is_float64(kind):
        raise TypeError(f"no array of {kind} is built here")
    exact = (0 if value is None else (operator.index if whole else float)(value) for value in values)
    numbers = np.fromiter(exact, np.int64 if whole else np.float64, count)
    return pa.Array.from_buffers(kind, count, [valid, pa.py_buffer(numbers)])


def build_scalar(value: Any, kind: pa.DataType) -> pa.Scalar:
    """A value that ``pyarrow.compute`` takes."""
    return build_array([value], kind)[0]


def convert_rows(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """A row for each mapping; a column that one does not have is null there."""
    arrays = [build_array([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def holds_numbers(column: pa.ChunkedArray) -> bool:
    """Whether ``read_floats`` can read the column; of nulls alone, too."""
    kind = column.type
    return any(
        test(kind)
        for test in (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)
    )


def read_floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """A column of numbers or truth values as floats, NaN where null."""
    known = column.cast(pa.int8()) if pa.types.is_boolean(column.type) else column
    parts = [_read_part(part) for part in known.cast(pa.float64(), safe=False).chunks if len(part)]
    return np.concatenate(parts) if parts else np.empty(0)


def read_objects(column: pa.ChunkedArray) -> NDArray[Any]:
    """Any column as Python's objects, None where null."""
    result = np.empty(len(column), dtype=object)
    result[:] = column.to_pylist()
    return result


def _read_part(part: pa.Array) -> NDArray[np.float64]:
    valid, data = part.buffers()
    values = np.frombuffer(data, np.float64, len(part), part.offset * np.float64().itemsize)
    if not part.null_count:
        return values
    bits = np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")
    return np.where(bits[part.offset : part.offset + len(part)] == 1, values, np.nan)


def _pack(bits: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(bits, bitorder="little"))


def _pack_offsets(values: Sequence[Any]) -> pa.Buffer:
    """Where each list or text begins, and where the last one ends; None is empty."""
    lengths = [0, *(len(value) if value is not None else 0 for value in values)]
    return pa.py_buffer(np.cumsum(lengths).astype(np.int32))
