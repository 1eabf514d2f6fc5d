"""Whether samples lie about one level or about several, and which: Hartigan's dip test."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.interval import Undecided, as_samples, check_sample_count
from pathlab.analysis.estimators.margins import MARGIN_RATIO
from pathlab.analysis.estimators.repetition import estimate_once
from pathlab.errors import UsageError

#: Fewer samples show no two levels: chance alone makes such groups.
MINIMUM_SAMPLES = 8
#: Samples that make a level; fewer of them are outliers.
MINIMUM_LEVEL = 3
#: sqrt(n) x dip that 5 % of uniform samples of this size exceed, by 50,000 draws of each size or more. The
#: uniform distribution is the one mode with the largest dips.
CRITICAL_SIZES = (8, 10, 12, 15, 20, 30, 50, 100, 200, 500, 1000)
CRITICAL_DIPS = (0.4361, 0.4418, 0.4496, 0.4601, 0.4695, 0.4839, 0.4966, 0.5101, 0.5211, 0.5322, 0.5340)
#: Levels lie apart by at least this many standard deviations of the samples of one level, ...
SEPARATION = 4.0
#: ... and the middle third between them has no more than this share of their samples.
VALLEY_RATIO = 0.1
_NORMAL_MAD = 1.4826  # from a median absolute deviation to a normal's standard deviation


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """One level: median and extremes of its ``n`` samples, in their unit."""

    median: float
    least: float
    most: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Modes:
    """The levels of ``n`` samples, that of the most samples first; empty where one level explains them.

    ``numbers``: the place in ``modes`` of the level of each sample, in the order given. ``spells``: how many
    times in that order the samples came to a level, the first one included.
    """

    n: int
    dip: float | None = None
    critical_dip: float | None = None
    modes: tuple[Mode, ...] = ()
    numbers: tuple[int, ...] = ()
    spells: int = 1
    undecided: Undecided | None = None


@estimate_once
def find_modes(values: ArrayLike) -> Modes:
    """The levels of samples above 0 in the order of measurement, such as the rates of a path with two links.

    Raises ``UsageError`` for a sample that is not above 0.

    Notes
    -----
    Several levels, where Hartigan's dip test rejects one mode on the scale of ratios (5 %), and the levels
    are of practical size: apart by more than 5 % and by 4 standard deviations of the samples of one level,
    with less than a tenth of the samples in the middle third between them. The split is the one with the
    least sum of absolute deviations from the medians of both sides; each side is split again by the same
    test. Fewer than 3 samples are no level. Assumption: none on the distribution of one mode. By simulation
    (``tests/statistics/test_modes.py``) normal, skewed and heavy-tailed noise, and serial correlation of up
    to 0.95, give several levels in less than 5 %. Minimum sample: 8.
    Source: Hartigan and Hartigan, The Dip Test of Unimodality, Annals of Statistics 13, 1985; recursive
    splits: Kalogeratos and Likas, Dip-means, NIPS 2012.
    """
    samples = as_samples(values)
    reason = check_sample_count(samples.size, MINIMUM_SAMPLES)
    if samples.size and samples.min() <= 0:
        raise UsageError("levels are told apart by ratios", hint="pass samples above 0")
    if reason is None and np.ptp(samples) == 0:
        reason = Undecided.NO_VARIATION
    if reason is not None:
        return Modes(n=samples.size, undecided=reason)
    order = np.argsort(samples, kind="stable")
    logs = np.log(samples[order])
    levels = [samples[order[begin:end]] for begin, end in _find_levels(logs)]
    result = Modes(n=samples.size, dip=measure_dip(logs), critical_dip=find_critical_dip(samples.size))
    if len(levels) == 1:
        return result
    levels.sort(key=lambda values: (-values.size, -float(values.max())))
    modes = tuple(_describe(values) for values in levels)
    numbers = np.select(
        [(samples >= mode.least) & (samples <= mode.most) for mode in modes], range(len(modes))
    )
    spells = 1 + int(np.count_nonzero(np.diff(numbers)))
    return replace(result, modes=modes, numbers=tuple(numbers.tolist()), spells=spells)


def find_critical_dip(n: int) -> float:
    """The dip that 5 % of ``n`` samples of one mode exceed at most; the least size of the table below it."""
    return float(np.interp(n, CRITICAL_SIZES, CRITICAL_DIPS)) / math.sqrt(n)


def measure_dip(values: ArrayLike) -> float:
    """The largest distance between the samples' distribution and the nearest unimodal one, 0 to 0.25.

    Notes
    -----
    No less than 1 / (2 n). Source: Hartigan, Algorithm AS 217, Applied Statistics 34, 1985.
    """
    samples = as_samples(values)
    n = samples.size
    if n == 0:
        return 0.0
    x, counts = np.unique(samples, return_counts=True)
    above = np.cumsum(counts)
    below = above - counts
    low, high, dip = 0, x.size - 1, 1.0
    while True:
        # Greatest convex minorant and least concave majorant of the distribution in the modal interval.
        inside = slice(low, high + 1)
        minorant = low + _find_hull(x[inside], below[inside])
        majorant = low + _find_hull(x[inside], -above[inside])
        under = np.interp(x[majorant], x[minorant], below[minorant])
        over = np.interp(x[minorant], x[majorant], above[majorant])
        rises, falls = over - below[minorant], above[majorant] - under
        if max(rises.max(), falls.max()) <= dip:
            break
        if rises.max() > falls.max():
            begin = int(minorant[rises.argmax()])
            end = int(majorant[np.searchsorted(majorant, begin)])
        else:
            end = int(majorant[falls.argmax()])
            begin = int(minorant[np.searchsorted(minorant, end, side="right") - 1])
        left, right = np.arange(low, begin), np.arange(end + 1, high + 1)
        sags = above[left] - np.interp(x[left], x[minorant], below[minorant])
        lifts = np.interp(x[right], x[majorant], above[majorant]) - below[right]
        dip = max(dip, float(sags.max(initial=0.0)), float(lifts.max(initial=0.0)))
        if (low, high) == (begin, end):
            break
        low, high = begin, end
    return dip / (2 * n)


def _find_hull(x: NDArray[np.float64], y: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places of the corners of the lower convex hull of points whose x ascends."""
    corners: list[int] = []
    across, up = x.tolist(), y.tolist()  # several times as fast as arrays in a loop
    for index, (right, top) in enumerate(zip(across, up, strict=True)):
        while len(corners) > 1:
            first, second = corners[-2:]
            rise, run = up[second] - up[first], across[second] - across[first]
            if rise * (right - across[first]) < (top - up[first]) * run:
                break
            corners.pop()
        corners.append(index)
    return np.array(corners, dtype=np.int64)


def _find_levels(logs: NDArray[np.float64]) -> list[tuple[int, int]]:
    """The levels of ascending samples as ranges of places, ascending; one where it is one."""
    levels: list[tuple[int, int]] = []
    for begin, end in _split(logs, 0):
        if levels and not _are_apart(logs[slice(*levels[-1])], logs[begin:end]):
            levels[-1] = levels[-1][0], end
        else:
            levels.append((begin, end))
    return levels


def _split(logs: NDArray[np.float64], begin: int) -> list[tuple[int, int]]:
    """Ranges of ascending samples, counted from ``begin``, that the dip test leaves whole."""
    if logs.size < MINIMUM_SAMPLES or measure_dip(logs) <= find_critical_dip(logs.size):
        return [(begin, begin + logs.size)]
    cut = _find_cut(logs)
    return [*_split(logs[:cut], begin), *_split(logs[cut:], begin + cut)]


def _find_cut(logs: NDArray[np.float64]) -> int:
    """How many of the ascending samples are below the split with the least sum of absolute deviations."""
    sums = np.concatenate(([0.0], np.cumsum(logs - logs.mean())))
    cuts = np.arange(MINIMUM_LEVEL, logs.size - MINIMUM_LEVEL + 1)

    def deviate(begin: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.float64]:
        # Of sorted samples: the sum of the upper half less that of the lower half.
        sizes = (end - begin) // 2
        deviations: NDArray[np.float64] = sums[end] - sums[end - sizes] - (sums[begin + sizes] - sums[begin])
        return deviations

    costs = deviate(np.zeros_like(cuts), cuts) + deviate(cuts, np.full_like(cuts, logs.size))
    return int(cuts[np.argmin(costs)])


def _are_apart(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> bool:
    """Whether two levels differ by a practical amount, with hardly a sample between them."""
    low, high = float(np.median(lower)), float(np.median(upper))
    within = np.concatenate((np.abs(lower - low), np.abs(upper - high)))
    spread = _NORMAL_MAD * float(np.median(within))
    third = (high - low) / 3
    between = sum(
        int(np.count_nonzero((side > low + third) & (side < high - third))) for side in (lower, upper)
    )
    return (
        high - low > math.log1p(MARGIN_RATIO)
        and high - low >= SEPARATION * spread
        and between <= VALLEY_RATIO * within.size
    )


def _describe(values: NDArray[np.float64]) -> Mode:
    return Mode(
        median=float(np.median(values)),
        least=float(values.min()),
        most=float(values.max()),
        n=int(values.size),
    )
