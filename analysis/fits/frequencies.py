"""Exponential fit to binned frequencies and logarithmic fit to the cumulative distribution."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.interval import (
    CONFIDENCE_RATIO,
    Interval,
    IntervalBuilder,
    Undecided,
    as_samples,
    check_sample_count,
)
from pathlab.analysis.libraries import families, generalized_linear_model, sm_exceptions, stats
from pathlab.errors import UsageError

DECLINE_METHOD = "poisson-regression"
CLIMB_METHOD = "least-squares-t"
MINIMUM_SAMPLES = 20
MINIMUM_BINS = 3

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequencyDecline:
    """Count per bin = A width exp(-x / s) at the bin's middle; ``scale`` s in the samples' unit.

    ``scale`` is negative where frequencies rise, ``None`` where they neither rise nor fall. ``counts`` are
    those observed, ``fitted_counts`` the fit's. ``r_squared_ratio`` is 1 - residual / squares about the mean
    count.
    """

    n: int
    outside: int
    counts: tuple[int, ...]
    fitted_counts: tuple[float, ...] = ()
    density: float | None = None
    scale: float | None = None
    scale_interval: Interval
    r_squared_ratio: float | None = None
    undecided: Undecided | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CumulativeClimb:
    """Share of samples at or below x = slope ln x + offset, at the bins' upper ends above 0.

    ``shares`` do not depend on the fit. ``r_squared_ratio`` is 1 - residual / squares about the mean share.
    """

    n: int
    shares: tuple[float, ...]
    fitted_shares: tuple[float, ...] = ()
    slope: float | None = None
    slope_interval: Interval
    offset: float | None = None
    offset_interval: Interval
    r_squared_ratio: float | None = None
    undecided: Undecided | None = None


def fit_frequency_decline(values: ArrayLike, edges: ArrayLike) -> FrequencyDecline:
    """Exponential fit to the frequencies in bins between ascending ``edges`` (samples' unit).

    ``outside`` counts samples beyond the edges, which are left out. Undecided: fewer than 20 samples inside
    or fewer than 3 bins with any.

    Notes
    -----
    Assumption: independent samples whose density falls exponentially. Counts are fitted by Poisson regression
    (statsmodels), not by a spreadsheet's regression of their logarithms, which drops empty bins and trusts a
    bin of one as much as a bin of a hundred. Interval: Wald's on 1 / s. Source: Cottrell et al., Bulk thruput
    measurements, 2000 (the fit); McCullagh and Nelder, Generalized Linear Models, 2nd ed., chapter 6.
    """
    samples, limits = as_samples(values), _check_edges(edges)
    counts, _ = np.histogram(samples, limits)
    n = int(counts.sum())
    builder = IntervalBuilder(n=n, method=DECLINE_METHOD)
    reason = _find_shortage(n, int(np.count_nonzero(counts)))
    decline = FrequencyDecline(
        n=n,
        outside=samples.size - n,
        counts=tuple(counts.tolist()),
        scale_interval=builder.build_undecided(reason or Undecided.NOT_IDENTIFIED),
        undecided=reason,
    )
    if reason is not None:
        return decline
    middles = (limits[1:] + limits[:-1]) / 2
    unit = float(limits[-1] - limits[0])
    design = np.stack([np.ones_like(middles), (middles - limits[0]) / unit], axis=1)
    with warnings.catch_warnings():
        # Counts exactly on the curve do not speak against it.
        warnings.simplefilter("ignore", sm_exceptions.PerfectSeparationWarning)
        poisson, widths = families.Poisson(), np.diff(limits)
        fit = generalized_linear_model.GLM(counts, design, family=poisson, exposure=widths).fit()
    slope = float(fit.params[1]) / unit
    ends = np.asarray(fit.conf_int(alpha=1 - CONFIDENCE_RATIO))[1] / unit
    fitted = np.asarray(fit.fittedvalues)
    flat = abs(slope * unit) < 1e-9
    # Alongside a slope of 0 the scale leaps from one infinity to the other, so no interval holds it.
    settled = not flat and ends[0] * ends[1] > 0
    return replace(
        decline,
        fitted_counts=tuple(fitted.tolist()),
        density=math.exp(float(fit.params[0]) - slope * float(limits[0])),
        scale=None if flat else -1 / slope,
        scale_interval=builder.build(-1 / ends[0], -1 / ends[1]) if settled else decline.scale_interval,
        r_squared_ratio=_explain(counts.astype(np.float64), fitted),
    )


def fit_cumulative_climb(values: ArrayLike, edges: ArrayLike) -> CumulativeClimb:
    """Logarithmic fit to the cumulative distribution at the upper ends above 0 of the bins between ``edges``.

    Shares are of all samples. Undecided: fewer than 20 samples, fewer than 3 such ends, no variation.

    Notes
    -----
    Least squares over the ends. Assumption: independent samples. The slope is a mean over samples (each
    adds its share to all ends above it), so its interval is Student's of that mean, although the shares at
    neighbouring ends depend on each other; it is the interval of the line through the true shares at these
    ends.
    Source: Cottrell et al., Bulk thruput measurements, 2000 (the fit).
    """
    samples, limits = as_samples(values), _check_edges(edges)
    ends = limits[1:][limits[1:] > 0]
    n = samples.size
    below = np.searchsorted(np.sort(samples), ends, side="right") / max(n, 1)
    shares = tuple(below.tolist()) if n else ()
    reason = _find_shortage(n, ends.size)
    if reason is None and np.ptp(samples) == 0:
        reason = Undecided.NO_VARIATION
    builder = IntervalBuilder(n=n, method=CLIMB_METHOD)
    if reason is not None:
        none = builder.build_undecided(reason)
        return CumulativeClimb(
            n=n, shares=shares, slope_interval=none, offset_interval=none, undecided=reason
        )
    logs = np.log(ends)
    design = np.stack([logs, np.ones_like(logs)], axis=1)
    weights = np.linalg.pinv(design)
    # Each sample counts at all ends from its own bin's on: sums of the weights from there.
    first = np.searchsorted(ends, samples, side="left")
    sums = np.concatenate([np.cumsum(weights[:, ::-1], axis=1)[:, ::-1], np.zeros((2, 1))], axis=1)
    slope, offset = weights @ below
    reach = stats.t.isf((1 - CONFIDENCE_RATIO) / 2, n - 1) * np.std(sums[:, first], axis=1, ddof=1)
    intervals = [
        builder.build(value - half, value + half)
        for value, half in zip((slope, offset), reach / math.sqrt(n), strict=True)
    ]
    fitted = design @ np.array([slope, offset])
    return CumulativeClimb(
        n=n,
        shares=shares,
        fitted_shares=tuple(fitted.tolist()),
        slope=float(slope),
        slope_interval=intervals[0],
        offset=float(offset),
        offset_interval=intervals[1],
        r_squared_ratio=_explain(below, fitted),
    )


def _check_edges(edges: ArrayLike) -> Floats:
    limits = as_samples(edges, "edges")
    if limits.size < 2 or np.any(np.diff(limits) <= 0):
        raise UsageError("edges: not at least two ascending numbers", hint="pass the bins' limits in order")
    return limits


def _find_shortage(n: int, bins: int) -> Undecided | None:
    few = check_sample_count(n, MINIMUM_SAMPLES)
    return few or (Undecided.TOO_FEW_LEVELS if bins < MINIMUM_BINS else None)


def _explain(observed: Floats, fitted: Floats) -> float | None:
    squares = float(np.sum((observed - observed.mean()) ** 2))
    return 1 - float(np.sum((observed - fitted) ** 2)) / squares if squares > 0 else None
