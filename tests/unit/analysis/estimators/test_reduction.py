"""Reduction of long series: no extreme is lost, gaps stay gaps, and few values reach the reader."""

import numpy as np

from pathlab.analysis.estimators.reduction import reduce_bands, reduce_extremes


def test_extremes_of_each_part_stay_in_their_order() -> None:
    x = np.arange(12.0)
    y = np.array([3, 1, 9, 4, 5, 5, 5, 5, 8, 2, 7, 6.0])[:, np.newaxis]
    found = reduce_extremes(x, y, 3)
    assert found.bins == 3
    assert found.x.tolist() == [0, 3, 4, 7, 8, 11]
    assert found.y[:, 0].tolist() == [1, 9, 5, 5, 8, 2]


def test_a_single_late_sample_among_a_million_is_kept() -> None:
    rng = np.random.default_rng(1)
    x, y = np.arange(1e6), rng.normal(size=(10**6, 1))
    y[654_321] = 99
    found = reduce_extremes(x, y, 400)
    assert len(found.x) <= 800
    assert found.y.max() == 99
    assert found.y.min() == y.min()


def test_parts_are_equal_in_x_and_not_in_samples() -> None:
    x = np.concatenate((np.linspace(0, 1, 98), [9.0, 10.0]))
    y = np.arange(100.0)[:, np.newaxis]
    found = reduce_extremes(x, y, 10)
    assert found.x.tolist() == [0, x[96], 1, 9, 10]
    assert found.y[:, 0].tolist() == [0, 96, 97, 98, 99]


def test_series_that_were_not_measured_in_a_part_have_a_gap_there() -> None:
    x = np.arange(40.0)
    y = np.column_stack((np.arange(40.0), np.arange(40.0)))
    y[10:20, 1] = np.nan
    found = reduce_extremes(x, y, 4)
    assert np.isnan(found.y[:, 1]).tolist() == [False, False, True, True, False, False, False, False]
    assert found.y[2:4, 0].tolist() == [10, 19]


def test_few_samples_come_back_as_they_are() -> None:
    x, y = np.arange(8.0), np.full((8, 2), np.nan)
    found = reduce_extremes(x, y, 4)
    assert found.bins == 0
    assert found.x is x
    assert found.y is y


def test_bands_pool_the_samples_and_series_of_a_part() -> None:
    x = np.arange(4.0)
    y = np.array([[0, 1, 2], [3, 4, np.nan], [np.nan] * 3, [7, 7, 7]])
    found = reduce_bands(x, y, 2)
    assert found.x.tolist() == [0.5, 2.5]
    assert found.y.tolist() == [[0, 1, 2, 3, 4], [7, 7, 7, 7, 7]]
    assert np.isnan(reduce_bands(x[2:3], y[2:3], 2).y).all()


def test_bands_of_few_samples_are_their_quantiles() -> None:
    rng = np.random.default_rng(2)
    x, y = np.arange(20.0), rng.lognormal(size=(20, 1000))
    found = reduce_bands(x, y, 50)
    assert found.bins == 0
    assert np.allclose(found.y, np.quantile(y, (0, 0.25, 0.5, 0.75, 1), axis=1).T)
