"""Many fits at once against scipy's one at a time, and the exact knee against a search of all places."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.fits.least_squares import fit_knee, fit_many, search_start
from pathlab.analysis.fits.models import MODELS, Family
from pathlab.analysis.libraries import optimize
from tests.statistics.sweeps import STREAMS, draw_factors, true_rates

MOST = float(STREAMS[-1])


@pytest.mark.parametrize("family", [family for family in Family if family is not Family.LINEAR_THEN_FLAT])
def test_batches_reach_the_minimum_that_scipy_finds(family: Family) -> None:
    model = MODELS[family]
    rng = np.random.default_rng(3)
    targets = true_rates(family) / 1e8 * draw_factors("normal", rng, 8).reshape(8, -1)
    weights = rng.uniform(0.5, 2.0, size=targets.shape)
    bounds = (np.array(model.low), np.array(model.high))

    def curve(parameters: np.ndarray) -> np.ndarray:
        return model.curve(STREAMS, parameters, MOST)

    start = search_start(curve, targets[0], weights[0], model.shapes, (model.low[0], model.high[0]))[:1]
    found = fit_many(curve, targets, weights, np.repeat(start, 8, axis=0), bounds)
    assert found.converged.all()
    for row in range(8):

        def distances(parameters: np.ndarray, row: int = row) -> np.ndarray:
            distance: np.ndarray = np.sqrt(weights[row]) * (targets[row] - curve(parameters[None])[0])
            return distance

        limits = dict.fromkeys(("xtol", "ftol", "gtol"), 1e-14)
        peer = optimize.least_squares(distances, np.clip(start[0], *bounds), bounds=bounds, **limits)
        assert found.squares[row] <= 2 * peer.cost * (1 + 1e-6)
        assert float(np.sum(distances(found.parameters[row]) ** 2)) == pytest.approx(found.squares[row])


def test_a_bound_holds_and_stops_the_search() -> None:
    levels = np.array([1.0, 2.0, 3.0])
    found = fit_many(
        lambda parameters: np.exp(parameters[:, :1]) * levels,
        levels[None] * 20.0,
        np.ones((1, 3)),
        np.zeros((1, 1)),
        (np.array([-1.0]), np.array([2.0])),
    )
    assert found.parameters[0, 0] == 2.0
    assert found.converged[0]


@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 1000), min_size=6, max_size=6),
    st.lists(st.integers(1, 9), min_size=6, max_size=6),
)
def test_knee_is_the_best_of_all_places(values: list[int], weights: list[int]) -> None:
    levels = np.array([1.0, 2.0, 4.0, 7.0, 8.0, 12.0])
    targets, weight = np.array(values, dtype=float) + 1, np.array(weights, dtype=float)
    found = fit_knee(levels, targets[None], weight[None])
    for place in np.linspace(1, 12, 221):
        shape = np.minimum(levels, place)
        slope = np.sum(weight * shape * targets) / np.sum(weight * shape**2)
        squares = np.sum(weight * (targets - slope * shape) ** 2)
        assert found.squares[0] <= squares * (1 + 1e-9) + 1e-9
    fitted = MODELS[Family.LINEAR_THEN_FLAT].curve(levels, found.parameters, 12.0)[0]
    assert np.sum(weight * (targets - fitted) ** 2) == pytest.approx(found.squares[0], abs=1e-6)
