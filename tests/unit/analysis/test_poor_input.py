"""Every estimator on samples that hold nothing: one clear refusal, or an answer that is undecided."""

import math
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.analysis.estimators.dominance import cliffs_delta
from pathlab.analysis.estimators.fairness import jain_index
from pathlab.analysis.estimators.interval import Interval, Undecided
from pathlab.analysis.estimators.outliers import name_outliers
from pathlab.analysis.estimators.quantiles import median_interval, quartiles
from pathlab.analysis.estimators.serial import measure_autocorrelation, measure_effective_size, serial_median
from pathlab.analysis.estimators.shifts import hodges_lehmann
from pathlab.analysis.estimators.trend import bound_change, find_trend
from pathlab.analysis.fits.breakpoints import find_breakpoint
from pathlab.analysis.fits.cpu_cost import fit_cpu_cost
from pathlab.analysis.fits.curve_fit import FitOptions
from pathlab.analysis.fits.distributions import fit_distributions
from pathlab.analysis.fits.frequencies import fit_cumulative_climb, fit_frequency_decline
from pathlab.analysis.fits.message_cost import fit_message_cost
from pathlab.analysis.fits.optimum import find_optimal_streams
from pathlab.analysis.fits.saturation import fit_saturation
from pathlab.analysis.fits.surface import fit_surface
from pathlab.analysis.planning.cycles import plan_cycles
from pathlab.analysis.planning.stopping import StopRule, evaluate_stop_rule
from pathlab.analysis.verdicts.drift import DriftVerdict, find_drift
from pathlab.analysis.verdicts.equivalence import evaluate_ratio
from pathlab.analysis.verdicts.limits import Limit
from pathlab.analysis.verdicts.pairs import PairVerdict, compare_cost, compare_pairs
from pathlab.analysis.verdicts.two_samples import compare_groups
from pathlab.analysis.verdicts.warm_up import detect_warm_up
from pathlab.errors import UsageError

N = 24
Values = list[float]


def draw() -> np.random.Generator:
    return np.random.default_rng(3)


def steps(values: Values, levels: int = 6) -> np.ndarray:
    """Levels 1, 2, ... in turn, one for each value."""
    return 1 + np.arange(len(values)) % levels


def cycles(values: Values) -> np.ndarray:
    return np.arange(len(values)) // 6


def spans(values: Values) -> np.ndarray:
    return np.full(len(values), 100_000_000.0)


def grid(values: Values) -> np.ndarray:
    """Streams and windows, one pair for each value."""
    return np.stack([steps(values, 3), 16384.0 * steps(values, 2)], axis=1)


#: Every estimator, of nothing but the values.
ESTIMATORS: dict[str, Callable[[Values], Any]] = {
    "bound_change": lambda v: bound_change(v, np.arange(len(v))),
    "breakpoint": lambda v: find_breakpoint(steps(v), v, cycles=cycles(v), rng=draw()),
    "cliffs_delta": lambda v: cliffs_delta(v, v),
    "compare_cost": lambda v: compare_cost("cost", v, v),
    "compare_groups": lambda v: compare_groups(v, v),
    "compare_pairs": lambda v: compare_pairs(v, v),
    "cpu_cost": lambda v: fit_cpu_cost(v, v),
    "cumulative_climb": lambda v: fit_cumulative_climb(v, np.arange(12)),
    "distributions": lambda v: fit_distributions(v, rng=draw()),
    "drift": lambda v: find_drift(np.arange(len(v)), v),
    "effective_size": measure_effective_size,
    "autocorrelation": measure_autocorrelation,
    "frequency_decline": lambda v: fit_frequency_decline(v, np.arange(12)),
    "hodges_lehmann": hodges_lehmann,
    "jain_index": jain_index,
    "evaluate_ratio": lambda v: evaluate_ratio(v, v),
    "evaluate_stop_rule": lambda v: evaluate_stop_rule({"cell": v}, len(v), StopRule()),
    "median_interval": median_interval,
    "message_cost": lambda v: fit_message_cost(64.0 * steps(v), v),
    "optimal_streams": lambda v: find_optimal_streams(steps(v), v, v, cycles=cycles(v), rng=draw()),
    "outliers": name_outliers,
    "plan_cycles": plan_cycles,
    "quartiles": quartiles,
    "saturation": lambda v: fit_saturation(
        steps(v), v, cycles=cycles(v), rng=draw(), options=FitOptions(resamples=100)
    ),
    "serial_median": serial_median,
    "surface": lambda v: fit_surface(
        grid(v), v, cycles=cycles(v), rng=draw(), options=FitOptions(resamples=100)
    ),
    "trend": find_trend,
    "warm_up": lambda v: detect_warm_up(v, spans(v)),
}
NAN, INF = math.nan, math.inf
#: Beyond the last two no instrument can see; the store's columns are read so (study.trials.column).
ODD_VALUES = (NAN, INF, -INF, 0.0, -0.0, -1.0, 1.0, 3.0, 1e-30, 9e18)
#: What holds no answer for anybody.
EMPTY: dict[str, Values] = {
    "nothing": [],
    "one value": [5.0],
    "no numbers": [NAN] * N,
    "infinite": [INF] * N,
    "one among holes": [NAN] * (N - 1) + [5.0],
}
#: What holds values, of which none tells of a difference.
DULL: dict[str, Values] = {
    "zeros": [0.0] * N,
    "constant": [5.0] * N,
    "negative": [-5.0 - 0.1 * (place % 7) for place in range(N)],
}


def walk(value: Any) -> Iterator[Any]:
    """A result and everything in it."""
    yield value
    if is_dataclass(value):
        for field in fields(value):
            yield from walk(getattr(value, field.name))
    elif isinstance(value, dict):
        for item in value.values():
            yield from walk(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from walk(item)


def find_answer(name: str, values: Values) -> list[Any]:
    """What the estimator says, part by part; nothing where it refuses in one line with a next step."""
    try:
        found = ESTIMATORS[name](values)
    except UsageError as error:
        refusal = error
    else:
        return list(walk(found))
    assert "\n" not in refusal.message
    assert refusal.hint
    return []


def assert_honest(name: str, parts: list[Any]) -> None:
    for part in parts:
        if isinstance(part, (float, np.floating)):
            assert not math.isnan(part), f"{name}: a number that is none"
        if isinstance(part, Interval) and part.decided:
            assert -INF < part.low <= part.high < INF


def list_verdicts(parts: list[Any]) -> set[str]:
    kinds: tuple[type[StrEnum], ...] = (PairVerdict, DriftVerdict, Limit)
    return {part.value for part in parts if isinstance(part, kinds)}


@pytest.mark.parametrize("kind", EMPTY)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_nothing_decides_nothing(name: str, kind: str) -> None:
    parts = find_answer(name, EMPTY[kind])
    assert_honest(name, parts)
    assert not [part for part in parts if isinstance(part, Interval) and part.decided]
    assert list_verdicts(parts) <= {"undecided"}


@pytest.mark.parametrize(
    "name", sorted(set(ESTIMATORS) - {"jain_index", "evaluate_stop_rule", "optimal_streams", "serial_median"})
)
def test_without_a_sample_that_is_the_reason(name: str) -> None:
    assert ESTIMATORS[name]([]).undecided is Undecided.NO_SAMPLES


@pytest.mark.parametrize("kind", DULL)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_values_that_tell_nothing_decide_no_winner(name: str, kind: str) -> None:
    parts = find_answer(name, DULL[kind])
    assert_honest(name, parts)
    assert list_verdicts(parts) <= {"undecided", "equivalent", "steady"}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_rounding_is_answered_without_a_warning(name: str) -> None:
    """The mean of equal values need not be that value; beside many orders of size the rest is rounding."""
    for values in ([4.561059858088791] * 60, [9e17, 9.6e-30, 2.8e11, 7.2e7, 15.0]):
        assert_honest(name, find_answer(name, values))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(ESTIMATORS)), st.lists(st.sampled_from(ODD_VALUES), max_size=N))
def test_whatever_the_values_the_answer_holds_no_number_that_is_none(name: str, values: Values) -> None:
    assert_honest(name, find_answer(name, values))
