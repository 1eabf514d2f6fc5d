"""Whether the path stayed the same while a campaign ran, by its control rows."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.corrections import ALPHA_RATIO
from pathlab.analysis.estimators.interval import Undecided, as_samples, refuse_few
from pathlab.analysis.estimators.margins import MARGIN_RATIO, log_margins
from pathlab.analysis.estimators.trend import ChangeBound, bound_change
from pathlab.analysis.libraries import special, stats
from pathlab.errors import UsageError

MINIMUM_CONTROLS = 10
#: Rows on either side of a step, at least.
STEP_ROWS = 2
#: More rows than this are averaged over neighbours; the cost of a test grows as their square.
MOST_ROWS = 128
#: First-order correlations of the noise that are tried, and those that no change is simulated with.
CORRELATIONS = np.linspace(-0.3, 0.95, 26)
SIMULATED = 999


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
    stepped in 5 % of campaigns at a first-order correlation of up to 0.7. A step of 10 % half way, with 5 %
    of independent noise, is named in 87 % of campaigns of 31 rows.
    Source: METHOD section 4; ``trend.find_trend``.
    """
    times, values = as_samples(times_s, "times"), as_samples(controls, "controls")
    if times.size != values.size or (np.diff(times) <= 0).any():
        raise UsageError(
            f"controls: {values.size} values at {times.size} times that do not ascend one by one",
            hint="pass the control rows in the order of their start",
        )
    change = bound_change(values, times)
    reason = change.trend.undecided or refuse_few(values.size, MINIMUM_CONTROLS)
    if reason is not None:
        return Drift(n=change.n, change=change, verdict=DriftVerdict.UNDECIDED, undecided=reason)
    found = find_level_changes(np.log(values))
    step, trending, stepping = found.step, found.trend_p < ALPHA_RATIO, found.step_p < ALPHA_RATIO
    small_step = not stepping or abs(math.log1p(step.change_ratio)) < log_margins(MARGIN_RATIO)[1]
    if (trending or stepping) and not (change.equivalent and small_step):
        sudden = stepping and found.step_likelier
        verdict = DriftVerdict.STEPPED if sudden else DriftVerdict.DRIFTING
    else:
        verdict = DriftVerdict.STEADY if change.equivalent else DriftVerdict.UNDECIDED
    return Drift(
        n=values.size,
        change=change,
        step=step,
        trend_p_value=found.trend_p,
        step_p_value=found.step_p,
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
    The statistic of a step at each place, and of a ramp over the rows, is the gain in the logarithm of the
    likelihood over a constant level, each with the first-order correlation that suits it best: a step
    explains correlated noise in part, and the other way round. Values are replaced by the normal scores of
    their ranks, so that an outlier is no more than the highest value. The p-value of each compares it with
    the largest of all in 999 series of such noise without a change, of the correlation that the series shows
    as a whole (a step in it raises that, which errs towards no change). So both are corrected for each other
    and for all places. They are exact for first-order noise but for the error of its correlation; noise of
    another kind may be taken for a step. More than 128 rows are averaged over neighbours.
    Source: likelihood ratio for a step in correlated noise, Robbins, Gallagher, Lund and Aue, Journal of Time
    Series Analysis 32, 2011; normal scores, van der Waerden, 1952; correction by the largest statistic,
    Westfall and Young, Resampling-Based Multiple Testing, 1993.
    """
    n = logarithms.size
    together = math.ceil(n / MOST_ROWS)
    starts = np.arange(0, n - together + 1, together)
    rows = np.add.reduceat(logarithms, starts) / np.diff(starts, append=n)
    size = rows.size
    gains, correlation = _gain_likelihood(_score_ranks(rows[None]))
    steps, ramp = gains[0, :-1], float(gains[0, -1])
    place = int(starts[STEP_ROWS + int(np.argmax(steps))])
    # As ``serial.bound_order`` corrects the bias of a short series.
    correlation = (correlation[0] + 1 / size) / (1 - 3 / size)
    steady = _simulate_steady(
        size, min(int(np.searchsorted(CORRELATIONS, correlation)), CORRELATIONS.size - 1)
    )

    def compare(gain: float) -> float:
        return (1 + float(np.count_nonzero(steady >= gain))) / (1 + steady.size)

    before, after = float(np.median(logarithms[:place])), float(np.median(logarithms[place:]))
    return Changes(
        step=Step(place=place, change_ratio=math.expm1(after - before)),
        step_p=compare(float(steps.max())),
        trend_p=compare(ramp),
        step_likelier=float(steps.max()) >= ramp,
    )


def _score_ranks(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The normal scores of each row's ranks, shape (series, n)."""
    scores: NDArray[np.float64] = special.ndtri(
        (stats.rankdata(rows, axis=1) - 0.375) / (rows.shape[1] + 0.25)
    )
    return scores


@functools.lru_cache(maxsize=4)
def _build_contrasts(n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each correlation: what whitens a series and takes its level off, and the unit contrasts of changes.

    Shapes (correlations, n, n) and (correlations, changes, n): a step at each place, then the ramp.
    """
    rows = np.arange(n)
    places = np.arange(STEP_ROWS, n - STEP_ROWS + 1)
    changes = np.concatenate([rows[:, None] >= places, rows[:, None] / n], axis=1).astype(np.float64)
    levels, contrasts = [], []
    for correlation in CORRELATIONS:
        whiten = np.eye(n) - correlation * np.eye(n, k=-1)
        whiten[0, 0] = math.sqrt(1 - correlation**2)
        one = whiten.sum(axis=1)
        one /= np.linalg.norm(one)
        whiten -= np.outer(one, one @ whiten)
        along = whiten @ changes
        along /= np.linalg.norm(along, axis=0)
        levels.append(whiten)
        contrasts.append(along.T @ whiten)
    return np.stack(levels), np.stack(contrasts)


def _gain_likelihood(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The gain of each change over none (series, changes), and each series' correlation without a change."""
    n = rows.shape[1]
    levels, contrasts = _build_contrasts(n)
    squares = np.square(rows @ levels.transpose(0, 2, 1)).sum(axis=2)
    rest = squares[:, :, None] - np.square(rows @ contrasts.transpose(0, 2, 1))
    own = np.log1p(-np.square(CORRELATIONS))[:, None] / 2
    level = own - n / 2 * np.log(squares)
    # A series that is one step leaves nothing.
    rest = np.maximum(rest, 1e-9 * squares[:, :, None])
    changed = (own[:, :, None] - n / 2 * np.log(rest)).max(axis=0)
    return changed - level.max(axis=0)[:, None], CORRELATIONS[level.argmax(axis=0)]


@functools.lru_cache(maxsize=256)
def _simulate_steady(n: int, correlation_index: int) -> NDArray[np.float64]:
    """The largest gain in each of many series without a change, of one of the ``CORRELATIONS``."""
    correlation = float(CORRELATIONS[correlation_index])
    series = np.random.default_rng(n).normal(size=(SIMULATED, n))
    series[:, 0] /= math.sqrt(1 - correlation**2)
    for place in range(1, n):
        series[:, place] += correlation * series[:, place - 1]
    return np.concatenate(
        [_gain_likelihood(part)[0].max(axis=1) for part in np.array_split(_score_ranks(series), 9)]
    )
