"""Numbers, ranges, intervals and units that the terminal, the page and figures share."""

import pytest

from pathlab.analysis.estimators.interval import IntervalBuilder
from pathlab.report.names import enumerate_numbers
from pathlab.report.phrases import format_interval, format_range
from pathlab.report.sections.quantities import choose_unit
from pathlab.units import format_time


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


@pytest.mark.parametrize(
    ("ends", "text"), [((3e6, 4e6), "3–4 ms"), ((3e6, 3e6), "3–3 ms"), ((-3e6, -3e6), "-3 to -3 ms")]
)
def test_an_interval_whose_ends_read_alike_still_reads_as_one(ends: tuple[float, float], text: str) -> None:
    assert format_interval(IntervalBuilder(n=9, method="sample").build(*ends), format_time) == text


@pytest.mark.parametrize(
    ("times_ns", "unit"),
    [([2e9], "s"), ([5e6, 2e3], "ms"), ([-751.0, 300.0], "µs"), ([0.0], "ms"), ([], "ms")],
)
def test_times_are_drawn_in_a_unit_without_needless_decimals(times_ns: list[float], unit: str) -> None:
    assert choose_unit("ns", times_ns).unit == unit
