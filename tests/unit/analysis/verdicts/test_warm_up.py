"""Warm-up: where it is cut, and reasons."""

import numpy as np

from pathlab.analysis.verdicts.warm_up import find_truncation


def test_truncation_minimises_the_squared_standard_error() -> None:
    """By the definition: the sum of squares about the mean of what is kept over the square of its number."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        means = rng.normal(10, 1, 30) + np.r_[np.linspace(-8, 0, 8), np.zeros(22)]
        direct = [((means[cut:] - means[cut:].mean()) ** 2).sum() / (30 - cut) ** 2 for cut in range(25)]
        expected = int(np.argmin(direct))
        if expected <= 15:
            assert find_truncation(means) == expected
