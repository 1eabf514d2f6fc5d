"""Trends: slopes of pairs, reasons and wrong values."""

import numpy as np
import pytest

from pathlab.analysis.estimators import trend
from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.trend import bound_change, find_trend, pair_slopes


def test_durations_need_six_cycles_of_several() -> None:
    positions = np.tile([1.0, 2.0, 3.0], 5)
    rates = np.random.default_rng(1).lognormal(0, 0.1, 15)
    few = bound_change(rates, positions, cycles=np.repeat(np.arange(5), 3))
    assert (few.equivalent, few.undecided) == (None, Undecided.TOO_FEW_SAMPLES)
    one_each = bound_change(rates, positions, cycles=np.arange(15))
    assert one_each.undecided is Undecided.TOO_FEW_SAMPLES


def test_a_long_series_is_thinned_for_its_slopes(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    values = 0.01 * np.arange(800) + rng.normal(size=800)
    whole = find_trend(values)
    monkeypatch.setattr(trend, "MAXIMUM_SAMPLES", 400)
    thinned = find_trend(values)
    assert thinned.n == 800
    assert max(thinned.p_value or 1.0, whole.p_value or 1.0) < 1e-100
    assert thinned.slope == pytest.approx(whole.slope, rel=0.02)
    assert thinned.slope != whole.slope
    widths = [(one.slope_interval.high or 0) - (one.slope_interval.low or 0) for one in (whole, thinned)]
    assert widths[0] > 0
    assert widths[1] == pytest.approx(widths[0], rel=0.5)
    assert thinned.slope_interval.contains(0.01)


def test_slopes_are_those_of_all_pairs_at_different_positions() -> None:
    values = np.random.default_rng(3).normal(size=60)
    places = np.floor(np.arange(60.0) / 4)
    first, second = np.triu_indices(60, 1)
    apart = places[first] != places[second]
    slopes = (values[second] - values[first])[apart] / (places[second] - places[first])[apart]
    assert np.array_equal(pair_slopes(values, places), np.sort(slopes))
