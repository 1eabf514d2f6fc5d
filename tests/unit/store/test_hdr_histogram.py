"""What we encode is what HdrHistogram's Python port decodes."""

from __future__ import annotations

import base64
import zlib

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pathlab.store.hdr_histogram import HIGHEST_MAX, encode_histogram, format_log_line

HOUR_NS = 3_600_000_000_000
#: Values at the ends of buckets, where an index that is off by one would show.
EDGES = sorted({edge + by for power in range(1, 42) for edge in [2**power] for by in (-1, 0, 1)})


def record(values: NDArray[np.int64]) -> HdrHistogram:
    histogram = HdrHistogram(1, HOUR_NS, 3)
    for value in values.tolist():
        histogram.record_value(value)
    return histogram


def decompress(encoded: bytes) -> bytes:
    assert int.from_bytes(encoded[4:8], "big") == len(encoded) - 8
    return encoded[:4] + zlib.decompress(encoded[8:])


def test_bytes_of_a_small_histogram() -> None:
    """Worked out by hand: 1 once, 3 twice, 5000 (place 3298 = 2 x 1024 + 5000 / 4) 300 times."""
    values = np.array([1, 3, 3] + [5000] * 300)
    assert decompress(encode_histogram(values, highest=HOUR_NS)) == bytes.fromhex(
        "1c849314"  # cookie of the envelope
        "1c849313 00000008 00000000 00000003"  # cookie, payload of 8 bytes, offset 0, 3 digits
        "0000000000000001 0000034630b8a000 3ff0000000000000"  # 1 to an hour in ns, ratio 1.0
        "00 02 00 04"  # no 0, one 1, no 2, two 3
        "bb33"  # 3294 places without a count
        "d804"  # 300
    )


@given(st.lists(st.one_of(st.integers(1, HOUR_NS), st.sampled_from(EDGES)), min_size=1, max_size=200))
@settings(max_examples=25, deadline=None)
def test_their_reader_finds_the_same_counts_and_percentiles(chosen: list[int]) -> None:
    values = np.minimum(np.array(chosen, dtype=np.int64), HOUR_NS)
    encoded = encode_histogram(values, highest=HOUR_NS)
    recorded = record(values)
    decoded = HdrHistogram.decode(base64.b64encode(encoded))
    assert decoded.get_total_count() == len(values)
    assert decoded.get_min_value() == recorded.get_min_value()
    assert decoded.get_max_value() == recorded.get_max_value()
    for percentile in (1, 25, 75, 99.9):
        found = decoded.get_value_at_percentile(percentile)
        assert found == recorded.get_value_at_percentile(percentile)
    middle = np.quantile(values, 0.5, method="inverted_cdf")
    assert decoded.get_value_at_percentile(50) == pytest.approx(middle, rel=1e-3)
    assert bytes(decoded.counts) == bytes(recorded.counts)


def test_a_line_states_times_the_largest_value_and_the_tag() -> None:
    line = format_log_line(
        "a", 10.5, 12.25, np.array([2_000_000, 7_999_999]), highest=HOUR_NS, max_unit=10**6
    )
    tag, begin, length, largest, encoded = line.split(",")
    assert (tag, float(begin), float(length)) == ("Tag=a", 10.5, 1.75)
    assert float(largest) == pytest.approx(record(np.array([7_999_999])).get_max_value() / 1e6, abs=1e-6)
    assert HdrHistogram.decode(encoded).get_total_count() == 2


@pytest.mark.parametrize(
    ("values", "highest"), [([], 10), ([0, 5], 10), ([11], 10), ([-1], 10), ([5], HIGHEST_MAX + 1)]
)
def test_values_that_it_cannot_count_are_refused(values: list[int], highest: int) -> None:
    with pytest.raises(ValueError, match="needs values from 1 to"):
        encode_histogram(np.array(values, dtype=np.int64), highest=highest)
