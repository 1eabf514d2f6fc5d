"""Samples that are missing, few, equal or odd: a reason instead of a number, a value without interval."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pathlab.analysis.estimators.dominance import cliffs_delta
from pathlab.analysis.estimators.fairness import jain_index
from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.latency import classify_rtt_climb
from pathlab.analysis.estimators.loss import probe_loss
from pathlab.analysis.estimators.margins import log_margins
from pathlab.analysis.estimators.outliers import name_outliers
from pathlab.analysis.estimators.quantiles import median_interval
from pathlab.analysis.estimators.recovery import estimate_recovery
from pathlab.analysis.estimators.serial import measure_autocorrelation, measure_effective_size, serial_median
from pathlab.analysis.estimators.shifts import hodges_lehmann
from pathlab.analysis.estimators.tails import estimate_tail
from pathlab.analysis.estimators.trend import bound_change, find_trend
from pathlab.analysis.fits import surface
from pathlab.analysis.fits.cpu_cost import fit_cpu_cost
from pathlab.analysis.fits.distributions import Distribution, Distributions, fit_distributions
from pathlab.analysis.fits.frequencies import fit_cumulative_climb, fit_frequency_decline
from pathlab.analysis.fits.load_knee import find_load_knee
from pathlab.analysis.planning.cycles import cycles_to_decide, plan_cycles
from pathlab.analysis.verdicts.drift import Drift, find_drift
from pathlab.analysis.verdicts.equivalence import evaluate_ratio, evaluate_shift
from pathlab.analysis.verdicts.pairs import compare_cost
from pathlab.analysis.verdicts.two_samples import compare_groups, compare_levels
from pathlab.analysis.verdicts.warm_up import WarmUp, detect_warm_up
from tests.statistics.noise import draw_pilot

NAN = float("nan")
MARGINS = log_margins(0.05)
EDGES = np.arange(0.0, 13.0)
SPREAD = np.linspace(0.1, 11.9, 120)
ONE_WINDOW = [(1.0, 8e3), (2.0, 8e3), (4.0, 8e3), (8.0, 8e3)]


def fit_surface(levels: list[tuple[float, float]], rates: list[float]) -> surface.Surface:
    return surface.fit_surface(levels, rates, cycles=[0] * len(rates), rng=np.random.default_rng(0))


def fit_laws(values: list[float]) -> Distributions:
    return fit_distributions(values, rng=np.random.default_rng(0))


def drift(*logarithms: float) -> Drift:
    return find_drift(np.arange(len(logarithms)) * 600.0, 9e8 * np.exp(logarithms))


def warm_up(counts: np.ndarray) -> WarmUp:
    return detect_warm_up(counts, np.full(counts.size, 1e8), 0)


#: What ``test_poor_input`` has of every estimator without a sample is not repeated.
REASONS: dict[Undecided, list[Callable[[], Any]]] = {
    Undecided.NO_SAMPLES: [
        lambda: serial_median([]).interval,
        lambda: probe_loss(0, 0),
        lambda: estimate_recovery([], []),
        lambda: estimate_tail([]),
        lambda: estimate_tail([([], []), ([5], [0])]),
        lambda: classify_rtt_climb([], [], 8e6),
        lambda: evaluate_shift(hodges_lehmann([]), MARGINS),
        lambda: find_load_knee([], [], cycles=[]),
        lambda: compare_cost("loss", [NAN], [0.1]),
        lambda: compare_groups([], [1.0]),
        lambda: compare_levels([], [1.0], margins=(-1.0, 1.0)),
    ],
    Undecided.TOO_FEW_SAMPLES: [
        lambda: name_outliers([1.0, 2.0, 3.0, 400.0]),
        lambda: measure_autocorrelation(np.arange(19)),
        lambda: measure_effective_size(np.arange(9.0)),
        lambda: median_interval(np.arange(5)),
        lambda: serial_median(np.arange(5.0)).interval,
        lambda: hodges_lehmann([1.0, 2.0, 3.0, 4.0, 5.0]).interval,
        lambda: cliffs_delta(np.arange(9), np.arange(9)).interval_ratio,
        lambda: find_trend([1, 2, 3, 4]),
        lambda: bound_change([1.0, 2.0], [1.0, 2.0]),
        lambda: fit_cpu_cost([1e9] * 4, [1.0] * 4),
        lambda: fit_laws([1, 2, 3, 4]),
        lambda: fit_frequency_decline([1.0] * 19, EDGES),
        lambda: fit_cumulative_climb([-1.0, 0.5, 0.5, 1.5], [0, 1, 2]),
        lambda: plan_cycles([0.1] * 5),
        lambda: drift(*np.linspace(0, 1, 9)),
        lambda: warm_up(np.ones(99)),
        lambda: evaluate_shift(hodges_lehmann([0.1, 0.2, 0.0, 0.3, 0.1]), MARGINS),
        lambda: compare_groups([1, 2, 3, 2, 1], [10, 20, 30, 20, 10, 15]),
        lambda: compare_groups([1, 2, 3, 2, 1], [10, 20, 30, 20, 10, 15]).interval_ratio,
    ],
    Undecided.TOO_FEW_LEVELS: [
        lambda: fit_frequency_decline([0.5] * 30, EDGES),
        lambda: fit_cumulative_climb(SPREAD, [0, 1, 2]),
        lambda: fit_surface(ONE_WINDOW[:3], [1, 2, 3]),
    ],
    Undecided.NO_VARIATION: [
        lambda: name_outliers([5.0] * 6 + [9.0]),
        lambda: measure_effective_size(np.ones(30)),
        lambda: hodges_lehmann(np.ones(9)).interval,
        lambda: find_trend(np.ones(9)),
        lambda: find_trend(np.arange(9), np.ones(9)),
        lambda: fit_laws([7.0] * 9),
        lambda: fit_cumulative_climb([0.5] * 30, EDGES),
        lambda: fit_surface(ONE_WINDOW, [5.0] * 4),
        lambda: plan_cycles([0.1] * 9),
        lambda: drift(*np.zeros(20)),
        lambda: evaluate_shift(hodges_lehmann(np.full(9, 0.01)), MARGINS),
    ],
    Undecided.NOT_POSITIVE: [
        lambda: bound_change([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], np.arange(6)),
        lambda: find_drift(np.arange(12), np.r_[0.0, np.ones(11)]),
        lambda: evaluate_ratio([0.0, 1.0, 2.0], [1.0, 1.0, 1.0]),
        lambda: compare_groups([0.0, 1.0], [1.0]),
    ],
    Undecided.ALL_ZERO: [
        lambda: fit_cpu_cost([0.0] * 6, [1.0] * 6),
        lambda: fit_surface(ONE_WINDOW, [0.0] * 4),
    ],
    Undecided.TOO_CORRELATED: [
        lambda: serial_median(np.repeat([0.0, 1.0], 50)).interval,
        lambda: compare_groups(np.arange(1.0, 61.0), np.arange(1.0, 61.0)[::-1]),
    ],
    Undecided.NOT_IDENTIFIED: [lambda: fit_frequency_decline(SPREAD, EDGES).scale_interval],
    Undecided.INCONCLUSIVE: [lambda: plan_cycles(draw_pilot(5000.0), 0.001)],
}


@pytest.mark.parametrize("reason", REASONS)
def test_what_is_undecided_has_a_reason(reason: Undecided) -> None:
    assert [call().undecided for call in REASONS[reason]] == [reason] * len(REASONS[reason])


def test_what_is_undecided_has_no_number() -> None:
    five = median_interval(np.arange(5))
    assert (five.low, five.high, five.coverage_ratio, five.contains(2)) == (None, None, None, False)
    assert (jain_index([0, 0]), jain_index([]), probe_loss(0, 0).loss_ratio) == (None, None, None)
    assert (hodges_lehmann([]).shift, hodges_lehmann([]).p_value) == (None, None)
    equal = name_outliers([5.0] * 6 + [9.0])
    assert (equal.places, equal.low) == ((), None)
    zero = bound_change([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], np.arange(6))
    assert (zero.equivalent, zero.change_ratio) == (None, None)
    assert bound_change([1.0, 2.0], [1.0, 2.0]).bound_ratio is None
    assert fit_cpu_cost([], []).cpu_s_per_gb is None
    assert fit_cumulative_climb([], EDGES).shares == ()
    assert {fit_surface(ONE_WINDOW, [rate] * 4).capacity.value for rate in (0.0, 5.0)} == {None}
    assert (cycles_to_decide([0.1] * 5), cycles_to_decide([0.1] * 9)) == (None, None)
    assert plan_cycles(draw_pilot(5000.0), 0.001).cycles is None
    ratio = evaluate_ratio([0.0, 1.0, 2.0], [1.0, 1.0, 1.0])
    assert (ratio.n, ratio.equivalent) == (3, None)


def test_few_samples_have_a_value_without_an_interval() -> None:
    assert serial_median(np.arange(5.0)).estimate == 2.0
    assert hodges_lehmann([1.0, 2.0, 3.0, 4.0, 5.0]).shift == 3.0
    assert fit_cumulative_climb([-1.0, 0.5, 0.5, 1.5], [0, 1, 2]).shares == (0.75, 1.0)
    five = compare_groups([1, 2, 3, 2, 1], [10, 20, 30, 20, 10, 15])
    assert five.ratio is not None
    assert five.p_value is None


def test_equal_samples_have_an_interval_without_width() -> None:
    still = serial_median(np.ones(50)).interval
    assert (still.low, still.high) == (1.0, 1.0)
    alike = compare_groups([5.0] * 8, [5.0] * 8)
    assert (alike.interval_ratio.low, alike.interval_ratio.high, alike.p_value) == (1.0, 1.0, 1.0)
    levels = compare_levels([0.0] * 8, [0.0] * 8, margins=(-0.01, 0.01))
    assert (levels.shift, levels.interval.low, levels.interval.high, levels.p_value) == (0, 0.0, 0.0, 1.0)
    assert levels.equivalence_p_value < 0.01
    for counts in (np.ones(100), np.zeros(100)):
        found = warm_up(counts)
        assert (found.detected_ns, found.sufficient, found.undecided) == (0.0, True, None)


def test_a_law_of_positive_values_is_not_fitted_to_others() -> None:
    zero = {fit.distribution: fit for fit in fit_laws([0, 1, 2, 3, 4]).fits}
    assert zero[Distribution.WEIBULL].undecided is Undecided.NOT_POSITIVE
    assert zero[Distribution.LOG_NORMAL].aic is None
    assert zero[Distribution.EXPONENTIAL].parameters["mean"] == pytest.approx(2.0)
    below = {fit.distribution: fit for fit in fit_laws([-1, 1, 2, 3, 4]).fits}
    assert below[Distribution.EXPONENTIAL].undecided is Undecided.NOT_POSITIVE
    assert below[Distribution.NORMAL].undecided is None


def test_values_that_stand_apart_are_named() -> None:
    found = name_outliers([*range(4, 24), 200.0, -150.0])
    assert (found.places, found.n, found.undecided) == ((20, 21), 22, None)
