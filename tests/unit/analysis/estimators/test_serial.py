"""Serial correlation: reasons."""

from __future__ import annotations

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.serial import (
    measure_autocorrelation,
    measure_effective_size,
    serial_median,
)
from pathlab.errors import UsageError


def test_reasons() -> None:
    assert measure_autocorrelation([]).undecided is Undecided.NO_SAMPLES
    assert measure_autocorrelation(np.arange(19)).undecided is Undecided.TOO_FEW_SAMPLES
    assert measure_effective_size(np.ones(30)).undecided is Undecided.NO_VARIATION
    assert measure_effective_size(np.arange(9.0)).undecided is Undecided.TOO_FEW_SAMPLES
    few = serial_median(np.arange(5.0))
    assert (few.estimate, few.interval.undecided) == (2.0, Undecided.TOO_FEW_SAMPLES)
    assert serial_median([]).interval.undecided is Undecided.NO_SAMPLES
    still = serial_median(np.ones(50)).interval
    assert (still.low, still.high) == (1.0, 1.0)
    assert serial_median(np.repeat([0.0, 1.0], 50)).interval.undecided is Undecided.TOO_CORRELATED
    with pytest.raises(UsageError, match="finite"):
        serial_median([float("inf")])
