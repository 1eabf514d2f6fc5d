"""Arrays that are built and read by their buffers are those that Arrow's own conversion gives."""

import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.store.arrays import build_array, build_scalar, convert_rows, read_floats, read_objects

VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(),
    pa.binary(): st.binary(),
    pa.list_(pa.string()): st.lists(st.text(max_size=5), max_size=3),
}
NUMBERS = st.lists(st.none() | VALUES[pa.int64()], max_size=20)


@pytest.mark.parametrize("kind", VALUES, ids=str)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_arrays_are_those_of_arrow(kind: pa.DataType, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | VALUES[kind], max_size=20))
    built = build_array(values, kind)
    built.validate(full=True)
    assert built.equals(pa.array(values, kind))
    if values:
        assert build_scalar(values[0], kind).equals(pa.scalar(values[0], kind))
    assert read_objects(pa.chunked_array([built])).tolist() == built.to_pylist()


@given(NUMBERS, NUMBERS, st.integers(0, 10))
@settings(max_examples=40, deadline=None)
def test_floats_are_read_across_chunks_and_slices(
    first: list[int | None], second: list[int | None], begin: int
) -> None:
    column = pa.chunked_array([pa.array(part, pa.int64()) for part in (first, second)]).slice(begin)
    expected = np.array(column.to_pylist(), dtype=np.float64)  # None is NaN
    assert np.array_equal(read_floats(column), expected, equal_nan=True)


def test_a_column_that_a_row_lacks_is_null_there() -> None:
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    rows: list[dict[str, Any]] = [{"a": 1, "b": "x", "c": 0}, {"b": None}, {"a": None, "b": "y"}]
    assert convert_rows(rows, schema).equals(pa.Table.from_pylist(rows, schema=schema))
    assert convert_rows([], schema).equals(schema.empty_table())


@pytest.mark.parametrize(
    ("value", "kind", "error"),
    [
        (1.5, pa.int64(), TypeError),
        ("1", pa.int64(), TypeError),
        (2**63, pa.int64(), OverflowError),
        (1, pa.int32(), TypeError),
    ],
)
def test_a_value_of_another_type_is_refused(value: Any, kind: pa.DataType, error: type[Exception]) -> None:
    with pytest.raises(error):
        build_array([value], kind)


def test_nothing_of_it_imports_pandas() -> None:
    script = """
import sys
import pyarrow as pa
import pyarrow.compute as pc
from pathlab.store.arrays import build_scalar, convert_rows, read_floats, read_objects
table = convert_rows([{"a": 1, "b": "x"}, {}], pa.schema([("a", pa.int64()), ("b", pa.string())]))
read_floats(table["a"]), read_objects(table["b"])
table.filter(pc.equal(table["b"], build_scalar("x", pa.string())))
sys.exit("pandas" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
