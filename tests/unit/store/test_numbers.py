"""Columns of numbers as bytes: each form is taken where it serves, and read back bit for bit."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.store.links import EarlierColumns, decode_linked
from pathlab.store.numbers import (
    ROWS_MAX,
    ByteReader,
    DamageError,
    Numbers,
    decode_numbers,
    encode_numbers,
    encode_size,
)

NOISE = random.Random(7)
CLIMB = (2**40 + np.cumsum([NOISE.randrange(-(2**15), 2**15) for _ in range(300)])).tolist()
GROWTH = np.cumsum(np.cumsum([NOISE.randrange(9) for _ in range(300)])).tolist()
#: Rows of a group and numbers, by the first two bytes of what is written: the form, and its step or size.
FORMS: dict[tuple[int, int], tuple[int, list[int]]] = {
    (0, 0): (1, [0] * 9),
    (0, 8): (1, [2**64 - 1] * 9),
    (1, 0): (1, [NOISE.randrange(2**12) for _ in range(300)]),
    (1, 1): (1, CLIMB),
    (1, 2): (1, GROWTH),
    (1, 0b1101): (2, [value + base for value in CLIMB for base in (0, 10**15)]),
    (1, 0b1110): (2, [at * at * factor for at in range(300) for factor in (7, 10**9)]),
    (1, 0b1000_0000): (1, [NOISE.randrange(2**64) for _ in range(300)]),
    (2, 3): (1, [NOISE.choice([3 * 2**61, 2**63 + 12345, 7**20]) for _ in range(300)]),
}


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_each_form_is_taken_and_read_back(form: tuple[int, int]) -> None:
    group, values = FORMS[form]
    numbers = np.array(values, np.uint64)
    written = encode_numbers(numbers, group)
    assert (written[0], written[1]) == form
    assert len(written) < numbers.nbytes + 8
    reader = ByteReader(written)
    read = decode_numbers(reader, np.uint64, len(values), group)
    assert reader.is_done
    assert read.dtype == np.uint64
    np.testing.assert_array_equal(read, numbers)


@settings(deadline=None)
@given(data=st.data(), width=st.sampled_from([np.uint8, np.uint32, np.uint64]), group=st.integers(1, 9))
def test_all_numbers_of_all_widths_come_back(
    data: st.DataObject, width: type[np.unsignedinteger], group: int
) -> None:
    most = int(np.iinfo(width).max)
    values = data.draw(st.lists(st.sampled_from([0, 1, most, most // 2]) | st.integers(0, most), max_size=40))
    numbers: Numbers = np.array(values, width)
    read = decode_numbers(ByteReader(encode_numbers(numbers, group)), width, len(values), group)
    np.testing.assert_array_equal(read, numbers)


@pytest.mark.parametrize("relation", range(4))
def test_a_column_that_another_tells_is_a_link(relation: int) -> None:
    """Same row, difference, sum and the group behind; one row differs, and comes back as well."""
    group, count = 4, 200
    first = np.array([NOISE.randrange(2**40) for _ in range(count)], np.uint64)
    rows = first.reshape(-1, group)
    made = {
        0: rows + np.uint64(2**63),
        1: np.concatenate([rows[:1], np.diff(rows, axis=0)]),
        2: np.cumsum(rows, axis=0, dtype=np.uint64),
        3: np.concatenate([rows[1:], rows[-1:] + np.uint64(1)]),
    }
    second = made[relation].reshape(-1).copy()
    second[77] ^= np.uint64(12345)
    earlier = EarlierColumns(group)
    earlier.encode(5, first)
    written = earlier.encode(6, second)
    assert written[:3] == bytes((1, 5, relation))
    assert len(written) < 100

    def find(place: int) -> Numbers:
        return {5: first}[place]

    np.testing.assert_array_equal(decode_linked(ByteReader(written), np.uint64, (count, group), find), second)
    broken = bytes((1, 5, 9)) + written[3:]
    with pytest.raises(DamageError, match="unknown relation"):
        decode_linked(ByteReader(broken), np.uint64, (count, group), find)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (b"", "end too early"),
        (b"\x00\x09" + bytes(9), "too wide"),
        (b"\x00\x04\x01", "end too early"),
        (b"\x01\x00\x09\x00", "too wide"),
        (b"\x01\x80\x08\x02ab", "another number of bytes"),
        (b"\x07", "unknown form"),
        (b"\x02\x01\x80\x01\x01\x07\x00\x01\x05", "not among the distinct ones"),
        (b"\x02\x01\x80\x01" + b"\xff" * 11, "more than 64 bits"),
    ],
)
def test_bytes_that_nobody_wrote_are_refused(written: bytes, text: str) -> None:
    with pytest.raises(DamageError, match=text):
        decode_numbers(ByteReader(written), np.uint64, 3, 1)


def test_more_rows_than_can_be_take_no_memory() -> None:
    with pytest.raises(DamageError, match="more rows than can be"):
        decode_numbers(ByteReader(b"\x00\x00"), np.uint64, ROWS_MAX + 1, 1)


@given(st.integers(0, 2**63 - 1))
def test_sizes_come_back(size: int) -> None:
    assert ByteReader(encode_size(size)).take_size() == size
