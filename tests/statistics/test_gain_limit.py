"""Between which sizes a gain falls to the margin: the two that are named hold the truth."""

import math

import numpy as np
import pytest

from pathlab.analysis.estimators.margins import MARGIN_RATIO
from pathlab.analysis.estimators.shifts import hodges_lehmann
from pathlab.analysis.verdicts.gain_limit import GainLimit, find_gain_limit
from tests.length import choose_runs, list_long

from .noise import check_share, draw_autoregressive

SIZES = tuple(4 * 2**power for power in range(13))
COVERAGE_RATIO = 0.92
RUNS = choose_runs(250, short=30)


def make_gains(slope: float) -> np.ndarray:
    """A gain of 30 at small sizes that falls to 1, with 1 + margin near 1 KiB for a slope of 1."""
    return 1 + 29 / (1 + (np.array(SIZES) / 4.0) ** slope)


def find_truth(gains: np.ndarray) -> tuple[float, float]:
    """The last size with more than 1 + margin, and the first with less."""
    above = np.flatnonzero(gains > 1 + MARGIN_RATIO)
    return SIZES[above[-1]], SIZES[above[-1] + 1]


def simulate(rng: np.random.Generator, gains: np.ndarray, n: int, correlation: float) -> GainLimit:
    """Log-normal noise of 5 % on the ratio of each cycle and size, correlated from cycle to cycle."""
    noise = 0.05 * math.sqrt(1 - correlation**2) * draw_autoregressive(rng, len(SIZES), n, correlation)
    intervals = [
        hodges_lehmann(math.log(gain) + row).interval.transform(math.exp)
        for gain, row in zip(gains, noise, strict=True)
    ]
    return find_gain_limit(SIZES, intervals)


def hold(found: GainLimit, truth: tuple[float, float]) -> bool:
    """Whether what is shown to pay pays, and what is shown to pay no more does not."""
    last, first = truth
    return (found.shown_to is None or found.shown_to <= last) and (
        found.gone_from is None or found.gone_from >= first
    )


@pytest.mark.parametrize(
    ("n", "correlation", "slope", "runs"),
    [
        *((*case, RUNS) for case in ((7, 0.7, 1.0), (13, 0.0, 2.0), (60, 0.7, 2.0))),
        *list_long((7, 13, 60), (0.0, 0.7), (1.0, 2.0), runs=3000),
    ],
)
def test_the_limit_lies_between_the_two_sizes(n: int, correlation: float, slope: float, runs: int) -> None:
    rng = np.random.default_rng([n, int(10 * correlation), int(slope)])
    gains = make_gains(slope)
    truth = find_truth(gains)
    found = [simulate(rng, gains, n, correlation) for _ in range(runs)]
    check_share(sum(hold(one, truth) for one in found), runs, COVERAGE_RATIO, 1.0)
    # with 13 cycles and more it is found within three doublings of the size, not only never wrong
    if n >= 13 and slope > 1:
        near = sum(one.shown_to is not None and one.shown_to >= truth[0] / 8 for one in found)
        assert near > 0.9 * runs
