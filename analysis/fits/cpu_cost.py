"""CPU cost of traffic: lines of CPU % against throughput, CPU seconds per gigabyte."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.interval import (
    CONFIDENCE_RATIO,
    Interval,
    IntervalBuilder,
    Undecided,
    as_amounts,
    check_lengths,
    check_sample_count,
)
from pathlab.analysis.estimators.quantiles import median_interval
from pathlab.analysis.libraries import linear_model, stats

METHOD = "least-squares-hc2-bell-mccaffrey"
MINIMUM_TRIALS = 5
# A trial that alone fixes the line leaves no residual to test it with.
HIGHEST_LEVERAGE_RATIO = 0.999
CENTRED = "1 - residual / squares about the mean"
UNCENTRED = "1 - residual / squares about zero"


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuLine:
    """CPU % = intercept + slope x Gbit/s; ``intercept_percent`` is 0 by definition through the origin.

    ``r_squared_ratio`` is what ``r_squared_definition`` says: the two kinds cannot be compared with each
    other.
    """

    intercept_percent: float | None
    intercept_interval_percent: Interval | None
    slope_percent_per_gbit_s: float | None = None
    slope_interval_percent_per_gbit_s: Interval
    r_squared_ratio: float | None = None
    r_squared_definition: str
    undecided: Undecided | None = None

    def predict_percent(self, throughput_bits_per_s: ArrayLike) -> NDArray[np.float64]:
        """CPU % on the line at these rates; NaN where the line is undecided."""
        rates = np.asarray(throughput_bits_per_s, dtype=np.float64)
        slope, offset = self.slope_percent_per_gbit_s, self.intercept_percent
        if slope is None or offset is None:
            return np.full_like(rates, np.nan)
        return np.asarray(offset + slope * rates / 1e9, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuCost:
    """Both lines, and the median of CPU seconds per GB (10^9 bytes) over the trials that carried anything."""

    n: int
    with_intercept: CpuLine
    through_origin: CpuLine
    cpu_s_per_gb: float | None
    cpu_s_per_gb_interval: Interval
    undecided: Undecided | None = None


def fit_cpu_cost(throughput_bits_per_s: ArrayLike, cpu_percent: ArrayLike) -> CpuCost:
    """Lines of CPU % (100 % is one core) against throughput, bit/s, over trials, and CPU-s per GB.

    Raises ``UsageError`` for values that are no numbers of 0 or more. Undecided: fewer than 5 trials,
    throughputs that are all equal, or one trial that fixes the line alone.

    Notes
    -----
    Assumption: independent trials on one line; their scatter may depend on the throughput. Intervals: the HC2
    covariance by statsmodels with Student's t on the degrees of freedom of Bell and McCaffrey (Survey
    Methodology 28, 2002; Imbens and Kolesar, REStat 98, 2016). In simulation (scatter in proportion to the
    load, normal or skewed; 5, 10, 21 and 200 trials) 95 % intervals of slopes held the truth in 93 to 96 %,
    those of intercepts, near which little scatters, in 95 to 99 %. R^2 about the mean for the line with
    intercept, about zero for the one through the origin (Kvålseth, The American Statistician 39, 1985).
    CPU-s/GB: distribution-free interval of the median, minimum 6 trials at 95 %.
    """
    rates = as_amounts(throughput_bits_per_s, "throughput") / 1e9
    loads = as_amounts(cpu_percent, "CPU %")
    check_lengths(throughput=rates, CPU_percent=loads)
    carrying = rates > 0
    costs = loads[carrying] / 100 / (rates[carrying] / 8)
    reason = check_sample_count(rates.size, MINIMUM_TRIALS)
    if reason is None and not carrying.any():
        reason = Undecided.ALL_ZERO
    return CpuCost(
        n=rates.size,
        with_intercept=_fit_line(rates, loads, reason, intercept=True),
        through_origin=_fit_line(rates, loads, reason, intercept=False),
        cpu_s_per_gb=float(np.median(costs)) if costs.size else None,
        cpu_s_per_gb_interval=median_interval(costs),
        undecided=reason,
    )


def _fit_line(
    rates: NDArray[np.float64], loads: NDArray[np.float64], reason: Undecided | None, *, intercept: bool
) -> CpuLine:
    builder = IntervalBuilder(n=rates.size, method=METHOD)
    definition = CENTRED if intercept else UNCENTRED
    if reason is None:
        reason = _find_shortage(rates, intercept)
    if reason is not None:
        none = builder.build_undecided(reason)
        return CpuLine(
            intercept_percent=None if intercept else 0.0,
            intercept_interval_percent=none if intercept else None,
            slope_interval_percent_per_gbit_s=none,
            r_squared_definition=definition,
            undecided=reason,
        )
    # Rates in units of the largest keep the squares of slow and of fast paths alike.
    unit = float(rates.max())
    columns = [np.ones_like(rates), rates / unit] if intercept else [rates / unit]
    design = np.stack(columns, axis=1)
    fit = linear_model.OLS(loads, design).fit(cov_type="HC2")
    student = stats.t.isf((1 - CONFIDENCE_RATIO) / 2, _measure_freedom(design))
    ends = np.asarray(fit.params)[:, None] + (student * np.asarray(fit.bse))[:, None] * np.array([-1.0, 1.0])
    intervals = [builder.build(low, high) for low, high in (*ends[:-1], ends[-1] / unit)]
    residual = float(np.sum(np.asarray(fit.resid) ** 2))
    squares = float(np.sum((loads - loads.mean() * intercept) ** 2))
    return CpuLine(
        intercept_percent=float(fit.params[0]) if intercept else 0.0,
        intercept_interval_percent=intervals[0] if intercept else None,
        slope_percent_per_gbit_s=float(fit.params[-1]) / unit,
        slope_interval_percent_per_gbit_s=intervals[-1],
        r_squared_ratio=1 - residual / squares if squares > 1e-24 * float(np.sum(loads**2)) else None,
        r_squared_definition=definition,
    )


def _measure_freedom(design: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bell and McCaffrey's degrees of freedom of each coefficient's HC2 variance.

    Trials that reach far along the line have most of the say, so that fewer than n - p are behind it.
    """
    basis, triangle = np.linalg.qr(design)
    leverage = np.sum(basis**2, axis=1)
    spare, result = 1 - leverage, []
    for share in (basis @ np.linalg.inv(triangle).T).T:
        # The variance is u'Au of the scatter u: A = MDM of the weights D and of M, which takes off the line.
        weight = (share / np.abs(share).max()) ** 2 / spare
        inner = (basis.T * weight) @ basis
        squares = np.sum(weight**2 * (spare - leverage)) + np.sum(inner**2)  # trace of A squared
        result.append(np.sum(weight * spare) ** 2 / squares)
    return np.array(result)


def _find_shortage(rates: NDArray[np.float64], intercept: bool) -> Undecided | None:
    """Why these throughputs fix no line: without spread, or by one trial alone."""
    if intercept and np.ptp(rates) <= 1e-12 * rates.max():
        return Undecided.NO_VARIATION
    centred = rates - rates.mean() * intercept
    leverage = centred**2 / np.sum(centred**2) + intercept / rates.size
    return Undecided.NOT_IDENTIFIED if leverage.max() > HIGHEST_LEVERAGE_RATIO else None
