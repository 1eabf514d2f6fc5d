"""Numbers, ranges, intervals and units that the terminal, the page and figures share."""

import pytest

from pathlab.report.base.names import enumerate_numbers
from pathlab.report.base.phrases import format_range


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((3,), "3"),
        ((1, 2), "1 and 2"),
        ((1, 2, 3), "1, 2 and 3"),
        ((1, 2, 3, 4), "1 to 4"),
        ((*range(1, 13), 15, 20), "1 to 12, 15 and 20"),
        ((1, 5, 6, 7, 8), "1 and 5 to 8"),
    ],
)
def test_numbers(numbers: tuple[int, ...], text: str) -> None:
    assert enumerate_numbers(numbers) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        ("3 ms", "4 ms", "3–4 ms"),
        ("900 µs", "4 ms", "900 µs–4 ms"),
        ("-3 ms", "4 ms", "-3 to 4 ms"),
        ("38.5 Mbit/s", "38.5 Mbit/s", "38.5 Mbit/s"),
    ],
)
def test_a_range_names_a_common_unit_once_and_equal_ends_once(low: str, high: str, text: str) -> None:
    assert format_range(low, high) == text
