"""METHOD's targets for fits to correlated cycles: parameters hold in 92 %, averages over models in 90 %."""

import math
from collections.abc import Iterator

import numpy as np
import pytest

from pathlab.analysis.estimators.cells import bound_cycles, check_cycle_order, group_trials
from pathlab.analysis.estimators.interval import Interval
from pathlab.analysis.estimators.serial import pool_bound
from pathlab.analysis.fits.curve_fit import FitOptions
from pathlab.analysis.fits.models import Family
from pathlab.analysis.fits.saturation import fit_saturation
from pathlab.analysis.fits.surface import fit_surface
from tests.length import choose_runs, list_long

from .noise import Rows, check_share, draw_autoregressive
from .sweeps import STREAMS, TRUTH, number_trials, true_rates
from .test_surface import CAPACITY, LEVELS, RTT_NS, SHARPNESS
from .test_surface import true_rates as surface_rates

CYCLES = (7, 13, 19, 60)
#: Standard deviation that a cycle's trials share, over that of each cell's own.
SHARED = {"own": 0.0, "weakly shared": 0.4, "mixed": 1.0, "shared": math.inf}
RUNS_OF_MEAN = choose_runs(300, short=60)
SHORT = (("own", 7), ("shared", 7), ("mixed", 13))
CASES = [
    *((kind, cycles, choose_runs(20, short=8)) for kind, cycles in SHORT),
    *list_long(SHARED, CYCLES, runs=300),
]


def draw_cycles(
    kind: str, cycles: int, cells: int, rng: np.random.Generator, correlation: float = 0.7
) -> Rows:
    """Noise of unit variance, shape (cycles, cells): of each cell's own, shared by a cycle, or both."""
    own, shared = (draw_autoregressive(rng, rows, cycles, correlation).T for rows in (cells, 1))
    ratio = SHARED[kind]
    weights = (0.0, 1.0) if math.isinf(ratio) else (1 / math.hypot(1, ratio), ratio / math.hypot(1, ratio))
    return math.sqrt(1 - correlation**2) * (weights[0] * own + weights[1] * shared)


def draw_rates(kind: str, rates: Rows, cycles: int, rng: np.random.Generator, noise: float) -> Rows:
    """One campaign's rates, cycle by cycle."""
    return (rates * np.maximum(1 + noise * draw_cycles(kind, cycles, rates.size, rng), 0)).ravel()


def check_held(found: list[tuple[Interval, float]], least: float) -> None:
    """The decided intervals, three of five at least, hold the truth in that share."""
    held = [interval.contains(truth) for interval, truth in found if interval.decided]
    assert len(held) >= 0.6 * len(found)
    check_share(sum(held), len(held), least, 1.0)


@pytest.mark.parametrize(("kind", "cycles", "runs"), CASES)
def test_parameters_hold(kind: str, cycles: int, runs: int) -> None:
    rng = np.random.default_rng([cycles, runs, len(kind)])
    streams, numbers = number_trials(cycles)
    for family in (Family.LINEAR_THEN_FLAT, Family.LU, Family.UNIVERSAL):
        options = FitOptions(resamples=200)
        truth = tuple(TRUTH[family][0].values())
        fits = [
            fit_saturation(
                streams,
                draw_rates(kind, true_rates(family), cycles, rng, 0.05),
                cycles=numbers,
                rng=rng,
                options=options,
                families=frozenset([family]),
            )
            for _ in range(runs)
        ]
        for index, value in enumerate(truth):
            check_held([(fit.parameters[index].interval, value) for fit in fits], 0.92)


@pytest.mark.parametrize(
    ("kind", "cycles", "runs"), [("shared", 7, choose_runs(20, short=8)), *CASES[len(SHORT) :]]
)
def test_averages_hold(kind: str, cycles: int, runs: int) -> None:
    rng = np.random.default_rng([cycles, runs, len(kind), 1])
    streams, numbers = number_trials(cycles)
    fits = [
        fit_saturation(
            streams,
            draw_rates(kind, true_rates(Family.LINEAR_THEN_FLAT), cycles, rng, 0.03),
            cycles=numbers,
            rng=rng,
            options=FitOptions(resamples=200),
        )
        for _ in range(runs)
    ]
    check_held([(fit.capacity.interval, 90e6) for fit in fits], 0.9)
    check_held([(fit.n_90.interval, 7.0) for fit in fits], 0.9)


@pytest.mark.parametrize(
    ("kind", "cycles", "runs"), [("own", 7, choose_runs(12, short=6)), *CASES[len(SHORT) :]]
)
def test_surfaces_hold(kind: str, cycles: int, runs: int) -> None:
    rng = np.random.default_rng([cycles, runs, len(kind), 2])
    fits = [
        fit_surface(
            np.tile(LEVELS, (cycles, 1)),
            draw_rates(kind, surface_rates(LEVELS), cycles, rng, 0.05),
            cycles=np.repeat(np.arange(cycles), len(LEVELS)),
            rng=rng,
            options=FitOptions(resamples=200),
        )
        for _ in range(runs)
    ]
    check_held([(fit.capacity.interval, CAPACITY) for fit in fits], 0.92)
    check_held([(fit.effective_rtt.interval, RTT_NS) for fit in fits], 0.92)
    check_held([(fit.sharpness.interval, SHARPNESS) for fit in fits], 0.92)


def widen_means(
    kind: str, cycles: int, correlation: float, rng: np.random.Generator
) -> Iterator[tuple[float, bool] | None]:
    """How wide the interval of the mean of all cells is and whether it holds 0; None: too correlated."""
    cells = STREAMS.size
    levels, numbers = number_trials(cycles)
    for _ in range(RUNS_OF_MEAN):
        values = draw_cycles(kind, cycles, cells, rng, correlation)
        grouped = group_trials(levels[:, None], values.ravel(), numbers)
        order = bound_cycles(grouped, values.ravel() - grouped.means[grouped.cell_of])
        if check_cycle_order(order) is not None:
            yield None
            continue
        means = values.mean(axis=1)
        plain = {5: 2.776, 7: 2.447, 13: 2.179, 60: 2.001}[cycles] * float(np.std(means, ddof=1))
        widening = order.widening(0.95)
        yield widening, abs(float(means.mean())) <= widening * plain / math.sqrt(cycles)


@pytest.mark.parametrize("cycles", [5, 13, 60])
@pytest.mark.parametrize("kind", SHARED)
def test_the_mean_of_all_cells_holds(kind: str, cycles: int) -> None:
    """Of all that is fitted, what a cycle's trials share matters most to it."""
    found = list(widen_means(kind, cycles, 0.7, np.random.default_rng([cycles, len(kind)])))
    decided = [one for one in found if one is not None]
    assert len(decided) >= 0.6 * RUNS_OF_MEAN
    check_share(sum(held for _, held in decided), len(decided), 0.92, 1.0)


@pytest.mark.parametrize(("cycles", "most"), [(5, 2.6), (13, 2.1), (60, 1.4)])
def test_independent_cycles_pay_little(cycles: int, most: float) -> None:
    """The interval over that of cycles known to be independent; 3.0 where 5 to 9 cycles drift together."""
    found = [one for one in widen_means("own", cycles, 0.0, np.random.default_rng(cycles)) if one is not None]
    assert len(found) >= 0.97 * RUNS_OF_MEAN
    assert float(np.mean([widening for widening, _ in found])) < most


@pytest.mark.parametrize("n", [5, 9, 60])
@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.7])
def test_the_pooled_correlation_has_no_bias(n: int, correlation: float) -> None:
    """Forty series at a time: each alone would tell nothing of a correlation of 0.7 at n = 5."""
    rng = np.random.default_rng([n, round(10 * correlation)])
    runs = choose_runs(150, short=60)
    found = [pool_bound(list(draw_autoregressive(rng, 40, n, correlation))) for _ in range(runs)]
    estimates, bounds = np.array(found, dtype=np.float64).T
    # Estimates below 0 are taken as 0.
    assert float(np.median(estimates)) == pytest.approx(correlation, abs=0.04)
    check_share(int(np.sum(bounds >= correlation - 1e-9)), runs, 0.93, 1.0)


def test_too_little_to_pool() -> None:
    rng = np.random.default_rng(0)
    assert pool_bound([]) is None
    assert pool_bound([rng.normal(size=20)]) is None
    assert pool_bound([rng.normal(size=20), np.ones(20), rng.normal(size=2)]) is None


def test_cells_that_miss_cycles_are_pooled_over_those_measured() -> None:
    rng = np.random.default_rng(1)
    cells, numbers = np.tile(np.arange(80.0), 9), np.repeat(np.arange(9.0), 80)
    values = draw_cycles("own", 9, 80, rng).ravel()
    kept = rng.uniform(size=values.size) > 0.05
    grouped = group_trials(cells[kept, None], values[kept], numbers[kept])
    order = bound_cycles(grouped, values[kept] - grouped.means[grouped.cell_of])
    assert order.n == 9
    assert order.correlation_ratio == pytest.approx(0.7, abs=0.2)
    # One cell in each cycle: its own is not told from what is shared.
    alone = group_trials((numbers % 3)[::80, None], values[::80], numbers[::80])
    assert bound_cycles(alone, alone.values - alone.means[alone.cell_of]).bound_ratio == pytest.approx(0.7)


def test_residuals_that_do_not_vary_have_no_order() -> None:
    streams, numbers = number_trials(5)
    grouped = group_trials(streams[:, None], np.ones(streams.size), numbers)
    order = bound_cycles(grouped, np.zeros(streams.size))
    assert (order.bound_ratio, order.error_ratio) == (0.0, 1.0)
    assert check_cycle_order(order) is None
