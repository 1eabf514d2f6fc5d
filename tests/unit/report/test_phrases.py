"""Pieces of sentences that the terminal and the page share."""

from __future__ import annotations

import pytest

from pathlab.analysis.estimators.interval import IntervalBuilder
from pathlab.report.phrases import format_interval, format_range
from pathlab.units import format_time


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


@pytest.mark.parametrize(
    ("ends", "text"),
    [((3e6, 4e6), "3–4 ms"), ((3e6, 3e6), "3–3 ms"), ((-3e6, -3e6), "-3 to -3 ms")],
)
def test_an_interval_whose_ends_read_alike_still_reads_as_one(ends: tuple[float, float], text: str) -> None:
    assert format_interval(IntervalBuilder(n=9, method="sample").build(*ends), format_time) == text
