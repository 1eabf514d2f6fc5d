"""The response surface: reasons and wrong values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.fits.surface import fit_surface
from pathlab.errors import UsageError


def test_reasons() -> None:
    def reason(levels: list[tuple[float, float]], rates: list[float]) -> Undecided | None:
        found = fit_surface(levels, rates, cycles=[0] * len(rates), rng=np.random.default_rng(0))
        assert found.capacity.value is None
        return found.undecided

    assert reason([], []) is Undecided.NO_SAMPLES
    assert reason([(1, 8), (2, 8), (4, 8)], [1, 2, 3]) is Undecided.TOO_FEW_LEVELS
    four = [(1.0, 8e3), (2.0, 8e3), (4.0, 8e3), (8.0, 8e3)]
    assert reason(four, [0.0] * 4) is Undecided.ALL_ZERO
    assert reason(four, [5.0] * 4) is Undecided.NO_VARIATION


@pytest.mark.parametrize(
    "call",
    [
        lambda: fit_surface([1, 2], [1.0, 2.0], cycles=[0, 0], rng=np.random.default_rng(0)),
        lambda: fit_surface([(1, 0)], [1.0], cycles=[0], rng=np.random.default_rng(0)),
        lambda: fit_surface([(1, float("nan"))], [1.0], cycles=[0], rng=np.random.default_rng(0)),
        lambda: fit_surface([(1, 8e3)], [1.0, 2.0], cycles=[0], rng=np.random.default_rng(0)),
        lambda: fit_surface([(1, 8e3)], [-1.0], cycles=[0], rng=np.random.default_rng(0)),
    ],
)
def test_wrong_values_are_refused_with_a_hint(call: Callable[[], object]) -> None:
    with pytest.raises(UsageError) as caught:
        call()
    assert "\n" not in caught.value.message
    assert caught.value.hint
