"""Two groups: reasons, halves, and groups that are all equal."""

from __future__ import annotations

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.two_samples import compare_groups, compare_levels, split_halves
from pathlab.errors import UsageError


def test_few_trials_and_strange_values_are_undecided() -> None:
    assert compare_groups([], [1.0]).undecided is Undecided.NO_SAMPLES
    assert compare_groups([0.0, 1.0], [1.0]).undecided is Undecided.NOT_POSITIVE
    five = compare_groups([1, 2, 3, 2, 1], [10, 20, 30, 20, 10, 15])
    assert five.undecided is Undecided.TOO_FEW_SAMPLES
    assert (five.p_value, five.interval_ratio.undecided) == (None, Undecided.TOO_FEW_SAMPLES)
    assert five.ratio is not None
    ramp = compare_groups(np.arange(1.0, 61.0), np.arange(1.0, 61.0)[::-1])
    assert ramp.undecided is Undecided.TOO_CORRELATED
    alike = compare_groups([5.0] * 8, [5.0] * 8)
    assert (alike.interval_ratio.low, alike.interval_ratio.high, alike.p_value) == (1.0, 1.0, 1.0)
    with pytest.raises(UsageError, match="margin"):
        compare_groups([1.0], [1.0], margin_ratio=0)


def test_split_halves() -> None:
    assert split_halves([1.0, 1.0, 2.0, 2.0]) == pytest.approx(2)
    assert split_halves([2.0, 2.0, 1.0, 1.0]) == pytest.approx(2)
    assert split_halves([1.0, 2.0, 1.0, 2.0]) == pytest.approx(1)
    assert split_halves([3.0] * 4) == 1
    assert split_halves([1.0, 2.0, 3.0]) is None
    assert split_halves([0.0, 1.0, 2.0, 3.0]) is None


def test_levels_that_are_all_equal_are_the_same() -> None:
    found = compare_levels([0.0] * 8, [0.0] * 8, margins=(-0.01, 0.01))
    assert found.shift == 0
    assert (found.interval.low, found.interval.high) == (0.0, 0.0)
    assert found.equivalence_p_value is not None
    assert found.equivalence_p_value < 0.01
    assert found.p_value == 1.0
    assert compare_levels([], [1.0], margins=(-1.0, 1.0)).undecided is Undecided.NO_SAMPLES
    with pytest.raises(UsageError, match="margins"):
        compare_levels([1.0], [1.0], margins=(0.0, 1.0))
