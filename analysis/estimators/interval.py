"""The result of an estimator: an interval with its confidence, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.libraries import special
from pathlab.errors import UsageError

CONFIDENCE_RATIO = 0.95
#: An end that lies beyond a range by no more than this share of its values is there by arithmetic.
ROUNDING_RATIO = 1e-9


class Undecided(StrEnum):
    """Why a result could not be given. The values are stable and machine-readable."""

    NO_SAMPLES = "no-samples"
    TOO_FEW_SAMPLES = "too-few-samples"
    NO_VARIATION = "no-variation"
    TOO_CORRELATED = "too-correlated"
    ALL_ZERO = "all-zero"
    NOT_POSITIVE = "not-positive"
    NOT_MEASURED = "not-measured"
    NOT_SETTLED = "not-settled"
    INCONCLUSIVE = "inconclusive"
    NO_EVIDENCE = "no-evidence"
    CONFLICTING_EVIDENCE = "conflicting-evidence"
    TOO_FEW_LEVELS = "too-few-levels"
    NOT_IDENTIFIED = "not-identified"
    BEYOND_RANGE = "beyond-range"
    NO_CAPACITY = "no-capacity"
    STILL_RISING = "still-rising"
    NOT_BOUNDED = "not-bounded-above"
    NO_FIT = "no-model-fits"
    RIVALS = "rivals-not-distinguished"
    NO_BREAK = "no-break"
    STALLED = "stalled"  # of a trial in which a program did not run
    PROVISIONAL = "provisional"  # of trials that no test takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A confidence interval, or ``undecided`` with both ends ``None``.

    ``low`` and ``high`` have the unit of the samples. ``confidence_ratio`` is the requested confidence;
    ``coverage_ratio`` is the exact coverage where theory gives it and ``None`` where it is only approximate.
    ``undecided`` with a ``low`` end: the value is at least this (at half the complement of the confidence),
    and ``undecided`` says why the data do not bound it above. ``cut``: the interval of this confidence
    reaches beyond every sample; its ends are cut at their range, and its level is then not known.
    """

    low: float | None = None
    high: float | None = None
    n: int
    confidence_ratio: float
    coverage_ratio: float | None = None
    method: str
    undecided: Undecided | None = None
    cut: bool = False
    uncut: tuple[float, float] | None = field(default=None, repr=False)

    @property
    def decided(self) -> bool:
        """True if the interval has two ends."""
        return self.undecided is None

    @property
    def limits(self) -> tuple[float, float] | None:
        """The ends of the stated confidence, which verdicts are read from: of a cut interval the uncut ones.

        ``None`` without two ends.
        """
        if self.low is None or self.high is None:
            return None
        return self.uncut or (self.low, self.high)

    def contains(self, value: float) -> bool:
        """True if a decided interval, uncut, holds the value; an undecided one holds nothing."""
        limits = self.limits
        return limits is not None and limits[0] <= value <= limits[1]

    def cut_at(self, least: float, most: float) -> Interval:
        """The interval, cut where it reaches below ``least`` or above ``most``."""
        if self.low is None or self.high is None:
            return self
        rounding = ROUNDING_RATIO * max(abs(least), abs(most))
        within = replace(self, low=min(max(self.low, least), most), high=max(min(self.high, most), least))
        if least - self.low <= rounding and self.high - most <= rounding:
            return within
        return replace(within, coverage_ratio=None, cut=True, uncut=self.limits)

    def extend_to(self, value: float) -> Interval:
        """The interval, extended so that it holds the value; an undecided one stays as it is."""
        if self.low is None or self.high is None:
            return self
        uncut = self.uncut and (min(self.uncut[0], value), max(self.uncut[1], value))
        return replace(self, low=min(self.low, value), high=max(self.high, value), uncut=uncut)

    def transform(self, function: Callable[[float], float]) -> Interval:
        """The interval of a monotone function of the value, such as the exponential of a logarithm.

        Without an upper end the function has to ascend.
        """
        if self.low is None or self.high is None:
            return self if self.low is None else replace(self, low=function(self.low))
        low, high = sorted((function(self.low), function(self.high)))
        if self.uncut is None:
            return replace(self, low=low, high=high)
        least, most = sorted(map(function, self.uncut))
        return replace(self, low=low, high=high, uncut=(least, most))

    def lies_below(self, other: Interval) -> bool:
        """True if both are decided and the whole interval, uncut, is below the other one."""
        ours, theirs = self.limits, other.limits
        return ours is not None and theirs is not None and ours[1] < theirs[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalBuilder:
    """The intervals of one estimate, which share its sample size, confidence and method."""

    n: int
    method: str
    confidence_ratio: float = CONFIDENCE_RATIO

    def build(self, low: float, high: float, coverage_ratio: float | None = None) -> Interval:
        """The interval between these ends."""
        return Interval(
            low=float(low),
            high=float(high),
            n=self.n,
            confidence_ratio=self.confidence_ratio,
            coverage_ratio=coverage_ratio,
            method=self.method,
        )

    def build_student(self, estimate: float, standard_error: float, freedom: float) -> Interval:
        """The interval of an estimate whose error follows Student's t."""
        half = float(special.stdtrit(freedom, (1 + self.confidence_ratio) / 2)) * standard_error
        return self.build(estimate - half, estimate + half)

    def build_least(self, low: float, reason: Undecided) -> Interval:
        """The interval from a low end on, whose upper end is not known for this reason."""
        return replace(self.build_undecided(reason), low=float(low))

    def build_undecided(self, reason: Undecided) -> Interval:
        """The interval that says why it has no ends."""
        return Interval(
            n=self.n, confidence_ratio=self.confidence_ratio, method=self.method, undecided=reason
        )


def check_sample_count(n: int, least: int) -> Undecided | None:
    """Why so few samples decide nothing; None for ``least`` or more."""
    if n >= least:
        return None
    return Undecided.TOO_FEW_SAMPLES if n else Undecided.NO_SAMPLES


def as_samples(values: ArrayLike, name: str = "samples") -> NDArray[np.float64]:
    """Return the values as a one-dimensional float array; ``UsageError`` if any is not a finite number."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise UsageError(
            f"{name}: expected one dimension, got {array.ndim}", hint="pass a flat sequence of numbers"
        )
    if not np.isfinite(array).all():
        raise UsageError(
            f"{name}: not every value is a finite number", hint="leave missing samples out and count them"
        )
    return array


def as_amounts(values: ArrayLike, name: str, *, least: float = 0.0) -> NDArray[np.float64]:
    """The values as finite numbers of one dimension; ``UsageError`` where one is below ``least``."""
    amounts = as_samples(values, name)
    if amounts.size and amounts.min() < least:
        raise UsageError(f"{name}: a value is below {least:g}", hint="leave out what was not measured")
    return amounts


def check_lengths(**arrays: NDArray[np.float64]) -> None:
    """Raise ``UsageError`` unless all arrays, named by their keywords, have the same length."""
    sizes = {name.replace("_", " "): array.size for name, array in arrays.items()}
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{size} {name}" for name, size in sizes.items())
        raise UsageError(f"lengths differ: {counts}", hint="pass as many of each")


def check_confidence(confidence_ratio: float) -> None:
    """Raise ``UsageError`` unless the confidence lies strictly between 0 and 1."""
    if not 0 < confidence_ratio < 1:
        raise UsageError(f"confidence {confidence_ratio} is not between 0 and 1", hint="0.95 stands for 95 %")
