"""Shifts: averages of pairs, and reasons."""

from __future__ import annotations

import numpy as np
import pytest

from pathlab.analysis.estimators.dominance import cliffs_delta
from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.shifts import hodges_lehmann
from pathlab.errors import UsageError


def test_reasons() -> None:
    empty = hodges_lehmann([])
    assert (empty.shift, empty.p_value, empty.undecided) == (None, None, Undecided.NO_SAMPLES)
    few = hodges_lehmann([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (few.shift, few.interval.undecided) == (3.0, Undecided.TOO_FEW_SAMPLES)
    assert hodges_lehmann(np.ones(9)).interval.undecided is Undecided.NO_VARIATION
    assert cliffs_delta([], []).undecided is Undecided.NO_SAMPLES
    assert cliffs_delta(np.arange(9), np.arange(9)).interval_ratio.undecided is Undecided.TOO_FEW_SAMPLES
    with pytest.raises(UsageError, match="finite"):
        hodges_lehmann([float("nan")])
    with pytest.raises(UsageError, match="lengths differ: 1 first, 2 second"):
        cliffs_delta([1.0], [1.0, 2.0])


def test_pairs_are_averaged_as_a_table_of_all_would() -> None:
    values = np.random.default_rng(2).normal(size=75)
    first, second = np.triu_indices(75)
    averages = np.sort((values[first] + values[second]) / 2)
    assert hodges_lehmann(values).shift == np.median(averages)
