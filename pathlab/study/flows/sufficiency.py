"""Whether a candidate carries enough: its rates against those of the best one and the capacity."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.corrections import ALPHA_RATIO, correct_holm
from pathlab.analysis.estimators.interval import Interval
from pathlab.analysis.estimators.margins import SUFFICIENT_RATIO
from pathlab.analysis.estimators.serial import ordered_median_interval
from pathlab.analysis.estimators.shifts import hodges_lehmann
from pathlab.analysis.fits.curve_fit import Estimate
from pathlab.analysis.planning.cycles import (
    MINIMUM_CYCLES,
    cycles_to_decide,
    difference_power,
    find_cycles,
)
from pathlab.analysis.verdicts.equivalence import evaluate_ratio
from pathlab.study.base.cells import Levels
from pathlab.study.flows.candidates import Candidate, CandidateSet


@dataclass(frozen=True, slots=True, kw_only=True)
class RateComparison:
    """The rate of one candidate over that of another.

    ``median_ratio`` is the ratio of their medians. ``equivalent``, by the rates of the cycles that both have:
    True where the interval of the ratio lies within the margin, False where it lies outside, None: undecided.
    """

    median_ratio: float | None
    equivalent: bool | None


def find_reference_rate(best: Candidate | None, capacity: Estimate | None) -> float | None:
    """What shares are of: the capacity, else the median of the best one."""
    if capacity is not None:
        return capacity.value
    return None if best is None else best.median_bits_per_s


def evaluate_candidates(
    group: CandidateSet,
    best: Candidate | None,
    capacity: Estimate | None,
    line_bits_per_s: float | None = None,
) -> tuple[Candidate, ...]:
    """Compare every candidate with the best one, and with the capacity (fitted or the link's) if any.

    ``best`` None: none serves as the reference. A candidate above the link's payload rate stays undecided: it
    counted more than it carried, and by how much is not known.

    Where the plan drew the order within each cycle, ratios to the best one are tested by that draw, else
    allowing for serial correlation. Enough, where its own median has an interval: equivalent to the best
    cycle by cycle (two one-sided tests, Holm-corrected over the candidates), or the lower end of its interval
    is at 90 % or more of the upper end of the capacity's. Without a capacity, the interval of the ratio to
    the best within cycles is compared with 90 %. Not enough: the interval is below.
    """
    first, reference = None if best is None else best.levels, find_reference_rate(best, capacity)
    if not reference:
        return group.candidates
    pairs = {
        candidate.levels: _pair(group, candidate.levels, first)
        for candidate in group.candidates
        if candidate.median_bits_per_s is not None
    }
    p_values = _test_equivalence(group, pairs, first)
    evaluated = []
    for candidate in group.candidates:
        if candidate.levels not in pairs:
            evaluated.append(candidate)
            continue
        p_value = p_values.get(candidate.levels)
        equivalent = None if p_value is None else p_value < ALPHA_RATIO
        if candidate.levels == first and candidate.testable:
            equivalent = True
        ratios = _ratios(pairs[candidate.levels])
        share = _find_share(ratios, group.drawn_tests(1))
        enough = _is_enough(candidate, capacity, share, is_best=candidate.levels == first)
        if equivalent and candidate.throughput_bits_per_s.interval.decided:
            enough = True
        if candidate.over_line:
            enough = None
        evaluated.append(
            replace(
                candidate,
                share_ratio=_find_carried(candidate, line_bits_per_s or reference) / reference,
                enough=enough,
                equivalent=equivalent,
                more_cycles=None
                if enough is not None
                else _count_more(candidate, ratios, len(p_values), drawn=bool(group.drawn_tests(1))),
            )
        )
    return tuple(evaluated)


def _test_equivalence(
    group: CandidateSet, pairs: Mapping[Levels, tuple[Floats, Floats]], first: Levels | None
) -> dict[Levels, float | None]:
    """The Holm-corrected p-value of each candidate that can be tested against the best one."""
    if first is None:
        return {}
    tested = [
        candidate.levels
        for candidate in group.candidates
        if candidate.levels in pairs
        and candidate.levels != first
        and candidate.testable
        and not candidate.over_line
    ]
    tests = group.drawn_tests(len(tested))
    result = [evaluate_ratio(*pairs[levels], drawn_tests=tests).p_value for levels in tested]
    return dict(zip(tested, correct_holm(result), strict=True))


def _find_carried(candidate: Candidate, line_bits_per_s: float) -> float:
    """The median; no more than the line carries of what counted more."""
    median = candidate.median_bits_per_s or 0.0
    return min(median, line_bits_per_s) if candidate.over_line else median


def compare_rates(group: CandidateSet, first: Candidate, second: Candidate) -> RateComparison:
    """Compare the rates of two candidates of a condition, ``first`` over ``second``."""
    pair = _pair(group, first.levels, second.levels)
    test = evaluate_ratio(*pair, drawn_tests=group.drawn_tests(1))
    low, high = test.interval.low, test.interval.high
    outside = low is not None and high is not None and (low > test.margin_high or high < test.margin_low)
    return RateComparison(
        median_ratio=divide_medians(first, second),
        equivalent=True if test.equivalent else False if outside else None,
    )


def divide_medians(first: Candidate, second: Candidate) -> float | None:
    """The median rate of ``first`` over that of ``second``; None unless both are above 0."""
    ours, theirs = first.median_bits_per_s, second.median_bits_per_s
    return ours / theirs if ours and theirs else None


def _find_share(ratios: Floats, drawn_tests: int) -> Interval:
    """The interval of the ratio to the best one within cycles."""
    result = hodges_lehmann(np.log(ratios), drawn_tests=drawn_tests)
    return result.interval.transform(math.exp) if result.drawn else ordered_median_interval(ratios)


def _is_enough(
    candidate: Candidate, capacity: Estimate | None, share: Interval, *, is_best: bool
) -> bool | None:
    if is_best:  # nothing measured carries more, so that its own interval is all that it needs
        return True if candidate.throughput_bits_per_s.interval.decided else None
    limits, bars = share.limits, (1.0, 1.0)
    if capacity is not None and capacity.interval.limits is not None:
        limits, bars = candidate.throughput_bits_per_s.interval.limits, capacity.interval.limits
    if limits is None:
        return None
    if limits[0] >= SUFFICIENT_RATIO * bars[1]:
        return True
    return False if limits[1] < SUFFICIENT_RATIO * bars[0] else None


def _count_more(candidate: Candidate, ratios: Floats, tests: int, *, drawn: bool) -> int | None:
    """Cycles beyond those measured that would probably decide; None where nothing can be said.

    ``tests``: so many cells are tested for equivalence, corrected together.
    """
    if not candidate.testable:
        return None
    if candidate.n < MINIMUM_CYCLES:
        return MINIMUM_CYCLES - candidate.n
    logs = np.log(ratios)
    if logs.size < MINIMUM_CYCLES or np.ptp(logs) == 0:
        return None
    mean, spread = float(logs.mean() - np.log(SUFFICIENT_RATIO)), float(logs.std(ddof=1))
    if mean == 0 or spread == 0:
        return None
    needed = find_cycles(lambda cycles: difference_power(mean, spread, cycles, ALPHA_RATIO, drawn=drawn))
    outlooks = [
        cycles_to_decide(logs, ALPHA_RATIO / max(tests, 1), drawn=drawn),
        None if needed is None else max(1, needed - logs.size),
    ]
    return min((cycles for cycles in outlooks if cycles is not None), default=None)


def _pair(group: CandidateSet, first: Levels, second: Levels | None) -> tuple[Floats, Floats]:
    ours, theirs = group.by_cycle.get(first, {}), {} if second is None else group.by_cycle.get(second, {})
    shared: Sequence[int] = sorted(ours.keys() & theirs.keys())
    return np.array([ours[cycle] for cycle in shared]), np.array([theirs[cycle] for cycle in shared])


def _ratios(pair: tuple[Floats, Floats]) -> Floats:
    ours, theirs = pair
    above = (ours > 0) & (theirs > 0)
    ratios: Floats = ours[above] / theirs[above]
    return ratios
