"""Comparisons by the draw of the order: they hold their level under any noise over time, and find more."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from pathlab.analysis.estimators.shifts import decides_by_draw, hodges_lehmann
from pathlab.analysis.planning.cycles import difference_power, find_detectable_ratio
from pathlab.analysis.verdicts.cycle_permutation import compare_within_cycles
from pathlab.analysis.verdicts.pairs import PairVerdict, compare_pairs, correct_comparisons
from tests.length import choose_runs
from tests.statistics.noise import check_coverage, check_share, correlate

Rows = NDArray[np.float64]
CELLS = 4
ALL_PAIRS = list(itertools.combinations(range(CELLS), 2))


def _autoregressive(ratio: float) -> Callable[[np.random.Generator, int], Rows]:
    def draw(rng: np.random.Generator, trials: int) -> Rows:
        shocks = rng.normal(size=trials) * math.sqrt(1 - ratio**2)
        shocks[0] = rng.normal()
        return correlate(shocks, ratio)

    return draw


def _step(rng: np.random.Generator, trials: int) -> Rows:
    return np.asarray(0.5 * rng.normal(size=trials) + 2.0 * (np.arange(trials) > trials / 2))


def _sine(rng: np.random.Generator, trials: int) -> Rows:
    return np.asarray(
        0.3 * rng.normal(size=trials) + np.sin(np.arange(trials) / 3 + rng.uniform(0, 2 * np.pi))
    )


def _two_levels(rng: np.random.Generator, trials: int) -> Rows:
    return np.asarray(0.2 * rng.normal(size=trials) + rng.integers(0, 2, trials))


def _outliers(rng: np.random.Generator, trials: int) -> Rows:
    return np.asarray(rng.normal(size=trials) + 10.0 * (rng.random(trials) < 0.05))


#: Noise over the time of a campaign, about one standard deviation, one value for each trial in its order.
NOISES: dict[str, Callable[[np.random.Generator, int], Rows]] = {
    "independent": lambda rng, trials: rng.normal(size=trials),
    "correlation 0.7": _autoregressive(0.7),
    "correlation 0.95": _autoregressive(0.95),
    "sine": _sine,
    "step": _step,
    "two levels": _two_levels,
    "heavy tails": lambda rng, trials: rng.standard_t(2, size=trials),
    "outliers": _outliers,
    "drift": lambda rng, trials: rng.normal(size=trials) + np.linspace(0.0, 5.0, trials),
}


def draw_campaign(
    rng: np.random.Generator, noise: str, cycles: int, ratio: float = 1.0, cells: int = CELLS
) -> Rows:
    """Logarithms of rates, shape (cycles, cells), 5 % of noise; the first cell is better by ``ratio``."""
    over_time = 0.05 * NOISES[noise](rng, cycles * cells).reshape(cycles, cells)
    logs = np.empty((cycles, cells))
    for cycle in range(cycles):
        logs[cycle, rng.permutation(cells)] = over_time[cycle]
    logs[:, 0] += math.log(ratio)
    return logs


@pytest.mark.parametrize("cycles", [6, 12, 31, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize("noise", NOISES)
def test_a_false_winner_among_four_combinations_is_rare(noise: str, cycles: int) -> None:
    rng = np.random.default_rng([cycles, *noise.encode()])
    runs = choose_runs(300, short=25)
    winners = 0
    for _ in range(runs):
        p_values = compare_within_cycles(draw_campaign(rng, noise, cycles), ALL_PAIRS)
        winners += min(p for p in p_values if p is not None) <= 0.05
    check_share(winners, runs, 0.0, 0.05)


@pytest.mark.parametrize("cycles", [6, 12, 30])
@pytest.mark.parametrize("noise", NOISES)
def test_the_interval_of_a_pair_holds_its_difference(noise: str, cycles: int) -> None:
    rng = np.random.default_rng([cycles, *noise.encode()])
    found = []
    for _ in range(choose_runs(300, short=40)):
        logs = draw_campaign(rng, noise, cycles, ratio=1.1, cells=2)
        found.append(hodges_lehmann(logs[:, 0] - logs[:, 1], drawn_tests=1).interval)
    check_coverage(found, math.log(1.1), least=0.94, most=0.99)


@pytest.mark.parametrize(("cycles", "ratio"), [(6, 1.14), (12, 1.075), (30, 1.043)])
def test_a_difference_is_found_in_four_of_five_campaigns(cycles: int, ratio: float) -> None:
    rng = np.random.default_rng(cycles)
    runs = choose_runs(400, short=100)
    found = 0
    for _ in range(runs):
        logs = np.exp(draw_campaign(rng, "independent", cycles, ratio, cells=2))
        found += compare_pairs(logs[:, 0], logs[:, 1], drawn_tests=1).verdict is PairVerdict.STREAMS
    check_share(found, runs, 0.8, 1 - 1e-9)
    assert (find_detectable_ratio(cycles, 0.05) or math.inf) <= ratio


@pytest.mark.parametrize("cycles", [6, 12, 30])
def test_the_power_that_a_plan_states_is_the_one_that_campaigns_have(cycles: int) -> None:
    rng = np.random.default_rng(cycles)
    ratio, runs = find_detectable_ratio(cycles, 0.05), choose_runs(400, short=100)
    difference, spread = math.log(ratio or 1.0), 0.05 * math.sqrt(2)
    assert difference_power(difference, spread, cycles, 0.05, drawn=True) == pytest.approx(0.8, abs=0.01)
    found = sum(
        (hodges_lehmann(rng.normal(difference, spread, cycles), drawn_tests=1).p_value or 1.0) <= 0.05
        for _ in range(runs)
    )
    check_share(found, runs, 0.74, 0.88)


def test_a_better_one_among_four_is_found_at_six_cycles_by_all_of_them() -> None:
    """Two combinations of six cycles cannot reach the level of one of six tests; the permutations can."""
    rng = np.random.default_rng(6)
    assert not decides_by_draw(6, len(ALL_PAIRS))
    found = []
    for _ in range(choose_runs(200, short=40)):
        p_values = compare_within_cycles(draw_campaign(rng, "independent", 6, 1.2), ALL_PAIRS)
        found.append(sum(p is not None and p <= 0.05 for p in p_values[: CELLS - 1]) / (CELLS - 1))
    assert np.mean(found) > 0.8


def test_a_missing_trial_costs_its_pairs_and_not_its_cycle() -> None:
    rng = np.random.default_rng(2)
    logs = draw_campaign(rng, "step", 12, 1.5)
    logs[3, 1] = logs[5, 2] = math.nan
    p_values = compare_within_cycles(logs, ALL_PAIRS)
    assert all(p is not None and p <= 0.01 for p in p_values[: CELLS - 1])
    few = logs.copy()
    few[:7, 3] = math.nan
    assert [p is None for p in compare_within_cycles(few, ALL_PAIRS)] == [3 in pair for pair in ALL_PAIRS]


def test_a_winner_of_corrected_pairs_has_an_interval_on_its_side() -> None:
    rng = np.random.default_rng(4)
    for ratio in (1.0, 1.05, 1.1, 1.3):
        logs = draw_campaign(rng, "correlation 0.7", 8, ratio)
        rates = np.exp(logs)
        pairs = [(0, 1), (0, 2), (2, 3)]
        compared = [
            compare_pairs(rates[:, first], rates[:, second], drawn_tests=3) for first, second in pairs
        ]
        for one in correct_comparisons(compared, compare_within_cycles(logs, pairs)):
            low, high = one.ratio_interval.low, one.ratio_interval.high
            won = one.verdict in (PairVerdict.STREAMS, PairVerdict.WINDOWS)
            assert won <= (one.p_value is not None and one.p_value <= 0.05)
            if won:
                assert low > 1 or high < 1
            elif one.verdict is PairVerdict.UNDECIDED:
                assert low <= 1 <= high
