"""Distributions: reasons."""

from __future__ import annotations

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.fits.distributions import Distribution, fit_distributions
from pathlab.errors import UsageError


def test_reasons() -> None:
    rng = np.random.default_rng(0)
    assert fit_distributions([], rng=rng).undecided is Undecided.NO_SAMPLES
    assert fit_distributions([1, 2, 3, 4], rng=rng).undecided is Undecided.TOO_FEW_SAMPLES
    assert fit_distributions([7.0] * 9, rng=rng).undecided is Undecided.NO_VARIATION
    zero = {fit.distribution: fit for fit in fit_distributions([0, 1, 2, 3, 4], rng=rng).fits}
    assert zero[Distribution.WEIBULL].undecided is Undecided.NOT_POSITIVE
    assert zero[Distribution.LOG_NORMAL].aic is None
    assert zero[Distribution.EXPONENTIAL].parameters["mean"] == pytest.approx(2.0)
    below = {fit.distribution: fit for fit in fit_distributions([-1, 1, 2, 3, 4], rng=rng).fits}
    assert below[Distribution.EXPONENTIAL].undecided is Undecided.NOT_POSITIVE
    assert below[Distribution.NORMAL].undecided is None
    with pytest.raises(UsageError):
        fit_distributions([1.0, float("nan")], rng=rng)
