"""Which cells carry the most, and which is the least that suffices."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathlab.analysis.sufficiency import NEAR_RATIO, SUFFICIENT_RATIO, choose_cells
from pathlab.errors import UsageError

VALUES = st.none() | st.floats(allow_nan=True, allow_infinity=True)


def test_by_hand() -> None:
    rates = [10e6, 96e6, 100e6, 98e6, None, 90e6]
    sizes = [16, 256, 512, None, 8, 128]
    found = choose_cells(rates, sizes)
    assert (found.highest, found.near, found.sufficient) == (2, (3,), 5)
    assert choose_cells(rates).sufficient is None  # no size is known
    assert choose_cells([5.0, 5.0], [64, 64]).highest == 0
    assert choose_cells([9.5, 10.0], [64, 64]).sufficient == 1  # of equal sizes the faster one
    empty = choose_cells([None, 0.0, -1.0, math.nan, math.inf])
    assert (empty.highest, empty.near, empty.sufficient) == (None, (), None)


@pytest.mark.parametrize("below", [False, True])
def test_the_shares_are_where_they_are_said_to_be(below: bool) -> None:
    less = 1e-9 if below else 0.0
    assert choose_cells([1.0, NEAR_RATIO - less]).near == (() if below else (1,))
    assert choose_cells([1.0, SUFFICIENT_RATIO - less], [2, 1]).sufficient == (0 if below else 1)


@given(st.lists(st.tuples(VALUES, VALUES), max_size=8), st.floats(0.001, 1000))
def test_any_figures_have_a_choice_that_scale_does_not_change(
    cells: list[tuple[float | None, float | None]], scale: float
) -> None:
    rates, sizes = [rate for rate, _ in cells], [size for _, size in cells]
    found = choose_cells(rates, sizes)
    for place in (found.highest, found.sufficient, *found.near):
        assert place is None or 0 < (rates[place] or 0) < math.inf
    assert (found.highest is None) is not any(rate is not None and 0 < rate < math.inf for rate in rates)
    if found.sufficient is not None:
        assert (rates[found.sufficient] or 0) >= SUFFICIENT_RATIO * (rates[found.highest or 0] or 0)
    moderate = [rate if rate is None or 1e-9 < abs(rate) < 1e9 else None for rate in rates]
    scaled = [None if rate is None else rate * scale for rate in moderate]
    assert choose_cells(scaled, sizes).highest == choose_cells(moderate, sizes).highest or len(
        {rate for rate in scaled if rate is not None}
    ) < len({rate for rate in moderate if rate is not None})


def test_unequal_lengths_are_refused() -> None:
    with pytest.raises(UsageError, match="2 rates but 1 sizes") as caught:
        choose_cells([1.0, 2.0], [1])
    assert caught.value.hint
