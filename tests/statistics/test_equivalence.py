"""TOST and Holm."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.estimators.corrections import correct_holm, holm_levels
from pathlab.analysis.estimators.margins import log_margins
from pathlab.analysis.estimators.shifts import hodges_lehmann
from pathlab.analysis.libraries import LazyModule
from pathlab.analysis.verdicts.equivalence import evaluate_ratio, evaluate_shift
from tests.statistics.noise import RUNS, check_coverage, check_share
from tests.statistics.shift_samples import make_shift

multitest = LazyModule("statsmodels.stats.multitest")
MARGINS = log_margins(0.05)
CLOSE = np.array([0.01, -0.02, 0.015, 0.004, -0.011, 0.02, -0.006, 0.013, -0.009, 0.002])


def test_equivalence_is_rs() -> None:
    # R 4.2.2, s as above: t.test(s, mu = -log(1.05), alternative = "greater")$p.value  ->  3.093287301e-07
    # t.test(s, mu = log(1.05), alternative = "less")$p.value  ->  5.796515583e-07
    error = float(CLOSE.std(ddof=1)) / math.sqrt(10)
    found = evaluate_shift(make_shift(float(CLOSE.mean()), error, 9), MARGINS)
    assert found.equivalent is True
    assert found.p_value == pytest.approx(2 * 5.796515583e-07, rel=1e-8)
    # t.test(s, conf.level = 0.9)$conf.int  ->  -0.005732386722 0.009332386722
    wider = evaluate_shift(make_shift(float(CLOSE.mean()), error, 9), MARGINS, 0.1)
    assert (wider.interval.low, wider.interval.high) == pytest.approx((-0.005732386722, 0.009332386722))
    assert wider.bound == pytest.approx(0.009332386722)


def test_the_ratio_is_judged_by_the_interval_of_its_shift() -> None:
    shift = hodges_lehmann(CLOSE)
    found = evaluate_ratio(np.exp(CLOSE), np.ones(10))
    assert found.estimate == pytest.approx(shift.shift)
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (shift.interval.low, shift.interval.high)
    )
    assert found == evaluate_shift(hodges_lehmann(np.log(np.exp(CLOSE))), MARGINS)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("n", [6, 10, 21, 200])
def test_level_at_the_margin_and_power_in_the_middle(n: int, runs: int) -> None:
    rng = np.random.default_rng([n, runs])
    spread = 0.05 * math.sqrt(n) / 5  # the standard error is a fifth of the margin
    at_margin = [
        evaluate_shift(hodges_lehmann(rng.normal(MARGINS[1], spread, n)), MARGINS).equivalent
        for _ in range(runs)
    ]
    check_share(at_margin.count(True), runs, 0.0, 0.025)
    equal = [evaluate_shift(hodges_lehmann(rng.normal(0, spread, n)), MARGINS) for _ in range(runs)]
    if n > 10:  # of fewer the interval allows for a correlation that they cannot rule out
        check_share(sum(one.equivalent is True for one in equal), runs, 0.75, 1 - 1e-9)
    check_coverage([one.interval for one in equal], 0.0, least=0.95, most=1 - 1e-9)


@pytest.mark.parametrize("runs", RUNS)
def test_level_holds_for_skewed_log_ratios(runs: int) -> None:
    """Exponential differences are far from normal; the level at the margin stays near what is promised."""
    rng = np.random.default_rng(runs)
    draws = MARGINS[1] + 0.05 * (1 - rng.exponential(1, (runs, 21)))
    found = sum(evaluate_shift(hodges_lehmann(row), MARGINS).equivalent is True for row in draws)
    check_share(found, runs, 0.0, 0.10)


@settings(deadline=None)
@given(st.lists(st.integers(1, 10**6), min_size=3, max_size=40), st.integers(1, 1000))
def test_ratio_ignores_scale_and_mirrors(values: list[int], scale: int) -> None:
    other = [value + place % 3 for place, value in enumerate(values)]
    found, scaled = (
        evaluate_ratio(values, other),
        evaluate_ratio([v * scale for v in values], [v * scale for v in other]),
    )
    swapped = evaluate_ratio(other, values)
    if found.p_value is None:
        return
    assert scaled.p_value == pytest.approx(found.p_value, rel=1e-6, abs=1e-12)
    assert swapped.p_value == pytest.approx(found.p_value, rel=1e-6, abs=1e-12)
    assert found.interval.low is not None
    assert found.interval.high is not None
    inside = found.margin_low < found.interval.low and found.interval.high < found.margin_high
    assert found.equivalent is inside
    assert found.bound == pytest.approx(max(-found.interval.low, found.interval.high))


def test_holm_is_rs() -> None:
    # R 4.2.2: p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.5), "holm")  ->  0.040 0.090 0.090 0.025 0.500
    found = correct_holm([0.01, 0.04, None, 0.03, 0.005, 0.5])
    assert found[2] is None
    assert [p for p in found if p is not None] == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.5])
    assert correct_holm([]) == ()
    assert correct_holm([None]) == (None,)


@pytest.mark.parametrize("runs", RUNS)
def test_holm_keeps_the_family_level(runs: int) -> None:
    rng = np.random.default_rng(runs)
    families = rng.uniform(size=(runs, 12))
    wrong = sum(any((p or 0.0) <= 0.05 for p in correct_holm(list(family))) for family in families)
    check_share(wrong, runs, 0.045, 0.05)
    assert sum((family < 0.05).any() for family in families) > 0.3 * runs  # without it nearly half go wrong


def test_holm_is_that_of_statsmodels() -> None:
    rng = np.random.default_rng(6)
    for tests in (1, 2, 5, 40):
        values = rng.uniform(size=tests) ** 3
        theirs = multitest.multipletests(values, alpha=0.05, method="holm")
        assert correct_holm(list(values)) == pytest.approx(theirs[1])


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_never_lowers_and_keeps_the_order(values: list[float]) -> None:
    adjusted = [p for p in correct_holm(values) if p is not None]
    assert all(one >= other for one, other in zip(adjusted, values, strict=True))
    assert np.all(np.diff(np.array(adjusted)[np.argsort(values, kind="stable")]) >= 0)


@settings(deadline=None)
@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=30))
def test_levels_reject_what_holm_rejects(values: list[float | None]) -> None:
    levels = holm_levels(values)
    for p, level, adjusted in zip(values, levels, correct_holm(values), strict=True):
        assert 0 < level <= 0.05
        assert p is None or adjusted is None or (adjusted <= 0.05) is (p <= level)


def test_a_question_of_two_families_has_the_smaller_level() -> None:
    # Both families have two tests: the first is held against 0.025, the second against 0.05 if that is less.
    assert holm_levels([0.001, 0.04], [0.9, 0.8]) == (0.025, 0.025)
    assert holm_levels([0.001, 0.04], [None, 0.03]) == (0.025, 0.05)
    assert holm_levels() == ()
