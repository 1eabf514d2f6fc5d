"""Cycles that a question needs: against R, and against campaigns drawn at the planned size."""

import math

import numpy as np
import pytest

from pathlab.analysis.estimators.margins import log_margins
from pathlab.analysis.estimators.serial import order_moments
from pathlab.analysis.estimators.shifts import hodges_lehmann
from pathlab.analysis.libraries import stats
from pathlab.analysis.planning.cycles import difference_power, equivalence_power, plan_cycles
from pathlab.analysis.verdicts.equivalence import evaluate_shift
from pathlab.analysis.verdicts.pairs import compare_pairs
from tests.statistics.noise import RUNS, check_share, draw_autoregressive, draw_pilot


def test_power_is_that_of_the_non_central_t() -> None:
    """By hand: 30 cycles at no correlation allow for 0.45, the unlucky estimate's upper limit."""
    bound = (1.645 + 0.84) / math.sqrt(30)
    inflation, shown, freedom = order_moments(30, bound)
    quantile = stats.t.ppf(0.975, freedom) * math.sqrt(inflation / shown)
    effect = 0.05 / (0.1 * math.sqrt(math.pi / 3 / 30))
    assert difference_power(0.05, 0.1, 30, 0.05) == pytest.approx(
        stats.nct.sf(quantile, 29, effect), rel=1e-6
    )
    assert difference_power(0.05, 0.1, 5, 0.05) == 0
    # What is correlated needs more of them.
    alone, correlated = draw_pilot(0.1, n=200), draw_autoregressive(np.random.default_rng(1), 1, 200, 0.5)[0]
    correlated *= 0.1 / correlated.std(ddof=1)
    assert (plan_cycles(correlated).cycles or 0) > 1.5 * (plan_cycles(alone).cycles or 0)


@pytest.mark.parametrize("runs", RUNS)
def test_planned_campaigns_see_the_difference_as_often_as_planned(runs: int) -> None:
    planned = plan_cycles(draw_pilot(0.1)).cycles
    rng = np.random.default_rng([runs, planned])
    draws = rng.normal(math.log(1.05), 0.1, (runs, planned))
    found = [compare_pairs(np.exp(row), np.ones(planned)) for row in draws]
    # Planned for an unlucky estimate of the correlation, most have more power than asked, none less.
    check_share(sum(one.p_value is not None and one.p_value < 0.05 for one in found), runs, 0.79, 0.97)


@pytest.mark.parametrize("runs", RUNS)
def test_equivalence_power_is_what_simulation_finds(runs: int) -> None:
    rng = np.random.default_rng(runs)
    expected = equivalence_power(0.01, 0.1, 80, 0.05)
    assert 0.5 < expected < 0.8
    found = [
        evaluate_shift(hodges_lehmann(row), log_margins(0.05)).equivalent
        for row in rng.normal(0.01, 0.1, (runs // 2, 80))
    ]
    # Most estimates of the correlation are lower than the unlucky one that plans are made for.
    check_share(found.count(True), len(found), expected, min(expected + 0.25, 1 - 1e-9))


def test_interval_of_the_plan_mirrors_the_pilots_size() -> None:
    small, large = plan_cycles(draw_pilot(0.1, n=8)), plan_cycles(draw_pilot(0.1, n=200))
    assert small.cycles == large.cycles
    assert small.interval.low < large.interval.low < small.cycles < large.interval.high < small.interval.high


@pytest.mark.parametrize("runs", RUNS)
def test_interval_of_the_plan_covers(runs: int) -> None:
    truth = plan_cycles(draw_pilot(0.1)).cycles
    rng = np.random.default_rng(runs)
    found = [plan_cycles(row).interval for row in rng.normal(0, 0.1, (runs // 4, 10))]
    check_share(sum(one.contains(truth) for one in found), len(found), 0.94, 1 - 1e-9)
