"""Outliers are named by a rule; nothing is dropped."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.estimators.outliers import name_outliers

RISING = [4, 7, 5, 9, 8, 12, 10, 11, 15, 13, 14, 18, 16, 17, 21, 19, 20, 24, 22, 23.5]


def test_fences_are_rs() -> None:
    # R 4.2.2: mad(v)  ->  7.413; median(v)  ->  14.5
    found = name_outliers(RISING)
    assert (found.low, found.high) == pytest.approx((14.5 - 3.5 * 7.413, 14.5 + 3.5 * 7.413), rel=1e-4)
    assert found.places == ()


@settings(max_examples=40)
@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=5, max_size=40), st.integers(1, 100), st.integers(-99, 99)
)
def test_places_ignore_shift_and_scale_and_follow_the_order(
    values: list[int], scale: int, shift: int
) -> None:
    found = name_outliers(values)
    moved = name_outliers([value * scale * 2 + shift for value in values])
    assert moved.undecided is found.undecided
    edges = {found.low, found.high}
    if found.low is not None and not edges & set(map(float, values)):
        assert moved.places == found.places
    turned = name_outliers(values[::-1])
    assert [len(values) - 1 - place for place in turned.places][::-1] == list(found.places)
