"""One Arrow column of a series as bytes, and back: nulls, order, and the bits of every number kept.

validity  0: no nulls; 1: one number (0 or 1) a row follows
values    floats, truth values: numbers; integers of 64 bits: numbers that an earlier column of the series may
          tell (pathlab/store/links.py); under a null stands the number before it
          texts, bytes: 0 the distinct ones (sizes, then all of them, deflated) and each row's place among
          them; 1 structs, where all are alike in size (pathlab/store/kernel_structs.py)
          dictionaries: the distinct texts, then each row's place
          lists: each row's length, then their items as a column
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute  # here, or Arrow imports it when the first trial of a run is stored

from pathlab.store.kernel_structs import WORD_BYTES, Beside, decode_structs, encode_structs
from pathlab.store.links import EarlierColumns, decode_linked
from pathlab.store.numbers import ROWS_MAX, ByteReader, DamageError, Numbers, decode_numbers, encode_numbers
from pathlab.store.numbers import encode_size as _size

_DICTIONARY = pa.dictionary(pa.int32(), pa.string())
#: Types that can be written, by the name that the head of a series gives them.
TYPES: Mapping[str, pa.DataType] = {
    "int64": pa.int64(),
    "int32": pa.int32(),
    "double": pa.float64(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "dictionary": _DICTIONARY,
    "texts": pa.list_(pa.string()),
}
_UNSIGNED: Mapping[pa.DataType, type[np.unsignedinteger]] = {
    pa.int64(): np.uint64,
    pa.int32(): np.uint32,
    pa.float64(): np.uint64,
    pa.bool_(): np.uint8,
}
_DISTINCT, _STRUCTS = 0, 1
_TEXT_MAX_BYTES = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What the columns of one series share: rows that belong together, and what may be referred to.

    ``earlier`` (to write) and ``find`` (to read) are the columns before; without them none tells another.
    """

    group: int = 1
    beside: Beside | None = None
    earlier: EarlierColumns | None = None
    find: Callable[[int], Numbers] | None = None


def name_type(data_type: pa.DataType) -> str | None:
    """The name of a type in ``TYPES``, None where it cannot be written."""
    return next((name for name, known in TYPES.items() if known == data_type), None)


def to_numbers(column: pa.Array) -> Numbers:
    """Integers, floats or truth values as unsigned integers of the same bits; a null as the value before."""
    # From the buffers themselves: Arrow's own way to numpy imports pandas, in the middle of a run.
    width, data, count = _UNSIGNED[column.type], column.buffers()[1], len(column)
    if data is None or not count:
        return np.zeros(count, width)
    if pa.types.is_boolean(column.type):
        numbers = _read_bits(data, column.offset, count)
    else:
        numbers = np.frombuffer(data, width, count, column.offset * np.dtype(width).itemsize)
    if not column.null_count:
        return numbers
    valid = _read_validity(column)
    return (numbers * valid)[np.maximum.accumulate(np.where(valid, np.arange(count), 0))]


def _read_validity(column: pa.Array) -> Numbers:
    """One 1 for each row that is there, 0 for each null."""
    bits = column.buffers()[0]
    return np.ones(len(column), np.uint8) if bits is None else _read_bits(bits, column.offset, len(column))


def _read_bits(data: pa.Buffer, offset: int, count: int) -> Numbers:
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
    return bits[offset : offset + count]


def encode_column(column: pa.Array, layout: Layout, place: int = 0) -> tuple[bytes, bool]:
    """A column of one of ``TYPES`` as bytes, and whether the table beside it is needed to read it.

    ``place`` is its place in the series.
    """
    if pa.types.is_dictionary(column.type):
        texts, uses = encode_column(column.dictionary, Layout())
        places, _ = encode_column(column.indices, layout)
        return _size(len(column.dictionary)) + texts + places, uses
    validity, uses = _encode_validity(column, layout.group), False
    if layout.earlier is not None and pa.types.is_int64(column.type):
        values = layout.earlier.encode(place, to_numbers(column))
    elif column.type in _UNSIGNED:
        values = encode_numbers(to_numbers(column), layout.group)
    elif pa.types.is_list(column.type):
        items, uses = encode_column(column.flatten(), Layout())
        lengths = np.array([len(row or ()) for row in column.to_pylist()], np.uint32)
        values = encode_numbers(lengths, layout.group) + items
    else:
        values, uses = _encode_texts(column, layout)
    return validity + values, uses


def decode_column(reader: ByteReader, data_type: pa.DataType, count: int, layout: Layout) -> pa.Array:
    """``count`` rows of what ``encode_column`` wrote. Raises DamageError, or ValueError of Arrow."""
    if pa.types.is_dictionary(data_type):
        texts = decode_column(reader, pa.string(), _take_count(reader), Layout())
        places = decode_column(reader, pa.int32(), count, layout)
        return pa.DictionaryArray.from_arrays(places, texts)
    missing = _decode_missing(reader, count, layout.group)
    if data_type in _UNSIGNED:
        width = _UNSIGNED[data_type]
        if layout.find is not None and pa.types.is_int64(data_type):
            numbers = decode_linked(reader, width, (count, layout.group), layout.find)
        else:
            numbers = decode_numbers(reader, width, count, layout.group)
        is_bool = pa.types.is_boolean(data_type)
        values = numbers != 0 if is_bool else numbers.view(data_type.to_pandas_dtype())
        return pa.array(values, data_type, mask=missing)
    if pa.types.is_list(data_type):
        lengths = decode_numbers(reader, np.uint32, count, layout.group)
        ends = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        if ends[-1] > ROWS_MAX:
            raise DamageError("more items than can be")
        items = decode_column(reader, data_type.value_type, int(ends[-1]), Layout())
        offsets = pa.array(ends, pa.int32())
        return pa.ListArray.from_arrays(offsets, items, mask=None if missing is None else pa.array(missing))
    return _decode_texts(reader, data_type, (count, missing), layout)


def _encode_validity(column: pa.Array, group: int) -> bytes:
    if not column.null_count:
        return b"\0"
    return b"\1" + encode_numbers(_read_validity(column), group)


def _decode_missing(reader: ByteReader, count: int, group: int) -> np.ndarray[Any, Any] | None:
    form = reader.take_byte()
    if form > 1:
        raise DamageError("an unknown form")
    return decode_numbers(reader, np.uint8, count, group) == 0 if form else None


def _encode_texts(column: pa.Array, layout: Layout) -> tuple[bytes, bool]:
    found = _find_structs(column)
    if found is not None:
        data, uses = encode_structs(*found, layout.group, layout.beside)
        return bytes((_STRUCTS,)) + data, uses
    return _encode_distinct(column, layout.group), False


def _find_structs(column: pa.Array) -> tuple[memoryview, int] | None:
    """All values one after the other and the size of one, where all have one size of whole words."""
    if not pa.types.is_binary(column.type) or column.null_count or not len(column):
        return None
    _, bounds, data = column.buffers()
    ends = np.frombuffer(bounds, np.int32, len(column) + 1, 4 * column.offset)
    width = int(ends[1] - ends[0])
    if not width or width % WORD_BYTES or (np.diff(ends) != width).any():
        return None
    return memoryview(data)[int(ends[0]) : int(ends[-1])], width


def _encode_distinct(column: pa.Array, group: int) -> bytes:
    found = column.dictionary_encode()
    texts = [text.encode() if isinstance(text, str) else text for text in found.dictionary.to_pylist()]
    sizes = np.array([len(text) for text in texts], np.uint32)
    packed = zlib.compress(b"".join(texts), 9, wbits=-15)
    head = bytes((_DISTINCT,)) + _size(len(texts)) + encode_numbers(sizes) + _size(len(packed)) + packed
    return head + encode_numbers(to_numbers(found.indices), group)


def _decode_texts(
    reader: ByteReader,
    data_type: pa.DataType,
    rows: tuple[int, np.ndarray[Any, Any] | None],
    layout: Layout,
) -> pa.Array:
    (count, missing), form = rows, reader.take_byte()
    if form == _STRUCTS and pa.types.is_binary(data_type):
        structs, width = decode_structs(reader, count, layout.group, layout.beside)
        cut = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), count, [None, pa.py_buffer(structs)])
        return cut.cast(data_type)
    if form != _DISTINCT:
        raise DamageError("an unknown form")
    sizes = decode_numbers(reader, np.uint32, _take_count(reader), 1)
    texts = _cut_texts(_inflate(reader.take(reader.take_size()), int(sizes.sum(dtype=np.uint64))), sizes)
    places = decode_numbers(reader, np.uint32, count, layout.group)
    if places.size and not texts:
        places, texts = np.zeros_like(places), [b""]  # nothing but nulls
    indices = pa.array(places, pa.int64(), mask=missing)
    return pa.array(texts, pa.binary()).take(indices).cast(data_type)


def _inflate(data: memoryview, size: int) -> bytes:
    if size > _TEXT_MAX_BYTES:
        raise DamageError("longer texts than can be")
    inflater = zlib.decompressobj(wbits=-15)
    try:
        text = inflater.decompress(data, size + 1)
    except zlib.error as error:
        raise DamageError(str(error)) from error
    if len(text) != size:
        raise DamageError("texts of another length")
    return text


def _cut_texts(text: bytes, sizes: Numbers) -> Sequence[bytes]:
    ends = np.cumsum(sizes, dtype=np.int64).tolist()
    return [text[end - size : end] for end, size in zip(ends, sizes.tolist(), strict=True)]


def _take_count(reader: ByteReader) -> int:
    count = reader.take_size()
    if count > ROWS_MAX:
        raise DamageError("more rows than can be")
    return count
