"""Histograms are those of HdrHistogram, add up exactly, and have quantiles at most 0.8 % too high."""

import base64
import json
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.store.hdr_histogram import ExactFigures, Histogram, HistogramError, HistogramLayout
from tests.unit.store.hdr_format import HEADER, list_numbers, read_payload

#: Written once by another implementation, which the file names.
GOLDEN = json.loads((Path(__file__).parents[2] / "data" / "hdr-histograms.json").read_text(encoding="utf-8"))
HOUR_NS = 3_600_000_000_000
THREE_DIGITS = HistogramLayout(digits=3, highest=HOUR_NS)
COOKIE, COMPRESSED_COOKIE = 0x1C849313, 0x1C849314
#: Values at the ends of places, where an index that is off by one would show.
EDGES = sorted({2**power + by for power in range(1, 62) for by in (-1, 0, 1)})
DURATIONS = st.lists(st.one_of(st.integers(0, 2**62 - 1), st.sampled_from(EDGES)), max_size=60)


def count(values: list[int], layout: HistogramLayout | None = None) -> Histogram:
    return Histogram.count_values(np.array(values, dtype=np.int64), layout or HistogramLayout())


def get_counts(histogram: Histogram) -> dict[int, int]:
    return dict(zip(histogram.places.tolist(), histogram.counts.tolist(), strict=True))


def pack(payload: bytes, digits: int = 2, highest: int = 2**62 - 1, **other: Any) -> bytes:
    """An encoding without compression; the payload need not be one."""
    size, cookie = other.get("size", len(payload)), other.get("cookie", COOKIE)
    fields = (cookie, size, other.get("offset", 0), digits, other.get("lowest", 1), highest)
    return HEADER.pack(*fields, other.get("ratio", 1.0)) + payload


def compress(data: bytes) -> bytes:
    packed = zlib.compress(data)
    return struct.pack(">ii", COMPRESSED_COOKIE, len(packed)) + packed


@pytest.mark.parametrize("golden", GOLDEN["histograms"], ids=lambda golden: str(golden["name"]))
def test_another_implementations_histograms_are_read_and_written(golden: dict[str, Any]) -> None:
    encoded = base64.b64decode(golden["encoded"])
    decoded = Histogram.decode(encoded)
    values = [value for value, times in golden["values"] for _ in range(times)]
    layout = HistogramLayout(golden["digits"], golden["lowest"], golden["highest"])
    counted = count(values, layout)
    assert decoded.layout == layout
    assert get_counts(decoded) == get_counts(counted)
    assert decoded.count == golden["count"]
    assert (decoded.exact.min_ns, decoded.exact.max_ns) == (golden["lowest_value"], golden["highest_value"])
    assert counted.exact == ExactFigures(len(values), min(values), max(values), sum(values) / len(values))
    written = counted.encode()
    ours, theirs = (zlib.decompress(data[8:]) for data in (written, encoded))
    assert (written[:4], int.from_bytes(written[4:8], "big")) == (encoded[:4], len(written) - 8)
    assert (ours[:4], ours[8:40]) == (theirs[:4], theirs[8:40])
    # They write a single zero as one repeat of zeros, Java and the engine as a count of 0.
    assert [number or -1 for number in list_numbers(ours[40:])] == list_numbers(theirs[40:])


@given(DURATIONS, st.sampled_from([1, 2, 3, 5]), st.booleans())
@settings(max_examples=40, deadline=None)
def test_what_is_written_is_read_again(values: list[int], digits: int, compressed: bool) -> None:
    histogram = count(values, HistogramLayout(digits))
    encoded = histogram.encode(compressed=compressed)
    plain = zlib.decompress(encoded[8:]) if compressed else encoded
    assert read_payload(plain[HEADER.size :]) == get_counts(histogram)
    again = Histogram.decode(encoded, histogram.exact)
    assert (again.layout, again.exact) == (histogram.layout, histogram.exact)
    assert get_counts(again) == get_counts(histogram)


@given(st.lists(DURATIONS, min_size=1, max_size=6))
@settings(max_examples=40, deadline=None)
def test_a_sum_is_the_histogram_of_all_values(parts: list[list[int]]) -> None:
    histograms = [count(part) for part in parts]
    whole = count([value for part in parts for value in part])
    added = sum(histograms[1:], start=histograms[0])
    encoded = [histogram.encode(compressed=False) for histogram in histograms]
    backwards = Histogram.merge(histograms[::-1])
    for one in (Histogram.merge(histograms), added, backwards, Histogram.decode_sum(encoded, whole.exact)):
        assert get_counts(one) == get_counts(whole)
        if whole.exact is None or one.exact is None:
            assert one.exact is whole.exact is None
            continue
        assert (one.exact.count, one.exact.min_ns) == (whole.exact.count, whole.exact.min_ns)
        assert one.exact.max_ns == whole.exact.max_ns
        assert one.exact.mean_ns == pytest.approx(whole.exact.mean_ns, rel=1e-12)


@given(DURATIONS.filter(bool), st.sampled_from([0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0]))
@settings(max_examples=60, deadline=None)
def test_a_quantile_is_never_too_low_and_at_most_a_place_too_high(values: list[int], ratio: float) -> None:
    found = count(values).quantile_ns(ratio)
    true = int(np.quantile(np.array(values), ratio, method="inverted_cdf"))
    assert true <= found <= min(true + true // 128, max(values))


def test_a_quantile_needs_ten_values_above_it() -> None:
    for values, stated in ((1000, 990), (999, None)):
        histogram = count(list(range(1, values + 1)), THREE_DIGITS)
        assert histogram.stated_quantile_ns(0.99) == stated
    assert count([]).stated_quantile_ns(0.5) is None
    assert count([]).quantile_ns(0.5) is None
    # 0.999 x 1000 is 999.0000000000001 in floating point of some orders: the rank is 999
    histogram = count([1] * 999 + [200])
    assert (histogram.quantile_ns(0.999), histogram.quantile_ns(0.9991)) == (1, 200)


def test_values_and_counts_are_the_distribution() -> None:
    histogram = count([5, 5, 1000, 1_000_003])
    assert histogram.values.tolist() == [5, 1003, 1_000_003]  # the last one is not above the maximum
    assert histogram.counts.tolist() == [2, 1, 1]


def test_counts_of_many_bytes_are_exact() -> None:
    seven = pack(bytes([0x0D]) + bytes([0x80, 0x80, 0x80, 0x80, 0x80, 0x20]))  # seven zeros, then 2 ** 39
    histogram = Histogram.decode_sum([seven] * 8)
    assert get_counts(histogram) == {7: 2**42}
    assert histogram.exact == ExactFigures(2**42, 7, 7, 7.0)
    assert get_counts(Histogram.decode(histogram.encode())) == {7: 2**42}


SMALL = count([1, 3, 3, 5000, *range(1000, 100_000, 977)])
ZEROS = bytes([0x0B])  # six places without a count
HUGE = bytes([0xFE, *[0xFF] * 6, 0x7F])  # 2 ** 55 - 1


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "is truncated"),
        (pack(b"\x02")[:39], "is truncated"),
        (pack(b"\x02", size=2), "is truncated"),
        (pack(b"\x02\x80"), "is truncated"),
        (SMALL.encode()[:-1], "is truncated"),
        (pack(b"\x02", cookie=0x1C849301), "is not in HdrHistogram's V2"),
        (b"no histogram at all, and long enough to have a header", "is not in HdrHistogram's V2"),
        (pack(b"\x02", cookie=0x1C849303), "is not in HdrHistogram's V2"),
        (pack(b"\x02", offset=3), "other than whole numbers"),
        (pack(b"\x02", ratio=0.5), "other than whole numbers"),
        (pack(b"\x02", ratio=float("nan")), "other than whole numbers"),
        (pack(b"\x02", digits=6), "no layout"),
        (pack(b"\x02", digits=-1), "no layout"),
        (pack(b"\x02", lowest=0), "no layout"),
        (pack(b"\x02", highest=1), "no layout"),
        (pack(b"\x02", highest=-1), "no layout"),
        (pack(b"\x02", digits=5, lowest=2**50, highest=2**62), "too large a lowest value"),
        (pack(b"\x02", size=-1), "bytes of counts"),
        (pack(b"\x02", size=2**31 - 1), "bytes of counts"),
        (pack(ZEROS * 2000 + b"\x02", highest=1000), "above its highest value"),
        (pack(HUGE.replace(b"\xfe", b"\xff") + b"\x02"), "above its highest value"),
        (pack(HUGE + HUGE), "counts more than"),
        (pack(b"\xfe" + b"\xff" * 7 + b"\x7f"), "counts more than"),
        (pack(b"\x80" * 30 + b"\x01"), "counts more than"),
        (struct.pack(">ii", COMPRESSED_COOKIE, 5) + b"xxxxx", "compressed wrongly"),
        (compress(pack(b"\x02", size=0)), "another length"),
        (compress(pack(b"\x02", size=9)), "another length"),
        (compress(pack(b"\x02"))[:4] + struct.pack(">i", -5) + b"x" * 60, "is truncated"),
    ],
)
def test_other_bytes_are_refused_by_one_clear_error(data: bytes, fault: str) -> None:
    with pytest.raises(HistogramError, match=fault):
        Histogram.decode(data)


@given(
    st.one_of(st.binary(max_size=120), st.binary(max_size=60).map(pack), st.binary(max_size=60).map(compress))
)
@settings(max_examples=100, deadline=None)
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    try:
        histogram = Histogram.decode(data)
    except HistogramError:
        return
    assert histogram.counts.tolist() == [*read_payload(data[HEADER.size :]).values()]


@given(st.integers(0, len(SMALL.encode()) - 1), st.integers(0, 255))
@settings(max_examples=60, deadline=None)
def test_a_changed_byte_of_a_compressed_one_is_found(place: int, value: int) -> None:
    encoded = bytearray(SMALL.encode())
    if encoded[place] == value or place == 3:  # which states the size of words, and is ignored
        return
    encoded[place] = value
    with pytest.raises(HistogramError):
        Histogram.decode(bytes(encoded))


@pytest.mark.parametrize(
    "encode",
    [
        pytest.param(lambda: compress(pack(bytes(2**27), size=2**21)), id="more than it states"),
        pytest.param(lambda: compress(bytes(2**27)), id="no header"),
        pytest.param(lambda: pack(b"\x02" * 2**21, digits=4), id="as long as any"),
    ],
)
def test_memory_is_bounded_whatever_is_stated(encode: Callable[[], bytes]) -> None:
    data = encode()
    tracemalloc.start()
    try:
        with pytest.raises(HistogramError):
            Histogram.decode(data)
        assert tracemalloc.get_traced_memory()[1] < 300e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "stated", [ExactFigures(3, 5, 9, 7.0), ExactFigures(2, 4, 9, 7.0), ExactFigures(2, 5, 10, 7.0)]
)
def test_figures_of_other_values_are_refused(stated: ExactFigures) -> None:
    encoded = count([5, 9]).encode()
    assert Histogram.decode(encoded, ExactFigures(2, 5, 9, 7.0)).count == 2
    with pytest.raises(HistogramError, match="does not hold the"):
        Histogram.decode(encoded, stated)
    with pytest.raises(HistogramError, match="is empty"):
        Histogram.decode(count([]).encode(), stated)


def test_histograms_of_two_layouts_are_not_added() -> None:
    two = [count([5]), count([5], THREE_DIGITS)]
    with pytest.raises(HistogramError, match="another layout"):
        Histogram.merge(two)
    with pytest.raises(HistogramError, match="another layout"):
        Histogram.decode_sum([one.encode() for one in two])
