"""HdrHistogram's V2 encoding and the lines of its log, format version 1.2.

Sources: HdrHistogram (public domain), classes ``AbstractHistogram``, ``ZigZagEncoding`` and
``HistogramLogWriter``; "Encoded Histogram format", a page of its .NET port. A histogram has buckets of
``_WIDTH`` values each; the values of a bucket are twice as far apart as those of the one below.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

LOG_HEAD = (
    "#[Histogram log format version 1.2]",
    '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
)
HIGHEST_MAX = 2**53  # above it, the number of a value's bits cannot be computed with floating point
_DIGITS = 3
_BITS = 11  # of a value that are kept: the next power of two above 2 × 10 ** _DIGITS
_WIDTH = 2 ** (_BITS - 1)
_COOKIE, _COMPRESSED_COOKIE = 0x1C849313, 0x1C849314
_HEADER = struct.Struct(">iiiiqqd")  # cookie, payload bytes, offset, digits, lowest, highest, ratio
_ENVELOPE = struct.Struct(">ii")  # cookie, compressed bytes


def format_log_line(
    tag: str, begin_s: float, end_s: float, values: NDArray[np.int64], *, highest: int, max_unit: int
) -> str:
    """One line of a log: the histogram of ``values``, which were recorded from ``begin_s`` to ``end_s``.

    It has no line break. It also states the largest value in ``max_unit``.
    """
    largest = _find_highest_equivalent(int(values.max())) / max_unit
    encoded = base64.b64encode(encode_histogram(values, highest=highest)).decode("ascii")
    return f"Tag={tag},{begin_s:f},{end_s - begin_s:f},{largest:f},{encoded}"


def encode_histogram(values: NDArray[np.int64], *, highest: int) -> bytes:
    """The compressed V2 encoding of how often each value occurs, to three significant digits.

    ``values`` are whole numbers from 1 to ``highest``, at least one. Raises ValueError for others.
    """
    if not values.size or values.min() < 1 or values.max() > highest or highest > HIGHEST_MAX:
        raise ValueError(f"a histogram needs values from 1 to {highest}, and at least one")
    places, counts = np.unique(_index_values(values), return_counts=True)
    payload = b"".join(_encode_counts(places.tolist(), counts.tolist()))
    header = _HEADER.pack(_COOKIE, len(payload), 0, _DIGITS, 1, highest, 1.0)
    compressed = zlib.compress(header + payload)
    return _ENVELOPE.pack(_COMPRESSED_COOKIE, len(compressed)) + compressed


def _index_values(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of each value among a histogram's counts."""
    bits = np.frexp(values.astype(np.float64))[1].astype(np.int64)
    shift = np.maximum(bits - _BITS, 0)
    places: NDArray[np.int64] = shift * _WIDTH + (values >> shift)
    return places


def _find_highest_equivalent(value: int) -> int:
    """The largest value that is counted at the same place."""
    shift = max(value.bit_length() - _BITS, 0)
    return (((value >> shift) + 1) << shift) - 1


def _encode_counts(places: list[int], counts: list[int]) -> Iterator[bytes]:
    """The counts up to the last one that is not 0; zeros in a row are one negative number."""
    following = 0
    for place, count in zip(places, counts, strict=True):
        zeros = place - following
        if zeros:
            yield _encode_zigzag(0 if zeros == 1 else -zeros)
        yield _encode_zigzag(count)
        following = place + 1


def _encode_zigzag(value: int) -> bytes:
    """A signed number below 2 ** 55 as ZigZag LEB128, seven bits a byte, the lowest first."""
    rest = value << 1 if value >= 0 else (-value << 1) - 1
    found = bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    found.append(rest)
    return bytes(found)
