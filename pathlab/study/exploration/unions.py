"""Columns of several parts joined: levels and flags get one set of codes and bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pathlab.analysis.estimators.cells import Floats
from pathlab.study.exploration.natural_order import sort_naturally
from pathlab.study.exploration.source_piece import Category, SourcePiece

Codes = NDArray[np.int32]
Level = str | float
#: Flags that have a bit of their own; the rarest ones share the last bit where there are more.
FLAG_BITS = 64
OTHER_FLAGS = "other flags"


def merge_categories(parts: Sequence[Category]) -> tuple[tuple[str, ...], Codes]:
    """The levels of all parts in natural order, and the codes of all trials, -1: missing."""
    levels = sort_naturally({level for part in parts for level in part.levels})
    places = {level: index for index, level in enumerate(levels)}
    result = [np.empty(0, dtype=np.int32)]
    for part in parts:
        known = np.array([*(places[level] for level in part.levels), -1], dtype=np.int32)
        result.append(known[part.codes])
    return tuple(levels), np.concatenate(result)


def join_pieces(first: SourcePiece, second: SourcePiece) -> SourcePiece:
    """The trials of both, the second ones behind the first."""
    pieces = (first, second)
    texts = dict.fromkeys((*first.categories, *second.categories))
    numbers = [name for name in dict.fromkeys((*first.numbers, *second.numbers)) if name not in texts]
    return SourcePiece(
        sources=np.concatenate([piece.sources for piece in pieces]),
        numbers={name: np.concatenate([piece.get_numbers(name) for piece in pieces]) for name in numbers},
        categories={name: _append(*(piece.get_category(name) for piece in pieces)) for name in texts},
        flags={
            name: np.concatenate(
                [piece.flags.get(name, np.zeros(piece.size, dtype=bool)) for piece in pieces]
            )
            for name in dict.fromkeys((*first.flags, *second.flags))
        },
        reasons=_append(first.reasons, second.reasons),
    )


def _append(first: Category, second: Category) -> Category:
    """The codes of both, those of the first unchanged."""
    places = {level: index for index, level in enumerate(first.levels)}
    moved = [places.setdefault(level, len(places)) for level in second.levels]
    codes = np.array([*moved, -1], dtype=np.int32)[second.codes]
    return Category(codes=np.concatenate([first.codes, codes]), levels=tuple(places))


def encode_numbers(values: Floats) -> tuple[Codes, tuple[float, ...]]:
    """Codes of numbers among their distinct values, ascending; -1: NaN. Whole ones are integers."""
    levels, codes = np.unique(values[~np.isnan(values)], return_inverse=True)
    result = np.full(values.size, -1, dtype=np.int32)
    result[~np.isnan(values)] = codes.ravel()
    return result, tuple(int(level) if level.is_integer() else level for level in levels.tolist())


def join_flags(pieces: Sequence[SourcePiece]) -> tuple[tuple[str, ...], NDArray[np.uint64]]:
    """The flags that trials bear, by name, and for each trial the bits of its own."""
    counts: Counter[str] = Counter()
    for piece in pieces:
        counts.update({str(name): int(marked.sum()) for name, marked in piece.flags.items()})
    names = sorted(counts)
    if len(names) > FLAG_BITS:
        names = [*sorted(name for name, _ in counts.most_common(FLAG_BITS - 1)), OTHER_FLAGS]
    places = {name: index for index, name in enumerate(names)}
    return tuple(names), np.concatenate(
        [np.empty(0, dtype=np.uint64), *(_set_bits(piece.size, piece.flags, places) for piece in pieces)]
    )


def _set_bits(
    size: int, flags: Mapping[str, NDArray[np.bool_]], indices: Mapping[str, int]
) -> NDArray[np.uint64]:
    bits = np.zeros(size, dtype=np.uint64)
    for name, marked in flags.items():
        place = indices.get(str(name), FLAG_BITS - 1)
        bits |= marked.astype(np.uint64) << np.uint64(place)
    return bits
