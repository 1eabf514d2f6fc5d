"""Median times to recover with trials that were not watched long enough, in simulation and by the book."""

import math

import numpy as np
import pytest

from pathlab.analysis.estimators.recovery import estimate_recovery, kaplan_meier_median

from .noise import RUNS, check_share


def test_the_leukemia_data_of_freireich() -> None:
    """Remissions under 6-MP, in weeks: the product-limit median is 23 (Cox and Oakes 1984)."""
    times = [6, 6, 6, 7, 10, 13, 16, 22, 23, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
    known = [True] * 9 + [False] * 12
    assert kaplan_meier_median(times, known) == 23
    found = estimate_recovery(times, known)
    assert (found.n, found.recovered, found.censored, found.longest_watch) == (21, 9, 12, 35)
    # the median of the recovered alone is too short
    assert found.median > float(np.median([6, 6, 6, 7, 10, 13, 16, 22, 23]))


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("n", [6, 25, 60])
@pytest.mark.parametrize("window", [math.inf, 1.3])
def test_bounds_hold_the_median(n: int, window: float, runs: int) -> None:
    """Exponential times of median 1; the window ends at a seeded moment between ``window`` and twice that."""
    rng = np.random.default_rng([n, int(10 * min(window, 100)), runs])
    held = decided = 0
    for _ in range(runs):
        times = rng.exponential(1 / math.log(2), n)
        watched = rng.uniform(window, 2 * window, n) if math.isfinite(window) else np.full(n, 1e9)
        found = estimate_recovery(np.minimum(times, watched), times <= watched)
        low, high = found.low, found.high
        held += (low is None or low <= 1) and (high is None or high >= 1)
        decided += low is not None
        assert found.recovered == int((times <= watched).sum())
        if found.interval.decided:
            assert found.median is None or (low or 0) <= found.median <= (high or 0)
    check_share(held, runs, 0.95, 1.0)
    if n == 60:
        assert decided > 0.95 * runs
