"""Differences of a pilot run, with a given mean and standard deviation."""

from __future__ import annotations

import numpy as np


def pilot(spread: float, n: int = 30, mean: float = 0.0) -> np.ndarray:
    """Log ratios of exactly this mean and standard deviation."""
    values = np.random.default_rng(3).normal(size=n)
    return np.asarray((values - values.mean()) / values.std(ddof=1) * spread + mean)
