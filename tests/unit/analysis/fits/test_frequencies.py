"""Fits to frequencies: by hand, and reasons."""

import math

import numpy as np
import pytest

from pathlab.analysis.fits.frequencies import fit_frequency_decline


def test_halving_counts_by_hand() -> None:
    """32, 16, 8 and 4 samples in neighbouring bins of 1: the scale is 1 / ln 2."""
    samples = np.repeat([0.5, 1.5, 2.5, 3.5], [32, 16, 8, 4])
    found = fit_frequency_decline([*samples, 9.0], [0, 1, 2, 3, 4])
    assert found.scale == pytest.approx(1 / math.log(2))
    assert found.counts == (32, 16, 8, 4)
    assert found.fitted_counts == pytest.approx([32, 16, 8, 4])
    assert (found.n, found.outside) == (60, 1)
    assert found.r_squared_ratio == pytest.approx(1.0)
