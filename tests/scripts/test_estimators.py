"""Distributions, serial correlation, estimates and shifts of the page beside those of pathlab.analysis."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from pathlab.analysis.estimators.quantiles import median_interval, quartiles
from pathlab.analysis.estimators.serial import bound_order, shows_no_level
from pathlab.analysis.estimators.serial_levels import find_quantile_ranks, measure_distribution_band
from pathlab.analysis.verdicts.two_samples import compare_groups, compare_levels
from pathlab.study.exploration.estimates import estimate, name_range, name_statistic, parse_percentile
from pathlab.study.exploration.view import RANGES
from tests.scripts.host import ScriptHost

FREEDOMS = (0.3, 1, 1.7, 2, 5, 9.4, 30, 199.5, 5000, 1e6)
RATIOS = (0.55, 0.75, 0.9, 0.95, 0.975, 0.995, 0.9999)
SIZES = (1, 2, 5, 6, 7, 10, 39, 40, 41, 64, 129, 300, 1000)
STATISTICS = ("median", "mean", "min", "max", "iqr", "p5", "p50", "p99", "p99.9")
SPREAD = "const list = (values) => Float64Array.from(values);"


def make_series(size: int, seed: int, correlation: float = 0.0) -> NDArray[np.float64]:
    """Samples of an autoregressive series of first order."""
    noise = np.random.default_rng([size, seed]).normal(size=size)
    for at in range(1, size):
        noise[at] += correlation * noise[at - 1]
    return 10 + noise


def are_close(found: Any, expected: dict[str, Any], relative: float = 1e-9) -> bool:
    """Whether two records have the same numbers; a value of None is one on both sides."""
    assert found.keys() == expected.keys()
    pairs = [(found[name], expected[name]) for name in expected]
    return all(
        one == other
        if one is None or other is None or isinstance(other, str)
        else math.isclose(one, other, rel_tol=relative, abs_tol=1e-11)
        for one, other in pairs
    )


def test_students_t_is_that_of_scipy(scripts: ScriptHost) -> None:
    asked = list(itertools.product(FREEDOMS, RATIOS))
    found = scripts.evaluate(
        "(all) => all.map((one) => pathlabExplorer.distributionFunctions.studentQuantile(...one))", asked
    )
    np.testing.assert_allclose(found, [special.stdtrit(*one) for one in asked], rtol=1e-7)
    tails = [(value, freedom) for value, (freedom, _) in zip(found, asked, strict=True)]
    back = scripts.evaluate(
        "(all) => all.map((one) => pathlabExplorer.distributionFunctions.studentTail(...one))", tails
    )
    np.testing.assert_allclose(back, [1 - ratio for _, ratio in asked], rtol=1e-9)


def test_ranks_of_intervals_are_those_of_the_analysis(scripts: ScriptHost) -> None:
    asked = list(itertools.product((*range(1, 80), 500, 4999), (0.05, 0.25, 0.5, 0.9, 0.999), (0.9, 0.95)))
    found = scripts.evaluate(
        "(all) => all.map((one) => pathlabExplorer.distributionFunctions.quantileRanks(...one))", asked
    )
    for one, ranks in zip(asked, found, strict=True):
        low, high, coverage = find_quantile_ranks(*one)
        assert (ranks is None) == (low == 0), one
        if ranks:
            assert (ranks["low"], ranks["high"]) == (low, high), one
            assert math.isclose(ranks["coverage"], coverage, rel_tol=1e-9)


def test_the_medians_interval_begins_at_the_same_rank(scripts: ScriptHost) -> None:
    sizes = (*range(1, 60), 1000)
    found = scripts.evaluate(
        "(all) => all.map((n) => pathlabExplorer.distributionFunctions.medianRank(n, 0.95))", sizes
    )
    for size, one in zip(sizes, found, strict=True):
        interval = median_interval(np.arange(1.0, size + 1))
        assert (one["rank"] if one else None) == interval.low, size


def describe_order(samples: NDArray[np.float64]) -> dict[str, float] | None:
    if shows_no_level(samples):
        return None
    order = bound_order(samples)
    return {
        "n": order.n,
        "boundRatio": order.bound_ratio,
        "inflationRatio": order.inflation_ratio,
        "spreadRatio": order.spread_ratio,
        "freedom": order.freedom,
        "errorRatio": order.error_ratio,
    }


@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.4, 0.9, 1.0])
def test_serial_correlation_is_bounded_alike(scripts: ScriptHost, correlation: float) -> None:
    series = [make_series(size, 1, correlation) for size in SIZES]
    series += [np.round(one) for one in series] + [np.arange(size * 1.0) for size in SIZES]
    series += [np.full(size, 3.0) for size in SIZES]
    found = scripts.evaluate(
        f"""(all) => {{ {SPREAD} return all.map((values) =>
          pathlabExplorer.serialOrder.boundOrder(list(values), list(values).sort())); }}""",
        [one.tolist() for one in series],
    )
    for samples, one in zip(series, found, strict=True):
        expected = describe_order(samples)
        assert (one is None) == (expected is None), samples
        if expected:
            assert one == pytest.approx(expected, rel=1e-9), samples.size


def test_a_sum_keeps_what_rounding_takes(scripts: ScriptHost) -> None:
    values = [1e16, 1.0, -1e16, 3.0, 1e-3] * 50
    found = scripts.evaluate("(values) => pathlabExplorer.serialOrder.sum(values)", values)
    assert math.isclose(found, math.fsum(values), rel_tol=1e-15)


@pytest.mark.parametrize("after", [False, True])
def test_a_value_is_searched_as_numpy_does(scripts: ScriptHost, after: bool) -> None:
    values = sorted([1.0, 2.0, 2.0, 2.0, 5.5, 7.0])
    wanted = [0.0, 1.0, 2.0, 3.0, 7.0, 8.0]
    found = scripts.evaluate(
        """([sorted, all, after]) =>
          all.map((value) => pathlabExplorer.serialOrder.searchSorted(sorted, value, after))""",
        [values, wanted, after],
    )
    assert found == np.searchsorted(values, wanted, side="right" if after else "left").tolist()


@pytest.mark.parametrize("statistic", STATISTICS)
def test_an_estimate_and_its_range_are_those_of_the_study(scripts: ScriptHost, statistic: str) -> None:
    series = [make_series(size, 2, 0.3) for size in SIZES] + [np.zeros(8), make_series(30, 3) - 10]
    asked = [(one.tolist(), shown) for one in series for shown in RANGES]
    found = scripts.evaluate(
        f"""([all, statistic]) => {{ {SPREAD} return all.map(([values, shown]) =>
          pathlabExplorer.estimates.estimate(list(values), statistic, shown)); }}""",
        [asked, statistic],
    )
    for (samples, shown), one in zip(asked, found, strict=True):
        expected = estimate(np.array(samples), statistic, shown)
        named = {"y": expected.y, "low": expected.low, "high": expected.high, "state": expected.state.value}
        assert are_close(one, named), (len(samples), shown)


def test_quartiles_and_medians_are_those_of_the_analysis(scripts: ScriptHost) -> None:
    for size in SIZES:
        samples = np.sort(make_series(size, 4))
        found = scripts.evaluate(
            """(values) => { const { quantile, median } = pathlabExplorer.estimates;
              return [...[0.25, 0.5, 0.75].map((ratio) => quantile(values, ratio)), median(values)]; }""",
            samples.tolist(),
        )
        expected = quartiles(samples)
        assert found == pytest.approx([expected.q1, expected.median, expected.q3, expected.median])


def test_the_band_about_a_distribution_is_that_of_the_analysis(scripts: ScriptHost) -> None:
    for size, correlation in itertools.product(SIZES, (0.0, 0.6, 1.0)):
        samples = make_series(size, 5, correlation)
        found = scripts.evaluate(
            f"""(values) => {{ {SPREAD}
              return pathlabExplorer.estimates.bandWidth(list(values), list(values).sort()); }}""",
            samples.tolist(),
        )
        expected = measure_distribution_band(samples).half_width_ratio
        assert (found is None) == (expected is None), (size, correlation)
        assert found is None or math.isclose(found, expected or 0, rel_tol=1e-9)


def test_statistics_and_ranges_are_named_alike(scripts: ScriptHost) -> None:
    statistics = [*STATISTICS, "cdf", "ccdf", "histogram", "course", "p1", "p2", "p3", "p11", "p21", "p42"]
    found = scripts.evaluate(
        """([all, ranges]) => {
          const { nameStatistic, nameRange, parsePercentile } = pathlabExplorer.estimates;
          return all.map((one) => [nameStatistic(one), parsePercentile(one),
            ranges.map((shown) => nameRange(one, shown))]); }""",
        [statistics, RANGES],
    )
    assert found == [
        [name_statistic(one), parse_percentile(one), [name_range(one, shown) for shown in RANGES]]
        for one in statistics
    ]


def compare(scripts: ScriptHost, first: Any, second: Any, *, ratio: bool) -> dict[str, float | None]:
    found: dict[str, float | None] = scripts.evaluate(
        f"""([first, second, ratio]) => {{ {SPREAD}
          const {{ estimateShift }} = pathlabExplorer.shifts;
          return estimateShift(list(first), list(second), {{ paired: false, ratio }}); }}""",
        [first.tolist(), second.tolist(), ratio],
    )
    return found


@pytest.mark.parametrize(("before", "after"), [(1, 9), (6, 6), (7, 40), (60, 51), (200, 150)])
def test_two_groups_differ_by_as_much(scripts: ScriptHost, before: int, after: int) -> None:
    pairs = [
        (make_series(before, 6), make_series(after, 7) + 0.5),
        (make_series(before, 8, 0.6), make_series(after, 9, 0.6)),
        (np.full(before, 3.0), make_series(after, 10)),
        (np.full(before, 3.0), np.full(after, 4.0)),
        (np.arange(before) * 1.0, make_series(after, 11)),
    ]
    for first, second in pairs:
        expected = compare_levels(first, second, margins=(-1.0, 1.0))
        found = compare(scripts, first, second, ratio=False)
        ends = expected.interval
        assert are_close(found, {"y": expected.shift, "low": ends.low, "high": ends.high})
        factors = compare_groups(first + 20, second + 20)
        found = compare(scripts, first + 20, second + 20, ratio=True)
        ends = factors.interval_ratio
        assert are_close(found, {"y": factors.ratio, "low": ends.low, "high": ends.high})


def test_what_is_not_above_0_has_no_ratio(scripts: ScriptHost) -> None:
    found = compare(scripts, np.arange(8.0), np.arange(8.0) + 1, ratio=True)
    assert found == {"y": None, "low": None, "high": None}
