"""TOST and Holm."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.estimators.corrections import correct_holm, holm_levels
from pathlab.analysis.estimators.margins import log_margins
from pathlab.analysis.estimators.shifts import hodges_lehmann
from pathlab.analysis.verdicts.equivalence import evaluate_ratio, evaluate_shift
from tests.statistics.noise import RUNS, check_share
from tests.statistics.shift_samples import make_shift

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
    of_logs = evaluate_shift(hodges_lehmann(np.log(np.exp(CLOSE))), MARGINS)
    assert evaluate_ratio(np.exp(CLOSE), np.ones(10)) == of_logs


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("n", [6, 21, 200])
def test_level_at_the_margin_and_power_in_the_middle(n: int, runs: int) -> None:
    rng = np.random.default_rng([n, runs])
    spread = 0.05 * math.sqrt(n) / 5  # the standard error is a fifth of the margin
    at_margin = [
        evaluate_shift(hodges_lehmann(rng.normal(MARGINS[1], spread, n)), MARGINS).equivalent
        for _ in range(runs)
    ]
    check_share(at_margin.count(True), runs, 0.0, 0.025)
    if n > 10:  # of fewer the interval allows for a correlation that they cannot rule out
        rows = rng.normal(0, spread, (runs, n))
        equal = [evaluate_shift(hodges_lehmann(row), MARGINS).equivalent for row in rows]
        check_share(equal.count(True), runs, 0.75, 1 - 1e-9)


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


@settings(max_examples=40)
@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=30))
def test_holm_is_his_definition_and_its_levels_reject_the_same(values: list[float | None]) -> None:
    """Holm, Scandinavian Journal of Statistics 6, 1979: the k-th least of m, times m - k + 1, never falls."""
    levels, found = holm_levels(values), correct_holm(values)
    ordered = sorted(p for p in values if p is not None)
    products = np.minimum(np.array(ordered) * np.arange(len(ordered), 0, -1), 1.0)
    adjusted = sorted(p for p in found if p is not None)
    assert adjusted == pytest.approx(np.maximum.accumulate(products).tolist())
    for p, level, one in zip(values, levels, found, strict=True):
        assert 0 < level <= 0.05
        assert (p is None) is (one is None)
        assert p is None or one is None or (p <= one and (one <= 0.05) is (p <= level))


def test_a_question_of_two_families_has_the_smaller_level() -> None:
    # Both families have two tests: the first is held against 0.025, the second against 0.05 if that is less.
    assert holm_levels([0.001, 0.04], [0.9, 0.8]) == (0.025, 0.025)
    assert holm_levels([0.001, 0.04], [None, 0.03]) == (0.025, 0.05)
    assert holm_levels() == ()
