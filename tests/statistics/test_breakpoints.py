"""Segmented regression: values of R, level and power of the test, intervals that hold, reasons."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.fits.breakpoints import find_breakpoint
from tests.length import choose_runs
from tests.statistics.breakpoint_samples import AFTER, BEFORE, BREAK, simulate
from tests.statistics.noise import check_share
from tests.statistics.r_values import read_columns, read_r


def test_lines_are_rs() -> None:
    data, expected = read_columns("trials.csv"), read_r("break")
    found = find_breakpoint(
        data["throughput_gbits_per_s"], data["drtt_ms"], cycles=np.arange(60), rng=np.random.default_rng(0)
    )
    # Candidates stand a few thousandths apart.
    assert found.breakpoint.value == pytest.approx(expected["at"], abs=0.02)
    assert found.slope_before.value == pytest.approx(expected["before"], rel=0.02)
    assert found.slope_after.value == pytest.approx(expected["after"], rel=0.02)
    (first, turn, last), at = np.array(found.corners), found.breakpoint.value
    assert turn[0] == at
    assert (turn[1] - first[1]) / (turn[0] - first[0]) == pytest.approx(found.slope_before.value)
    assert (last[1] - turn[1]) / (last[0] - turn[0]) == pytest.approx(found.slope_after.value)
    fitted = np.interp(data["throughput_gbits_per_s"], *np.array(found.corners).T)
    assert fitted.mean() == pytest.approx(data["drtt_ms"].mean())


#: Of 5 to 10 cycles that repeat each other a break is often not told from chance.
CORRELATED = ("serial cells", "serial both")
CASES = [
    ("constant", 5, 14),
    ("skewed", 21, 14),
    *(
        pytest.param(kind, cycles, trials, marks=pytest.mark.long)
        for kind in ("constant", "skewed", "serial", "serial cells", "serial both")
        for cycles, trials in ((5, 14), (10, 14), (21, 14), (200, 14), (50, 1))
    ),
]


@pytest.mark.parametrize(("kind", "cycles", "trials"), CASES)
def test_level_power_and_coverage(
    kind: str, cycles: int, trials: int, request: pytest.FixtureRequest
) -> None:
    runs = 1000 if request.node.get_closest_marker("long") else choose_runs(25, short=15)
    rng = np.random.default_rng([cycles, trials, runs])
    straight = [simulate(kind, cycles, trials, rng, broken=False) for _ in range(runs)]
    tested = [result for result in straight if result.break_p is not None]
    assert len(tested) >= 0.45 * runs
    check_share(sum(result.undecided is None for result in tested), len(tested), 0.0, 0.06)
    found = [simulate(kind, cycles, trials, rng) for _ in range(runs)]
    tested = [result for result in found if result.break_p is not None]
    broken = [result for result in tested if result.undecided is None]
    check_share(len(broken), len(tested), 0.3 if kind in CORRELATED or cycles == 5 else 0.95, 1.0)
    for name, truth in (("breakpoint", BREAK), ("slope_before", BEFORE), ("slope_after", AFTER)):
        held = sum(getattr(result, name).interval.contains(truth) for result in broken)
        check_share(held, len(broken), 0.92, 1.0)


def test_no_break_leaves_one_line() -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(10, 90, 200)
    y = 5 + 2 * x + rng.normal(size=200)
    found = find_breakpoint(x, y, cycles=np.arange(200), rng=rng)
    assert found.undecided is Undecided.NO_BREAK
    assert (found.breakpoint.value, found.slope_after.value) == (None, None)
    assert found.breakpoint.interval.undecided is Undecided.NO_BREAK
    assert found.slope.value == pytest.approx(2, abs=0.02)
    assert found.slope.interval.contains(2.0)
    assert found.break_p > 0.05
    ends = np.array([x.min(), x.max()])
    assert np.array(found.corners) == pytest.approx(np.stack([ends, np.polyval(np.polyfit(x, y, 1), ends)]).T)


@settings(max_examples=5)
@given(st.integers(0, 10**6), st.floats(-1e3, 1e3), st.floats(0.01, 100))
def test_break_follows_shift_and_scale_and_ignores_the_order(seed: int, shift: float, scale: float) -> None:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, 80)
    y = x + 5 * np.maximum(0, x - 6) + rng.normal(size=80)
    cycles = np.repeat(np.arange(16), 5)
    order = rng.permutation(80)
    before = find_breakpoint(x, y, cycles=cycles, rng=np.random.default_rng(1))
    after = find_breakpoint(
        x[order] * scale + shift, y[order] * 3 - shift, cycles=cycles[order], rng=np.random.default_rng(1)
    )
    assert before.break_p == after.break_p
    if before.breakpoint.value is not None:
        moved = before.breakpoint.value * scale + shift
        assert after.breakpoint.value == pytest.approx(moved, rel=1e-6, abs=0.01 * scale)
