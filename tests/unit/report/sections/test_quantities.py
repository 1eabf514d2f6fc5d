"""Units of axes."""

from __future__ import annotations

import pytest

from pathlab.report.sections.quantities import choose_unit


@pytest.mark.parametrize(
    ("times_ns", "unit"),
    [([2e9], "s"), ([5e6, 2e3], "ms"), ([-751.0, 300.0], "µs"), ([0.0], "ms"), ([], "ms")],
)
def test_times_are_drawn_in_a_unit_without_needless_decimals(times_ns: list[float], unit: str) -> None:
    assert choose_unit("ns", times_ns).unit == unit
