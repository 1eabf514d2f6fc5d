"""How many cycles a question needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from statsmodels.stats.power import TTestPower

from pathlab.analysis.corrections import ALPHA_RATIO, check_alpha
from pathlab.analysis.equivalence import MARGIN_RATIO, ROUNDING_RATIO, log_margins
from pathlab.analysis.interval import CONFIDENCE_RATIO, Interval, Undecided, as_samples, undecided_interval
from pathlab.analysis.serial import MINIMUM_SAMPLES as MINIMUM_SERIAL
from pathlab.analysis.shifts import critical_rank
from pathlab.errors import UsageError

METHOD = "chi-square"
POWER_RATIO = 0.8
MINIMUM_CYCLES = 6
MAXIMUM_CYCLES = 1_000_000
#: A signed-rank test needs pi / 3 times the pairs of a t test when differences are normal (Lehmann 1975).
RANK_COST = math.pi / 3
#: Verdicts on 20 pairs or more allow for serial correlation, which costs up to a fifth more pairs where there
#: is none (simulated at 21 to 200 pairs).
ORDER_COST = 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Pilot:
    """What so many pairs showed of their log ratios: mean and standard deviation (above 0).

    ``inflation_ratio`` is the factor by which serial correlation inflates the variance of the mean.
    """

    pairs: int
    mean: float
    spread: float
    inflation_ratio: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CyclePlan:
    """Cycles that suffice with the stated power; the interval mirrors how well the spread is known.

    ``spread`` is the standard deviation of the log ratio of two trials of one cycle. ``cycles`` is ``None``
    where more than a million would be needed or the spread is unknown.
    """

    cycles: int | None
    interval: Interval
    spread: float | None
    power_ratio: float
    alpha_ratio: float
    undecided: Undecided | None = None


def difference_power(difference: float, spread: float, cycles: int, alpha_ratio: float) -> float:
    """Chance that the signed-rank test of so many pairs sees a mean log ratio of ``difference``.

    With few pairs the exact test cannot spend the whole level; the one that it reaches is taken, and 0 is the
    answer where even pairs that all agree do not reach it.
    """
    effect, worth = abs(difference) / spread, cycles / RANK_COST
    rank, coverage = critical_rank(cycles, 1 - alpha_ratio)
    if rank == 0:
        return 0.0
    reached = alpha_ratio if coverage is None else 1 - coverage
    power = TTestPower().power(effect, worth, reached, df=max(1.0, worth - 1))
    return 1.0 if math.isnan(power) else float(power)


def equivalence_power(
    difference: float, spread: float, cycles: int, margin_ratio: float, alpha_ratio: float
) -> float:
    """Chance that two one-sided t tests of so many pairs find a mean log ratio within the margin.

    Source: Phillips, Journal of Pharmacokinetics and Biopharmaceutics 18, 1990, by non-central t.
    """
    low, high = log_margins(margin_ratio)
    error, degrees = spread / math.sqrt(cycles), cycles - 1
    bar = float(stats.t.ppf(1 - alpha_ratio, degrees))
    # Beyond some 37 standard errors scipy's non-central t gives up; the chance is 1 long before.
    above = stats.nct.sf(bar, degrees, min((difference - low) / error, 37.0))
    below = stats.nct.cdf(-bar, degrees, max((difference - high) / error, -37.0))
    return max(0.0, float(above + below) - 1)


def find_cycles(power: Callable[[int], float], power_ratio: float, least: int = MINIMUM_CYCLES) -> int | None:
    """Smallest number of cycles from ``least`` whose power suffices; ``None`` above a million.

    ``power`` must not fall as cycles are added.
    """
    if power(least) >= power_ratio:
        return least
    below, above = least, 2 * least
    while power(above) < power_ratio:
        below, above = above, 2 * above
        if above > MAXIMUM_CYCLES:
            return None
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if power(middle) >= power_ratio else (middle, above)
    return above


def _allow_for_order(cycles: int | None) -> int | None:
    """Cycles with what the verdict's allowance for serial correlation costs."""
    if cycles is None or cycles < MINIMUM_SERIAL:
        return cycles
    return math.ceil(cycles * ORDER_COST)


def plan_cycles(
    log_ratios: ArrayLike,
    difference_ratio: float = 0.05,
    *,
    power_ratio: float = POWER_RATIO,
    alpha_ratio: float = ALPHA_RATIO,
) -> CyclePlan:
    """Cycles needed to see that one of a pair is ``difference_ratio`` (0.05: 5 %) larger than the other.

    ``log_ratios`` are those of pairs from a pilot, or of repeated equal trials (an A/A campaign); only their
    spread is used. Raises ``UsageError`` for a difference, power or level out of range.

    Notes
    -----
    Assumption: independent cycles, log ratios about normal, the pilot's spread is the campaign's. Test:
    two-sided signed-rank at ``alpha_ratio``, as ``pairs.compare_pairs`` makes it. Minimum sample: 6 pairs;
    the interval is that of the spread (95 %, chi-square), and wide for a small pilot. Source: power of the t
    test by ``statsmodels``, times the asymptotic relative efficiency of the signed-rank test, pi / 3;
    Lehmann, Nonparametrics, 1975.
    """
    check_alpha(alpha_ratio)
    if not (0 < difference_ratio < 10 and 0 < power_ratio < 1):
        raise UsageError(
            f"difference {difference_ratio} with power {power_ratio} cannot be planned for",
            hint="0.05 stands for a difference of 5 %, 0.8 for a power of 80 %",
        )
    values = as_samples(log_ratios, "log ratios")
    n, reason = values.size, None
    if n < MINIMUM_CYCLES:
        reason = Undecided.TOO_FEW_SAMPLES if n else Undecided.NO_SAMPLES
    elif np.ptp(values) <= ROUNDING_RATIO * np.abs(values).max():
        reason = Undecided.NO_VARIATION
    none = undecided_interval(
        reason or Undecided.INCONCLUSIVE, n=n, confidence_ratio=CONFIDENCE_RATIO, method=METHOD
    )
    if reason is not None:
        return CyclePlan(
            cycles=None,
            interval=none,
            spread=None,
            power_ratio=power_ratio,
            alpha_ratio=alpha_ratio,
            undecided=reason,
        )
    spread, target = float(values.std(ddof=1)), math.log1p(difference_ratio)
    tail = (1 - CONFIDENCE_RATIO) / 2
    spreads = [spread] + [spread * math.sqrt((n - 1) / stats.chi2.ppf(q, n - 1)) for q in (1 - tail, tail)]

    def cycles_at(assumed: float) -> int | None:
        return _allow_for_order(
            find_cycles(lambda cycles: difference_power(target, assumed, cycles, alpha_ratio), power_ratio)
        )

    cycles, low, high = (cycles_at(assumed) for assumed in spreads)
    interval = none
    if low is not None and high is not None:
        interval = Interval(
            low=low, high=high, n=n, confidence_ratio=CONFIDENCE_RATIO, coverage_ratio=None, method=METHOD
        )
    return CyclePlan(
        cycles=cycles,
        interval=interval,
        spread=spread,
        power_ratio=power_ratio,
        alpha_ratio=alpha_ratio,
        undecided=Undecided.INCONCLUSIVE if cycles is None else None,
    )


def cycles_to_decide(
    log_ratios: ArrayLike,
    margin_ratio: float = MARGIN_RATIO,
    *,
    power_ratio: float = POWER_RATIO,
    alpha_ratio: float = ALPHA_RATIO,
) -> int | None:
    """Cycles beyond those given that would decide between a winner and equivalence, or ``None``.

    ``None``: fewer than 6 pairs, no variation, or more than a million cycles. At least 1 otherwise.

    Notes
    -----
    Takes the mean and the spread seen for the truth and asks when either the signed-rank test or the
    equivalence test has the power. An outlook and no promise: with few cycles the mean seen may be far off.
    """
    pilot = describe_pilot(log_ratios)
    if pilot is None:
        return None
    return cycles_beyond(pilot, margin_ratio, power_ratio=power_ratio, alpha_ratio=alpha_ratio)


def describe_pilot(log_ratios: ArrayLike, inflation_ratio: float = 1.0) -> Pilot | None:
    """Mean and spread of log ratios; ``None`` for fewer than 6 pairs or without variation."""
    values = as_samples(log_ratios, "log ratios")
    if values.size < MINIMUM_CYCLES or np.ptp(values) <= ROUNDING_RATIO * np.abs(values).max():
        return None
    return Pilot(
        pairs=values.size,
        mean=float(values.mean()),
        spread=float(values.std(ddof=1)),
        inflation_ratio=inflation_ratio,
    )


def cycles_beyond(
    pilot: Pilot,
    margin_ratio: float = MARGIN_RATIO,
    *,
    power_ratio: float = POWER_RATIO,
    alpha_ratio: float = ALPHA_RATIO,
) -> int | None:
    """``cycles_to_decide`` from what a pilot showed; for one of m corrected tests pass alpha / m."""
    mean, spread = pilot.mean, pilot.spread
    _, high = log_margins(margin_ratio)

    def power(cycles: int) -> float:
        seen = difference_power(mean, spread, cycles, alpha_ratio)
        if abs(mean) >= high:
            return seen
        return max(seen, equivalence_power(mean, spread, cycles, margin_ratio, alpha_ratio))

    needed = _allow_for_order(find_cycles(power, power_ratio))
    return None if needed is None else max(1, math.ceil(needed * pilot.inflation_ratio) - pilot.pairs)
