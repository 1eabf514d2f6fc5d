"""MSER-5 finds the end of a transient that is there, and little where there is none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.warm_up import WarmUp, detect_warm_up

RECORD_NS = 100_000_000


def records(rng: np.random.Generator, n: int, ramp: int, spread: float = 0.1) -> np.ndarray:
    """Bytes per record of a flow whose rate rises evenly over the first ``ramp`` records."""
    rise = np.minimum(1.0, np.arange(n) / ramp) if ramp else np.ones(n)
    return np.asarray(1e7 * rise * rng.lognormal(0, spread, n))


def detect(counts: np.ndarray, configured_ns: int = 0) -> WarmUp:
    return detect_warm_up(counts, np.full(counts.size, RECORD_NS), configured_ns)


@pytest.mark.parametrize("runs", [100, pytest.param(1000, marks=pytest.mark.long)])
@pytest.mark.parametrize("n", [100, 400])
def test_a_ramp_is_found_and_a_settled_start_left_alone(n: int, runs: int) -> None:
    rng = np.random.default_rng([n, runs])
    ramped = [detect(records(rng, n, 20), configured_ns=20 * RECORD_NS) for _ in range(runs)]
    ends = [one.detected_ns / RECORD_NS for one in ramped if one.detected_ns is not None]
    assert len(ends) >= 0.99 * runs
    assert 15 <= np.median(ends) <= 30
    assert np.quantile(ends, 0.1) >= 15
    assert np.mean([one.sufficient is True for one in ramped]) > 0.9
    settled = [detect(records(rng, n, 0)) for _ in range(runs)]
    cuts = [one.detected_ns / RECORD_NS for one in settled if one.detected_ns is not None]
    assert len(cuts) >= 0.97 * runs
    assert np.median(cuts) <= 5
    assert np.mean([one.sufficient is True for one in settled]) > 0.9


def test_a_warm_up_that_ends_too_early_is_named_with_its_cost() -> None:
    found = detect(records(np.random.default_rng(1), 200, 50, spread=0.02), configured_ns=10 * RECORD_NS)
    assert found.sufficient is False
    assert found.detected_ns == pytest.approx(50 * RECORD_NS, abs=10 * RECORD_NS)
    assert found.resolution_ns == 5 * RECORD_NS
    # the records 10 to 49 carry 0.6 of the settled rate: 40 of 190 records short of 0.4
    assert found.bias_ratio == pytest.approx(-0.4 * 40 / 190, abs=0.02)
    enough = detect(records(np.random.default_rng(1), 200, 50, spread=0.02), configured_ns=60 * RECORD_NS)
    assert enough.sufficient is True


def test_a_rate_that_never_settles_is_said_to_do_so() -> None:
    rng = np.random.default_rng(2)
    found = detect(np.arange(1.0, 201) * 1e5 * rng.lognormal(0, 0.01, 200))
    assert (found.undecided, found.detected_ns, found.sufficient) == (Undecided.NOT_SETTLED, None, None)


@given(st.integers(0, 10**6), st.integers(1, 1000))
def test_scale_does_not_matter(seed: int, scale: int) -> None:
    counts = np.random.default_rng(seed).integers(1, 10**6, 120).astype(float)
    first, second = detect(counts), detect(counts * scale)
    assert second.detected_ns == first.detected_ns
    assert second.sufficient is first.sufficient
