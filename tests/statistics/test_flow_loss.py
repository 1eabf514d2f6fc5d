"""The interval of one flow's loss, from its blocks and its runs, against packets lost in bursts."""

import math
from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from pathlab.analysis.estimators.trial_loss import BURST_ASSUMED_PACKETS, TrialLoss
from pathlab.study.datagrams.datagram_trial import BLOCKS_MAX, LOSS_RUNS, Bins, find_loss_runs, pool_with_runs
from tests.length import choose_runs
from tests.statistics.noise import check_share

PACKETS = 20_000


def draw_losses(
    rng: np.random.Generator, packets: int, loss_ratio: float, burst: float, within_ratio: float
) -> NDArray[np.bool_]:
    """Gilbert's model: spells of mean length ``burst`` in which a share ``within_ratio`` is lost."""
    share = loss_ratio / within_ratio
    gap = burst * (1 - share) / share
    spells = int(2 * packets / (gap + burst)) + 50
    lengths = np.empty(2 * spells, dtype=np.int64)
    begins_bad = rng.random() < share
    lengths[begins_bad::2] = rng.geometric(1 / gap, spells)
    lengths[1 - begins_bad :: 2] = rng.geometric(1 / burst, spells)
    is_bad = np.zeros(2 * spells, dtype=bool)
    is_bad[1 - begins_bad :: 2] = True
    bad = np.repeat(is_bad, lengths)[:packets]
    assert bad.size == packets
    return bad & (rng.random(packets) < within_ratio)


def count_runs(lost: NDArray[np.bool_]) -> Bins:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], lost.astype(np.int8), [0]])))
    return Counter((int(length), int(length)) for length in edges[1::2] - edges[::2])


def estimate_loss(lost: NDArray[np.bool_]) -> TrialLoss:
    """As of a trial: its intervals in blocks, and its histogram of runs."""
    blocks = np.array_split(lost, BLOCKS_MAX)
    sent, gone = (np.array(list(map(count, blocks)), dtype=np.float64) for count in (len, np.sum))
    return pool_with_runs(sent, gone, find_loss_runs({LOSS_RUNS: count_runs(lost)}))


@pytest.mark.parametrize("runs", [choose_runs(1000, short=100), pytest.param(5000, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("burst", "bursts", "within_ratio"),
    [
        *[(1, expected, 1.0) for expected in (1, 100)],
        *[(BURST_ASSUMED_PACKETS, expected, 1.0) for expected in (1, 4, 16)],
        *[(20, expected, 0.3) for expected in (4, 100)],
        *((8, 4, 1.0), (20, 40, 1.0), (100, 4, 1.0), (300, 12, 0.3)),
        (1500, 4, 0.05),  # nearly four blocks long
    ],
)
def test_coverage_of_one_flow(burst: float, bursts: int, within_ratio: float, runs: int) -> None:
    """``bursts`` are those expected in the flow; some flows have none."""
    rng = np.random.default_rng([int(burst), bursts])
    truth = bursts * burst * within_ratio / PACKETS
    held = sum(
        estimate_loss(draw_losses(rng, PACKETS, truth, burst, within_ratio)).interval_ratio.contains(truth)
        for _ in range(runs)
    )
    check_share(held, runs, 0.92, 1 - 1e-9)


def test_many_single_losses_are_no_bursts() -> None:
    """Bursts that were seen to be short are not assumed to be longer."""
    lost = draw_losses(np.random.default_rng(3), PACKETS, 0.01, 1, 1.0)
    found = estimate_loss(lost).interval_ratio
    independent = 2 * 1.96 * math.sqrt(0.01 * 0.99 / PACKETS)
    assert found.high - found.low == pytest.approx(independent, rel=0.25)
