"""Warm-up: where it is cut, and reasons."""

from __future__ import annotations

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.warm_up import WarmUp, detect_warm_up, find_truncation
from pathlab.errors import UsageError

RECORD_NS = 100_000_000


def detect(counts: np.ndarray, configured_ns: int = 0) -> WarmUp:
    return detect_warm_up(counts, np.full(counts.size, RECORD_NS), configured_ns)


def test_truncation_minimises_the_squared_standard_error() -> None:
    """By the definition: the sum of squares about the mean of what is kept over the square of its number."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        means = rng.normal(10, 1, 30) + np.r_[np.linspace(-8, 0, 8), np.zeros(22)]
        direct = [((means[cut:] - means[cut:].mean()) ** 2).sum() / (30 - cut) ** 2 for cut in range(25)]
        expected = int(np.argmin(direct))
        if expected <= 15:
            assert find_truncation(means) == expected


def test_reasons() -> None:
    assert detect(np.ones(0)).undecided is Undecided.NO_SAMPLES
    assert detect(np.ones(99)).undecided is Undecided.TOO_FEW_SAMPLES
    for still in (np.ones(100), np.zeros(100)):
        found = detect(still)
        assert (found.detected_ns, found.sufficient, found.undecided) == (0.0, True, None)
    for counts, spans, configured in (
        ([1.0], [1.0, 2.0], 0),
        ([1.0], [0.0], 0),
        ([-1.0], [1.0], 0),
        ([1.0], [1.0], -1),
    ):
        with pytest.raises(UsageError) as caught:
            detect_warm_up(counts, spans, configured)
        assert caught.value.hint
