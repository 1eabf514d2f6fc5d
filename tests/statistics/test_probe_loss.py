"""Loss of probes over trials: outages lose many of one trial together, so that trials are the samples."""

import numpy as np
import pytest
from numpy.typing import NDArray

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.loss import Loss, pool_loss
from pathlab.analysis.verdicts.preference import LOSS_MARGIN_RATIO
from tests.length import choose_runs
from tests.statistics.noise import check_share

PROBES = 100


def draw_outages(rng: np.random.Generator, trials: int, chance: float) -> NDArray[np.int64]:
    """Lost probes of each trial: an outage meets some, and loses 10 to 100 % of their probes."""
    severity = np.where(rng.random(trials) < chance, rng.uniform(0.1, 1.0, trials), 0.0)
    return rng.binomial(PROBES, severity)


def pool(lost: NDArray[np.int64]) -> Loss:
    sent = np.full(lost.size, PROBES)
    return pool_loss(sent, sent - lost)


@pytest.mark.parametrize("chance", [0.1, 0.2, 0.5])
@pytest.mark.parametrize("trials", [6, 12, 30])
def test_equal_outages_are_no_reason_to_prefer_one_of_two(trials: int, chance: float) -> None:
    rng = np.random.default_rng([trials, int(10 * chance)])
    runs, apart = choose_runs(400, short=100), 0
    for _ in range(runs):
        first, second = (pool(draw_outages(rng, trials, chance)) for _ in range(2))
        low, high = sorted((first, second), key=lambda loss: loss.loss_ratio or 0.0)
        differ = (high.loss_ratio or 0.0) - (low.loss_ratio or 0.0) > LOSS_MARGIN_RATIO
        apart += differ and (low.interval_ratio.high or 0.0) < (high.interval_ratio.low or 0.0)
    check_share(apart, runs, 0.0, 0.01)


@pytest.mark.parametrize(("trials", "chance"), [(6, 0.5), (12, 0.5), (30, 0.2), (30, 0.5)])
def test_the_interval_holds_the_loss_of_outages_that_trials_met(trials: int, chance: float) -> None:
    rng = np.random.default_rng([trials, int(10 * chance)])
    runs, truth = choose_runs(400, short=100), 0.55 * chance
    held = sum(pool(draw_outages(rng, trials, chance)).interval_ratio.contains(truth) for _ in range(runs))
    check_share(held, runs, 0.92, 1 - 1e-9)


@pytest.mark.parametrize("trials", [6, 30])
def test_the_interval_holds_independent_losses_of_one_in_a_hundred(trials: int) -> None:
    rng = np.random.default_rng(trials)
    runs = choose_runs(400, short=100)
    held = sum(pool(rng.binomial(PROBES, 0.01, trials)).interval_ratio.contains(0.01) for _ in range(runs))
    check_share(held, runs, 0.94, 1 - 1e-9)


def test_two_trials_have_a_loss_without_an_interval_and_what_cannot_be_adds_nothing() -> None:
    two = pool_loss([100, 100, np.nan, 100, -1], [90, 90, 100, 110, 0])
    assert (two.sent, two.lost, two.loss_ratio, two.undecided) == (200, 20, 0.1, None)
    assert two.interval_ratio.undecided is Undecided.TOO_FEW_SAMPLES
    assert pool_loss([100] * 3, [90] * 3).interval_ratio.decided
    assert pool_loss([], []).undecided is Undecided.NO_SAMPLES
