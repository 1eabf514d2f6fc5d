"""What must hold for every sample: shift, scale, order, bounds."""

import random

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
RANDOMS = st.randoms(use_true_random=False)


@settings(max_examples=40)
@given(SAMPLES, NUMBERS, st.integers(1, 1000), RANDOMS)
def test_medians_follow_shift_and_scale_mirror_and_ignore_the_order(
    values: list[int], shift: int, scale: int, shuffler: random.Random
) -> None:
    shuffled = shuffler.sample(values, len(values))
    moved = np.array(shuffled) * scale + shift
    before, after = quartiles(values), quartiles(moved)
    assert quartiles(shuffled) == before
    assert after.median == pytest.approx(before.median * scale + shift, abs=1e-3)
    assert after.iqr == pytest.approx(before.iqr * scale, abs=1e-3)
    plain, second, mirrored = (median_interval(one) for one in (values, moved, -np.array(shuffled)))
    assert (second.low, second.high) == (plain.low * scale + shift, plain.high * scale + shift)
    assert (mirrored.low, mirrored.high) == (-plain.high, -plain.low)
    assert plain.low <= before.median <= plain.high


@settings(max_examples=40)
@given(SHARES, st.integers(1, 1000), RANDOMS)
def test_jain_index_is_bounded_and_ignores_scale_and_order(
    shares: list[int], scale: int, shuffler: random.Random
) -> None:
    found = jain_index(shares)
    if found is None:
        assert not any(shares)
        return
    assert 1 / len(shares) - 1e-12 <= found <= 1
    shuffled = shuffler.sample([share * scale for share in shares], len(shares))
    assert jain_index(shuffled) == pytest.approx(found, rel=1e-9)


@settings(max_examples=40)
@given(st.integers(1, 10**6).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_loss_interval_holds_the_ratio_and_mirrors(counts: tuple[int, int]) -> None:
    sent, received = counts
    loss, mirror = probe_loss(sent, received), probe_loss(sent, sent - received).interval_ratio
    interval = loss.interval_ratio
    assert 0 <= interval.low <= loss.loss_ratio + 1e-12
    assert loss.loss_ratio - 1e-12 <= interval.high <= 1
    assert (interval.low, interval.high) == pytest.approx((1 - mirror.high, 1 - mirror.low), abs=1e-9)
