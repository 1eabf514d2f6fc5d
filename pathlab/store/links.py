"""Numbers of a column told by an earlier column of the same rows: what is left is often one constant.

    0 alone   numbers
    1 linked  place of the earlier column, relation, numbers less what the relation makes of it

Relations, over groups of rows that belong together (the streams of an interval): 0 the same row, 1 the
difference to the group before (a span from its times), 2 the sum so far (a count since the beginning from
what was counted), 3 the group behind (an end from the next begin). Everything wraps, so nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pathlab.store.numbers import (
    ByteReader,
    DamageError,
    Numbers,
    count_sample,
    decode_numbers,
    encode_numbers,
    encode_size,
    sum_up,
)

_ALONE, _LINKED = 0, 1
_SAME, _DIFFERENCE, _SUM, _BEHIND = range(4)
_RELATIONS = (_SAME, _DIFFERENCE, _SUM, _BEHIND)
#: A link is taken where it leaves so many times fewer changes from group to group.
_GAIN = 2
_CHANGES_MIN = 16


class EarlierColumns:
    """The columns of one table that were written already, by place.

    Links are looked for in the first rows alone, where there are many.
    """

    def __init__(self, group: int, relations: tuple[int, ...] = _RELATIONS) -> None:
        self._group = group
        self._relations = relations
        self._columns: dict[int, Numbers] = {}
        self._told: list[tuple[int, int, Numbers]] = []  # place, relation, what it makes of the first rows

    def encode(self, place: int, numbers: Numbers) -> bytes:
        """Write a column, and remember it for those that follow; all are of one width and length."""
        sample = numbers[: count_sample(self._group)]
        changes = _count_changes(sample, self._group)
        if changes < _CHANGES_MIN:
            return bytes((_ALONE,)) + encode_numbers(numbers, self._group)
        left, at = min(
            ((_count_changes(sample - told, self._group), at) for at, (_, _, told) in enumerate(self._told)),
            default=(changes, 0),
        )
        head, rest = bytes((_ALONE,)), numbers
        if left * _GAIN < changes:
            other, relation, _ = self._told[at]
            head = bytes((_LINKED,)) + encode_size(other) + bytes((relation,))
            rest = numbers - relate(self._columns[other], relation, self._group)
        self._columns[place] = numbers
        self._told += [(place, item, relate(sample, item, self._group)) for item in self._relations]
        return head + encode_numbers(rest, self._group)


def encode_words(group: int) -> EarlierColumns:
    """Columns between which only the same row is looked at, for many narrow ones."""
    return EarlierColumns(group, (_SAME,))


def decode_linked(
    reader: ByteReader,
    dtype: type[np.unsignedinteger],
    shape: tuple[int, int],
    find: Callable[[int], Numbers],
) -> Numbers:
    """What ``EarlierColumns.encode`` wrote; ``shape`` is rows and rows of a group. Raises DamageError.

    ``find`` gives the numbers of an earlier column by its place, and raises DamageError for any other.
    """
    count, group = shape
    form = reader.take_byte()
    if form == _ALONE:
        return decode_numbers(reader, dtype, count, group)
    if form != _LINKED:
        raise DamageError("an unknown form")
    other, relation = reader.take_size(), reader.take_byte()
    rest = decode_numbers(reader, dtype, count, group)
    return rest + relate(find(other), relation, group)


def relate(numbers: Numbers, relation: int, group: int) -> Numbers:
    """What a relation makes of a column. Raises DamageError for one that there is not."""
    if relation == _SAME:
        return numbers
    made = numbers.copy()
    if relation == _DIFFERENCE:
        made[group:] -= numbers[:-group]
    elif relation == _SUM:
        made = sum_up(numbers, group)
    elif relation == _BEHIND:
        made[:-group] = numbers[group:]
    else:
        raise DamageError("an unknown relation")
    return made


def _count_changes(numbers: Numbers, group: int) -> int:
    return int(np.count_nonzero(numbers[group:] != numbers[:-group]))
