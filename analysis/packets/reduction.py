"""Curves of millions of points as what a screen can show: four points for each column of pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.packets.segments import Integers

#: Columns of a figure; four points in each are below what figures thin again.
COLUMNS = 480
#: Values of which intermediate results are held at a time.
PART = 1 << 18


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceCurve:
    """Points of a curve over time: seconds since the start of the connection, and values; equal length."""

    x_s: Floats
    y: Floats

    def __len__(self) -> int:
        return len(self.x_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSpan:
    """The stretch of time that figures show, ns since 1970."""

    start_ns: int
    end_ns: int
    origin_ns: int

    def contains(self, times_ns: Integers) -> NDArray[np.bool_]:
        """Which times are within it."""
        return (times_ns >= self.start_ns) & (times_ns <= self.end_ns)


def reduce_curve(
    times_ns: Integers, values: NDArray[np.integer], span: TimeSpan, *, base: int = 0
) -> TraceCurve:
    """The first, least, largest and last value of each column of the span, in the order of time.

    Times and values have equal length; values outside of the span are left out. ``base`` is subtracted.
    """
    if len(times_ns) and not (times_ns[1:] >= times_ns[:-1]).all():
        order = np.argsort(times_ns, kind="stable")
        times_ns, values = times_ns[order], values[order]
    low = int(np.searchsorted(times_ns, span.start_ns))
    high = int(np.searchsorted(times_ns, span.end_ns, side="right"))
    times_ns, values = times_ns[low:high], values[low:high]
    if len(times_ns) > 4 * COLUMNS:
        kept = _choose_points(times_ns, values, span)
        times_ns, values = times_ns[kept], values[kept]
    return TraceCurve(x_s=(times_ns - span.origin_ns) / 1e9, y=values.astype(np.float64) - base)


def _choose_points(times_ns: Integers, values: NDArray[np.integer], span: TimeSpan) -> Integers:
    # of the times' own type: others would be converted to it, with a copy of all
    edges = np.linspace(span.start_ns, span.end_ns, COLUMNS + 1)[:-1].astype(np.int64)
    starts = np.unique(np.searchsorted(times_ns, edges))
    starts = starts[starts < len(times_ns)]
    ends = np.append(starts[1:], len(times_ns))
    chosen = {0, len(times_ns) - 1}
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        part = values[start:end]
        chosen |= {start, start + int(part.argmin()), start + int(part.argmax()), end - 1}
    return np.array(sorted(chosen), dtype=np.int64)


def sum_over_time(
    times_ns: Integers, amounts: NDArray[np.integer], span: TimeSpan, columns: int
) -> TraceCurve:
    """The rate of amounts (per second) in equal parts of the span, at the middle of each."""
    length_ns = max(1, span.end_ns - span.start_ns)
    # a capture whose clock was set may last for decades, which times the columns is more than 64 bits hold
    tick_ns = max(1, length_ns >> 52)
    ticks = max(1, length_ns // tick_ns)
    totals = np.zeros(columns)
    for start in range(0, len(times_ns), PART):
        times, part = times_ns[start : start + PART], amounts[start : start + PART]
        inside = span.contains(times)
        place = np.minimum((times[inside] - span.start_ns) // tick_ns * columns // ticks, columns - 1)
        totals += np.bincount(place, weights=part[inside], minlength=columns)
    middle = (np.arange(columns) + 0.5) * length_ns / columns + span.start_ns - span.origin_ns
    return TraceCurve(x_s=middle / 1e9, y=totals * columns / (length_ns / 1e9))
