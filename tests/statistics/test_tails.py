"""Intervals of a tail's quantiles over trials whose levels differ."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from pathlab.analysis.estimators.tails import Tail, estimate_tail
from pathlab.analysis.libraries import stats
from tests.length import choose_runs, list_long
from tests.statistics.noise import check_share, draw_autoregressive

SAMPLES, LEVEL_SD, SAMPLE_SD, BIN_RATIO = 4000, 0.2, 0.5, 1.008


def count(samples: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Samples in bins 0.8 % wide, as a histogram of two digits has them; values are upper ends."""
    places, counts = np.unique(np.floor(np.log(samples) / math.log(BIN_RATIO)), return_counts=True)
    return BIN_RATIO ** (places + 1), counts.astype(np.float64)


def simulate(trials: int, correlation: float, rng: np.random.Generator) -> Tail:
    levels = draw_autoregressive(rng, 1, trials, correlation)[0] * math.sqrt(1 - correlation**2) * LEVEL_SD
    return estimate_tail([count(np.exp(level + rng.normal(0, SAMPLE_SD, SAMPLES))) for level in levels])


@pytest.mark.parametrize(
    ("trials", "correlation", "runs"),
    [
        (8, 0.0, choose_runs(100)),
        (20, 0.7, choose_runs(60)),
        *list_long((6, 8, 12, 20, 40), (0.0, 0.5, 0.7), runs=600),
    ],
)
def test_intervals_cover(trials: int, correlation: float, runs: int) -> None:
    rng = np.random.default_rng([trials, runs])
    tails = [simulate(trials, correlation, rng) for _ in range(runs)]
    for ratio in (0.5, 0.99):
        truth = math.exp(stats.norm.ppf(ratio) * math.hypot(LEVEL_SD, SAMPLE_SD))
        found = [one.find_quantile(ratio) for one in tails]
        decided = [one.interval for one in found if one is not None and one.interval.decided]
        assert len(decided) >= 0.8 * runs
        held = [(one.low or 0) / BIN_RATIO <= truth <= (one.high or 0) * BIN_RATIO for one in decided]
        check_share(sum(held), len(held), 0.92, 1.0)
