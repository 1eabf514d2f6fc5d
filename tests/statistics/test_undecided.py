"""Too little data gives a reason, never a number; wrong data gives one clear line."""

from __future__ import annotations

import numpy as np
import pytest

from pathlab.analysis.fairness import jain_index
from pathlab.analysis.interval import Undecided
from pathlab.analysis.latency import rate_stability, rtt_rise
from pathlab.analysis.loss import probe_loss
from pathlab.analysis.quantiles import median_interval, quartiles
from pathlab.analysis.throughput import aggregate_throughput, effective_window, mean_rate
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


def test_mean_rate_reasons() -> None:
    few = mean_rate(np.ones(99), np.ones(99), rng=generator())
    assert few.bits_per_s == 8e9
    assert few.interval_bits_per_s.undecided is Undecided.TOO_FEW_SAMPLES
    none = mean_rate([], [], rng=generator())
    assert (none.bits_per_s, none.undecided) == (None, Undecided.NO_SAMPLES)
    drifting = mean_rate(np.linspace(1, 2, 120), np.ones(120), rng=generator())
    assert drifting.interval_bits_per_s.undecided is Undecided.TOO_CORRELATED
    still = mean_rate(np.ones(120), np.ones(120), rng=generator())
    assert still.interval_bits_per_s.undecided is Undecided.NO_VARIATION


def test_latency_reasons() -> None:
    rise = rtt_rise([NAN, NAN], [40e6], rng=generator())
    assert (rise.mean_ns, rise.median_ns, rise.undecided) == (None, None, Undecided.NO_SAMPLES)
    few = rtt_rise(np.full(39, 2e6), np.full(50, 1e6), rng=generator())
    assert few.mean_ns == 1e6
    assert few.mean_interval_ns.undecided is Undecided.TOO_FEW_SAMPLES
    assert rate_stability([40e6]).undecided is Undecided.TOO_FEW_SAMPLES
    assert rate_stability([NAN]).undecided is Undecided.NO_SAMPLES


def test_remaining_reasons() -> None:
    assert quartiles([]).undecided is Undecided.NO_SAMPLES
    assert jain_index([0, 0]).undecided is Undecided.ALL_ZERO
    assert jain_index([]).undecided is Undecided.NO_SAMPLES
    assert probe_loss(0, 0).undecided is Undecided.NO_SAMPLES
    assert probe_loss(0, 0).loss_ratio is None
    assert aggregate_throughput([5], 0).undecided is Undecided.ZERO_LENGTH
    assert aggregate_throughput([], 5).undecided is Undecided.NO_SAMPLES
    assert aggregate_throughput([0, 0], 5).stream_share_ratio == ()


@pytest.mark.parametrize(
    "call",
    [
        lambda: quartiles([1.0, NAN]),
        lambda: quartiles([[1.0]]),
        lambda: median_interval([1.0], confidence_ratio=1.0),
        lambda: probe_loss(3, 4),
        lambda: probe_loss(-1, -1),
        lambda: jain_index([1, -1]),
        lambda: rate_stability([0.0, 1.0]),
        lambda: rate_stability([[1.0]]),
        lambda: aggregate_throughput([-1], 5),
        lambda: mean_rate([1.0], [1.0, 2.0], rng=generator()),
        lambda: mean_rate([1.0], [0.0], rng=generator()),
        lambda: effective_window(1.0, 0, 1.0),
    ],
)
def test_wrong_values_are_refused_with_a_hint(call: object) -> None:
    assert callable(call)
    with pytest.raises(UsageError) as caught:
        call()
    assert "\n" not in caught.value.message
    assert caught.value.hint
