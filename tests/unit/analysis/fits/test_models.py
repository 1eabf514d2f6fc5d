"""The table of families: published parameters mean what the formula says, and so does the capacity."""

import numpy as np
import pytest

from pathlab.analysis.fits.models import MODELS, Family
from tests.statistics.sweeps import STREAMS, TRUTH

MOST = float(STREAMS[-1])


def draw_parameters(family: Family, rng: np.random.Generator, rows: int) -> np.ndarray:
    model = MODELS[family]
    low, high = np.maximum(model.low, -3.0), np.minimum(model.high, 3.0)
    return rng.uniform(low, high, size=(rows, len(model.low)))


@pytest.mark.parametrize("family", list(Family))
def test_published_parameters_give_the_curve_by_the_published_formula(family: Family) -> None:
    model, (named, formula) = MODELS[family], TRUTH[family]
    parameters = draw_parameters(family, np.random.default_rng(1), 20)
    assert tuple(name for name, _ in model.symbols) == tuple(named)
    published = model.publish(parameters, MOST, 5e7)
    for row, values in zip(model.curve(STREAMS, parameters, MOST), published, strict=True):
        assert row * 5e7 == pytest.approx(formula(STREAMS, dict(zip(named, values, strict=True))), rel=1e-9)


@pytest.mark.parametrize("family", list(Family))
def test_capacity_is_the_largest_rate_of_all_streams(family: Family) -> None:
    model = MODELS[family]
    parameters = draw_parameters(family, np.random.default_rng(2), 50)
    tops = model.capacity(parameters, MOST)
    grid = np.geomspace(1, 1e9, 40_001)
    largest = model.curve(grid, parameters, MOST).max(axis=1)
    for top, seen, row in zip(tops, largest, parameters, strict=True):
        if np.isinf(top):
            # Unlimited: a thousand times the streams carry more, without end in sight.
            assert model.curve(np.array([1e12]), row[None], MOST)[0, 0] > seen
        else:
            assert top == pytest.approx(seen, rel=1e-4)


def test_families_hold_their_special_cases() -> None:
    for family, special in ((Family.LU, Family.LOSS_LIMITED), (Family.UNIVERSAL, Family.ALTMAN)):
        assert special in MODELS[family].holds
    assert MODELS[Family.YILDIRIM_QUADRATIC].holds >= {Family.LU, Family.ALTMAN, Family.LOSS_LIMITED}
