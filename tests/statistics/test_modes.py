"""Levels of a rate, and hours of the day at which it is low: false alarms are rare, levels are found."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.modes import CRITICAL_SIZES, find_critical_dip, find_modes, measure_dip
from pathlab.analysis.verdicts.slow_hours import HOUR_S, find_slow_hours
from tests.length import choose_runs
from tests.statistics.noise import check_share, draw_autoregressive

Draw = Callable[[np.random.Generator, int, int], NDArray[np.float64]]
MONDAY_S = 1_763_942_400  # 00:00 UTC
#: R's diptest: dip(statfaculty)  ->  0.05952381
FACULTY = (
    *(30, 33, 35, 36, 37, 37, 39, 39, 39, 39, 39, 40, 40, 40, 40, 41, 42, 43, 43, 43, 44, 44, 45, 45, 46, 47),
    *(47, 47, 48, 48, 49, 50, 50, 51, 52, 52, 53, 53, 53, 53, 53, 54, 54, 57, 57, 59, 60, 60, 60, 61, 61, 61),
    *(61, 62, 62, 62, 62, 63, 66, 70, 72, 72, 72),
)
#: Noise about one level, of about one standard deviation.
NOISES: dict[str, Draw] = {
    "normal": lambda rng, runs, n: rng.normal(size=(runs, n)),
    "heavy tails": lambda rng, runs, n: rng.standard_t(2, size=(runs, n)),
    "skewed down": lambda rng, runs, n: -rng.exponential(size=(runs, n)),
    "skewed up": lambda rng, runs, n: rng.exponential(size=(runs, n)),
    "uniform": lambda rng, runs, n: rng.uniform(-1.7, 1.7, size=(runs, n)),
    "correlation 0.7": lambda rng, runs, n: draw_autoregressive(rng, runs, n, 0.7),
    "correlation 0.95": lambda rng, runs, n: draw_autoregressive(rng, runs, n, 0.95),
}


def test_dip_is_that_of_r_and_of_known_distributions() -> None:
    assert measure_dip(FACULTY) == pytest.approx(0.05952381)
    assert measure_dip([1.0] * 10 + [2.0] * 10) == 0.25  # two equal points are the farthest from one mode
    assert measure_dip(range(50)) == 1 / 100  # a uniform sample is as near as one can be


def test_critical_dips_are_exceeded_by_5_percent_of_uniform_samples() -> None:
    rng, runs = np.random.default_rng(1), choose_runs(600, short=200)
    for n in (8, 25):
        exceeding = sum(measure_dip(rng.random(n)) > find_critical_dip(n) for _ in range(runs))
        check_share(exceeding, runs, 0.04, 0.06)
    assert find_critical_dip(CRITICAL_SIZES[-1] * 100) < find_critical_dip(CRITICAL_SIZES[-1])


@pytest.mark.parametrize("noise", NOISES)
def test_one_level_is_rarely_two(noise: str) -> None:
    rng, runs = np.random.default_rng(2), choose_runs(100, short=40)
    for n in (8, 21):
        rows = 1e9 * np.exp(0.05 * NOISES[noise](rng, runs, n))
        check_share(sum(bool(find_modes(row).modes) for row in rows), runs, 0.0, 0.05)


def test_levels_are_found_with_their_shares() -> None:
    rng = np.random.default_rng(3)
    low = rng.permutation(21) < 7
    rates = np.where(low, 470e6, 940e6) * np.exp(rng.normal(0, 0.003, 21))
    found = find_modes(rates)
    assert [(one.n, round(one.median, -7)) for one in found.modes] == [(14, 940e6), (7, 470e6)]
    assert found.numbers == tuple(low.astype(int))
    assert found.spells == 1 + np.count_nonzero(np.diff(low))
    three = find_modes(np.repeat([940e6, 470e6, 240e6], 8) * np.exp(rng.normal(0, 0.005, 24)))
    assert [round(one.median, -7) for one in three.modes] == [940e6, 470e6, 240e6]


@pytest.mark.parametrize(
    ("low", "reason"), [(3, None), (2, None), (1, None)], ids=["three of 21", "two of 21", "one of 21"]
)
def test_a_few_low_values_are_outliers(low: int, reason: Undecided | None) -> None:
    found = find_modes([940e6 + 1e5 * number for number in range(21 - low)] + [470e6] * low)
    assert (found.modes, found.undecided) == ((), reason)


def test_too_few_or_equal_values_are_undecided() -> None:
    assert find_modes([940e6, 470e6] * 3 + [940e6]).undecided is Undecided.TOO_FEW_SAMPLES
    assert find_modes([940e6] * 9).undecided is Undecided.NO_VARIATION


@pytest.mark.parametrize("days", [2, 5])
def test_slow_hours_are_found_over_midnight_too(days: int) -> None:
    rng, hours = np.random.default_rng(4), np.arange(24 * days)
    for first in (11, 22):
        slow = (hours - first) % 24 < 4
        rates = np.where(slow, 300e6, 900e6) * np.exp(rng.normal(0, 0.02, hours.size))
        order = rng.permutation(hours.size)
        found = find_slow_hours((MONDAY_S + HOUR_S * hours)[order], rates[order], rng)
        assert (found.first_hour, found.end_hour) == (first, (first + 4) % 24)
        assert found.slow_days == found.days


def test_low_rates_at_other_hours_every_day_name_no_hour() -> None:
    rng, hours = np.random.default_rng(5), np.arange(24 * 5)
    rates = np.where((hours - 7 * (hours // 24)) % 24 < 4, 300e6, 900e6) * np.exp(rng.normal(0, 0.02, 120))
    assert find_slow_hours(MONDAY_S + HOUR_S * hours, rates, rng).first_hour is None
    one_day = find_slow_hours(MONDAY_S + HOUR_S * hours[:24], rates[:24], rng)
    assert one_day.undecided is Undecided.TOO_FEW_LEVELS


@pytest.mark.parametrize("noise", ["normal", "heavy tails", "correlation 0.7"])
def test_noise_rarely_has_slow_hours(noise: str) -> None:
    rng, runs = np.random.default_rng(6), choose_runs(30, short=12)
    for days in (2, 3):
        times = MONDAY_S + HOUR_S * np.arange(24 * days)
        rows = 1e9 * np.exp(0.1 * NOISES[noise](rng, runs, times.size))
        check_share(
            sum(find_slow_hours(times, row, rng).first_hour is not None for row in rows), runs, 0, 0.05
        )
