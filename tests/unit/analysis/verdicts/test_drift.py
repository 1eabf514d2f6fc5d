"""Drift: the step by hand, and reasons."""

from __future__ import annotations

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.serial import bound_order
from pathlab.analysis.verdicts.drift import Drift, find_drift, find_step
from pathlab.errors import UsageError


def find(logarithms: np.ndarray) -> Drift:
    return find_drift(np.arange(logarithms.size) * 600.0, 9e8 * np.exp(logarithms))


def test_step_is_pettitts_by_hand() -> None:
    """U_t sums sign(x_i - x_j) over i <= t < j; K is its largest size; p = 2 exp(-6 K^2 / (n^3 + n^2))."""
    values = np.random.default_rng(3).normal(size=15) + 2 * (np.arange(15) >= 6)
    signs = np.sign(values[:, None] - values[None, :])
    sums = [abs(signs[:t, t:].sum()) for t in range(1, 15)]
    found = find_step(values)
    assert found.place == 1 + int(np.argmax(sums))
    left = values - np.where(
        np.arange(15) < found.place, *(np.median(one) for one in np.split(values, [found.place]))
    )
    inflation = bound_order(left, 2).inflation_ratio
    assert inflation > 1
    assert found.p_value == pytest.approx(2 * np.exp(-6 * max(sums) ** 2 / inflation / (15**3 + 15**2)))


def test_reasons() -> None:
    assert find_drift([], []).undecided is Undecided.NO_SAMPLES
    assert find(np.linspace(0, 1, 9)).undecided is Undecided.TOO_FEW_SAMPLES
    assert find(np.zeros(20)).undecided is Undecided.NO_VARIATION
    assert find_drift(np.arange(12), np.r_[0.0, np.ones(11)]).undecided is Undecided.NOT_POSITIVE
    for times, values in (([1.0, 1.0], [1.0, 2.0]), ([1.0], [1.0, 2.0]), ([1.0], [float("nan")])):
        with pytest.raises(UsageError) as caught:
            find_drift(times, values)
        assert caught.value.hint
