"""Many streams against large windows: two settings compared by their pairs within cycles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pathlab.analysis.estimators.corrections import ALPHA_RATIO, holm_levels
from pathlab.analysis.estimators.dominance import Dominance, cliffs_delta
from pathlab.analysis.estimators.interval import Interval, Undecided
from pathlab.analysis.estimators.margins import MARGIN_RATIO, log_margins
from pathlab.analysis.estimators.shifts import Shift, hodges_lehmann
from pathlab.analysis.planning.cycles import Pilot, cycles_beyond, describe_pilot
from pathlab.analysis.verdicts.equivalence import (
    Equivalence,
    evaluate_shift,
    log_ratios,
    undecided_equivalence,
)
from pathlab.errors import UsageError

#: Below this many pairs a comparison is called small.
SMALL_PAIRS = 20


class PairVerdict(StrEnum):
    """The outcome of a comparison, in the words that reports use."""

    STREAMS = "more streams win"
    WINDOWS = "larger windows win"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedComparison:
    """More streams against larger windows; above 0, and ratios above 1, speak for more streams.

    ``pairs`` are the cycles in which both were measured, ``left_out`` those in which one was not.
    ``shift`` is in the unit of the samples, ``log_ratio`` of the natural logarithms of streams / windows (it
    has no shift where a value is 0). ``ratio`` and ``ratio_interval`` are those of ``log_ratio`` as factors:
    the Hodges-Lehmann ratio, which is the median one where noise is symmetric.

    A winner: the intervals of shift and ratio lie on one side of no difference, and so they do allowing for
    all ``tests``; else they are extended to no difference. Equivalent: the interval of ``equivalence`` lies
    within the margin. ``p_value`` and ``equivalence_p_value`` allow for all tests: not above ``ALPHA_RATIO``
    where the verdict says so.

    ``drawn``: the plan drew the order within each cycle. Intervals of shift and ratio then have 95 %
    confidence for this pair. Else the verdict is read from them alone: their confidence is 1 less the level
    at which Holm's procedure tests this pair.

    ``more_cycles`` would decide an undecided verdict at the corrected level, with the chance of
    ``planning.POWER_RATIO`` if ``pilot``, what the pairs showed of their log ratios, is the truth; ``None``
    where nothing can be said.
    """

    pairs: int
    left_out: int
    small: bool
    streams_median: float | None
    windows_median: float | None
    shift: Shift
    log_ratio: Shift
    cliffs_delta: Dominance
    ratio: float | None
    ratio_interval: Interval
    equivalence_shift: Shift
    equivalence: Equivalence
    equivalence_p_value: float | None = None
    p_value: float | None = None
    tests: int
    drawn: bool = False
    verdict: PairVerdict
    pilot: Pilot | None
    more_cycles: int | None = None
    undecided: Undecided | None = None

    @property
    def words(self) -> str:
        """The verdict as reports print it, with what would decide an undecided one."""
        if self.verdict is not PairVerdict.UNDECIDED or self.more_cycles is None:
            return str(self.verdict)
        cycles = "cycle" if self.more_cycles == 1 else "cycles"
        return f"{self.verdict} ({self.more_cycles} more {cycles} would decide)"


@dataclass(frozen=True, slots=True, kw_only=True)
class CostComparison:
    """One cost on both sides, in its own unit, and by how much more streams cost more (above 0)."""

    name: str
    pairs: int
    left_out: int
    streams_median: float | None
    windows_median: float | None
    shift: Shift
    undecided: Undecided | None = None


def match_pairs(first: ArrayLike, second: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """The pairs of which both were measured, and how many were left out; NaN marks a missing trial.

    Raises ``UsageError`` for unequal lengths, more than one dimension or an infinite value.
    """
    sides = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if sides[0].ndim != 1 or sides[0].shape != sides[1].shape:
        raise UsageError(
            f"pairs: shapes {sides[0].shape} and {sides[1].shape} do not match",
            hint="pass one value of each side for every cycle, NaN where a trial is missing",
        )
    if np.isinf(sides[0]).any() or np.isinf(sides[1]).any():
        raise UsageError("pairs: a value is infinite", hint="mark a missing trial with NaN")
    both = ~(np.isnan(sides[0]) | np.isnan(sides[1]))
    return sides[0][both], sides[1][both], int(both.size - both.sum())


def compare_pairs(streams: ArrayLike, windows: ArrayLike, *, drawn_tests: int = 0) -> PairedComparison:
    """Compare the setting with more streams to the one with larger windows, cycle by cycle.

    Both arrays hold one value per cycle (throughput, bit/s) in time order; NaN marks a missing trial.
    ``drawn_tests``: as ``shifts.hodges_lehmann``. Raises ``UsageError`` for a negative value.

    Notes
    -----
    Assumption: equal streams x window; differences and log ratios about symmetric. Of a given order: that of
    the cycles as ``serial.bound_order``, at every number of them; the cycles in which both were measured
    count as neighbours. Minimum sample: 6 pairs; below 20 the comparison is called small, since the interval
    allows for a correlation that so few can hardly rule out. Of a drawn order: exact, by that draw.
    The verdict is read from the intervals: "equivalent" where that of the ratio lies within the margin (a
    difference that is real but smaller does not matter), else the winner where both exclude no difference,
    else undecided with the cycles that would decide.
    In simulation (``tests/statistics/test_serial_targets.py``) of 7 to 200 pairs a wrong winner comes up in
    3 % at most without correlation and in 6 % at most at a first-order correlation of up to 0.7. A difference
    of 10 % under 3 % of noise on either side is decided in 30 % of campaigns of 7 cycles and in 95 % of 13.
    Source: METHOD section 4; the parts in ``shifts``, ``equivalence``, ``planning``.
    """
    ours, theirs, left_out = match_pairs(streams, windows)
    if ours.size and min(ours.min(), theirs.min()) < 0:
        raise UsageError("pairs: a value is below 0", hint="pass rates; mark a missing trial with NaN")
    logs, reason = log_ratios(ours, theirs)
    margins = log_margins(MARGIN_RATIO)
    drawn = drawn_tests > 0
    shift, log_ratio = (hodges_lehmann(values, drawn_tests=int(drawn)) for values in (ours - theirs, logs))
    same = log_ratio if drawn_tests <= 1 else hodges_lehmann(logs, drawn_tests=drawn_tests)
    if reason is Undecided.NOT_POSITIVE:
        none = replace(log_ratio.interval, n=ours.size, undecided=reason)
        log_ratio = replace(log_ratio, n=ours.size, interval=none, undecided=reason)
    comparison = PairedComparison(
        pairs=ours.size,
        left_out=left_out,
        small=ours.size < SMALL_PAIRS,
        streams_median=float(np.median(ours)) if ours.size else None,
        windows_median=float(np.median(theirs)) if theirs.size else None,
        shift=shift,
        log_ratio=log_ratio,
        cliffs_delta=cliffs_delta(ours, theirs),
        ratio=None if log_ratio.shift is None else math.exp(log_ratio.shift),
        ratio_interval=log_ratio.interval,
        equivalence_shift=same,
        equivalence=evaluate_shift(same, margins)
        if reason is None
        else undecided_equivalence(reason, n=ours.size, margins=margins, alpha_ratio=ALPHA_RATIO),
        tests=1,
        verdict=PairVerdict.UNDECIDED,
        drawn=drawn,
        pilot=describe_pilot(logs),
    )
    return _decide(comparison, ALPHA_RATIO)


def compare_cost(
    name: str, streams: ArrayLike, windows: ArrayLike, *, drawn_tests: int = 0
) -> CostComparison:
    """A cost (dRTT, loss, RV, CPU-s/GB, fairness ...) side by side, one value per cycle, NaN if missing.

    ``drawn_tests``: as ``shifts.hodges_lehmann``.

    Notes
    -----
    Assumption and minimum sample: as ``hodges_lehmann``. No verdict: what a cost is worth is the user's.
    """
    ours, theirs, left_out = match_pairs(streams, windows)
    shift = hodges_lehmann(ours - theirs, drawn_tests=drawn_tests)
    return CostComparison(
        name=name,
        pairs=ours.size,
        left_out=left_out,
        streams_median=float(np.median(ours)) if ours.size else None,
        windows_median=float(np.median(theirs)) if theirs.size else None,
        shift=shift,
        undecided=shift.undecided,
    )


def correct_comparisons(
    comparisons: Sequence[PairedComparison], p_values: Sequence[float | None] | None = None
) -> tuple[PairedComparison, ...]:
    """The same comparisons with p-values and verdicts that allow for all of them.

    ``p_values``: of no difference, corrected by ``cycle_permutation.compare_within_cycles``; equivalences are
    then a family of Holm's. Without: the order was given. Winners are one family of Holm's, equivalences
    another; a pair is tested, and its intervals are computed, at the smaller one of its two levels
    (``corrections.holm_levels``).
    """
    wins = [_combine_p_values(comparison) for comparison in comparisons]
    sames = [comparison.equivalence.p_value for comparison in comparisons]
    tests = max(1, sum(p_value is not None for p_value in wins))
    levels = holm_levels(*([] if p_values is not None else [wins]), sames)
    corrected = p_values or [None] * len(comparisons)
    return tuple(
        _decide(replace(comparison, tests=tests), level, p_value)
        for comparison, level, p_value in zip(comparisons, levels, corrected, strict=True)
    )


def _combine_p_values(comparison: PairedComparison) -> float | None:
    """The p-value of no difference, by the shift and by the ratio: both must show it, in one direction."""
    shift, ratio = comparison.shift, comparison.log_ratio
    if shift.p_value is None or shift.shift is None:
        return None
    if comparison.ratio is None or ratio.p_value is None or ratio.shift is None:
        # No ratio where a value is 0; no test without variation of one of the two.
        return shift.p_value if comparison.ratio is None else None
    return 1.0 if shift.shift * ratio.shift < 0 else max(shift.p_value, ratio.p_value)


def _decide(comparison: PairedComparison, level: float, corrected: float | None = None) -> PairedComparison:
    """The comparison with its verdict, at ``level`` or, of a drawn order, by the ``corrected`` p-value."""
    p_value, scale = _combine_p_values(comparison), ALPHA_RATIO / level
    shown = ALPHA_RATIO if comparison.drawn else level
    if p_value is not None:
        p_value = min(1.0, p_value * scale) if corrected is None else max(p_value, corrected)
    differs = p_value is not None and p_value <= ALPHA_RATIO
    shift, logs = comparison.shift.at(1 - shown), comparison.log_ratio.at(1 - shown)
    if not differs:
        shift, logs = shift.extend_to(0.0), logs.extend_to(0.0)
    margins = comparison.equivalence.margin_low, comparison.equivalence.margin_high
    same_p = comparison.equivalence.p_value
    verdict, reason = PairVerdict.UNDECIDED, None
    if same_p is not None and same_p < level:
        verdict = PairVerdict.EQUIVALENT
    elif p_value is None:
        reason = shift.undecided or logs.undecided
    elif differs and comparison.shift.shift:
        verdict = PairVerdict.STREAMS if comparison.shift.shift > 0 else PairVerdict.WINDOWS
    else:
        reason = Undecided.INCONCLUSIVE
    more = None
    if verdict is PairVerdict.UNDECIDED and comparison.pilot is not None:
        more = cycles_beyond(comparison.pilot, level, drawn=comparison.drawn)
    return replace(
        comparison,
        shift=replace(comparison.shift, interval=shift),
        log_ratio=replace(comparison.log_ratio, interval=logs),
        equivalence=comparison.equivalence
        if same_p is None
        else evaluate_shift(comparison.equivalence_shift, margins, level),
        ratio_interval=logs.transform(math.exp),
        p_value=p_value,
        equivalence_p_value=None if same_p is None else min(1.0, same_p * scale),
        verdict=verdict,
        more_cycles=more,
        undecided=reason,
    )
