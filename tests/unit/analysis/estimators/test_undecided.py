"""Too little data gives a reason, never a number; wrong data gives one clear line."""

from __future__ import annotations

import numpy as np
import pytest

from pathlab.analysis.estimators.fairness import jain_index
from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.loss import probe_loss
from pathlab.analysis.estimators.quantiles import median_interval, quartiles
from pathlab.analysis.estimators.throughput import effective_window
from pathlab.errors import UsageError

NAN = float("nan")


def generator() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.mark.parametrize("n", range(6))
def test_median_interval_below_six(n: int) -> None:
    found = median_interval(np.arange(n))
    assert (found.low, found.high, found.coverage_ratio) == (None, None, None)
    assert found.undecided is (Undecided.TOO_FEW_SAMPLES if n else Undecided.NO_SAMPLES)
    assert not found.contains(2)


def test_remaining_reasons() -> None:
    assert quartiles([]).undecided is Undecided.NO_SAMPLES
    assert jain_index([0, 0]) is None
    assert jain_index([]) is None
    assert probe_loss(0, 0).undecided is Undecided.NO_SAMPLES
    assert probe_loss(0, 0).loss_ratio is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: quartiles([1.0, NAN]),
        lambda: quartiles([[1.0]]),
        lambda: median_interval([1.0], confidence_ratio=1.0),
        lambda: probe_loss(3, 4),
        lambda: probe_loss(-1, -1),
        lambda: jain_index([1, -1]),
        lambda: effective_window(1.0, 0, 1.0),
    ],
)
def test_wrong_values_are_refused_with_a_hint(call: object) -> None:
    assert callable(call)
    with pytest.raises(UsageError) as caught:
        call()
    assert "\n" not in caught.value.message
    assert caught.value.hint
