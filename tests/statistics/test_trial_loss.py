"""Loss over trials: against exact intervals, by hand, and against losses drawn in bursts."""

import itertools
import math

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.trial_loss import count_packets_to_confirm, pool_trial_loss
from pathlab.analysis.libraries import stats
from pathlab.errors import UsageError
from tests.statistics.loss_samples import draw_trials
from tests.statistics.noise import RUNS, check_share


def test_many_equal_trials_are_one_binomial_sample() -> None:
    """With no variation between trials and thousands of them, Clopper and Pearson's interval is left."""
    found = pool_trial_loss([100] * 4000, [1] * 4000)
    exact = stats.binomtest(4000, 400_000).proportion_ci(0.95, "exact")
    assert found.dispersion == 1
    assert found.interval_ratio.low == pytest.approx(exact.low, rel=1e-3)
    assert found.interval_ratio.high == pytest.approx(exact.high, rel=1e-3)


def test_interval_by_hand() -> None:
    """Three trials without a loss: Student's quantile at 2 degrees over the normal one, squared."""
    found = pool_trial_loss([10_000] * 3, [0] * 3, burst_packets=2)
    effective = 30_000 / 2 / (stats.t.ppf(0.975, 2) / stats.norm.ppf(0.975)) ** 2
    assert found.loss_ratio == 0
    assert found.interval_ratio.low == 0
    assert found.interval_ratio.high == pytest.approx(1 - 0.025 ** (1 / effective), rel=1e-9)


def test_variation_between_trials_widens() -> None:
    equal = pool_trial_loss([10_000] * 5, [100] * 5).interval_ratio
    varied = pool_trial_loss([10_000] * 5, [20, 180, 60, 140, 100]).interval_ratio
    assert varied.high - varied.low > 4 * (equal.high - equal.low)


def test_a_lower_end_that_no_count_shows_is_none() -> None:
    varied = pool_trial_loss([5000, 3000, 5000, 5000], [0, 50, 0, 1]).interval_ratio
    assert varied.low == 0
    assert varied.high > 0.05


def test_everything_lost_and_nothing_sent() -> None:
    everything = pool_trial_loss([1000] * 3, [1000] * 3)
    assert (everything.loss_ratio, everything.interval_ratio.high) == (1, 1)
    nothing = pool_trial_loss([0, 0], [0, 0])
    assert (nothing.loss_ratio, nothing.interval_ratio.undecided) == (None, Undecided.NO_SAMPLES)
    single = pool_trial_loss([1000], [0])
    assert (single.loss_ratio, single.interval_ratio.undecided) == (0, Undecided.TOO_FEW_SAMPLES)


@pytest.mark.parametrize(
    ("sent", "lost", "burst"), [([5], [6], 1.0), ([5], [-1], 1.0), ([5, 5], [1], 1.0), ([5], [1], 0.5)]
)
def test_refused(sent: list[int], lost: list[int], burst: float) -> None:
    with pytest.raises(UsageError):
        pool_trial_loss(sent, lost, burst_packets=burst)


@pytest.mark.parametrize("trials", [3, 5, 20])
@pytest.mark.parametrize("loss_ratio", [1e-5, 1e-3, 0.05])
def test_packets_to_confirm_are_just_enough(trials: int, loss_ratio: float) -> None:
    needed = count_packets_to_confirm(loss_ratio, trials, burst_packets=3, confidence_ratio=0.98)
    for share, confirms in ((1.001, True), (0.999, False)):
        sent = [needed * share / trials] * trials
        found = pool_trial_loss(sent, [0] * trials, burst_packets=3, confidence_ratio=0.98)
        assert (found.interval_ratio.high <= loss_ratio) is confirms


def test_packets_to_confirm_of_independent_packets() -> None:
    """Where many trials show that packets are independent, the 3.7 / p of textbooks."""
    assert count_packets_to_confirm(1e-3, 10_000) * 1e-3 == pytest.approx(-math.log(0.025), rel=0.01)
    with pytest.raises(UsageError):
        count_packets_to_confirm(0, 3)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("trials", [3, 5, 12])
@pytest.mark.parametrize(
    ("burst", "correlation", "variation"),
    [(1, 0.0, 0.0), (10, 0.0, 0.0), (3, 0.0, 0.5), (3, 0.5, 0.5), (3, 0.7, 0.5)],
)
def test_coverage(trials: int, burst: float, correlation: float, variation: float, runs: int) -> None:
    """The interval holds the loss as often as its docstring states."""
    rng = np.random.default_rng([trials, int(10 * correlation), int(burst)])
    held = 0
    for _ in range(runs):
        draws = draw_trials(rng, 20_000, 2e-3, burst=burst, correlation=correlation, variation=variation)
        sent, lost = zip(*itertools.islice(draws, trials), strict=True)
        held += pool_trial_loss(sent, lost, burst_packets=4).interval_ratio.contains(2e-3)
    check_share(held, runs, 0.92, 1 - 1e-9)
