"""Whole numbers of one column as few bytes: differences, byte planes, zstd; and back, bit for bit.

An array of unsigned integers (signed ones and floats by their bits) is written in the form that seems short:

    0 constant  value
    1 planes    step, number of planes, size, bytes
    2 choice    the distinct values as an array, then the place of each value among them as an array

``step`` says how a value is predicted: bits 0-1 how often differences are taken (0 to 2), bit 2 whether to
the value a whole group of rows before (the streams of an interval) instead of the row before, bit 3 whether
the result is sorted by place in the group, bit 7 whether the bytes stand as they are instead of with zstd.
Differences wrap, and are written with the sign in the lowest bit; a plane holds one byte of every value, the
lowest first, and planes of zeros at the top are left out. Sizes are LEB128, values little endian.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Numbers = npt.NDArray[np.unsignedinteger]

#: More rows are not written this way, nor believed when read: a constant of any length has no bytes.
ROWS_MAX = 1 << 24

_CONSTANT, _PLANES, _CHOICE = 0, 1, 2
_ORDER, _BY_GROUP, _SORTED, _STORED = 0b11, 0b100, 0b1000, 0b1000_0000
_STEPS = (0, 1, _BY_GROUP | _SORTED | 1, _BY_GROUP | _SORTED | 2)
_STEPS_UNGROUPED = (0, 1, 2)
_CHOICE_MAX = 256
_CHOICE_GAIN = 0.08  # bytes of planes for each bit of a place, below which a choice is not tried
_CHOOSING_BYTES = 8  # of numbers that may be chosen; narrower ones gain nothing
_SAMPLE_ROWS, _SAMPLE_GROUPS = 512, 8
_CLOSE_RATIO = 1.02  # within it the simpler step is taken
_LEVEL = 6


class DamageError(ValueError):
    """Bytes that no encoder wrote."""


class ByteReader:
    """Bytes read from the front; every read raises DamageError at their end."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = memoryview(data)
        self._at = 0

    @property
    def is_done(self) -> bool:
        """Whether all has been read."""
        return self._at == len(self._data)

    def take(self, size: int) -> memoryview:
        """The next ``size`` bytes."""
        if size < 0 or size > len(self._data) - self._at:
            raise DamageError("the bytes end too early")
        self._at += size
        return self._data[self._at - size : self._at]

    def take_byte(self) -> int:
        """The next byte."""
        return self.take(1)[0]

    def take_size(self) -> int:
        """The next LEB128 number."""
        value = 0
        for shift in range(0, 64, 7):
            byte = self.take_byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise DamageError("a size of more than 64 bits")


def encode_size(value: int) -> bytes:
    """A number of at least 0 as LEB128."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_numbers(numbers: Numbers, group: int = 1) -> bytes:
    """Unsigned integers of 1, 4 or 8 bytes as bytes; ``group`` rows belong together (1: none do)."""
    if numbers.size == 0 or (numbers == numbers[0]).all():
        value = bytes(numbers[:1].astype(numbers.dtype.newbyteorder("<")).tobytes()).rstrip(b"\0")
        return bytes((_CONSTANT, len(value))) + value
    planes = _encode_planes(numbers, group)
    choice = _encode_choice(numbers, group, planes) if numbers.itemsize == _CHOOSING_BYTES else planes
    return min(planes, choice, key=len)


def decode_numbers(reader: ByteReader, dtype: type[np.unsignedinteger], count: int, group: int) -> Numbers:
    """What ``encode_numbers`` wrote of ``count`` integers. Raises DamageError."""
    if not 0 <= count <= ROWS_MAX:
        raise DamageError("more rows than can be")
    form, width = reader.take_byte(), np.dtype(dtype).itemsize
    if form == _CONSTANT:
        size = reader.take_byte()
        if size > width:
            raise DamageError("a value that is too wide")
        return np.full(count, int.from_bytes(reader.take(size), "little"), dtype)
    if form == _CHOICE and width == _CHOOSING_BYTES:
        choices = reader.take_size()
        if choices > _CHOICE_MAX:
            raise DamageError("more distinct values than can be")
        distinct = _decode_planes(reader, dtype, choices, 1)
        places = decode_numbers(reader, np.uint8, count, group)
        if places.size and int(places.max()) >= distinct.size:
            raise DamageError("a value that is not among the distinct ones")
        return distinct[places]
    if form != _PLANES:
        raise DamageError("an unknown form")
    return _decode_planes(reader, dtype, count, group)


def _decode_planes(reader: ByteReader, dtype: type[np.unsignedinteger], count: int, group: int) -> Numbers:
    width = np.dtype(dtype).itemsize
    step, planes, size = reader.take_byte(), reader.take_byte(), reader.take_size()
    if planes > width:
        raise DamageError("a value that is too wide")
    data = _unpack(reader.take(size), planes * count, is_stored=bool(step & _STORED))
    raw = np.zeros((count, width), np.uint8)
    raw[:, :planes] = np.frombuffer(data, np.uint8).reshape(planes, count).T
    return _restore(raw.reshape(-1).view(np.dtype(dtype).newbyteorder("<")).astype(dtype), step, group)


def _encode_planes(numbers: Numbers, group: int) -> bytes:
    step = _choose_step(numbers, group)
    count, data = _cut_planes(_predict(numbers, step, group))
    packed: bytes = _codec().compress(data, asbytes=True)
    if len(packed) >= len(data):
        step, packed = step | _STORED, data
    return bytes((_PLANES, step, count)) + encode_size(len(packed)) + packed


def _choose_step(numbers: Numbers, group: int) -> int:
    """The step that leaves the smallest numbers, judged by the first rows alone where there are many."""
    sample = numbers[: count_sample(group)]
    steps = _STEPS if 1 < group < sample.size else _STEPS_UNGROUPED
    sizes = [_count_bits(_predict(sample, step & ~_SORTED, group)) for step in steps]
    least = min(sizes)
    return next(step for step, size in zip(steps, sizes, strict=True) if size <= _CLOSE_RATIO * least)


def _encode_choice(numbers: Numbers, group: int, planes: bytes) -> bytes:
    first = np.unique(numbers[: count_sample(group)])
    if first.size > _CHOICE_MAX or len(planes) <= _CHOICE_GAIN * numbers.size * math.log2(first.size + 1):
        return planes
    distinct, places = np.unique(numbers, return_inverse=True)
    if distinct.size > _CHOICE_MAX:
        return planes
    head = bytes((_CHOICE,)) + encode_size(distinct.size)
    return head + _encode_planes(distinct, 1)[1:] + encode_numbers(places.astype(np.uint8), group)


def _predict(numbers: Numbers, step: int, group: int) -> Numbers:
    lag = group if step & _BY_GROUP else 1
    for _ in range(step & _ORDER):
        changed = numbers.copy()
        changed[lag:] -= numbers[:-lag]
        numbers = changed
    if step & _ORDER:
        signed = numbers.view(f"i{numbers.itemsize}")
        numbers = ((signed << 1) ^ (signed >> (8 * numbers.itemsize - 1))).view(numbers.dtype)
    return numbers[_sorted_places(numbers.size, group)] if step & _SORTED else numbers


def _restore(numbers: Numbers, step: int, group: int) -> Numbers:
    if step & _SORTED:
        places, sorted_numbers = _sorted_places(numbers.size, group), numbers
        numbers = np.empty_like(sorted_numbers)
        numbers[places] = sorted_numbers
    if step & _ORDER:
        one = numbers.dtype.type(1)
        numbers = (numbers >> one) ^ (~(numbers & one) + one)
    for _ in range(step & _ORDER):
        numbers = sum_up(numbers, group if step & _BY_GROUP else 1)
    return numbers


def count_sample(group: int) -> int:
    """Rows from which a choice for a whole column is made: some groups at least."""
    return max(_SAMPLE_ROWS, _SAMPLE_GROUPS * group)


def sum_up(numbers: Numbers, lag: int) -> Numbers:
    """To each value the sum of those 1, 2, … times ``lag`` rows before it added; it wraps."""
    padded = np.zeros(-(-numbers.size // lag) * lag, numbers.dtype)
    padded[: numbers.size] = numbers
    summed: Numbers = np.add.accumulate(padded.reshape(-1, lag), axis=0, dtype=numbers.dtype)
    return summed.reshape(-1)[: numbers.size]


def _sorted_places(count: int, group: int) -> npt.NDArray[np.intp]:
    places = np.arange(-(-count // group) * group).reshape(-1, group).T.reshape(-1)
    return places[places < count]


def _cut_planes(numbers: Numbers) -> tuple[int, bytes]:
    """The number of planes and their bytes."""
    count = max(1, -(-int(numbers.max()).bit_length() // 8))
    raw = numbers.astype(numbers.dtype.newbyteorder("<"), copy=False).view(np.uint8)
    return count, raw.reshape(numbers.size, -1)[:, :count].T.tobytes()


def _count_bits(numbers: Numbers) -> float:
    return float(np.log2(numbers.astype(np.float64) + 1.0).sum())


def _unpack(data: memoryview, size: int, *, is_stored: bool) -> bytes:
    unpacked = bytes(data) if is_stored else _codec().decompress(data, size, asbytes=True)
    if len(unpacked) != size:
        raise DamageError("another number of bytes than there should be")
    return unpacked


@functools.cache
def _codec() -> pa.Codec:
    return pa.Codec("zstd", compression_level=_LEVEL)
