"""Fits to frequencies: by hand, and reasons."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.fits.frequencies import fit_cumulative_climb, fit_frequency_decline
from pathlab.errors import UsageError

EDGES = np.arange(0.0, 13.0)


def test_halving_counts_by_hand() -> None:
    """32, 16, 8 and 4 samples in neighbouring bins of 1: the scale is 1 / ln 2."""
    samples = np.repeat([0.5, 1.5, 2.5, 3.5], [32, 16, 8, 4])
    found = fit_frequency_decline([*samples, 9.0], [0, 1, 2, 3, 4])
    assert found.scale == pytest.approx(1 / math.log(2))
    assert found.counts == (32, 16, 8, 4)
    assert found.fitted_counts == pytest.approx([32, 16, 8, 4])
    assert (found.n, found.outside) == (60, 1)
    assert found.r_squared_ratio == pytest.approx(1.0)


def test_reasons() -> None:
    many = np.linspace(0.1, 11.9, 120)
    level = fit_frequency_decline(many, EDGES)
    assert level.scale_interval.undecided is Undecided.NOT_IDENTIFIED
    assert fit_frequency_decline([], EDGES).undecided is Undecided.NO_SAMPLES
    assert fit_frequency_decline([1.0] * 19, EDGES).undecided is Undecided.TOO_FEW_SAMPLES
    assert fit_frequency_decline([0.5] * 30, EDGES).undecided is Undecided.TOO_FEW_LEVELS
    assert fit_cumulative_climb([], EDGES).undecided is Undecided.NO_SAMPLES
    assert fit_cumulative_climb([], EDGES).shares == ()
    assert fit_cumulative_climb([0.5] * 30, EDGES).undecided is Undecided.NO_VARIATION
    few = fit_cumulative_climb([-1.0, 0.5, 0.5, 1.5], [0, 1, 2])
    assert (few.undecided, few.shares) == (Undecided.TOO_FEW_SAMPLES, (0.75, 1.0))
    assert fit_cumulative_climb(many, [0, 1, 2]).undecided is Undecided.TOO_FEW_LEVELS
    with pytest.raises(UsageError, match="edges"):
        fit_frequency_decline(many, [0, 2, 1])
    with pytest.raises(UsageError, match="finite"):
        fit_cumulative_climb([float("nan")], EDGES)
