"""Whether a rate is lower at the same hours of every day, and which."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.interval import Undecided, as_samples, check_lengths, check_sample_count
from pathlab.analysis.estimators.margins import MARGIN_RATIO
from pathlab.analysis.estimators.ranks import rank_samples

MINIMUM_SAMPLES = 8
MINIMUM_DAYS = 2
#: Shifts of the days against each other that the test draws, what was measured included.
DRAWS = 1000
ALPHA_RATIO = 0.05
DAY_S, HOUR_S, HOURS = 86_400, 3_600, 24
#: Share of the days that must show the lower rate in these hours.
AGREEING_RATIO = 0.8
#: Cliff's delta from which the samples in these hours are lower than the others.
LOWER_RATIO = 0.8
FIRSTS, LENGTHS = (axis.ravel() for axis in np.mgrid[0:HOURS, 1:HOURS])


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowHours:
    """The hours of the day (UTC) with a lower rate, and medians in and out of them in the samples' unit.

    From the begin of ``first_hour`` to that of ``end_hour``, which may be the next day's; None: no hours are
    shown to be slower. ``slow_days`` of the ``days`` that were measured in and out of these hours show it.
    ``p_value`` is that of the test; None where ``undecided``.
    """

    n: int
    first_hour: int | None = None
    end_hour: int | None = None
    slow_median: float | None = None
    other_median: float | None = None
    slow_days: int | None = None
    days: int | None = None
    p_value: float | None = None
    undecided: Undecided | None = None


def find_slow_hours(started_s: ArrayLike, values: ArrayLike, rng: np.random.Generator) -> SlowHours:
    """The hours of the day at which samples are lower than at others, day by day.

    ``started_s`` are seconds since 1970 (UTC), in any order, ``values`` rates of 0 or more. Raises
    ``UsageError`` for unequal lengths.

    Notes
    -----
    Of every range of neighbouring hours the one whose samples' ranks are lowest, by the standardised rank
    sum, is tested by permutations: the samples of each day are shifted by a random number of places, the last
    ones to the day's begin, so that the order within each day stays. The hours are named where p is at most
    5 %, the medians differ by more than 5 %, Cliff's delta is at least 0.8, and 80 % of the days (two at
    least) have the lower median in these hours. Assumption: under the null hypothesis the noise of one day
    belongs to no hour. Minimum sample: 8 on two days.
    Source: rank sum, Wilcoxon, 1945; restricted permutations: Besag and Diggle, Applied Statistics 26, 1977.
    """
    times, samples = as_samples(started_s, "times"), as_samples(values)
    check_lengths(times=times, samples=samples)
    order = np.argsort(times, kind="stable")
    times, samples = times[order], samples[order]
    days = np.floor_divide(times, DAY_S).astype(np.int64)
    hours = (times % DAY_S // HOUR_S).astype(np.int64)
    reason = check_sample_count(samples.size, MINIMUM_SAMPLES)
    if reason is None and (np.unique(days).size < MINIMUM_DAYS or np.unique(hours).size < 2):
        reason = Undecided.TOO_FEW_LEVELS
    if reason is None and np.ptp(samples) == 0:
        reason = Undecided.NO_VARIATION
    if reason is not None:
        return SlowHours(n=samples.size, undecided=reason)
    ranks = rank_samples(samples)
    ranks -= ranks.mean()
    counts = np.bincount(hours, minlength=HOURS)
    rows = _shift_days(days, rng)
    bins = hours + HOURS * np.arange(len(rows))[:, np.newaxis]
    sums = np.bincount(bins.ravel(), ranks[rows].ravel(), HOURS * len(rows)).reshape(-1, HOURS)
    scores = _score_ranges(sums.astype(np.float64), counts)
    best = int(np.argmax(scores[0]))
    first, length = _trim(counts, int(FIRSTS[best]), int(LENGTHS[best]))
    lowest = scores.max(axis=1)
    p_value = float(np.mean(lowest >= lowest[0] - 1e-9))
    inside = (hours - first) % HOURS < length
    slow, other = float(np.median(samples[inside])), float(np.median(samples[~inside]))
    both = [day for day in np.unique(days) if {True, False} == set(inside[days == day].tolist())]
    slower = sum(
        bool(
            np.median(samples[inside & (days == day)])
            < np.median(samples[~inside & (days == day)]) * (1 - MARGIN_RATIO)
        )
        for day in both
    )
    size = int(inside.sum())
    # Ranks are centred: their sum inside is the excess of the pairs in which the sample outside is lower.
    delta = -2 * float(ranks[inside].sum()) / (size * (samples.size - size))
    shown = p_value <= ALPHA_RATIO and slow < other * (1 - MARGIN_RATIO) and delta >= LOWER_RATIO
    if not shown or slower < max(MINIMUM_DAYS, AGREEING_RATIO * len(both)):
        return SlowHours(n=samples.size, p_value=p_value)
    return SlowHours(
        n=samples.size,
        first_hour=first,
        end_hour=(first + length) % HOURS,
        slow_median=slow,
        other_median=other,
        slow_days=slower,
        days=len(both),
        p_value=p_value,
    )


def _score_ranges(sums: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """How far the ranks of each range of hours are below the mean; shape (draws, ranges), as ``FIRSTS``.

    In standard deviations but for a factor that all ranges share. ``sums`` of centred ranks: (draws, hours).
    """
    total = int(counts.sum())
    inside = _sum_ranges(counts[np.newaxis])[0]
    possible = (inside > 1) & (total - inside > 1)
    scale = np.sqrt(np.where(possible, inside * (total - inside), 1))
    scores: NDArray[np.float64] = np.where(possible, -_sum_ranges(sums) / scale, -np.inf)
    return scores


def _sum_ranges(rows: NDArray[Any]) -> NDArray[Any]:
    """The sum over each range of hours, of every row."""
    sums = np.cumsum(np.pad(np.tile(rows, 2), ((0, 0), (1, 0))), axis=1)
    result: NDArray[Any] = sums[:, FIRSTS + LENGTHS] - sums[:, FIRSTS]
    return result


def _trim(counts: NDArray[np.int64], first: int, length: int) -> tuple[int, int]:
    """The range without the hours at its ends in which nothing was measured."""
    while counts[first % HOURS] == 0:
        first, length = first + 1, length - 1
    while counts[(first + length - 1) % HOURS] == 0:
        length -= 1
    return first % HOURS, length


def _shift_days(days: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Places of the samples with each day's shifted, a row for each draw, the first as measured.

    Every combination of shifts where they are few, else random ones.
    """
    groups = [np.flatnonzero(days == day) for day in np.unique(days)]
    sizes = [own.size for own in groups]
    if math.prod(sizes) <= DRAWS:
        shifts = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1)
    else:
        shifts = np.stack([rng.integers(size, size=DRAWS) for size in sizes], axis=1)
        shifts[0] = 0
    places = np.empty((len(shifts), days.size), dtype=np.int64)
    for number, own in enumerate(groups):
        places[:, own] = own[(np.arange(own.size) + shifts[:, number, np.newaxis]) % own.size]
    return places
