"""Whether the path stayed the same while a campaign ran, by its control rows."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.corrections import ALPHA_RATIO
from pathlab.analysis.estimators.interval import Undecided, as_samples, check_sample_count
from pathlab.analysis.estimators.margins import MARGIN_RATIO, log_margins
from pathlab.analysis.estimators.trend import ChangeBound, bound_change
from pathlab.analysis.libraries import special
from pathlab.errors import UsageError

MINIMUM_CONTROLS = 10
#: Rows on either side of a step, at least.
STEP_ROWS = 2
#: More rows than this are averaged over neighbours; the cost of a test grows as their square.
MOST_ROWS = 128
#: Correlations of neighbours that are tried.
CORRELATIONS = np.linspace(-0.3, 0.95, 26)
#: Partial correlations at lag 2 that no change is tried with as well.
SECOND_CORRELATIONS = (0.2, 0.4, 0.6)
#: Likelihoods of a change are weighed by (1 - r) to this power, r the correlation of the noise about it.
MEMORY_POWER = 20
#: How far from the median values count, in standard deviations by the median absolute deviation.
CLIPPED = 2.5
#: How likely a ramp is beforehand, of a step.
RAMP_WEIGHT = 1 / 3
#: Median absolute deviation of normal noise over its standard deviation.
NORMAL_DEVIATION = 0.6745
#: Series without a change that one is compared with, those drawn for each correlation, and how many places
#: alongside its own these are.
SIMULATED, DRAWN = 999, 600
NEIGHBOURS = 3


class DriftVerdict(StrEnum):
    """What the control rows say. The values are stable and machine-readable."""

    STEADY = "steady"
    DRIFTING = "drifting"
    STEPPED = "stepped"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The most likely change of level: the first row after it, and the ratio of medians after / before."""

    place: int
    change_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Change of the control rows over the campaign, gradual and sudden, with a verdict.

    ``trend_p_value`` and ``step_p_value`` are corrected for each other and for all places of a step;
    ``change`` says by which share the controls moved from the first to the last, with its interval and bound.
    """

    n: int
    change: ChangeBound
    step: Step | None = None
    trend_p_value: float | None = None
    step_p_value: float | None = None
    verdict: DriftVerdict
    undecided: Undecided | None = None


def find_drift(times_s: ArrayLike, controls: ArrayLike) -> Drift:
    """Test repeated trials of one control cell for drift over their start times (seconds, ascending).

    Raises ``UsageError`` where times do not ascend or do not match the values.

    Notes
    -----
    "Steady" where the change over the campaign is within the margin by two one-sided tests and no step beyond
    the margin is found; "stepped" or "drifting" where ``find_level_changes`` finds a step or a ramp, and the
    smaller p-value names it; else undecided. Minimum sample: 10 rows; values that are not above 0 or never
    vary are undecided. A swing that comes back (day and night) is neither trend nor step: draw the rows.
    In simulation (``tests/statistics/test_drift.py``) of 10 to 60 rows steady controls are called drifting or
    stepped in 5 % of campaigns at a first-order correlation of up to 0.7, in 12 to 20 % where
    correlations at lag 2 add to it (partial correlations of 0.3 to 0.5). A step of 10 % with 5 % of
    independent noise is named in 88 % of campaigns of 31 rows half way, in 79 % at a quarter, and in 50 %
    at an eighth from either end.
    Source: METHOD section 4; ``trend.find_trend``.
    """
    times, values = as_samples(times_s, "times"), as_samples(controls, "controls")
    if times.size != values.size or (np.diff(times) <= 0).any():
        raise UsageError(
            f"controls: {values.size} values at {times.size} times that do not ascend one by one",
            hint="pass the control rows in the order of their start",
        )
    change = bound_change(values, times)
    reason = change.trend.undecided or check_sample_count(values.size, MINIMUM_CONTROLS)
    if reason is not None:
        return Drift(n=change.n, change=change, verdict=DriftVerdict.UNDECIDED, undecided=reason)
    changes = find_level_changes(np.log(values))
    step, trending, stepping = changes.step, changes.trend_p < ALPHA_RATIO, changes.step_p < ALPHA_RATIO
    small_step = not stepping or abs(math.log1p(step.change_ratio)) < log_margins(MARGIN_RATIO)[1]
    if (trending or stepping) and not (change.equivalent and small_step):
        sudden = stepping and changes.step_likelier
        verdict = DriftVerdict.STEPPED if sudden else DriftVerdict.DRIFTING
    else:
        verdict = DriftVerdict.STEADY if change.equivalent else DriftVerdict.UNDECIDED
    return Drift(
        n=values.size,
        change=change,
        step=step,
        trend_p_value=changes.trend_p,
        step_p_value=changes.step_p,
        verdict=verdict,
        undecided=Undecided.INCONCLUSIVE if verdict is DriftVerdict.UNDECIDED else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The most likely step of a series, p-values of a step and of a ramp, and which of them fits better."""

    step: Step
    step_p: float
    trend_p: float
    step_likelier: bool


def find_level_changes(logarithms: NDArray[np.float64]) -> Changes:
    """A step or a ramp in a series of 10 or more logarithms in order, in noise that may be correlated.

    Notes
    -----
    The gain of a step at each place, and of a ramp over the rows, is the logarithm of its likelihood less
    that of a constant level. The change has first-order noise; its likelihood is averaged over
    correlations, weighed towards 0, which costs little elsewhere. The level has the first-order noise
    that suits it best or, less ln(n) / 2 for the further parameter, second-order noise whose memory adds
    up. The statistic of a step is the logarithm of its mean likelihood over the places; that of a ramp is
    the logarithm of ``RAMP_WEIGHT`` times its likelihood. Values are divided by their median absolute
    deviation and clipped at ``CLIPPED``, so that an outlier is no more than a high value.

    The p-value of each compares it with the larger of both in 999 series of first-order noise without a
    change: those of 4,200 of similar correlation whose best one is nearest to that of the rows: given
    that correlation, about all that the rows say of the noise, the distribution does not depend on the
    true one. So both are corrected for each other and for all places, and for the error of the
    correlation. Noise of another kind may be taken for a step. More than 128 rows are averaged over
    neighbours.
    Source: likelihood ratio for a step in correlated noise, Robbins, Gallagher, Lund and Aue, Journal of Time
    Series Analysis 32, 2011; mean over the places, Andrews and Ploberger, Econometrica 62, 1994; similar
    tests given a statistic that is sufficient for what is not known, Lehmann and Romano, Testing
    Statistical Hypotheses, 2005, section 4.3; penalty, Schwarz, Annals of Statistics 6, 1978; correction
    by the largest statistic, Westfall and Young, Resampling-Based Multiple Testing, 1993.
    """
    n = logarithms.size
    together = math.ceil(n / MOST_ROWS)
    starts = np.arange(0, n - together + 1, together)
    rows = np.add.reduceat(logarithms, starts) / np.diff(starts, append=n)
    gains, correlations = _gain_likelihood(_clip_outliers(rows[None]))
    stepping, ramping = (float(item[0]) for item in _combine(gains))
    index = int(starts[STEP_ROWS + int(np.argmax(gains[0, :-1]))])
    steady = _select_steady(rows.size, int(correlations[0]))

    def compare(gain: float) -> float:
        return (1 + float(np.count_nonzero(steady >= gain))) / (1 + steady.size)

    before, after = float(np.median(logarithms[:index])), float(np.median(logarithms[index:]))
    return Changes(
        step=Step(place=index, change_ratio=math.expm1(after - before)),
        step_p=compare(stepping),
        trend_p=compare(ramping),
        step_likelier=float(gains[0, :-1].max()) >= float(gains[0, -1]),
    )


def _clip_outliers(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each row less its median, over its median absolute deviation as that of normal noise, and clipped.

    Rows that are mostly one value are divided by their standard deviation, and not clipped.
    """
    values = rows - np.median(rows, axis=1, keepdims=True)
    spread = np.median(np.abs(values), axis=1, keepdims=True) / NORMAL_DEVIATION
    flat = spread[:, 0] <= 0
    spread[flat] = values[flat].std(axis=1, keepdims=True)
    scaled = values / spread
    return np.where(flat[:, None], scaled, np.clip(scaled, -CLIPPED, CLIPPED))


def _whiten(rows: NDArray[np.float64], correlation: float) -> NDArray[np.float64]:
    """Series (series, n) of first-order noise as independent values."""
    white = rows.copy()
    white[:, 0] *= math.sqrt(1 - correlation**2)
    white[:, 1:] -= correlation * rows[:, :-1]
    return white


@functools.lru_cache(maxsize=128)
def _measure_changes(n: int, correlation: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A whitened level of length 1, and the lengths of all changes without it: a step each, then the ramp."""
    level = _whiten(np.ones((1, n)), correlation)[0]
    level /= np.linalg.norm(level)
    steps = np.arange(n) >= np.arange(STEP_ROWS, n - STEP_ROWS + 1)[:, None]
    changes = _whiten(np.concatenate([steps, np.arange(n)[None] / n]).astype(np.float64), correlation)
    return level, np.linalg.norm(changes - np.outer(changes @ level, level), axis=1)


def _project(
    rows: NDArray[np.float64], correlation: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The squares of each whitened series without its level, and of its parts along each change.

    Shapes (series) and (series, changes): a step at each place, then the ramp. The part along a step is a sum
    over the rows from its place on, so that the cost grows as n.
    """
    n = rows.shape[1]
    level, lengths = _measure_changes(n, correlation)
    white = _whiten(rows, correlation)
    white -= np.outer(white @ level, level)
    turned = white - correlation * np.pad(white[:, 1:], ((0, 0), (0, 1)))  # but for row 0, in no change
    parts = np.empty((rows.shape[0], lengths.size))
    parts[:, :-1] = np.cumsum(turned[:, :0:-1], axis=1)[:, ::-1][:, STEP_ROWS - 1 : n - STEP_ROWS]
    parts[:, -1] = turned[:, 1:] @ np.arange(1, n) / n
    return np.square(white).sum(axis=1), np.square(parts / lengths)


def _gain_likelihood(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The gain of each change over none (series, changes), and the place of each series' best correlation."""
    n = rows.shape[1]
    projected = [_project(rows, float(correlation)) for correlation in CORRELATIONS]
    squares, changes = (np.stack(item) for item in zip(*projected, strict=True))
    rest = squares[:, :, None] - changes
    own = np.log1p(-np.square(CORRELATIONS))[:, None] / 2
    level = own - n / 2 * np.log(squares)
    # A series that is one step leaves nothing.
    rest = np.maximum(rest, 1e-9 * squares[:, :, None])
    weights = np.where(CORRELATIONS > -1e-9, 1 - CORRELATIONS, 0.0) ** MEMORY_POWER
    weights /= weights.sum()
    changed = special.logsumexp(own[:, :, None] - n / 2 * np.log(rest), b=weights[:, None, None], axis=0)
    longer = np.maximum(level.max(axis=0), _measure_second_order(rows) - math.log(n) / 2)
    return changed - longer[:, None], level.argmax(axis=0)


def _measure_second_order(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest logarithm of the likelihood of a level in second-order noise whose memory adds up."""
    best = np.full(rows.shape[0], -np.inf)
    for first in CORRELATIONS[CORRELATIONS > -1e-9]:
        for second in SECOND_CORRELATIONS:
            ahead = math.sqrt(1 - second**2)
            whole = np.concatenate([rows, np.ones((1, rows.shape[1]))])
            white = whole.copy()
            white[:, 2:] -= first * (1 - second) * whole[:, 1:-1] + second * whole[:, :-2]
            white[:, 1] = ahead * (whole[:, 1] - first * whole[:, 0])
            white[:, 0] *= ahead * math.sqrt(1 - first**2)
            white, item = white[:-1], white[-1] / np.linalg.norm(white[-1])
            squares = np.square(white).sum(axis=1) - np.square(white @ item)
            own = math.log1p(-(first**2)) / 2 + math.log1p(-(second**2))
            best = np.maximum(best, own - rows.shape[1] / 2 * np.log(squares))
    return best


def _combine(gains: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each series' statistic of a step, over its places, and of a ramp."""
    steps = gains[:, :-1]
    mean: NDArray[np.float64] = special.logsumexp(steps, axis=1) - math.log(steps.shape[1])
    return mean, gains[:, -1] + math.log(RAMP_WEIGHT)


def _select_steady(n: int, index: int) -> NDArray[np.float64]:
    """The larger statistic in each of many steady series whose best correlation is about at ``index``."""
    # As ``serial.bound_order`` corrects the bias of a short series.
    middle = int(np.searchsorted(CORRELATIONS, (CORRELATIONS[index] + 1 / n) / (1 - 3 / n)))
    around = np.arange(middle - NEIGHBOURS, middle + NEIGHBOURS + 1)
    first, last = 0, CORRELATIONS.size - 1
    parts = [_simulate_steady(n, int(truth)) for truth in around[(around >= first) & (around <= last)]]
    indices, largest = (np.concatenate(item) for item in zip(*parts, strict=True))
    return largest[np.argsort(np.abs(indices - index), kind="stable")[:SIMULATED]]


@functools.lru_cache(maxsize=1024)
def _simulate_steady(n: int, truth: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The place of the best correlation of many steady series of one, and the larger statistic of each."""
    correlation = float(CORRELATIONS[truth])
    series = np.random.default_rng([n, truth]).normal(size=(DRAWN, n))
    series[:, 0] /= math.sqrt(1 - correlation**2)
    for row in range(1, n):
        series[:, row] += correlation * series[:, row - 1]
    parts = [_gain_likelihood(part) for part in np.array_split(_clip_outliers(series), 3)]
    largest = np.concatenate([np.maximum(*_combine(gains)) for gains, _ in parts])
    return np.concatenate([places for _, places in parts]), largest
