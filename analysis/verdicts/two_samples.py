"""By what factor two independent groups of trials differ."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.corrections import ALPHA_RATIO, check_alpha
from pathlab.analysis.estimators.interval import Interval, IntervalBuilder, Undecided, as_samples
from pathlab.analysis.estimators.margins import MARGIN_RATIO, log_margins
from pathlab.analysis.estimators.shifts import (
    MINIMUM_PAIRS,
    Shift,
    hodges_lehmann,
    student_p_value,
)
from pathlab.analysis.verdicts.equivalence import check_margins, equivalence_p_value

METHOD = "hodges-lehmann-welch-widened"
#: Trials on each side, below which nothing is decided.
MINIMUM_TRIALS = MINIMUM_PAIRS
#: Pairs of values up to which all ratios are made (16 million doubles); groups above are thinned evenly.
MAXIMUM_PRODUCT = 16_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupShift:
    """``second`` less ``first``: Hodges-Lehmann shift in the values' unit, its interval and its two tests.

    ``p_value`` is two-sided, of no difference: below alpha exactly where the interval of confidence 1 - alpha
    excludes 0. ``equivalence_p_value``: below alpha exactly where that interval lies within the margins. Both
    ``None`` where ``undecided`` says why. ``pairs``: the shift of values that belong together; both counts
    are then that of the pairs.
    """

    first_n: int
    second_n: int
    shift: float | None
    interval: Interval
    p_value: float | None = None
    equivalence_p_value: float | None = None
    standard_error: float | None = None
    freedom: float | None = None
    undecided: Undecided | None = None
    pairs: Shift | None = None

    @property
    def paired(self) -> bool:
        """Whether it compares values that belong together."""
        return self.pairs is not None

    @property
    def ratio(self) -> float | None:
        """The shift of logarithms as a factor."""
        return None if self.shift is None else math.exp(self.shift)

    @property
    def interval_ratio(self) -> Interval:
        """The interval of that factor."""
        return self.interval.transform(math.exp)

    def at(self, confidence_ratio: float) -> GroupShift:
        """The same with its interval at another confidence."""
        if self.pairs is not None and self.pairs.tested:
            return replace(self, interval=self.pairs.at(confidence_ratio))
        if self.shift is None or self.standard_error is None or self.freedom is None:
            return replace(self, interval=replace(self.interval, confidence_ratio=confidence_ratio))
        builder = IntervalBuilder(
            n=self.interval.n, method=self.interval.method, confidence_ratio=confidence_ratio
        )
        return replace(self, interval=builder.build_student(self.shift, self.standard_error, self.freedom))


def compare_groups(
    first: ArrayLike,
    second: ArrayLike,
    *,
    margin_ratio: float = MARGIN_RATIO,
    least_ratio: float = 0.0,
    alpha_ratio: float = ALPHA_RATIO,
) -> GroupShift:
    """By what factor the values of ``second`` differ from those of ``first``; the groups need not be equal.

    Either group is in its own time order. ``least_ratio``: the margin is at least this share, which may be
    above 1. Raises ``UsageError`` for a margin or level out of range.

    Notes
    -----
    ``compare_levels`` of the logarithms. ``ratio``: the median over all second / first.
    """
    low, high = log_margins(margin_ratio)
    least = math.log1p(least_ratio)
    margins = min(low, -least), max(high, least)
    ours, theirs = as_samples(first, "first"), as_samples(second, "second")
    if min(ours.min(initial=1.0), theirs.min(initial=1.0)) <= 0:
        check_alpha(alpha_ratio)
        empty = not (ours.size and theirs.size)
        reason = Undecided.NO_SAMPLES if empty else Undecided.NOT_POSITIVE
        return _undecided(reason, None, (ours.size, theirs.size), alpha_ratio)
    return compare_levels(np.log(ours), np.log(theirs), margins=margins, alpha_ratio=alpha_ratio)


def compare_levels(
    first: ArrayLike, second: ArrayLike, *, margins: tuple[float, float], alpha_ratio: float = ALPHA_RATIO
) -> GroupShift:
    """By how much the values of ``second`` lie above those of ``first``, in their own unit.

    For what may be 0 or below, such as loss and dRTT. Either group is in its own time order. ``margins`` (low
    below 0, high above) bound what does not matter. Raises ``UsageError`` for a value out of range.

    Notes
    -----
    Assumption: the groups are independent, and have the same shape up to a shift or are symmetric;
    the order of either: as ``serial.bound_order``. Shift: the median over all second - first. Its variance is
    the sum of those of the groups' own Hodges-Lehmann estimates (``shifts.hodges_lehmann``), its degrees of
    freedom by Welch and Satterthwaite. Both tests are read from the one interval. Minimum sample: 6 on each
    side. Where one group's values are all equal, the other's variance is all there is; where both are, such
    as a loss of 0, interval and tests are those of a difference without error. A group that is a ramp or a
    step is undecided (too correlated). Cost: n x m.
    In simulation (``tests/statistics/test_serial_targets.py``) of 7 to 200 values on each side the 95 %
    interval holds the shift in 97 % or more without correlation and in 94 % or more at a first-order
    correlation of up to 0.7 on both.
    Source: Hodges and Lehmann, Annals of Mathematical Statistics 34, 1963; Welch, Biometrika 34, 1947.
    """
    check_margins(margins, alpha_ratio)
    before, after = as_samples(first, "first"), as_samples(second, "second")
    sizes = before.size, after.size
    if not all(sizes):
        return _undecided(Undecided.NO_SAMPLES, None, sizes, alpha_ratio)
    shift = float(np.median(np.subtract.outer(_thin(after), _thin(before))))
    sides = [hodges_lehmann(values) for values in (before, after)]
    reasons = {side.interval.undecided for side in sides} - {None, Undecided.NO_VARIATION}
    if reasons:
        few, correlated = Undecided.TOO_FEW_SAMPLES, Undecided.TOO_CORRELATED
        return _undecided(few if few in reasons else correlated, shift, sizes, alpha_ratio)
    error, freedom = _add_errors(sides)
    if error == 0:
        p_value, same = float(shift == 0), float(not margins[0] < shift < margins[1])
    else:
        p_value = student_p_value(shift, error, freedom)
        same = equivalence_p_value(shift, error, freedom, margins)
    builder = IntervalBuilder(n=sum(sizes), method=METHOD, confidence_ratio=1 - alpha_ratio)
    return GroupShift(
        first_n=before.size,
        second_n=after.size,
        shift=shift,
        interval=builder.build_student(shift, error, freedom),
        p_value=p_value,
        equivalence_p_value=same,
        standard_error=error,
        freedom=freedom,
    )


def split_halves(values: ArrayLike) -> float | None:
    """Difference of the two halves of one group, as a factor of at least 1: the noise floor of no change.

    The first half of the values, in the order of measurement, against the second; the ratio of their medians.
    ``None`` for fewer than 4 values, or where one is not above 0.

    Notes
    -----
    Halves are blocks in time, as two runs are, so that they differ by what neighbours share; every other
    value against the rest would not. They have half the trials, so that their difference is about 1.4 times
    that of two whole groups: a floor taken from it is on the careful side. Source: A/A comparison.
    """
    samples = as_samples(values, "values")
    distance = measure_halves_distance(np.log(samples)) if samples.min(initial=1.0) > 0 else None
    return None if distance is None else math.exp(distance)


def measure_halves_distance(values: NDArray[np.float64]) -> float | None:
    """Distance between the medians of the first half and of the second; ``None`` for fewer than 4 values."""
    if values.size < 4:
        return None
    middle = values.size // 2
    return abs(float(np.median(values[:middle]) - np.median(values[middle:])))


def _thin(values: NDArray[np.float64]) -> NDArray[np.float64]:
    side = math.isqrt(MAXIMUM_PRODUCT)
    return values if values.size <= side else values[np.linspace(0, values.size - 1, side).astype(np.int64)]


def _add_errors(sides: list[Shift]) -> tuple[float, float]:
    """Standard error of the difference of two estimates and its degrees of freedom."""
    known = [
        (side.standard_error**2, side.freedom)
        for side in sides
        if side.standard_error is not None and side.freedom is not None
    ]
    variance = sum(square for square, _ in known)
    if not variance:
        return 0.0, 1.0
    return math.sqrt(variance), variance**2 / sum(square**2 / freedom for square, freedom in known)


def _undecided(
    reason: Undecided, shift: float | None, sizes: tuple[int, int], alpha_ratio: float
) -> GroupShift:
    builder = IntervalBuilder(n=sum(sizes), method=METHOD, confidence_ratio=1 - alpha_ratio)
    none = builder.build_undecided(reason)
    return GroupShift(first_n=sizes[0], second_n=sizes[1], shift=shift, interval=none, undecided=reason)
