"""One number for the trials of a group, with the range that a view shows: estimates of the analysis layer."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.interval import Interval
from pathlab.analysis.estimators.quantiles import quartiles
from pathlab.analysis.estimators.serial import SerialEstimate, serial_median
from pathlab.analysis.estimators.serial_levels import serial_mean, serial_quantile
from pathlab.study.exploration.exploration import PointState

#: Trials below which an extreme or a spread, which have no interval, say nothing.
MINIMUM_SPREAD = 2
_PERCENTILE = re.compile(r"p[0-9]+(\.[0-9]+)?")
MEDIAN, MEAN, MINIMUM, MAXIMUM, SPREAD = "median", "mean", "min", "max", "iqr"
INTERVAL, QUARTILES, EXTREMES, NO_RANGE = "interval", "iqr", "extremes", "none"
#: Statistics in words, for a legend; percentiles are named by ``name_statistic``.
STATISTIC_NAMES = {
    MEDIAN: "median",
    MEAN: "mean",
    MINIMUM: "minimum",
    MAXIMUM: "maximum",
    SPREAD: "inter-quartile range",
    "cdf": "share of trials at or below",
    "ccdf": "share of trials above",
    "histogram": "trials per bin",
    "course": "time course",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEstimate:
    """A statistic of some trials with its range; ``y`` is None without a trial."""

    y: float | None
    low: float | None = None
    high: float | None = None
    state: PointState = PointState.UNDECIDED


def estimate(samples: Floats, statistic: str, shown: str) -> GroupEstimate:
    """The statistic of samples in the order of measurement and the range ``shown``.

    Notes
    -----
    Median, mean and percentiles (``p90``): ``serial.serial_median``, ``serial_levels``; undecided is a point
    without their interval. Minimum, maximum and inter-quartile range have none: they are undecided below two
    trials. Quartiles and extremes as a range need two trials as well.
    """
    if not samples.size:
        return GroupEstimate(y=None)
    result = _estimate(samples, statistic)
    low, high = _find_range(samples, result.interval if result else None, shown)
    if result is not None:
        state = find_state(result.interval) if shown == INTERVAL else _state(result.interval.decided)
        return GroupEstimate(y=result.estimate, low=low, high=high, state=state)
    return GroupEstimate(
        y=_describe(samples, statistic), low=low, high=high, state=_state(samples.size >= MINIMUM_SPREAD)
    )


def parse_percentile(statistic: str) -> float | None:
    """The share of ``p90`` or ``p99.9``; None of another statistic."""
    if _PERCENTILE.fullmatch(statistic) is None:
        return None
    ratio = float(statistic[1:]) / 100
    return ratio if 0 < ratio < 1 else None


def _find_ordinal(number: str) -> str:
    """``st`` of 1 and 21, ``th`` of 11 and 99.9."""
    if "." in number or int(number) // 10 == 1:
        return "th"
    return {"1": "st", "2": "nd", "3": "rd"}.get(number[-1], "th")


def name_statistic(statistic: str) -> str:
    """The statistic in words, for a legend."""
    ratio = parse_percentile(statistic)
    if ratio is not None:
        return f"{statistic[1:]}{_find_ordinal(statistic[1:])} percentile"
    return STATISTIC_NAMES[statistic]


def name_range(statistic: str, shown: str) -> str:
    """The range in words; empty where the view shows none."""
    if statistic in ("cdf", "ccdf"):
        return "95 % confidence band" if shown == INTERVAL else ""
    if statistic in ("histogram", "course") or shown == NO_RANGE:
        return ""
    if shown == QUARTILES:
        return "inter-quartile range"
    if shown == EXTREMES:
        return "minimum to maximum"
    return "" if statistic in (MINIMUM, MAXIMUM, SPREAD) else "95 % confidence interval"


def find_state(interval: Interval) -> PointState:
    """The state of a point that is shown with this interval."""
    return PointState.CUT if interval.cut else _state(interval.decided)


def _state(decided: bool) -> PointState:
    return PointState.ESTIMATED if decided else PointState.UNDECIDED


def _estimate(samples: Floats, statistic: str) -> SerialEstimate | None:
    if statistic == MEDIAN:
        return serial_median(samples)
    if statistic == MEAN:
        return serial_mean(samples)
    ratio = parse_percentile(statistic)
    return None if ratio is None else serial_quantile(samples, ratio)


def _describe(samples: Floats, statistic: str) -> float:
    if statistic == MINIMUM:
        return float(samples.min())
    if statistic == MAXIMUM:
        return float(samples.max())
    spread = quartiles(samples).iqr
    assert statistic == SPREAD
    assert spread is not None
    return spread


def _find_range(samples: Floats, interval: Interval | None, shown: str) -> tuple[float | None, float | None]:
    if shown == INTERVAL:
        return (None, None) if interval is None else (interval.low, interval.high)
    if shown == NO_RANGE or samples.size < MINIMUM_SPREAD:
        return None, None
    if shown == EXTREMES:
        return float(samples.min()), float(samples.max())
    result = quartiles(np.asarray(samples))
    return result.q1, result.q3
