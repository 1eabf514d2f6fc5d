"""Whether the path stayed the same while a campaign ran, by its control rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.corrections import ALPHA_RATIO, correct_holm
from pathlab.analysis.estimators.interval import Undecided, as_samples, refuse_few
from pathlab.analysis.estimators.margins import MARGIN_RATIO, log_margins
from pathlab.analysis.estimators.serial import bound_order
from pathlab.analysis.estimators.trend import ChangeBound, bound_change
from pathlab.analysis.libraries import stats
from pathlab.errors import UsageError

MINIMUM_CONTROLS = 10


class DriftVerdict(StrEnum):
    """What the control rows say. The values are stable and machine-readable."""

    STEADY = "steady"
    DRIFTING = "drifting"
    STEPPED = "stepped"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The most likely change of level: first row after it, ratio of medians after / before, and p-value."""

    place: int
    change_ratio: float
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Change of the control rows over the campaign, gradual and sudden, with a verdict.

    ``trend_p_value`` and ``step_p_value`` are Holm-corrected for each other; ``change`` says by which share
    the controls moved from the first to the last, with its interval and bound.
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
    the margin is found; "stepped" or "drifting" where Pettitt's test or the trend test, corrected for each
    other, is below alpha, and the smaller p-value names it; else undecided. Assumption: without drift the
    logarithms are stationary; both tests allow for serial correlation (``serial.bound_order``). In
    simulation of 13 to 200 rows steady controls are called drifting in up to 2 % of campaigns, at a
    first-order correlation of 0.7 in up to 5 %. Minimum sample: 10 rows; values that are not above 0 or never
    vary are undecided.
    A swing that comes back (day and night) is neither trend nor step: draw the rows.
    Source: METHOD section 4; Pettitt, Applied Statistics 28, 1979; ``trend.find_trend``.
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
    step = find_step(np.log(values))
    trend_p, step_p = correct_holm([change.trend.p_value, step.p_value])
    trending, stepping = (p is not None and p < ALPHA_RATIO for p in (trend_p, step_p))
    small_step = not stepping or abs(math.log1p(step.change_ratio)) < log_margins(MARGIN_RATIO)[1]
    if (trending or stepping) and not (change.equivalent and small_step):
        sudden = stepping and step.p_value < (change.trend.p_value or 0.0)
        verdict = DriftVerdict.STEPPED if sudden else DriftVerdict.DRIFTING
    else:
        verdict = DriftVerdict.STEADY if change.equivalent else DriftVerdict.UNDECIDED
    return Drift(
        n=values.size,
        change=change,
        step=step,
        trend_p_value=trend_p,
        step_p_value=step_p,
        verdict=verdict,
        undecided=Undecided.INCONCLUSIVE if verdict is DriftVerdict.UNDECIDED else None,
    )


def find_step(logarithms: NDArray[np.float64]) -> Step:
    """The most likely change point of a series of logarithms in order, with Pettitt's p-value.

    Notes
    -----
    p = 2 exp(-6 K^2 / (n^3 + n^2)), at most 1, which errs towards no step; K is divided by the square root
    of the inflation of a mean by the serial correlation of what the step leaves (``serial.bound_order``).
    """
    n = logarithms.size
    ranks = stats.rankdata(logarithms)
    after = np.arange(1, n)
    scores = 2 * np.cumsum(ranks)[:-1] - after * (n + 1)
    place = int(after[np.argmax(np.abs(scores))])
    before, rest = float(np.median(logarithms[:place])), float(np.median(logarithms[place:]))
    left = np.concatenate([logarithms[:place] - before, logarithms[place:] - rest])
    score = float(np.abs(scores).max()) / math.sqrt(bound_order(left, 2).inflation_ratio)
    return Step(
        place=place,
        change_ratio=math.expm1(rest - before),
        p_value=min(1.0, 2 * math.exp(-6 * score**2 / (n**3 + n**2))),
    )
