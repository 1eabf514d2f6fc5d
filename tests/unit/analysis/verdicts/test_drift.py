"""Drift: the step by hand, and reasons."""

from __future__ import annotations

import numpy as np
import pytest

from pathlab.analysis.estimators.serial import bound_order
from pathlab.analysis.verdicts.drift import find_step


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
