"""Equivalence within a margin: two one-sided tests (TOST)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.corrections import ALPHA_RATIO, check_alpha
from pathlab.analysis.estimators.interval import Interval, Undecided, as_samples, undecided_interval
from pathlab.analysis.estimators.margins import MARGIN_RATIO, log_margins
from pathlab.analysis.estimators.shifts import Shift, hodges_lehmann, student_interval
from pathlab.analysis.libraries import special
from pathlab.errors import UsageError

METHOD = "signed-rank-widened"


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
    if numerator.size != denominator.size:
        raise UsageError(
            f"{numerator.size} values against {denominator.size}", hint="pass one pair for each cycle"
        )
    if numerator.size == 0:
        return np.empty(0), Undecided.NO_SAMPLES
    if min(numerator.min(), denominator.min()) <= 0:
        return np.empty(0), Undecided.NOT_POSITIVE
    return np.log(numerator) - np.log(denominator), None


def evaluate_equivalence(
    differences: ArrayLike,
    margins: tuple[float, float],
    alpha_ratio: float = ALPHA_RATIO,
) -> Equivalence:
    """Whether the shift of paired differences lies within ``margins`` (low below 0, high above, same unit).

    The differences are in time order.

    Notes
    -----
    Assumption, minimum sample (6 pairs) and source of the estimate: as ``shifts.hodges_lehmann``. Equal
    differences are undecided (no variation), since their spread was not measured.
    Source: Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987.
    """
    check_margins(margins, alpha_ratio)
    return evaluate_shift(hodges_lehmann(differences, 1 - alpha_ratio), margins, alpha_ratio)


def evaluate_shift(
    found: Shift, margins: tuple[float, float], alpha_ratio: float = ALPHA_RATIO
) -> Equivalence:
    """Test a measured shift against ``margins``; undecided where it has no interval."""
    if found.shift is None or found.standard_error is None or found.freedom is None:
        return undecided_equivalence(
            found.interval.undecided or Undecided.NO_SAMPLES,
            n=found.n,
            margins=margins,
            alpha_ratio=alpha_ratio,
            estimate=found.shift,
        )
    return evaluate_estimate(
        found.shift,
        found.standard_error,
        n=found.n,
        freedom=found.freedom,
        margins=margins,
        alpha_ratio=alpha_ratio,
    )


def evaluate_estimate(
    estimate: float,
    standard_error: float,
    *,
    n: int,
    freedom: float,
    margins: tuple[float, float],
    alpha_ratio: float = ALPHA_RATIO,
) -> Equivalence:
    """Two one-sided tests of any estimate whose error follows Student's t on ``freedom`` degrees.

    Raises ``UsageError`` unless the margins enclose 0, the standard error is above 0 and freedom at least 1.

    Notes
    -----
    Assumption: the estimate is about normal. Either test is made at alpha / 2, so that the interval of
    confidence 1 - alpha, which also decides whether there is a difference, is compared with the margins.
    Source: Schuirmann 1987.
    """
    check_margins(margins, alpha_ratio)
    finite = math.isfinite(standard_error) and math.isfinite(estimate)
    if not (finite and standard_error > 0 and freedom >= 1):
        raise UsageError(
            f"estimate {estimate}, standard error {standard_error}, {freedom} d.o.f.: not testable",
            hint="pass finite numbers, a standard error above 0 and 1 degree of freedom or more",
        )
    low, high = margins
    p_value = equivalence_p_value(estimate, standard_error, freedom, margins)
    interval = student_interval(
        estimate, standard_error, freedom, n=n, confidence_ratio=1 - alpha_ratio, method=METHOD
    )
    return Equivalence(
        n=n,
        margin_low=low,
        margin_high=high,
        alpha_ratio=alpha_ratio,
        estimate=estimate,
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


def evaluate_ratio(
    first: ArrayLike,
    second: ArrayLike,
    margin_ratio: float = MARGIN_RATIO,
    alpha_ratio: float = ALPHA_RATIO,
) -> Equivalence:
    """Whether ``first`` is ``second`` within a factor 1 + ``margin_ratio``, by the log ratios of their pairs.

    The pairs are in time order. All figures of the answer are natural logarithms of ratios. A value that is
    not above 0 makes it undecided (not positive).

    Notes
    -----
    Assumption: pairs (one per cycle) whose log ratios are symmetric about their shift, as multiplicative
    noise gives. Serial correlation, minimum sample (6 pairs) and source: as ``evaluate_equivalence``.
    """
    margins = log_margins(margin_ratio)
    ratios, reason = log_ratios(first, second)
    if reason is not None:
        n = np.size(first) if reason is Undecided.NOT_POSITIVE else 0
        return undecided_equivalence(reason, n=n, margins=margins, alpha_ratio=alpha_ratio)
    return evaluate_equivalence(ratios, margins, alpha_ratio)


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
    check_margins(margins, alpha_ratio)
    return Equivalence(
        n=n,
        margin_low=margins[0],
        margin_high=margins[1],
        alpha_ratio=alpha_ratio,
        estimate=estimate,
        interval=undecided_interval(reason, n=n, confidence_ratio=1 - alpha_ratio, method=METHOD),
        undecided=reason,
    )
