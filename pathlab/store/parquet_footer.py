"""What the footer of a Parquet file says of its columns, read without Arrow.

Arrow ends the whole process where it is asked for a column of a damaged footer, and reads rows and
compressed pages of any size. The footer is a struct of Thrift's compact protocol; field numbers are those of
parquet.thrift, Apache Parquet 2.10.
"""

from __future__ import annotations

from typing import Any, NamedTuple

FOOTER_MAX_BYTES = 1 << 18
_TAIL_BYTES = 8  # length of the footer, magic
_ROW_GROUPS, _COLUMNS, _META, _ROWS = 4, 1, 3, 3
_TYPE, _PATH, _CODEC, _VALUES = 1, 3, 4, 5
_DATA_OFFSET, _DICTIONARY_OFFSET = 9, 11
_PAGE_BYTES, _DATA_PAGE, _DATA_PAGE_2, _PAGE_VALUES = 3, 5, 8, 1
_PAGE_HEADER_MAX_BYTES = 4096
_BYTE_ARRAY = 6
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = (4, 5, 6)


class Footer(NamedTuple):
    """Columns of texts or bytes, values of all columns, whether any page is compressed."""

    texts: list[str]
    values: int
    is_compressed: bool


def read_footer(data: memoryview) -> Footer:
    """The footer of a Parquet file.

    A damaged one raises ValueError, LookupError, TypeError or AttributeError.
    """
    size = int.from_bytes(data[-_TAIL_BYTES : -_TAIL_BYTES // 2], "little")
    if not 0 < size <= min(FOOTER_MAX_BYTES, len(data) - _TAIL_BYTES):
        raise ValueError("a footer of a size that cannot be")
    footer, _ = _read_struct(bytes(data[-_TAIL_BYTES - size : -_TAIL_BYTES]), 0)
    parts = [(group[_ROWS], part[_META]) for group in footer[_ROW_GROUPS] for part in group[_COLUMNS]]
    return Footer(
        texts=[
            column[_PATH][0].decode()
            for _, column in parts
            if column[_TYPE] == _BYTE_ARRAY and len(column[_PATH]) == 1  # not in lists
        ],
        values=sum(max(rows, column[_VALUES], _count_items(data, column)) for rows, column in parts),
        is_compressed=any(column[_CODEC] for _, column in parts),
    )


def _count_items(data: memoryview, column: dict[int, Any]) -> int:
    """Items of lists that the pages of a column hold, whatever the footer says; 0 for other columns."""
    items = 0
    at = column.get(_DICTIONARY_OFFSET) or column[_DATA_OFFSET]
    while len(column[_PATH]) > 1 and items < column[_VALUES]:
        header, size = _read_struct(bytes(data[at : at + _PAGE_HEADER_MAX_BYTES]), 0)
        page = header.get(_DATA_PAGE) or header.get(_DATA_PAGE_2) or {}
        count = page.get(_PAGE_VALUES, 0)
        if header[_PAGE_BYTES] < 0 or (count < 1 and at != column.get(_DICTIONARY_OFFSET)):
            raise ValueError("a page of a size that cannot be")
        items += count
        at += size + header[_PAGE_BYTES]
    return items


def _read_struct(data: bytes, at: int) -> tuple[dict[int, Any], int]:
    """Fields by number, and where the struct ends."""
    fields: dict[int, Any] = {}
    number = 0
    while head := data[at]:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            number, at = _read_varint(data, at)
        kind, value = head & 15, data[at]
        if kind in _INTEGERS and value < 128:  # most values: without a call
            fields[number], at = value >> 1 ^ -(value & 1), at + 1
        else:
            fields[number], at = _read_value(data, at, kind)
    return fields, at + 1


def _read_value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in _INTEGERS:
        value, at = _read_varint(data, at)
        return value >> 1 ^ -(value & 1), at
    if kind == _STRUCT:
        return _read_struct(data, at)
    if kind in (_LIST, _SET):
        count, inner = data[at] >> 4, data[at] & 15
        at += 1
        if count == 15:
            count, at = _read_varint(data, at)
        values = []
        for _ in range(min(count, len(data))):
            value, at = _read_value(data, at, inner)
            values.append(value)
        return values, at
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, at
    size = 1 if kind == _BYTE else 8
    if kind == _BINARY:
        size, at = _read_varint(data, at)
    elif kind not in (_BYTE, _DOUBLE):
        raise ValueError("a type that Thrift does not have")
    return data[at : at + size], at + size


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = data[at] & 127
    shift = 7
    while data[at] > 127:
        at += 1
        value |= (data[at] & 127) << shift
        shift += 7
    return value, at + 1
