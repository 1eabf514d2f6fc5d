"""The tail of merged histograms: exact counts, how far it goes, and too few trials."""

import numpy as np
import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.tails import SUPPORT_SAMPLES, estimate_tail


def test_counts_of_equal_values_are_added_and_quantiles_are_exact() -> None:
    tail = estimate_tail([([10, 20, 30], [500, 400, 100]), ([10, 20, 40], [500, 490, 10])])
    assert (tail.n, tail.trials) == (2000, 2)
    assert list(tail.values) == [10, 20, 30]
    assert tail.above_ratio == pytest.approx((0.5, 110 / 2000, 10 / 2000))
    values = {one.quantile_ratio: one.value for one in tail.quantiles}
    assert values == {0.5: 10, 0.9: 20, 0.99: 30, 0.999: None, 0.9999: None, 0.99999: None}


def test_the_curve_ends_where_ten_samples_are_left() -> None:
    """A quantile needs them above it: 10 of 1000 for p99, not 9 of 900."""
    for samples, known in ((1000, True), (900, False)):
        tail = estimate_tail([(np.arange(1, samples + 1), np.ones(samples))] * 1)
        assert min(tail.above_ratio) * samples == pytest.approx(SUPPORT_SAMPLES)
        found = tail.find_quantile(0.99)
        assert (found.value is not None) is known


def test_few_trials_give_a_tail_without_intervals() -> None:
    tail = estimate_tail([([10, 20], [900, 100])] * 5)
    assert tail.undecided is Undecided.TOO_FEW_SAMPLES
    assert np.isnan(tail.low_ratio).all()
    assert all(not one.interval.decided for one in tail.quantiles)
    assert tail.quantiles[0].value == 10


def test_trials_that_agree_have_a_narrow_interval_and_others_a_wide_one() -> None:
    values = np.arange(1, 2001)
    agreeing = estimate_tail([(values, np.full(2000, 5 + place % 2)) for place in range(12)])
    apart = estimate_tail([(values * (1 + place % 3), np.full(2000, 5)) for place in range(12)])
    widths = []
    for tail in (agreeing, apart):
        interval = tail.quantiles[0].interval
        widths.append(interval.high / interval.low)
    assert widths[0] < 1.01 < 1.3 < widths[1]
