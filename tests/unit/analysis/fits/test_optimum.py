"""The optimal number of streams: by hand, what is left out, reasons and wrong values."""

from collections.abc import Sequence

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.fits.optimum import find_optimal_streams
from tests.statistics.sweeps import STREAMS, number_trials

RATES = np.minimum(12e6 * STREAMS, 84e6)
# 3 ms while the path is not full, rising steeply from 7 streams on: the ratio is least at 7.
RISES = 3e6 + 2e6 * np.maximum(0, STREAMS - 7) ** 2


def test_by_hand() -> None:
    streams, numbers = number_trials(5)
    found = find_optimal_streams(
        streams, np.tile(RATES, 5), np.tile(RISES, 5), cycles=numbers, rng=np.random.default_rng(0)
    )
    assert found.streams == 7
    assert (found.interval.low, found.interval.high) == (7, 7)
    # 3 ms / 84 Mbit/s
    assert found.cost_ns_per_bit_per_s[found.candidates.index(7)] == pytest.approx(3e6 / 84e6)


def test_reasons() -> None:
    def reason(streams: Sequence[float], rates: Sequence[float], rises: Sequence[float]) -> Undecided | None:
        found = find_optimal_streams(
            streams, rates, rises, cycles=range(len(rates)), rng=np.random.default_rng(0)
        )
        assert found.streams is None
        assert not found.interval.decided
        return found.undecided

    nan = float("nan")
    assert reason([], [], []) is Undecided.TOO_FEW_SAMPLES
    assert reason([1] * 6, [1] * 6, [nan] * 6) is Undecided.TOO_FEW_SAMPLES
    assert reason([1] * 6, [1] * 6, [1] * 6) is Undecided.TOO_FEW_LEVELS
    assert reason([1] * 6 + [2] * 6, [1] * 6 + [0] * 6, [1] * 12) is Undecided.ALL_ZERO
    few = find_optimal_streams(
        [1, 2] * 6, [1, 2] * 6, [3, 4] * 6, cycles=[0] * 6 + [1] * 6, rng=np.random.default_rng(0)
    )
    assert few.streams == 2
    assert few.interval.undecided is Undecided.TOO_FEW_SAMPLES
