"""Arrays of a packed table: how numbers, times and codes become bytes, exactly or rounded.

Rounded numbers keep four significant digits; what was not measured stays "not measured" in every form.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Significant digits that a rounded number keeps; its relative error is below half a unit of the last one.
DIGITS = 4
#: Bits of a float's fraction that keep DIGITS: the error is at most 2⁻¹⁵ of the value.
_FRACTION_BITS = 14
_DROPPED_BITS = 23 - _FRACTION_BITS
_UNSIGNED: Mapping[str, type[np.unsignedinteger[Any]]] = {"u8": np.uint8, "u16": np.uint16, "u32": np.uint32}
#: Steps of rounded times: 1 ms, or the next that covers the whole range.
_TIME_STEPS_S = (0.001, 0.01, 0.1, 1.0, 60.0, 3600.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedArray:
    """An array as bytes, and what the header says of it.

    ``type``: f64, f32, u8, u16 or u32, little-endian. ``missing``: the integer that means "not measured"
    (floats: NaN). An integer i means ``base + scale × i``. ``shuffled``: the lowest bytes of all values come
    first, then the next ones, which gzip makes smaller.
    """

    type: str
    content: bytes
    count: int
    shuffled: bool = False
    missing: int | None = None
    base: float | None = None
    scale: float | None = None

    def describe(self, offset: int) -> dict[str, Any]:
        """The array in the header; what is not set is left out."""
        result: dict[str, Any] = {"type": self.type, "offset": offset, "count": self.count}
        if self.shuffled:
            result["shuffled"] = True
        values = {"missing": self.missing, "base": self.base, "scale": self.scale}
        return result | {name: value for name, value in values.items() if value is not None}


def pack_exact(values: NDArray[np.float64]) -> PackedArray:
    """Numbers or times as they are; NaN is what was not measured."""
    return PackedArray(type="f64", content=values.astype("<f8").tobytes(), count=len(values))


def pack_whole(values: NDArray[np.float64]) -> PackedArray:
    """Numbers as they are: in the smallest type of whole numbers that has them, else as floats."""
    measured = ~np.isnan(values)
    result = values[measured]
    whole = bool(np.isfinite(result).all() and (result >= 0).all() and (result == np.rint(result)).all())
    if whole and result.max(initial=0.0) < np.iinfo(np.uint32).max:
        return _pack_integers(np.where(measured, values, 0).astype(np.int64), measured)
    return PackedArray(type="f64", content=_shuffle(values.astype("<f8")), count=len(values), shuffled=True)


def pack_codes(codes: NDArray[np.signedinteger[Any]]) -> PackedArray:
    """Codes of levels in the smallest type; -1, a missing one, is stored as the type's largest number."""
    return _pack_integers(codes.astype(np.int64), codes >= 0)


def pack_bits(bits: NDArray[np.uint32]) -> PackedArray:
    """32 flags of each trial."""
    return PackedArray(type="u32", content=_shuffle(bits.astype("<u4")), count=len(bits), shuffled=True)


def pack_rounded(values: NDArray[np.float64]) -> PackedArray:
    """Numbers to DIGITS significant digits: small whole ones exactly, others as short floats."""
    measured = values[~np.isnan(values)]
    if (measured == np.rint(measured)).all() and (abs(measured) < np.iinfo(np.uint16).max).all():
        return pack_whole(values)
    sizes = np.abs(measured[np.isfinite(measured) & (measured != 0)])
    if (sizes < np.finfo(np.float32).tiny).any() or (sizes > np.finfo(np.float32).max / 2).any():
        return pack_exact(values)  # single precision has fewer digits there, or no number
    content = _shuffle(_shorten_fractions(values.astype(np.float32)))
    return PackedArray(type="f32", content=content, count=len(values), shuffled=True)


def pack_times(values: NDArray[np.float64]) -> PackedArray:
    """Times in seconds to a millisecond, or to the shortest step in which their range fits 32 bits."""
    measured = np.isfinite(values)
    base = math.floor(values[measured].min()) if measured.any() else 0
    span = values[measured].max(initial=base) - base
    room = np.iinfo(np.uint32).max - 1
    step = next((item for item in _TIME_STEPS_S if span / item < room), None)
    if step is None:
        return pack_exact(values)
    steps = np.rint((np.where(measured, values, base) - base) / step).astype(np.int64)
    return _pack_integers(steps, measured, base=float(base), scale=step)


def _pack_integers(
    values: NDArray[np.int64],
    measured: NDArray[np.bool_],
    *,
    base: float | None = None,
    scale: float | None = None,
) -> PackedArray:
    largest = int(values[measured].max(initial=0))
    name, kind = next((name, kind) for name, kind in _UNSIGNED.items() if largest < np.iinfo(kind).max)
    missing = int(np.iinfo(kind).max)
    stored = np.where(measured, values, missing).astype(np.dtype(kind).newbyteorder("<"))
    return PackedArray(
        type=name,
        content=_shuffle(stored),
        count=len(values),
        shuffled=stored.itemsize > 1,
        missing=missing,
        base=base,
        scale=scale,
    )


def _shorten_fractions(values: NDArray[np.float32]) -> NDArray[np.uint32]:
    """The bits of the nearest floats whose fractions have only _FRACTION_BITS bits."""
    bits = values.astype("<f4").view("<u4").astype(np.uint32)
    usual = np.isfinite(values)
    half, mask = np.uint32(1 << (_DROPPED_BITS - 1)), np.uint32(0xFFFFFFFF << _DROPPED_BITS & 0xFFFFFFFF)
    rounded = (bits + half) & mask
    return np.where(usual, rounded, bits).astype("<u4")


def _shuffle(values: NDArray[Any]) -> bytes:
    """The bytes of little-endian values, those of equal place together."""
    return values.view(np.uint8).reshape(len(values), values.itemsize).T.tobytes()
