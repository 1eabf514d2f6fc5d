"""The interval of the knee of latency over the offered rate."""

import numpy as np
import pytest

from pathlab.analysis.fits.load_knee import LoadKnee, find_load_knee
from tests.length import choose_runs, list_long
from tests.statistics.noise import check_share

RATES = np.array([1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5])
KNEE = 5e4  # of 150,000 a second, where latency is 1.5 times that without load; at 100,000 it is 3 times that


def simulate(cycles: int, noise_ratio: float, rng: np.random.Generator) -> LoadKnee:
    truth = 20e3 / np.maximum(1 - RATES / 150e3, 0.05)
    latencies = truth * np.exp(rng.normal(0, noise_ratio, (cycles, RATES.size)))
    latencies[:, RATES > 150e3] = np.nan
    numbers = np.repeat(np.arange(cycles), RATES.size)
    return find_load_knee(np.tile(RATES, cycles), latencies.ravel(), cycles=numbers)


@pytest.mark.parametrize(
    ("cycles", "noise_ratio", "runs"),
    [
        (6, 0.05, choose_runs(60)),
        (20, 0.15, choose_runs(60)),
        *list_long((6, 8, 12, 20, 40), (0.05, 0.15, 0.3), runs=1000),
    ],
)
def test_interval_covers(cycles: int, noise_ratio: float, runs: int) -> None:
    """Only measured rates: it may hold the truth more often than asked, never less."""
    rng = np.random.default_rng([cycles, runs])
    found = [simulate(cycles, noise_ratio, rng) for _ in range(runs)]
    decided = [one.interval for one in found if one.interval.decided]
    check_share(sum(interval.contains(KNEE) for interval in decided), len(decided), 0.93, 1.0)
    if noise_ratio <= 0.05:
        assert len(decided) == runs
        assert {one.rate_per_s for one in found} == {KNEE}
