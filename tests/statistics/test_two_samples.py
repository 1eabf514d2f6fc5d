"""Groups that share nothing but their condition, against scipy, by hand, and in simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from pathlab.analysis.interval import Undecided
from pathlab.analysis.two_samples import (
    _count_rank_sums,
    compare_groups,
    compare_levels,
    split_halves,
    trials_to_decide,
)
from pathlab.errors import UsageError


def test_the_permeability_data_of_hollander_and_wolfe() -> None:
    """The example on R's help page of wilcox.test: W = 35 and p = 0.1272 one-sided, so 0.2544 two-sided."""
    at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
    early = [1.15, 0.88, 0.90, 0.74, 1.21]
    found = compare_groups(early, at_term)
    assert found.p_value == pytest.approx(0.2544, abs=5e-5)
    everything = np.sort([math.log(x / y) for x in at_term for y in early])
    assert found.ratio == pytest.approx(math.exp(np.median(everything)))
    # R: qwilcox(0.025, 10, 5) is 9, so the interval runs from the 9th difference to the 9th from above.
    assert found.interval_ratio.low == pytest.approx(math.exp(everything[8]))
    assert found.interval_ratio.high == pytest.approx(math.exp(everything[-9]))


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 5), (4, 4), (7, 2), (12, 9), (50, 50)])
def test_the_counted_distribution_is_scipys(n: int, m: int) -> None:
    chances = _count_rank_sums(n, m)
    assert chances.sum() == pytest.approx(1)
    assert chances == pytest.approx(chances[::-1])
    first = np.arange(n) * 2.0 + 0.5
    second = np.arange(m) * 2.0 + 3.0
    answer = stats.mannwhitneyu(first, second, alternative="less", method="exact")
    assert chances[: int(answer.statistic) + 1].sum() == pytest.approx(answer.pvalue)


def test_few_trials_and_strange_values_are_undecided() -> None:
    assert compare_groups([], [1.0]).undecided is Undecided.NO_SAMPLES
    assert compare_groups([0.0, 1.0], [1.0]).undecided is Undecided.NOT_POSITIVE
    three = compare_groups([1, 2, 3], [10, 20, 30])
    assert three.interval_ratio.undecided is Undecided.TOO_FEW_SAMPLES
    assert three.p_value == pytest.approx(0.1)
    alike = compare_groups([5.0] * 8, [5.0] * 8)
    assert alike.interval_ratio.undecided is Undecided.NO_VARIATION
    assert alike.p_value == 1.0
    with pytest.raises(UsageError, match="margin"):
        compare_groups([1.0], [1.0], margin_ratio=0)


def test_turning_the_groups_around_inverts_the_ratio() -> None:
    rng = np.random.default_rng(5)
    first, second = np.exp(rng.normal(0, 0.1, 9)), np.exp(rng.normal(0.05, 0.1, 7))
    there, back = compare_groups(first, second), compare_groups(second, first)
    assert there.ratio is not None
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert back.p_value == pytest.approx(there.p_value)
    assert back.equivalence_p_value == pytest.approx(there.equivalence_p_value)
    assert there.interval_ratio.low is not None
    assert back.interval_ratio.high == pytest.approx(1 / there.interval_ratio.low)
    scaled = compare_groups(first * 1e9, second * 1e9)
    assert scaled.ratio == pytest.approx(there.ratio)


def test_trials_to_decide() -> None:
    assert trials_to_decide(1) == 4  # 2 / 70 = 0.029
    assert trials_to_decide(2) == 5  # 2 x 0.029 is too much, 2 x 2 / 252 = 0.016 is not
    assert trials_to_decide(100) == 8  # 100 x 2 / 3432 = 0.058 is too much, 100 x 2 / 12870 = 0.016 is not
    with pytest.raises(UsageError, match="0 tests"):
        trials_to_decide(0)


def test_split_halves() -> None:
    assert split_halves([1.0, 2.0, 1.0, 2.0]) == pytest.approx(2)
    assert split_halves([2.0, 1.0, 2.0, 1.0]) == pytest.approx(2)
    assert split_halves([3.0] * 4) == 1
    assert split_halves([1.0, 2.0, 3.0]) is None
    assert split_halves([0.0, 1.0, 2.0, 3.0]) is None


@pytest.mark.parametrize(("n", "m", "draws"), [(5, 5, 1000), (12, 8, 1000), (60, 60, 60)])
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
    slack = 3 * math.sqrt(0.05 * 0.95 / draws)
    assert held / draws >= 0.95 - slack
    assert wrong / draws <= 0.05 + slack
    assert alike / draws <= 0.05 + slack


def test_levels_shift_by_what_was_added_and_hold_it_in_their_interval() -> None:
    rng = np.random.default_rng(8)
    missed = 0
    for _ in range(300):
        before, after = rng.normal(0, 1, 9), rng.normal(0.7, 1, 12)
        found = compare_levels(before, after, margins=(-1.0, 1.0))
        missed += not found.interval.contains(0.7)
    assert missed <= 26  # P(more | 5 %) is below 0.5 %
    assert found.shift == pytest.approx(float(np.median(np.subtract.outer(after, before))))


def test_levels_that_are_all_equal_are_the_same_and_have_no_interval() -> None:
    found = compare_levels([0.0] * 8, [0.0] * 8, margins=(-0.01, 0.01))
    assert found.shift == 0
    assert found.interval.undecided is Undecided.NO_VARIATION
    assert found.equivalence_p_value is not None
    assert found.equivalence_p_value < 0.01
    assert found.p_value == 1.0
    assert compare_levels([], [1.0], margins=(-1.0, 1.0)).undecided is Undecided.NO_SAMPLES
    with pytest.raises(UsageError, match="margins"):
        compare_levels([1.0], [1.0], margins=(0.0, 1.0))
