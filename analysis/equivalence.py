"""Whether two things are the same for all that matters: two one-sided tests (TOST)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from pathlab.analysis.corrections import ALPHA_RATIO, check_alpha
from pathlab.analysis.interval import Interval, Undecided, as_samples, undecided_interval
from pathlab.analysis.serial import MINIMUM_SAMPLES as MINIMUM_SERIAL
from pathlab.analysis.serial import measure_inflation
from pathlab.errors import UsageError

METHOD = "student"
MARGIN_RATIO = 0.05
MINIMUM_PAIRS = 3
# Differences that differ by less than this share of the largest are equal but for the arithmetic.
ROUNDING_RATIO = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Equivalence:
    """An estimate held against margins, all in one unit (a log ratio where ratios are compared).

    ``p_value`` is the larger of the two one-sided ones. ``interval`` has the confidence 1 - 2 alpha: it lies
    within the margins exactly when ``equivalent``. ``bound`` is the smallest symmetric margin within which
    these data would have been called equivalent.
    """

    n: int
    margin_low: float
    margin_high: float
    alpha_ratio: float
    estimate: float | None
    interval: Interval
    p_value: float | None
    equivalent: bool | None
    bound: float | None
    undecided: Undecided | None = None


def log_margins(margin_ratio: float) -> tuple[float, float]:
    """Margins of a log ratio, -log(1 + margin) and log(1 + margin): the same whichever side is divided."""
    if not 0 < margin_ratio < 1:
        raise UsageError(
            f"margin {margin_ratio} is not between 0 and 1", hint="0.05 stands for differences up to 5 %"
        )
    return -math.log1p(margin_ratio), math.log1p(margin_ratio)


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


def judge_equivalence(
    differences: ArrayLike,
    margins: tuple[float, float],
    alpha_ratio: float = ALPHA_RATIO,
    inflation_ratio: float = 1.0,
) -> Equivalence:
    """Whether the mean of paired differences lies within ``margins`` (low below 0, high above, same unit).

    ``inflation_ratio``: by which serial correlation inflates the variance of that mean (1: independent).

    Notes
    -----
    Assumption: independent pairs whose differences are about normal (a mean of 10 or more hardly minds).
    Minimum sample: 3 pairs, which as good as never suffice to find equivalence; equal differences are
    undecided (no variation), since their spread was not measured. Level: at most alpha at either margin.
    Source: Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987.
    """
    values = as_samples(differences, "differences")
    n = values.size
    reason = None
    if n < MINIMUM_PAIRS:
        reason = Undecided.TOO_FEW_SAMPLES if n else Undecided.NO_SAMPLES
    elif np.ptp(values) <= ROUNDING_RATIO * np.abs(values).max():
        reason = Undecided.NO_VARIATION
    if reason is not None:
        return undecided_equivalence(
            reason,
            n=n,
            margins=margins,
            alpha_ratio=alpha_ratio,
            estimate=float(values.mean()) if n else None,
        )
    spread = float(values.std(ddof=1)) * math.sqrt(inflation_ratio / n)
    return judge_estimate(float(values.mean()), spread, n=n, margins=margins, alpha_ratio=alpha_ratio)


def judge_estimate(
    estimate: float,
    standard_error: float,
    *,
    n: int,
    margins: tuple[float, float],
    alpha_ratio: float = ALPHA_RATIO,
) -> Equivalence:
    """Two one-sided tests of any estimate with a standard error on n - 1 degrees of freedom.

    Raises ``UsageError`` unless the margins enclose 0, the standard error is above 0 and n at least 2.

    Notes
    -----
    Assumption: the estimate is about normal. Minimum: n = 2. Source: Schuirmann 1987.
    """
    check_margins(margins, alpha_ratio)
    if not (standard_error > 0 and math.isfinite(standard_error) and math.isfinite(estimate) and n >= 2):
        raise UsageError(
            f"estimate {estimate} with standard error {standard_error} from {n} samples cannot be judged",
            hint="pass finite numbers, a standard error above 0 and at least 2 samples",
        )
    low, high = margins
    above_low = float(stats.t.sf((estimate - low) / standard_error, n - 1))
    below_high = float(stats.t.cdf((estimate - high) / standard_error, n - 1))
    half = float(stats.t.ppf(1 - alpha_ratio, n - 1)) * standard_error
    p_value = max(above_low, below_high)
    return Equivalence(
        n=n,
        margin_low=low,
        margin_high=high,
        alpha_ratio=alpha_ratio,
        estimate=estimate,
        interval=Interval(
            low=estimate - half,
            high=estimate + half,
            n=n,
            confidence_ratio=1 - 2 * alpha_ratio,
            coverage_ratio=None,
            method=METHOD,
        ),
        p_value=p_value,
        equivalent=p_value < alpha_ratio,
        bound=abs(estimate) + half,
    )


def judge_ratio(
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
    Assumption: pairs (one per cycle) whose log ratios are about normal, as multiplicative noise gives. Fewer
    than 20 are taken for independent; from there on serial correlation is allowed for
    (``serial.measure_inflation``). Minimum sample: 3 pairs. Source: as ``judge_equivalence``.
    """
    margins = log_margins(margin_ratio)
    ratios, reason = log_ratios(first, second)
    if reason is not None:
        n = np.size(first) if reason is Undecided.NOT_POSITIVE else 0
        return undecided_equivalence(reason, n=n, margins=margins, alpha_ratio=alpha_ratio)
    return judge_equivalence(ratios, margins, alpha_ratio, measure_order(ratios))


def measure_order(series: NDArray[np.float64]) -> float:
    """``serial.measure_inflation`` of a series in time order, 1 for fewer than the 20 that can tell it."""
    return measure_inflation(series) if series.size >= MINIMUM_SERIAL else 1.0


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
    """Build the answer that says why equivalence could not be judged."""
    check_margins(margins, alpha_ratio)
    return Equivalence(
        n=n,
        margin_low=margins[0],
        margin_high=margins[1],
        alpha_ratio=alpha_ratio,
        estimate=estimate,
        interval=undecided_interval(reason, n=n, confidence_ratio=1 - 2 * alpha_ratio, method=METHOD),
        p_value=None,
        equivalent=None,
        bound=None,
        undecided=reason,
    )
