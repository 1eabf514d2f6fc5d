"""Columns of Arrow tables as numpy arrays, by their buffers: Arrow's own ``to_numpy`` imports pandas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


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
    filled = pc.fill_null(known.cast(pa.float64(), safe=False), np.nan)
    parts = [
        np.frombuffer(part.buffers()[1], np.float64, len(part), part.offset * np.float64().itemsize)
        for part in filled.chunks
        if len(part)
    ]
    return np.concatenate(parts) if parts else np.empty(0)


def read_objects(column: pa.ChunkedArray) -> NDArray[Any]:
    """Any column as Python's objects, None where null."""
    found = np.empty(len(column), dtype=object)
    found[:] = column.to_pylist()
    return found
