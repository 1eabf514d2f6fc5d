"""Groups that share nothing but their condition, against scipy, by hand, and in simulation."""

import math

import numpy as np
import pytest

from pathlab.analysis.estimators.shifts import hodges_lehmann
from pathlab.analysis.libraries import stats
from pathlab.analysis.verdicts.two_samples import compare_groups, compare_levels
from tests.length import choose_runs
from tests.statistics.noise import check_share


def test_the_permeability_data_of_hollander_and_wolfe() -> None:
    """The example on R's help page of wilcox.test: the shift is R's, 0.305 with exact = TRUE."""
    at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
    early = [1.15, 0.88, 0.90, 0.74, 1.21, 1.00]
    found = compare_levels(early, at_term, margins=(-1.0, 1.0))
    assert found.shift == pytest.approx(float(np.median([x - y for x in at_term for y in early])))
    ratio = compare_groups(early, at_term)
    assert ratio.ratio == pytest.approx(
        math.exp(np.median([math.log(x / y) for x in at_term for y in early]))
    )


def test_variance_is_the_sum_of_either_sides_and_freedom_is_welchs() -> None:
    rng = np.random.default_rng(3)
    before, after = rng.normal(0, 1, 12), rng.normal(0.5, 2, 30)
    found = compare_levels(before, after, margins=(-1.0, 1.0))
    squares: list[float] = []
    freedoms: list[float] = []
    for side in (before, after):
        alone = hodges_lehmann(side)
        squares.append(alone.standard_error**2)
        freedoms.append(alone.freedom)
    assert found.standard_error == pytest.approx(math.sqrt(sum(squares)))
    # Welch 1947: (a + b)^2 / (a^2 / f + b^2 / g)
    welch = sum(squares) ** 2 / (squares[0] ** 2 / freedoms[0] + squares[1] ** 2 / freedoms[1])
    assert found.freedom == pytest.approx(welch)
    half = stats.t.ppf(0.975, welch) * math.sqrt(sum(squares))
    assert found.interval.low == pytest.approx((found.shift or 0.0) - half)
    assert found.p_value == pytest.approx(
        2 * stats.t.sf(abs(found.shift or 0.0) / half * stats.t.ppf(0.975, welch), welch)
    )


@pytest.mark.parametrize(("n", "m", "draws"), [(6, 6, choose_runs(400)), (12, 8, choose_runs(400))])
def test_coverage_and_error_rates(n: int, m: int, draws: int) -> None:
    """Log-normal trials, true ratio 1.1: the interval holds it, and no verdict comes up too often."""
    rng = np.random.default_rng([n, m])
    held = wrong = alike = 0
    for _ in range(draws):
        first = np.exp(rng.normal(0, 0.05, n))
        found = compare_groups(first, np.exp(rng.normal(math.log(1.1), 0.05, m)))
        held += found.interval_ratio.contains(1.1)
        null = compare_groups(first, np.exp(rng.normal(0, 0.05, m)), margin_ratio=0.05)
        wrong += null.p_value is not None and null.p_value < 0.05
        edge = compare_groups(first, np.exp(rng.normal(math.log(1.05), 0.05, m)), margin_ratio=0.05)
        alike += edge.equivalence_p_value is not None and edge.equivalence_p_value < 0.05
    check_share(held, draws, 0.95, 1.0)
    check_share(wrong, draws, 0.0, 0.05)
    check_share(alike, draws, 0.0, 0.05)
