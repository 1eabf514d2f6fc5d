"""Long series reduced to what a screen can show: extremes of each part of the width, or bands of quantiles.

Nothing is averaged: a single late packet among a million stays visible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pathlab.analysis.estimators.cells import Floats
from pathlab.errors import UsageError

#: Quantiles of a band, from the least value to the largest.
BAND_RATIOS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReducedSeries:
    """``y`` has the shape (len(x), series); ``bins``: the parts that x was cut into, 0: all is there."""

    x: Floats
    y: Floats
    bins: int


def reduce_extremes(x: Floats, y: Floats, bins: int) -> ReducedSeries:
    """The least and the largest value of every series in each of ``bins`` equal parts of x, in their order.

    x ascends, in any unit; y has the shape (samples, series), NaN: not measured. A part has at most two
    values of each series, at its first and its last x; one without samples has none, one in which a series
    was not measured has NaN of it. Up to twice as many samples as parts are returned as they are.
    Raises UsageError where x descends, or lengths differ, or for no part. O(samples x series).
    """
    _check(x, y, bins)
    if len(x) <= 2 * bins:
        return ReducedSeries(x=x, y=y, bins=0)
    starts, ends = _cut(x, bins)
    counts = ends - starts
    least, most = np.fmin.reduceat(y, starts, axis=0), np.fmax.reduceat(y, starts, axis=0)
    earlier = _find_first(y, least, starts, counts) <= _find_first(y, most, starts, counts)
    first, second = np.where(earlier, least, most), np.where(earlier, most, least)
    places = np.stack([x[starts], x[ends - 1]], axis=1)
    kept = np.stack([np.ones(len(starts), dtype=bool), counts > 1], axis=1).ravel()
    values = np.stack([first, second], axis=1).reshape(2 * len(starts), -1)
    return ReducedSeries(x=places.ravel()[kept], y=values[kept], bins=bins)


def reduce_bands(x: Floats, y: Floats, bins: int) -> ReducedSeries:
    """Quantiles (BAND_RATIOS) over all series in each of ``bins`` equal parts of x, at the middle of a part.

    The result's ``y`` has the shape (parts, 5): least, quarter, median, three quarters, largest, pooled over
    the samples and series of the part by linear interpolation (Hyndman and Fan, type 7); NaN where nothing
    was measured. Up to as many samples as parts are one part each. Raises as ``reduce_extremes``.
    """
    _check(x, y, bins)
    if len(x) <= bins:
        starts, ends = np.arange(len(x)), np.arange(1, len(x) + 1)
    else:
        starts, ends = _cut(x, bins)
    result = np.full((len(starts), len(BAND_RATIOS)), np.nan)
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        known = y[start:end]
        known = known[np.isfinite(known)]
        if known.size:
            result[index] = np.quantile(known, BAND_RATIOS)
    return ReducedSeries(
        x=(x[starts] + x[ends - 1]) / 2 if len(starts) else x, y=result, bins=bins if len(x) > bins else 0
    )


def _check(x: Floats, y: Floats, bins: int) -> None:
    if bins < 1:
        raise UsageError("a series is reduced to one part at least", hint="pass bins of 1 or more")
    if y.ndim != 2 or len(x) != len(y):
        raise UsageError(f"{len(x)} times with values of the shape {y.shape}", hint="pass a row for each")
    if len(x) > 1 and not (np.diff(x) >= 0).all():
        raise UsageError("times of a series descend", hint="sort them")


def _cut(x: Floats, bins: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where each part of x that has samples starts and ends."""
    edges = np.linspace(x[0], x[-1], bins + 1)[1:-1]
    starts = np.unique(np.concatenate(([0], np.searchsorted(x, edges, side="left"))))
    starts = starts[starts < len(x)]
    return starts, np.append(starts[1:], len(x))


def _find_first(
    y: Floats, values: Floats, starts: NDArray[np.intp], counts: NDArray[np.intp]
) -> NDArray[np.intp]:
    """The first place of each part's value, by series; behind the last one where it has none."""
    indices = np.arange(len(y))[:, np.newaxis]
    result: NDArray[np.intp] = np.minimum.reduceat(
        np.where(y == np.repeat(values, counts, axis=0), indices, len(y)), starts, axis=0
    )
    return result
