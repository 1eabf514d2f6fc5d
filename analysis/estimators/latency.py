"""The round-trip times of answered probes, and whether they still rise at the end of a trial."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pathlab.analysis.estimators.interval import Interval, IntervalBuilder, Undecided, check_sample_count
from pathlab.analysis.estimators.trend import find_trend, pair_slopes
from pathlab.errors import UsageError

#: Readings within a trial that a verdict on its end needs, and how many are tested where half are fewer.
MINIMUM_READINGS, TESTED_READINGS = 10, 20
#: If the RTT rises to the end, the last quarter's median is above this quantile of all earlier readings.
BEFORE_RATIO = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class RttClimb:
    """Whether the RTT still rises at the end of a trial's steady window: its queue was not yet full.

    ``rise_ns`` is by how much it rose over the last half of the window; ``slope_interval`` (ns per second)
    is that of the part that was tested.
    """

    n: int
    rise_ns: float | None = None
    slope_interval: Interval
    rising: bool | None = None
    undecided: Undecided | None = None


def classify_rtt_climb(times_ns: ArrayLike, rtts_ns: ArrayLike, margin_ns: float) -> RttClimb:
    """Whether the RTT rises to the end of these readings, one trial's steady window in time order.

    ``rtts_ns`` are loaded probes (NaN: lost) or the kernel's smoothed RTT; ``margin_ns`` is the rise over
    the last half that does not matter.

    Notes
    -----
    Rising: over the last half the line through the readings (Theil-Sen) gains more than the margin, the last
    quarter's median is above nine tenths of all earlier readings (a saw-tooth has been as high before), and
    the interval of the slope over the last half, or the last 20 readings where that is fewer, lies above 0
    (``trend.find_trend``, which allows for serial correlation as far as the number of readings allows).
    Assumption: the readings are evenly spread over the window. Minimum: 10 answered readings. In simulation
    noise about a level is called rising in at most 4 % of trials of 20 and more at first-order correlation up
    to 0.8; of 10 to 19 readings, too few to estimate correlation, in 5 % at 0.5 and 14 % at 0.8.
    """
    times, rtts = np.asarray(times_ns, dtype=np.float64), np.asarray(rtts_ns, dtype=np.float64)
    if times.shape != rtts.shape or times.ndim != 1:
        raise UsageError("RTTs: one time for each is needed", hint="pass flat sequences of one length")
    known = ~np.isnan(rtts)
    seconds, rtts = times[known] / 1e9, rtts[known]
    n = rtts.size
    reason = check_sample_count(n, MINIMUM_READINGS)
    if reason is not None:
        none = IntervalBuilder(n=n, method="theil-sen").build_undecided(reason)
        return RttClimb(n=n, slope_interval=none, undecided=reason)
    late = slice(n // 2, n)
    slopes = pair_slopes(rtts[late], seconds[late])
    rise = float(np.median(slopes) * np.ptp(seconds[late])) if slopes.size else 0.0
    tested = slice(min(n // 2, max(0, n - TESTED_READINGS)), n)
    interval = find_trend(rtts[tested], seconds[tested]).slope_interval
    quarter = n - n // 4
    highest = float(np.median(rtts[quarter:])) > float(np.quantile(rtts[:quarter], BEFORE_RATIO))
    rising: bool | None = False
    if rise > margin_ns and highest:
        rising = None if interval.low is None else interval.low > 0
    return RttClimb(
        n=n,
        rise_ns=rise,
        slope_interval=interval,
        rising=rising,
        undecided=interval.undecided if rising is None else None,
    )
