"""Structs of the kernel, one a row, as columns of 32-bit words; what another table says is not repeated.

The raw ``struct tcp_info`` holds in most of its words what the typed columns of the same readings hold. Such
a word is written as the place of that column; every other word as a column of numbers. No layout is assumed:
a word counts as said when it is equal in every row that both have. A CRC-32 of the structs ends them.

    order (0 little, 1 big endian), words a struct, then a word each:
    0 said   place of the column, half (0 low, 1 high), rows that both have, the other rows' words less the
             last ones of the column
    1 own    numbers, which an earlier own word may tell (pathlab/store/links.py, the same row alone)
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pathlab.store.links import decode_linked, encode_words
from pathlab.store.numbers import (
    ByteReader,
    DamageError,
    Numbers,
    count_sample,
    decode_numbers,
    encode_numbers,
    encode_size,
)

WORD_BYTES = 4
_WORDS_MAX = 1 << 14
_SAID, _OWN = 0, 1
_ORDERS = ("<u4", ">u4")

Words = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A table whose first ``rows`` rows are of the same readings: its columns of integers by their place."""

    rows: int
    columns: Mapping[int, Numbers]  # of 64 bits

    def half(self, place: int, half: int, rows: int | None = None) -> Words:
        """The low (0) or high (1) words of a column, or of its first rows. DamageError: there is none."""
        if place not in self.columns or half > 1:
            raise DamageError("a word of a column that is not there")
        return (self.columns[place][:rows] >> np.uint64(32 * half)).astype(np.uint32)


def encode_structs(
    structs: bytes | memoryview, width: int, group: int, beside: Beside | None
) -> tuple[bytes, bool]:
    """Structs of ``width`` bytes, a whole number of words, as bytes, and whether they refer to ``beside``.

    ``group`` as in ``encode_numbers``.
    """
    said = _Said(beside, count_sample(group))
    places = range(width // WORD_BYTES)
    cuts = [np.frombuffer(structs, order).reshape(-1, len(places)) for order in _ORDERS]
    known = [sum(said.may_be(cut[:, place]) for place in places) for cut in cuts]
    order = int(known[1] > known[0])
    out, uses, earlier = [bytes((order,)) + encode_size(len(places))], False, encode_words(group)
    for place in places:
        word = np.ascontiguousarray(cuts[order][:, place], np.uint32)
        key = None if (word == word[0]).all() else said.find(word)
        if key is None or beside is None:
            out.append(bytes((_OWN,)) + earlier.encode(place, word))
        else:
            uses = True
            rest = word[beside.rows :] - _predict_rest(
                beside.half(*key), beside.rows, word.size - beside.rows
            )
            head = bytes((_SAID,)) + encode_size(key[0]) + bytes((key[1],)) + encode_size(beside.rows)
            out.append(head + encode_numbers(rest))
    return b"".join(out) + zlib.crc32(structs).to_bytes(4, "little"), uses


class _Said:
    """Finds the half of a column that a word repeats, by its first rows and then by all."""

    def __init__(self, beside: Beside | None, sample: int) -> None:
        self._beside = beside
        self._rows = min(sample, beside.rows) if beside is not None else 0
        self._known: dict[bytes, list[tuple[int, int]]] = {}
        for place in beside.columns if beside is not None else ():
            for half in (0, 1):
                first = beside.half(place, half, self._rows) if beside is not None else np.zeros(0, np.uint32)
                self._known.setdefault(first.tobytes(), []).append((place, half))

    def may_be(self, word: Numbers) -> bool:
        """Whether the first rows are those of some column."""
        return word[: self._rows].astype(np.uint32).tobytes() in self._known

    def find(self, word: Words) -> tuple[int, int] | None:
        """Place and half of a column that is equal in every row that both have."""
        if self._beside is None:
            return None
        for place, half in self._known.get(word[: self._rows].tobytes(), ()):
            if np.array_equal(self._beside.half(place, half, self._beside.rows), word[: self._beside.rows]):
                return place, half
        return None


def decode_structs(reader: ByteReader, count: int, group: int, beside: Beside | None) -> tuple[bytes, int]:
    """``count`` structs one after the other, and the width of one in bytes. Raises DamageError."""
    order, words = reader.take_byte(), reader.take_size()
    if order >= len(_ORDERS) or not 0 < words <= _WORDS_MAX:
        raise DamageError("structs that cannot be")
    whole = np.empty((count, words), _ORDERS[order])
    for number in range(words):
        whole[:, number] = _decode_word(reader, whole[:, :number], group, beside)
    structs = whole.tobytes()
    if zlib.crc32(structs) != int.from_bytes(reader.take(4), "little"):
        raise DamageError("structs that are not those that were written")
    return structs, words * WORD_BYTES


def _decode_word(reader: ByteReader, earlier: Words, group: int, beside: Beside | None) -> Numbers:
    def find(place: int) -> Numbers:
        if place >= earlier.shape[1]:
            raise DamageError("a word told by one behind it")
        return earlier[:, place].astype(np.uint32)

    form, count = reader.take_byte(), len(earlier)
    if form == _OWN:
        return decode_linked(reader, np.uint32, (count, group), find)
    if form != _SAID or beside is None:
        raise DamageError("a word of a table that is not there")
    place, half, rows = reader.take_size(), reader.take_byte(), reader.take_size()
    column = beside.half(place, half)
    if not 0 < rows <= min(count, column.size):
        raise DamageError("a column of another length")
    rest = decode_numbers(reader, np.uint32, count - rows, 1)
    return np.concatenate([column[:rows], rest + _predict_rest(column, rows, count - rows)])


def _predict_rest(column: Words, rows: int, rest: int) -> Words:
    """The readings behind those of the table begin where these end."""
    return column[rows - rest : rows] if rest <= rows else np.zeros(rest, np.uint32)
