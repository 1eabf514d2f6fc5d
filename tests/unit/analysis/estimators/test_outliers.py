"""Outliers: what is named, and reasons."""

from __future__ import annotations

import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.outliers import name_outliers
from pathlab.errors import UsageError

RISING = [4, 7, 5, 9, 8, 12, 10, 11, 15, 13, 14, 18, 16, 17, 21, 19, 20, 24, 22, 23.5]


def test_values_that_stand_apart_are_named_with_the_rule() -> None:
    found = name_outliers([*RISING, 200.0, -150.0])
    words = "median ± 3.5 MAD"
    assert (found.places, found.n, found.rule, found.undecided) == ((20, 21), 22, words, None)


def test_reasons() -> None:
    assert name_outliers([]).undecided is Undecided.NO_SAMPLES
    assert name_outliers([1.0, 2.0, 3.0, 400.0]).undecided is Undecided.TOO_FEW_SAMPLES
    same = name_outliers([5.0] * 6 + [9.0])
    assert (same.undecided, same.places, same.low) == (Undecided.NO_VARIATION, (), None)
    with pytest.raises(UsageError, match="finite"):
        name_outliers([float("nan")])
