"""What must hold for every sample: shift, scale, order, bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.estimators.fairness import jain_index
from pathlab.analysis.estimators.loss import probe_loss
from pathlab.analysis.estimators.quantiles import median_interval, quartiles

# Whole numbers: sums of floats of very different size would test rounding, not the estimators.
NUMBERS = st.integers(-(10**6), 10**6)
SAMPLES = st.lists(NUMBERS, min_size=6, max_size=60)
SHARES = st.lists(st.integers(0, 10**12), min_size=1, max_size=64)
RTTS = st.lists(st.integers(1, 10**10), min_size=2, max_size=60)


@settings(deadline=None)
@given(SAMPLES, NUMBERS, st.integers(1, 1000))
def test_medians_follow_shift_and_scale(values: list[int], shift: int, scale: int) -> None:
    moved = np.array(values) * scale + shift
    before, after = quartiles(values), quartiles(moved)
    assert before.median is not None
    assert before.iqr is not None
    assert after.median == pytest.approx(before.median * scale + shift, abs=1e-3)
    assert after.iqr == pytest.approx(before.iqr * scale, abs=1e-3)
    first, second = median_interval(values), median_interval(moved)
    assert first.low is not None
    assert first.high is not None
    assert (second.low, second.high) == (first.low * scale + shift, first.high * scale + shift)
    assert first.low <= before.median <= first.high


@settings(deadline=None)
@given(SAMPLES, st.randoms(use_true_random=False))
def test_medians_ignore_the_order(values: list[int], shuffler: object) -> None:
    shuffled = list(values)
    shuffler.shuffle(shuffled)  # type: ignore[attr-defined]
    assert quartiles(shuffled) == quartiles(values)
    assert median_interval(shuffled) == median_interval(values)


@settings(deadline=None)
@given(SAMPLES)
def test_median_interval_mirrors(values: list[int]) -> None:
    plain, mirrored = median_interval(values), median_interval([-value for value in values])
    assert plain.low is not None
    assert plain.high is not None
    assert (mirrored.low, mirrored.high) == (-plain.high, -plain.low)


@settings(deadline=None)
@given(SHARES, st.integers(1, 1000), st.randoms(use_true_random=False))
def test_jain_index_is_bounded_and_ignores_scale_and_order(
    shares: list[int], scale: int, shuffler: object
) -> None:
    found = jain_index(shares)
    if found is None:
        assert not any(shares)
        return
    assert 1 / len(shares) - 1e-12 <= found <= 1
    shuffled = [share * scale for share in shares]
    shuffler.shuffle(shuffled)  # type: ignore[attr-defined]
    assert jain_index(shuffled) == pytest.approx(found, rel=1e-9)


@settings(deadline=None)
@given(st.integers(1, 10**6).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_loss_interval_holds_the_ratio_and_mirrors(counts: tuple[int, int]) -> None:
    sent, received = counts
    loss, answered = probe_loss(sent, received), probe_loss(sent, sent - received)
    interval, mirror = loss.interval_ratio, answered.interval_ratio
    assert loss.loss_ratio is not None
    assert interval.low is not None
    assert interval.high is not None
    assert mirror.low is not None
    assert mirror.high is not None
    assert 0 <= interval.low <= loss.loss_ratio + 1e-12
    assert loss.loss_ratio - 1e-12 <= interval.high <= 1
    assert (interval.low, interval.high) == pytest.approx((1 - mirror.high, 1 - mirror.low), abs=1e-9)
