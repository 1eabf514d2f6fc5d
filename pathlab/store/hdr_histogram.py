"""Histograms of durations: HdrHistogram's places and V2 encoding, exact sums, quantiles.

Sources: HdrHistogram (public domain), classes ``AbstractHistogram`` and ``ZigZagEncoding``; "Encoded
Histogram format", a page of its .NET port. The values of a place differ by less than 1 in the last of the
digits that are kept; with the engine's two digits a place is at most 0.8 % wide.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from pathlab.errors import StoreError

Integers = NDArray[np.int64]
#: Samples that must lie above a quantile before it is stated.
QUANTILE_SAMPLES_ABOVE = 10
_COOKIE, _COMPRESSED_COOKIE, _VERSION_MASK = 0x1C849303, 0x1C849304, 0xF0
_VERSION_2 = 0x10  # in the cookie: counts as ZigZag LEB128
_HEADER = struct.Struct(">iiiiqqd")  # cookie, payload bytes, offset, digits, lowest, highest, ratio
_ENVELOPE = struct.Struct(">ii")  # cookie, compressed bytes
_PAYLOAD_MAX_BYTES = 1 << 21  # the engine's takes at most 64 KiB
_PASS_BYTES = 1 << 20  # decoded at a time; takes about 80 bytes of memory per byte
_VARINT_BYTES_MAX = 8  # what counts below _COUNT_LIMIT take
_COUNT_LIMIT = 1 << 55
_HINT = "restore the file from a copy; every other series and every trial's figures can still be read"


class HistogramError(StoreError):
    """Bytes that are no histogram, or histograms that cannot be added. The message has no place of theirs."""

    def __init__(self, fault: str) -> None:
        super().__init__(f"a histogram {fault}", hint=_HINT)


@dataclass(frozen=True, slots=True)
class ExactFigures:
    """What was counted alongside a histogram, without its rounding."""

    count: int
    min_ns: int
    max_ns: int
    mean_ns: float


@dataclass(frozen=True, slots=True)
class HistogramLayout:
    """The places of a histogram: values from ``lowest`` to ``highest`` to that many decimal digits.

    Raises HistogramError where HdrHistogram has no such layout.
    """

    digits: int = 2
    lowest: int = 1
    highest: int = (1 << 62) - 1

    def __post_init__(self) -> None:
        if not 0 <= self.digits <= 5 or not 1 <= self.lowest <= self.highest // 2 or self.highest >> 63:
            raise HistogramError(
                f"states {self.digits} digits and values from {self.lowest} to {self.highest}: no layout"
            )
        if self.unit_bits + self.bits > 62:
            raise HistogramError(f"has too large a lowest value ({self.lowest}) for {self.digits} digits")

    @property
    def bits(self) -> int:
        """The highest bits of a value that are kept."""
        return int(2 * 10**self.digits - 1).bit_length()

    @property
    def unit_bits(self) -> int:
        """The lowest bits of a value that are never kept."""
        return self.lowest.bit_length() - 1

    @property
    def half(self) -> int:
        """Places of an octave; the lowest octave has twice as many."""
        return 1 << (self.bits - 1)

    @property
    def places(self) -> int:
        """How many there are."""
        octaves = max((self.highest >> self.unit_bits).bit_length() - self.bits, 0) + 2
        return octaves * self.half

    def find_places(self, values: Integers) -> Integers:
        """The place of each value, 0 to ``highest``."""
        scaled = values >> self.unit_bits
        # A value that rounds up to the next power of two has the same place by either number of bits.
        shift = np.maximum(np.frexp(scaled.astype(np.float64))[1].astype(np.int64) - self.bits, 0)
        places: Integers = shift * self.half + (scaled >> shift)
        return places

    def find_lowest(self, indices: Integers) -> Integers:
        """The smallest value that is counted at each place."""
        shift = np.maximum(indices // self.half - 1, 0)
        lowest: Integers = (indices - shift * self.half) << (shift + self.unit_bits)
        return lowest

    def find_highest(self, indices: Integers) -> Integers:
        """The largest value that is counted at each place."""
        width = np.left_shift(1, np.maximum(indices // self.half - 1, 0) + self.unit_bits)
        highest: Integers = self.find_lowest(indices) + (width - 1)
        return highest


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """How often durations in ns were counted. ``places`` ascend and have a count each, none of them 0.

    ``exact`` is None for an empty histogram. Where no other count exists, its figures are read from the
    places: the edges of the outermost ones, and the mean of their middles.
    """

    layout: HistogramLayout
    places: Integers
    counts: Integers
    exact: ExactFigures | None

    @classmethod
    def count_values(cls, values: Integers, layout: HistogramLayout) -> Self:
        """The histogram of values; their figures are exact. Raises HistogramError for one outside it."""
        if not values.size:
            return cls._build(layout, np.zeros(layout.places, np.int64), None)
        if values.min() < 0 or values.max() > layout.highest:
            raise HistogramError(f"holds values from 0 to {layout.highest}, and no others")
        counts = np.bincount(layout.find_places(values), minlength=layout.places)
        mean = math.fsum(values.tolist()) / values.size
        return cls._build(
            layout, counts, ExactFigures(values.size, int(values.min()), int(values.max()), mean)
        )

    @classmethod
    def decode(cls, data: bytes, exact: ExactFigures | None = None) -> Self:
        """The histogram of a V2 encoding, compressed or not; ``exact`` was stated alongside it.

        Raises HistogramError for other bytes, and where ``exact`` cannot be of this histogram.
        """
        return cls.decode_sum([data], exact)

    @classmethod
    def decode_sum(cls, encoded: Iterable[bytes], exact: ExactFigures | None = None) -> Self:
        """The sum of encoded histograms of one layout, decoded together; ``exact`` is of the sum.

        Without any it is an empty one of the engine's layout. Raises HistogramError as ``decode`` does, and
        for different layouts.
        """
        result = [_read_payload(data) for data in encoded]
        layouts = {layout for layout, _ in result} or {HistogramLayout()}
        layout = _choose_layout(layouts)
        total = np.zeros(layout.places, np.int64)
        for payloads in _group([payload for _, payload in result]):
            _add_counts(total, payloads)
        return cls._build(layout, total, exact)

    @classmethod
    def merge(cls, histograms: Iterable[Histogram]) -> Self:
        """The sum of histograms of one layout. Raises HistogramError for different ones."""
        added = [*histograms]
        layout = _choose_layout({item.layout for item in added} or {HistogramLayout()})
        total = np.zeros(layout.places, np.int64)
        for item in added:
            total[item.places] += item.counts
        return cls._build(layout, total, add_figures(item.exact for item in added if item.exact))

    @classmethod
    def _build(cls, layout: HistogramLayout, total: Integers, exact: ExactFigures | None) -> Self:
        indices = np.flatnonzero(total)
        histogram = cls(layout, indices, total[indices], None)
        if float(histogram.counts.sum(dtype=np.float64)) >= _COUNT_LIMIT:
            raise HistogramError(f"counts more than {_COUNT_LIMIT} values")
        return replace(histogram, exact=_check_figures(histogram, exact))

    def __add__(self, other: Histogram) -> Histogram:
        return Histogram.merge([self, other])

    @property
    def count(self) -> int:
        """How many values were counted."""
        return int(self.counts.sum())

    @property
    def values(self) -> Integers:
        """The largest value of each place, ns, at most the maximum: with ``counts`` a distribution."""
        highest = self.layout.find_highest(self.places)
        return highest if self.exact is None else np.minimum(highest, self.exact.max_ns)

    def quantile_ns(self, ratio: float) -> int | None:
        """The value that ``ratio`` (0 to 1) of all values do not exceed; None for an empty histogram."""
        if not self.places.size:
            return None
        reached = np.searchsorted(np.cumsum(self.counts), _find_rank(ratio, self.count))
        return int(self.values[reached])

    def stated_quantile_ns(self, ratio: float) -> int | None:
        """That value; None where fewer than ``QUANTILE_SAMPLES_ABOVE`` values rank above it."""
        return self.quantile_ns(ratio) if is_quantile_stated(ratio, self.count) else None

    def encode(self, *, compressed: bool = True) -> bytes:
        """The V2 encoding; the figures alongside it are not part of it."""
        payload = _encode_counts(self.places, self.counts)
        layout = self.layout
        header = _HEADER.pack(
            *(_COOKIE | _VERSION_2, len(payload), 0, layout.digits, layout.lowest, layout.highest, 1.0)
        )
        if not compressed:
            return header + payload
        packed = zlib.compress(header + payload)
        return _ENVELOPE.pack(_COMPRESSED_COOKIE | _VERSION_2, len(packed)) + packed


def is_quantile_stated(ratio: float, count: int) -> bool:
    """Whether ``QUANTILE_SAMPLES_ABOVE`` of so many values or more rank above that quantile."""
    return count - _find_rank(ratio, count) >= QUANTILE_SAMPLES_ABOVE


def _find_rank(ratio: float, count: int) -> int:
    return max(math.ceil(Fraction(str(ratio)) * count), 1)  # 0.99 as it is written


def add_figures(figures: Iterable[ExactFigures]) -> ExactFigures | None:
    """The figures of all values together; None of none."""
    result = [*figures]
    count = sum(item.count for item in result)
    if not count:
        return None
    mean_ns = math.fsum(item.mean_ns * item.count for item in result) / count
    return ExactFigures(
        count, min(item.min_ns for item in result), max(item.max_ns for item in result), mean_ns
    )


def _choose_layout(layouts: set[HistogramLayout]) -> HistogramLayout:
    if len(layouts) > 1:
        raise HistogramError("has another layout than the one that it is added to")
    return next(iter(layouts))


def _check_figures(histogram: Histogram, stated: ExactFigures | None) -> ExactFigures | None:
    """The stated figures, or those of the places."""
    if not histogram.places.size:
        if stated is not None:
            raise HistogramError(f"is empty, but {stated.count} values are stated")
        return None
    ends = histogram.places[[0, -1]]
    lowest, highest = histogram.layout.find_lowest(ends), histogram.layout.find_highest(ends)
    if stated is None:
        middles = (histogram.layout.find_lowest(histogram.places) + histogram.values) / 2
        mean_ns = float(np.average(middles, weights=histogram.counts))
        return ExactFigures(histogram.count, int(lowest[0]), int(highest[-1]), mean_ns)
    inside = all(
        low <= item <= high
        for low, item, high in zip(lowest, (stated.min_ns, stated.max_ns), highest, strict=True)
    )
    if stated.count != histogram.count or not inside:
        raise HistogramError(f"does not hold the {stated.count} values that are stated alongside it")
    return stated


def _read_payload(data: bytes) -> tuple[HistogramLayout, bytes]:
    """Layout and encoded counts."""
    if len(data) < _ENVELOPE.size:
        raise HistogramError("is truncated")
    cookie, size = _ENVELOPE.unpack_from(data)
    if cookie & ~_VERSION_MASK == _COMPRESSED_COOKIE:
        return _read_compressed(data[_ENVELOPE.size :], size)
    layout, size = _read_header(data)
    if len(data) < _HEADER.size + size:
        raise HistogramError("is truncated")
    return layout, data[_HEADER.size : _HEADER.size + size]


def _read_compressed(data: bytes, size: int) -> tuple[HistogramLayout, bytes]:
    """What a compressed encoding holds; never more is unpacked than its header states."""
    if not 0 <= size <= len(data):
        raise HistogramError("is truncated")
    unpacker = zlib.decompressobj()
    try:
        layout, size = _read_header(unpacker.decompress(data[:size], _HEADER.size))
        payload = unpacker.decompress(unpacker.unconsumed_tail, size) if size else b""
        rest = unpacker.decompress(unpacker.unconsumed_tail, 1)
    except zlib.error as error:
        raise HistogramError("is compressed wrongly") from error
    if len(payload) < size or not unpacker.eof or rest:
        raise HistogramError("has another length than it states")
    return layout, payload


def _read_header(data: bytes) -> tuple[HistogramLayout, int]:
    if len(data) < _HEADER.size:
        raise HistogramError("is truncated")
    cookie, size, offset, digits, lowest, highest, ratio = _HEADER.unpack_from(data)
    if cookie != _COOKIE | _VERSION_2:
        raise HistogramError("is not in HdrHistogram's V2 encoding")
    if offset != 0 or ratio != 1.0:
        raise HistogramError("holds other than whole numbers")
    layout = HistogramLayout(digits, lowest, highest)
    if not 0 <= size <= _PAYLOAD_MAX_BYTES:
        raise HistogramError(f"states {size} bytes of counts; more than {_PAYLOAD_MAX_BYTES} are not read")
    return layout, size


def _group(payloads: Sequence[bytes]) -> Iterator[list[bytes]]:
    """The payloads that hold counts, some at a time."""
    group: list[bytes] = []
    size = 0
    for payload in filter(None, payloads):
        if group and size + len(payload) > _PASS_BYTES:
            yield group
            group, size = [], 0
        group.append(payload)
        size += len(payload)
    if group:
        yield group


def _add_counts(total: Integers, payloads: Sequence[bytes]) -> None:
    """Add what the payloads count to ``total``, in place. Zeros in a row are one negative number."""
    if any(payload[-1] & 0x80 for payload in payloads):
        raise HistogramError("is truncated")
    numbers, begins = _decode_varints(np.frombuffer(b"".join(payloads), np.uint8))
    steps = np.where(numbers < 0, -numbers, 1)
    if steps.max() > total.size:
        raise HistogramError("counts above its highest value")
    reached = np.cumsum(steps)
    sizes = np.array([len(payload) for payload in payloads])
    first = np.searchsorted(begins, np.cumsum(sizes) - sizes)
    before = np.concatenate(([0], reached))[first]
    places = reached - np.repeat(before, np.diff(first, append=len(numbers))) - 1
    if places.max() >= total.size:
        raise HistogramError("counts above its highest value")
    counted = numbers > 0
    if total.sum(dtype=np.float64) + numbers[counted].sum(dtype=np.float64) >= _COUNT_LIMIT:
        raise HistogramError(f"counts more than {_COUNT_LIMIT} values")
    np.add.at(total, places[counted], numbers[counted])


def _decode_varints(data: NDArray[np.uint8]) -> tuple[Integers, Integers]:
    """The numbers of ZigZag LEB128, seven bits a byte, the lowest first; and where each begins."""
    ends = np.flatnonzero(data < 0x80)
    begins = np.concatenate(([0], ends[:-1] + 1))
    sizes = ends - begins + 1
    if sizes.max() > _VARINT_BYTES_MAX:
        raise HistogramError(f"counts more than {_COUNT_LIMIT} values")
    numbers = np.zeros(len(ends), np.int64)
    for index in range(int(sizes.max())):
        longer = sizes > index
        numbers[longer] |= (data[begins[longer] + index] & 0x7F).astype(np.int64) << 7 * index
    return (numbers >> 1) ^ -(numbers & 1), begins


def _encode_counts(indices: Integers, counts: Integers) -> bytes:
    """The counts up to the last one that is not 0."""
    if not indices.size:
        return b""
    gaps = np.diff(indices, prepend=-1) - 1
    numbers = np.stack([np.where(gaps == 1, 0, -gaps), counts], axis=1).ravel()
    numbers = numbers[np.stack([gaps > 0, np.ones(len(gaps), bool)], axis=1).ravel()]
    rest = (numbers << 1) ^ (numbers >> 63)
    sizes = 1 + sum((rest >> 7 * more > 0).astype(np.int64) for more in range(1, _VARINT_BYTES_MAX))
    begins = np.cumsum(sizes) - sizes
    data = np.zeros(int(sizes.sum()), np.uint8)
    for index in range(int(sizes.max())):
        longer = sizes > index
        more = np.where(sizes[longer] > index + 1, 0x80, 0)
        data[begins[longer] + index] = (rest[longer] >> 7 * index) & 0x7F | more
    return data.tobytes()
