"""The fits to frequencies and to cumulative shares: values of R, intervals that hold, reasons."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.fits.frequencies import fit_cumulative_climb, fit_frequency_decline
from tests.length import choose_runs
from tests.statistics.noise import check_coverage, check_share
from tests.statistics.r_values import read_columns, read_r

EDGES = np.arange(0.0, 13.0)


def test_decline_is_rs() -> None:
    expected = read_r("frequency")
    found = fit_frequency_decline(read_columns("trials.csv")["drtt_ms"], np.arange(0.0, 22.0, 3.0))
    assert found.scale == pytest.approx(expected["scale"], rel=1e-6)
    assert found.density == pytest.approx(expected["density"], rel=1e-6)
    assert found.scale_interval.low == pytest.approx(expected["low"], rel=1e-6)
    assert found.scale_interval.high == pytest.approx(expected["high"], rel=1e-6)


def test_climb_is_rs() -> None:
    expected = read_r("cumulative")
    found = fit_cumulative_climb(read_columns("trials.csv")["drtt_ms"], np.arange(0.0, 22.0, 3.0))
    assert found.slope == pytest.approx(expected["slope"], rel=1e-9)
    assert found.offset == pytest.approx(expected["offset"], rel=1e-9)
    assert found.r_squared_ratio == pytest.approx(expected["r2"], rel=1e-9)


@pytest.mark.parametrize("runs", [choose_runs(150), pytest.param(2000, marks=pytest.mark.long)])
@pytest.mark.parametrize("n", [21, 200])
def test_intervals_cover(n: int, runs: int) -> None:
    rng = np.random.default_rng([n, runs])
    shares = 1 - np.exp(-EDGES[1:] / 3)
    slope, offset = np.polyfit(np.log(EDGES[1:]), shares, 1)
    samples = [rng.exponential(3.0, n) for _ in range(runs)]
    declines = [fit_frequency_decline(sample, EDGES).scale_interval for sample in samples]
    decided = [interval for interval in declines if interval.decided]
    # Beside a slope of 0, which 21 samples do not always rule out, no interval holds the scale.
    assert len(decided) >= (0.95 if n > 21 else 0.9) * runs
    check_share(sum(interval.contains(3.0) for interval in decided), len(decided), 0.92, 0.98)
    climbs = [fit_cumulative_climb(sample, EDGES) for sample in samples]
    check_coverage([climb.slope_interval for climb in climbs], float(slope))
    check_coverage([climb.offset_interval for climb in climbs], float(offset))


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(1, 1000))
def test_fits_follow_the_unit_and_ignore_the_order(seed: int, scale: int) -> None:
    samples = np.random.default_rng(seed).exponential(3.0, 60)
    before, after = (
        fit_frequency_decline(samples, EDGES),
        fit_frequency_decline(samples[::-1] * scale, EDGES * scale),
    )
    assert after.scale == pytest.approx(before.scale * scale, rel=1e-6)
    first, second = (
        fit_cumulative_climb(samples, EDGES),
        fit_cumulative_climb(samples[::-1] * scale, EDGES * scale),
    )
    assert second.slope == pytest.approx(first.slope, rel=1e-6)
