"""Curves over a stretch of time."""

import numpy as np
import pytest

from pathlab.analysis.packets.reduction import TimeSpan, sum_over_time

YEAR_NS = 365 * 86_400 * 10**9


@pytest.mark.parametrize("length_ns", [1000, 10 * 10**9, 2 * YEAR_NS, 136 * YEAR_NS])
def test_amounts_are_in_the_part_of_their_time_however_long_the_span_is(length_ns: int) -> None:
    span = TimeSpan(start_ns=5, end_ns=5 + length_ns, origin_ns=5)
    times = np.array([5, 5 + length_ns * 3 // 10, 5 + length_ns])
    curve = sum_over_time(times, np.array([1, 2, 4]), span, 4)
    assert (curve.y * length_ns / 4e9).round(6).tolist() == [1, 2, 0, 4]
