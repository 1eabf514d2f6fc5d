"""Pieces of sentences that the terminal and the page share."""

from __future__ import annotations

import pytest

from pathlab.report.phrases import format_range


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
