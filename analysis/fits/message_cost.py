"""Cost per message and per byte: t(m) = a + m/r, with the half-performance size."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.interval import (
    CONFIDENCE_RATIO,
    Interval,
    IntervalBuilder,
    Undecided,
    as_amounts,
    check_lengths,
)
from pathlab.analysis.estimators.serial import MEDIAN_METHOD, ordered_median_interval
from pathlab.analysis.libraries import linear_model, sm_exceptions, stats
from pathlab.errors import UsageError

METHOD = "weighted-least-squares-hc3-t"
RATIO_METHOD = "fieller-hc3-t"
MINIMUM_SIZES = 4
ROUNDS = 50
HIGHEST_LEVERAGE_RATIO = 0.999


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageCost:
    """t(m) = a + m/r: ``message_ns`` a, ``rate_bits_per_s`` r, ``half_size_bytes`` n_half = a r.

    At the half size a message takes as long for itself as for its bytes, so it carries r / 2. ``n`` counts
    observations. ``residual_ratio`` is observed / fitted - 1, in the order given: a trend in it says that the
    sizes do not share one cost. A figure is ``None`` where its interval is undecided with ``not-identified``.
    """

    n: int
    message_ns: float | None = None
    message_interval_ns: Interval
    rate_bits_per_s: float | None = None
    rate_interval_bits_per_s: Interval
    half_size_bytes: float | None = None
    half_size_interval_bytes: Interval
    rmse_ratio: float | None = None
    residual_ratio: tuple[float, ...] = ()
    undecided: Undecided | None = None

    def predict_time_ns(self, message_bytes: Floats) -> Floats | None:
        """The fitted time of messages of these sizes; None where the cost or the rate is undecided."""
        if self.message_ns is None or self.rate_bits_per_s is None:
            return None
        return self.message_ns + 8e9 * message_bytes / self.rate_bits_per_s


def fit_message_cost(message_bytes: ArrayLike, time_ns: ArrayLike) -> MessageCost:
    """Fit the time that one message takes, ns, against its size; one value of each per observation.

    Raises ``UsageError`` unless sizes and times are above 0. Undecided: fewer than 4 different sizes, or one
    that fixes a parameter alone; the rate or the half size where the times do not grow with the size, or show
    no cost of a message.

    Notes
    -----
    Assumption: independent observations whose scatter is proportional to the time, so that weights are
    1 / fitted^2, found by iteration; sizes span decades and plain least squares would see the largest only.
    Those of several cycles are not independent: ``fit_cycles``.
    Intervals: HC3 covariance with Student's t by statsmodels; the half size by Fieller's theorem (Fieller,
    JRSS B 16, 1954). In simulation (13 sizes once, 4 sizes thrice; scatter of 5 and 30 %) 95 % intervals held
    the truth in 93 to 97 %; of five times with a scatter of 30 %, two thirds give the rate, and 89 % of those
    hold it. Minimum sample: 4 sizes. Source: Hockney, Parallel Computing 20, 1994 (r_inf, n_half).
    """
    sizes, times = as_amounts(message_bytes, "message bytes"), as_amounts(time_ns, "times")
    check_lengths(message_bytes=sizes, times=times)
    for name, values in (("message bytes", sizes), ("times", times)):
        if values.size and values.min() <= 0:
            raise UsageError(f"{name}: a value is not above 0", hint="leave out what was not measured")
    n = sizes.size
    if np.unique(sizes).size < MINIMUM_SIZES or np.ptp(sizes) <= 1e-9 * sizes.max():
        return _undecided(Undecided.TOO_FEW_LEVELS if n else Undecided.NO_SAMPLES, n)
    line = _fit(sizes, times)
    if line is None:
        return _undecided(Undecided.NOT_IDENTIFIED, n)
    values, spread, fitted = line
    student = float(stats.t.isf((1 - CONFIDENCE_RATIO) / 2, n - 2))
    reach = student * np.sqrt(np.diag(spread))
    (low_ns, high_ns), (low, high) = zip(values - reach, values + reach, strict=True)
    grows = values[1] > 0
    rate_ends = (8e9 / high, 8e9 / low) if low > 0 else None
    half_ends = _divide(values, spread, student) if grows and values[0] > 0 else None
    ratios = times / fitted - 1
    return MessageCost(
        n=n,
        message_ns=float(values[0]),
        message_interval_ns=IntervalBuilder(n=n, method=METHOD).build(low_ns, high_ns),
        rate_bits_per_s=8e9 / float(values[1]) if grows else None,
        rate_interval_bits_per_s=_build_interval(rate_ends, n, METHOD),
        half_size_bytes=float(values[0] / values[1]) if grows and values[0] > 0 else None,
        half_size_interval_bytes=_build_interval(half_ends, n, RATIO_METHOD),
        rmse_ratio=math.sqrt(float(np.sum(ratios**2)) / (n - 2)),
        residual_ratio=tuple(ratios.tolist()),
    )


def fit_cycles(message_bytes: ArrayLike, time_ns: ArrayLike, cycles: ArrayLike) -> MessageCost:
    """Fit every cycle by itself: the medians over the cycles, with intervals that allow for their order.

    One size, time (ns) and cycle per observation, in time order. Raises ``UsageError`` as
    ``fit_message_cost``. Undecided as there; intervals also for fewer than 6 cycles with 4 sizes, and those
    of rate and half size where the times of a cycle do not grow with the size. Where no cycle has 4 sizes,
    the values are those of all observations together.

    Notes
    -----
    Observations of a cycle share what the host did in it, and neighbouring cycles are alike: a fit of all
    together takes them for independent, and its 95 % interval holds the truth in 35 to 70 % where a
    correlation of 0.7 joins neighbours. Intervals: ``serial.ordered_median_interval``. In simulation
    (``tests/statistics/test_message_cost.py``; 6 sizes, 7 and 13 cycles, scatter of 5 % of each size and of
    each cycle, correlation up to 0.7) they hold it in 93 % or more.
    """
    whole = fit_message_cost(message_bytes, time_ns)
    sizes, times = as_amounts(message_bytes, "message bytes"), as_amounts(time_ns, "times")
    numbers = as_amounts(cycles, "cycles")
    check_lengths(message_bytes=sizes, cycles=numbers)
    if whole.undecided is not None:
        return whole
    parts = [numbers == cycle for cycle in dict.fromkeys(numbers.tolist())]
    fits = [
        fit[0]
        for part in parts
        if np.unique(sizes[part]).size >= MINIMUM_SIZES
        and (fit := _fit(sizes[part], times[part])) is not None
    ]
    if not fits:
        few = IntervalBuilder(n=len(parts), method=MEDIAN_METHOD).build_undecided(Undecided.TOO_FEW_SAMPLES)
        return replace(
            whole, message_interval_ns=few, rate_interval_bits_per_s=few, half_size_interval_bytes=few
        )
    own_ns, per_byte_ns = np.array(fits).T
    return _join_cycles(whole, own_ns, per_byte_ns, (sizes, times))


def _join_cycles(
    whole: MessageCost,
    own_ns: NDArray[np.float64],
    per_byte_ns: NDArray[np.float64],
    measured: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> MessageCost:
    """The medians of the cycles' costs of a message and of a byte, ns, and of their ratio."""
    builder = IntervalBuilder(n=own_ns.size, method=MEDIAN_METHOD)
    none = builder.build_undecided(Undecided.NOT_IDENTIFIED)
    message, byte = float(np.median(own_ns)), float(np.median(per_byte_ns))
    grows, slopes = bool((per_byte_ns > 0).all()), ordered_median_interval(per_byte_ns)
    rates, half, halves = none, None, none
    if slopes.limits is None:
        rates = slopes
    elif slopes.limits[0] > 0:
        rates = slopes.transform(lambda end: 8e9 / end)
    if grows and message > 0:
        ratios = own_ns / per_byte_ns
        half, result = float(np.median(ratios)), ordered_median_interval(ratios)
        halves = result.transform(lambda end: max(end, 0.0))
    fitted = message + byte * measured[0]
    scatter = tuple((measured[1] / fitted - 1).tolist())
    return MessageCost(
        n=whole.n,
        message_ns=message,
        message_interval_ns=ordered_median_interval(own_ns),
        rate_bits_per_s=8e9 / byte if byte > 0 else None,
        rate_interval_bits_per_s=rates,
        half_size_bytes=half,
        half_size_interval_bytes=halves,
        rmse_ratio=math.sqrt(float(np.sum(np.square(scatter))) / (whole.n - 2)),
        residual_ratio=scatter,
    )


def _build_interval(ends: tuple[float, float] | None, n: int, method: str) -> Interval:
    builder = IntervalBuilder(n=n, method=method)
    return builder.build_undecided(Undecided.NOT_IDENTIFIED) if ends is None else builder.build(*ends)


def _undecided(reason: Undecided, n: int) -> MessageCost:
    none = IntervalBuilder(n=n, method=METHOD).build_undecided(reason)
    return MessageCost(
        n=n,
        message_interval_ns=none,
        rate_interval_bits_per_s=none,
        half_size_interval_bytes=none,
        undecided=reason,
    )


def _fit(
    sizes: NDArray[np.float64], times: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]] | None:
    """Intercept (ns) and slope (ns per byte), their covariance, and the fitted times; ``None``: no such."""
    unit = float(sizes.max())
    design = np.stack([np.ones_like(sizes), sizes / unit], axis=1)
    fitted = times
    for _ in range(ROUNDS):
        with warnings.catch_warnings():
            # Times over many orders leave one size all the weight; it then fixes the line alone, as below.
            warnings.simplefilter("ignore", sm_exceptions.SingularMatrixWarning)
            fit = linear_model.WLS(times, design, weights=1 / fitted**2).fit()
        # A line that dips below 0 would weigh a point without bound.
        after = np.maximum(np.asarray(fit.fittedvalues), 1e-3 * times)
        settled = bool(np.allclose(after, fitted, rtol=1e-10, atol=0))
        fitted = after
        if settled:
            break
    # One observation far from all others alone fixes a parameter and leaves no residual to test it with.
    leverage = np.sum(np.linalg.qr(fit.model.wexog)[0] ** 2, axis=1)
    if leverage.max() > HIGHEST_LEVERAGE_RATIO:
        return None
    fit = fit.get_robustcov_results(cov_type="HC3", use_t=True)
    scale = np.array([1.0, 1 / unit])
    return np.asarray(fit.params) * scale, np.asarray(fit.cov_params()) * np.outer(scale, scale), fitted


def _divide(
    values: NDArray[np.float64], spread: NDArray[np.float64], student: float
) -> tuple[float, float] | None:
    """Fieller's interval of the ratio values[0] / values[1]; ``None`` where the divisor may be 0."""
    square = values[1] ** 2 - student**2 * spread[1, 1]
    if square <= 0:
        return None
    linear = values[0] * values[1] - student**2 * spread[0, 1]
    constant = values[0] ** 2 - student**2 * spread[0, 0]
    root = math.sqrt(max(linear**2 - square * constant, 0.0))
    return max(float((linear - root) / square), 0.0), float((linear + root) / square)
