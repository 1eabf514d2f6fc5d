"""Outliers are named by a rule; nothing is dropped."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.outliers import MAD_RULE, TUKEY_RULE, Fence, OutlierRule, name_outliers
from pathlab.errors import UsageError

from .noise import check_share

RISING = [4, 7, 5, 9, 8, 12, 10, 11, 15, 13, 14, 18, 16, 17, 21, 19, 20, 24, 22, 23.5]


def test_fences_are_rs() -> None:
    # R 4.2.2: mad(v)  ->  7.413; median(v)  ->  14.5
    found = name_outliers(RISING)
    assert (found.low, found.high) == pytest.approx((14.5 - 3.5 * 7.413, 14.5 + 3.5 * 7.413), rel=1e-4)
    # R 4.2.2: quantile(v, c(.25, .75))  ->  9.75 19.25
    tukey = name_outliers(RISING, TUKEY_RULE)
    assert (tukey.low, tukey.high) == pytest.approx((9.75 - 1.5 * 9.5, 19.25 + 1.5 * 9.5))
    assert (found.places, tukey.places) == ((), ())


def test_values_that_stand_apart_are_named_with_the_rule() -> None:
    for rule, words in ((MAD_RULE, "median +- 3.5 MAD"), (TUKEY_RULE, "quartiles +- 1.5 IQR (Tukey)")):
        found = name_outliers([*RISING, 200.0, -150.0], rule)
        assert (found.places, found.n, found.rule, found.undecided) == ((20, 21), 22, words, None)


@pytest.mark.parametrize(("rule", "share"), [(MAD_RULE, 0.000465), (TUKEY_RULE, 0.00698)])
def test_few_normal_samples_are_named(rule: OutlierRule, share: float) -> None:
    """The shares beyond 3.5 standard deviations and beyond Tukey's fences (2.698) of a normal."""
    rng = np.random.default_rng(4)
    named = sum(len(name_outliers(row, rule).places) for row in rng.normal(size=(100, 2000)))
    check_share(named, 200_000, share * 0.95, share * 1.1)


@settings(deadline=None)
@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=5, max_size=40), st.integers(1, 100), st.integers(-99, 99)
)
def test_places_ignore_shift_and_scale_and_follow_the_order(
    values: list[int], scale: int, shift: int
) -> None:
    for rule in (MAD_RULE, TUKEY_RULE):
        found = name_outliers(values, rule)
        moved = name_outliers([value * scale * 2 + shift for value in values], rule)
        assert moved.undecided is found.undecided
        edges = {found.low, found.high}
        if found.low is not None and not edges & set(map(float, values)):
            assert moved.places == found.places
        turned = name_outliers(values[::-1], rule)
        assert [len(values) - 1 - place for place in turned.places][::-1] == list(found.places)


def test_reasons() -> None:
    assert name_outliers([]).undecided is Undecided.NO_SAMPLES
    assert name_outliers([1.0, 2.0, 3.0, 400.0]).undecided is Undecided.TOO_FEW_SAMPLES
    same = name_outliers([5.0] * 6 + [9.0])
    assert (same.undecided, same.places, same.low) == (Undecided.NO_VARIATION, (), None)
    assert name_outliers([5.0] * 9, TUKEY_RULE).undecided is Undecided.NO_VARIATION
    for factor in (0.0, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="factor"):
            OutlierRule(fence=Fence.MAD, factor=factor)
    with pytest.raises(UsageError, match="finite"):
        name_outliers([float("nan")])
