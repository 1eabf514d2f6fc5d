"""The number of streams with the least delay per unit of throughput."""

import numpy as np
import pytest

from pathlab.analysis.fits.optimum import OptimalStreams, find_optimal_streams
from tests.length import choose_runs, list_long
from tests.statistics.noise import check_share
from tests.statistics.sweeps import STREAMS, draw_factors, number_trials

RATES = np.minimum(12e6 * STREAMS, 84e6)
# 3 ms while the path is not full, rising steeply from 7 streams on: the ratio is least at 7.
RISES = 3e6 + 2e6 * np.maximum(0, STREAMS - 7) ** 2


def simulate(cycles: int, rng: np.random.Generator) -> OptimalStreams:
    streams, numbers = number_trials(cycles)
    rates = np.tile(RATES, cycles) * draw_factors("shared", rng, cycles)
    rises = np.tile(RISES, cycles) * draw_factors("shared", rng, cycles)
    rises += 1e6 * rng.normal(size=rises.size)
    return find_optimal_streams(streams, rates, rises, cycles=numbers, rng=rng)


@pytest.mark.parametrize(
    ("cycles", "runs"),
    [
        (5, choose_runs(80)),
        (21, choose_runs(80)),
        (200, choose_runs(15, short=5)),
        *list_long((5, 10, 21, 200), runs=1000),
    ],
)
def test_interval_covers(cycles: int, runs: int) -> None:
    """Whole numbers: it may hold the truth more often than asked, never less."""
    rng = np.random.default_rng([cycles, runs])
    found = [simulate(cycles, rng).interval for _ in range(runs)]
    decided = [interval for interval in found if interval.decided]
    assert len(decided) >= 0.7 * runs
    check_share(sum(interval.contains(7) for interval in decided), len(decided), 0.93, 1.0)
    if cycles == 200:
        widths = [interval.high - interval.low for interval in decided if interval.high and interval.low]
        assert float(np.median(widths)) <= 1
