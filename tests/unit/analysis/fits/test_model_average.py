"""Averages of models: how resamples are shared."""

from pathlab.analysis.fits.model_average import share_resamples
from pathlab.analysis.fits.models import Family


def test_resamples_are_shared_by_weight() -> None:
    weights = {Family.LU: 0.6, Family.ALTMAN: 0.3996, Family.UNIVERSAL: 0.0004}
    assert share_resamples(weights, 1000) == {Family.LU: 600, Family.ALTMAN: 400, Family.UNIVERSAL: 0}
