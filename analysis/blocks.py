"""Moving-block bootstrap for samples taken one after the other on one path."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from pathlab.analysis.interval import Interval, Undecided, undecided_interval

METHOD = "bootstrap-moving-block"
MINIMUM_BLOCKS = 5


def lag_one_correlation(samples: NDArray[np.float64]) -> float:
    """Autocorrelation at lag one, -1 to 1; 0 for fewer than three samples or for equal ones."""
    if samples.size < 3:
        return 0.0
    centred = samples - samples.mean()
    power = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / power if power > 0 else 0.0


def choose_block_length(samples: NDArray[np.float64]) -> int:
    """Block length in samples that suits their serial correlation.

    Notes
    -----
    Plug-in rule for the mean of a first-order autoregressive series, (sqrt(6) r / (1 - r^2))^(2/3) n^(1/3).
    The estimated r is raised by (1 + 4 r) / n because short series underestimate it (Kendall 1954).
    Source: Carlstein, Annals of Statistics 14, 1986; the constant for overlapping blocks: Hall, Horowitz and
    Jing, Biometrika 82, 1995.
    """
    n = samples.size
    estimate = lag_one_correlation(samples)
    correlation = min(0.97, max(0.0, estimate + (1 + 4 * estimate) / max(n, 1)))
    length: float = (math.sqrt(6) * correlation / (1 - correlation**2)) ** (2 / 3) * n ** (1 / 3)
    return max(1, math.ceil(length))


def resample_blocks(n: int, block_length: int, resamples: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Indices of shape (resamples, n), each row made of blocks of neighbours that start anywhere."""
    blocks = math.ceil(n / block_length)
    starts = rng.integers(0, n - block_length + 1, size=(resamples, blocks, 1))
    return (starts + np.arange(block_length)).reshape(resamples, -1)[:, :n]


def expanded_percentiles(
    replicates: NDArray[np.float64], *, n: int, blocks: float, confidence_ratio: float
) -> Interval:
    """Percentile interval of bootstrap replicates, widened for the small number of independent blocks.

    Notes
    -----
    Source: expanded percentile interval, Hesterberg, The American Statistician 69, 2015, with the number of
    blocks in place of n. With fewer than 5 blocks the answer is undecided (too correlated).
    """
    if blocks < MINIMUM_BLOCKS:
        return undecided_interval(
            Undecided.TOO_CORRELATED, n=n, confidence_ratio=confidence_ratio, method=METHOD
        )
    if np.ptp(replicates) == 0:
        return undecided_interval(
            Undecided.NO_VARIATION, n=n, confidence_ratio=confidence_ratio, method=METHOD
        )
    student = stats.t.ppf((1 - confidence_ratio) / 2, blocks - 1)
    tail = float(stats.norm.cdf(math.sqrt(blocks / (blocks - 1)) * student))
    low, high = np.quantile(replicates, (tail, 1 - tail))
    return Interval(
        low=float(low),
        high=float(high),
        n=n,
        confidence_ratio=confidence_ratio,
        coverage_ratio=None,
        method=METHOD,
    )
