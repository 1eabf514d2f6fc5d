"""Equivalence within a margin: two one-sided tests (TOST)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.corrections import ALPHA_RATIO, check_alpha
from pathlab.analysis.estimators.interval import (
    Interval,
    IntervalBuilder,
    Undecided,
    as_samples,
    check_lengths,
)
from pathlab.analysis.estimators.margins import MARGIN_RATIO, log_margins
from pathlab.analysis.estimators.shifts import METHOD, Shift, hodges_lehmann
from pathlab.analysis.libraries import special
from pathlab.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Equivalence:
    """An estimate compared with margins, all in one unit (a log ratio where ratios are compared).

    ``p_value`` is twice the larger of the two one-sided ones. ``interval`` has the confidence 1 - alpha: it
    lies within the margins exactly when ``equivalent``, and is the interval of the difference too, so that
    the two verdicts cannot contradict each other. ``bound`` is the smallest symmetric margin within which
    these data would have been called equivalent.
    """

    n: int
    margin_low: float
    margin_high: float
    alpha_ratio: float
    estimate: float | None
    interval: Interval
    p_value: float | None = None
    equivalent: bool | None = None
    bound: float | None = None
    undecided: Undecided | None = None


def log_ratios(first: ArrayLike, second: ArrayLike) -> tuple[NDArray[np.float64], Undecided | None]:
    """Logarithms of first / second pair by pair; a value that is not above 0 gives a reason instead."""
    numerator, denominator = as_samples(first, "first"), as_samples(second, "second")
    check_lengths(first=numerator, second=denominator)
    if numerator.size == 0:
        return np.empty(0), Undecided.NO_SAMPLES
    if min(numerator.min(), denominator.min()) <= 0:
        return np.empty(0), Undecided.NOT_POSITIVE
    return np.log(numerator) - np.log(denominator), None


def evaluate_shift(
    shift: Shift, margins: tuple[float, float], alpha_ratio: float = ALPHA_RATIO
) -> Equivalence:
    """Whether a shift of paired differences lies within ``margins`` (low below 0, high above, same unit).

    Undecided where it has no interval. Raises ``UsageError`` unless the margins enclose 0.

    Notes
    -----
    Two one-sided tests, each at alpha / 2, so that the interval of confidence 1 - alpha, which also decides
    whether there is a difference, is compared with the margins. Equal differences are undecided (no
    variation), since their spread was not measured. Assumption, minimum sample (6 pairs) and source of the
    estimate: as ``shifts.hodges_lehmann``. Source: Schuirmann, Journal of Pharmacokinetics and
    Biopharmaceutics 15, 1987.
    """
    check_margins(margins, alpha_ratio)
    if shift.shift is None or not shift.tested:
        reason = shift.interval.undecided or Undecided.NO_SAMPLES
        return undecided_equivalence(
            reason, n=shift.n, margins=margins, alpha_ratio=alpha_ratio, estimate=shift.shift
        )
    p_value = shift.equivalence_p_value(margins)
    interval = shift.at(1 - alpha_ratio)
    return Equivalence(
        n=shift.n,
        margin_low=margins[0],
        margin_high=margins[1],
        alpha_ratio=alpha_ratio,
        estimate=shift.shift,
        interval=interval,
        p_value=p_value,
        equivalent=p_value < alpha_ratio,
        bound=max(-(interval.low or 0.0), interval.high or 0.0),
    )


def equivalence_p_value(
    estimate: float, standard_error: float, freedom: float, margins: tuple[float, float]
) -> float:
    """The level below which the interval of confidence 1 - level is no longer within the margins."""
    low, high = margins
    above_low = float(special.stdtr(freedom, (low - estimate) / standard_error))
    below_high = float(special.stdtr(freedom, (estimate - high) / standard_error))
    return min(1.0, 2 * max(above_low, below_high))


def evaluate_ratio(first: ArrayLike, second: ArrayLike, *, drawn_tests: int = 0) -> Equivalence:
    """Whether ``first`` is ``second`` within ``MARGIN_RATIO``, by the log ratios of their pairs.

    ``drawn_tests``: as ``shifts.hodges_lehmann``. The pairs are in time order. All figures of the answer are
    natural logarithms of ratios. A value that is not above 0 makes it undecided (not positive).

    Notes
    -----
    Assumption: pairs (one per cycle) whose log ratios are symmetric about their shift, as multiplicative
    noise gives. Serial correlation, minimum sample (6 pairs) and source: as ``evaluate_shift``.
    """
    margins = log_margins(MARGIN_RATIO)
    ratios, reason = log_ratios(first, second)
    if reason is not None:
        n = np.size(first) if reason is Undecided.NOT_POSITIVE else 0
        return undecided_equivalence(reason, n=n, margins=margins, alpha_ratio=ALPHA_RATIO)
    return evaluate_shift(hodges_lehmann(ratios, drawn_tests=drawn_tests), margins)


def check_margins(margins: tuple[float, float], alpha_ratio: float) -> None:
    """Raise ``UsageError`` unless the margins enclose 0 and the level lies between 0 and 0.5."""
    check_alpha(alpha_ratio)
    low, high = margins
    if not (-math.inf < low < 0 < high < math.inf):
        raise UsageError(
            f"margins {low} to {high} do not enclose 0", hint="the low margin is below 0, the high one above"
        )


def undecided_equivalence(
    reason: Undecided,
    *,
    n: int,
    margins: tuple[float, float],
    alpha_ratio: float,
    estimate: float | None = None,
) -> Equivalence:
    """Build the answer that says why equivalence could not be tested."""
    builder = IntervalBuilder(n=n, method=METHOD, confidence_ratio=1 - alpha_ratio)
    return Equivalence(
        n=n,
        margin_low=margins[0],
        margin_high=margins[1],
        alpha_ratio=alpha_ratio,
        estimate=estimate,
        interval=builder.build_undecided(reason),
        undecided=reason,
    )
