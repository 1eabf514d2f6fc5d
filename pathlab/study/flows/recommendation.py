"""For each path the streams and the window to use, what that costs, and with what confidence."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeVar

import numpy as np

from pathlab.analysis.estimators.interval import IntervalBuilder, Undecided
from pathlab.analysis.estimators.margins import MARGIN_RATIO, SUFFICIENT_RATIO
from pathlab.analysis.estimators.payload import OVER_LINE_RATIO
from pathlab.analysis.fits.curve_fit import Estimate
from pathlab.analysis.fits.surface import Surface
from pathlab.analysis.verdicts.drift import Drift, DriftVerdict
from pathlab.analysis.verdicts.limits import Limit
from pathlab.analysis.verdicts.preference import DifferenceTest, Preference, Reason, prefer
from pathlab.store.flags import Flag
from pathlab.study.base.answer import Answer, Answers, Spread
from pathlab.study.base.cells import Levels, MeasuredCondition
from pathlab.study.base.selection import NOT_MEASURED
from pathlab.study.base.trials import Condition, StudySource
from pathlab.study.flows.candidates import (
    OVERLOADED,
    Candidate,
    CandidateSet,
    CellVerdicts,
    admit_overloaded,
    build_candidates,
    mark_over_line,
)
from pathlab.study.flows.climbs import classify_cell_climb
from pathlab.study.flows.limits import CellLimit
from pathlab.study.flows.order import RateLevels
from pathlab.study.flows.steadiness import CellSteadiness
from pathlab.study.flows.sufficiency import (
    RateComparison,
    compare_rates,
    divide_medians,
    evaluate_candidates,
    find_reference_rate,
)
from pathlab.study.flows.throughput import StreamsVsWindows

WINDOW_LIMITS = (Limit.RECEIVER_WINDOW, Limit.SEND_BUFFER, Limit.WINDOW)
#: Combinations whose cycles follow each other in so many pairs were not measured in turn.
APART_RATIO = 0.9
#: A recommendation is made after every run: the series of at most three trials of each cell are read for it.
LIMIT_TRIALS = 3


Result = TypeVar("Result")


class Confidence(StrEnum):
    """With what confidence something is recommended. The values are stable and machine-readable."""

    HIGH = "high"  # shown to carry enough, and everything smaller shown not to
    #: Shown to carry enough; something that would be preferred may do as well, or its rate is not precise.
    MEDIUM = "medium"
    LOW = "low"  # by medians, which chance may have brought about; or the only one
    NONE = "none"  # nothing to recommend, as ``reason`` says


class Reference(StrEnum):
    """What shares are of. The values are stable and machine-readable."""

    HIGHEST_MEDIAN = "highest-median"  # of the combinations that are not above the link's payload rate
    CAPACITY = "fitted-capacity"
    LINK = "link-payload-rate"  # where what came near the link's rate counted more than it can carry


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """What to use under one condition (a path, and every setting besides streams and window).

    ``reference_bits_per_s`` is what shares are of, ``reference`` says which rate that is. ``candidates`` are
    in ascending (window, streams). ``medium`` is the condition's. ``rival`` is the combination to name with
    the recommended one, which is preferred to it for ``preferred_for``, shown by ``preferred_by`` (None: a
    tie-breaker); ``rival_rate`` compares its rate with that of the recommended one. ``undecided`` are the
    combinations that would be preferred if they carried enough; ``more_cycles`` would probably decide about
    them and about the recommended one. ``line_bits_per_s`` is the payload rate of the lab's narrowest link.
    ``share_of_best_ratio`` is the recommended one's median over the best one's, ``share_of_link_ratio`` the
    best one's over the link's payload rate. ``equal_windows`` counts the verdicts on more streams against
    larger windows at the same total window. ``drift`` is the verdict over the campaign,
    ``drift_ratio`` by which share the throughput changed, where it is drifting or stepped; confidence is low
    where that is above the margin. ``imprecise``: nothing but the width of the recommended one's interval
    keeps confidence from high, as over a path that changed in too few cycles to name it. ``provisional``: the
    medians of combinations that the overloaded emulation excluded decide as well, since none is usable or
    they would change the answer; ``reason`` says in how many, and confidence is low.
    ``apart``: usable combinations that were measured before or after the recommended one, but for few trials,
    so that the path may have changed between them; confidence is then low.
    """

    name: str
    medium: str
    candidates: tuple[Candidate, ...]
    best: Candidate | None
    capacity: Estimate | None
    reference_bits_per_s: float | None
    recommended: Candidate | None
    confidence: Confidence
    reason: str | None
    undecided: tuple[Candidate, ...]
    more_cycles: int | None
    reference: Reference | None = None
    rival: Candidate | None = None
    rival_rate: RateComparison | None = None
    share_of_best_ratio: float | None = None
    share_of_link_ratio: float | None = None
    preferred_for: Reason | None = None
    preferred_by: DifferenceTest | None = None
    line_bits_per_s: float | None = None
    equal_windows: Mapping[str, int] = field(default_factory=dict)
    capacity_least_bits_per_s: float | None = None
    drift: DriftVerdict | None = None
    drift_ratio: float | None = None
    imprecise: bool = False
    provisional: bool = False
    apart: tuple[Candidate, ...] = ()

    @property
    def excluded(self) -> tuple[Candidate, ...]:
        """Combinations that were measured and say nothing about the path."""
        return tuple(candidate for candidate in self.candidates if candidate.exclusion is not None)

    @property
    def smaller(self) -> tuple[Candidate, ...]:
        """Every combination with less streams x window than the recommended one, or with fewer streams."""
        chosen = self.recommended
        return (
            ()
            if chosen is None
            else tuple(candidate for candidate in self.candidates if _size(candidate) < _size(chosen))
        )

    @property
    def over_line(self) -> tuple[Candidate, ...]:
        """Combinations that would count, and are above the link's payload rate."""
        return tuple(
            candidate for candidate in self.candidates if _is_usable(candidate) and candidate.over_line
        )

    @property
    def window_limited(self) -> bool:
        """Whether windows limited even the best one, which shares are of."""
        best = self.best
        return self.reference is Reference.HIGHEST_MEDIAN and best is not None and best.limit in WINDOW_LIMITS

    @property
    def capacity_missed(self) -> bool:
        """Whether even the best one carried less than 90 % of the fitted capacity."""
        best = self.best
        return self.capacity is not None and best is not None and (best.share_ratio or 0.0) < SUFFICIENT_RATIO

    @property
    def still_rising(self) -> tuple[Candidate, ...]:
        """The recommended one and its rival, where the RTT was still rising at the end of their trials."""
        both = (self.recommended, self.rival)
        return tuple(item for item in both if item is not None and item.climb and item.climb.still_rising)

    @property
    def too_short(self) -> bool:
        """Whether less delay decided, and the recommended one's delay was still rising when trials ended."""
        return self.preferred_for is Reason.DELAY and self.recommended in self.still_rising

    @property
    def drifted(self) -> bool:
        """Whether the path changed by more than the margin during the campaign."""
        return abs(self.drift_ratio or 0.0) > MARGIN_RATIO

    @property
    def lone(self) -> bool:
        """Whether a single combination is usable, so that there is nothing to compare it with."""
        return sum(_is_usable(candidate) for candidate in self.candidates) == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendationBasis:
    """The conditions of a study and the answers of its analyses that a recommendation rests on."""

    source: StudySource
    conditions: tuple[MeasuredCondition, ...]
    limits: Answers[CellLimit]
    steadiness: Answers[CellSteadiness]
    rate_levels: Answers[RateLevels]
    surface: Answers[Surface]
    drift: Answers[Drift]
    streams_vs_windows: Answers[StreamsVsWindows]


def recommend_combinations(basis: RecommendationBasis) -> tuple[Answer[Recommendation], ...]:
    """The recommendation of every condition in order of measurement, but of messages and failing links."""
    limits = _list_by_cell(basis.limits)
    steadiness = _list_by_cell(basis.steadiness)
    levels = _list_by_cell(basis.rate_levels)
    capacities = {answer.condition: answer.result.capacity for answer in basis.surface}
    drifts = {answer.condition: answer.result for answer in basis.drift}
    verdicts: dict[Condition, Counter[str]] = {}
    for pair in basis.streams_vs_windows:
        verdicts.setdefault(pair.condition, Counter())[str(pair.result.comparison.verdict)] += 1
    answers = []
    for measured in basis.conditions:
        key = measured.key
        if key.is_of_messages or key.get("failover") not in (None, "none"):
            continue  # nothing is recommended for a link that fails
        found_hours = {cell: item.slow_hours for cell, item in levels.get(key, {}).items()}
        known = CellVerdicts(
            limits=limits.get(key, {}),
            steadiness=steadiness.get(key, {}),
            slow_hours={
                cell: found_hour
                for cell, found_hour in found_hours.items()
                if found_hour.first_hour is not None
            },
        )
        group = build_candidates(measured, known)
        result = recommend(group, measured.name, capacities.get(key))
        result = replace(
            _read_climbs(result, group, basis.source),
            equal_windows=dict(sorted(verdicts.get(key, Counter()).items())),
        )
        result = _add_drift(result, drifts.get(key))
        answers.append(Answer(condition=key, selection=measured.sample.selection, result=result))
    return tuple(answers)


def _list_by_cell(answers: Iterable[Answer[Result]]) -> dict[Condition, dict[Levels, Result]]:
    """The results of each condition by cell."""
    result: dict[Condition, dict[Levels, Result]] = {}
    for answer in answers:
        if answer.streams is not None:
            result.setdefault(answer.condition, {})[answer.streams, answer.window_bytes] = answer.result
    return result


def recommend(group: CandidateSet, name: str, fitted: Estimate | None) -> Recommendation:
    """Recommend a combination of one condition, by the rule that the report states (``RULE``).

    Notes
    -----
    Of the usable combinations that carry enough (``evaluate_candidates``) the one that ``preference.prefer``
    names: less delay and loss, then the least streams x window, then the fewest streams. Confidence is low
    where medians alone or the ranges of few trials decide, where there is nothing to compare with, or where
    the recommended one has no one rate: several levels, slow hours, trials that are not steady, a path that
    drifted. It is not high where its rate has an interval that reaches further than 10 % from the median.
    Where combinations that an overloaded emulation excluded would by their medians change the answer, all are
    compared by medians, and the answer is provisional: what the rest shows is then an accident of which
    trials the machine could keep up with.
    """
    measured = group.measured
    line_bits_per_s = None if measured.bottleneck is None else measured.bottleneck.data_bits_per_s
    group = mark_over_line(group, line_bits_per_s)
    refused = _recommend_nothing(group, name, line_bits_per_s)
    if measured.key.medium == Flag.LOOPBACK_FALLBACK or measured.key.is_udp:
        return refused
    usable = _recommend_usable(group, refused, fitted, provisional=False)
    overloaded = {candidate.levels for candidate in group.candidates if candidate.exclusion == OVERLOADED}
    if not overloaded:
        return usable
    every = _recommend_usable(admit_overloaded(group), refused, None, provisional=True)
    return every if _is_overruled(usable, every, overloaded) else usable


def _is_overruled(result: Recommendation, every: Recommendation, overloaded: Collection[Levels]) -> bool:
    """Whether the medians of combinations that the overloaded emulation excluded would change the answer."""
    if result.recommended is None or every.recommended is None:
        return result.recommended is None
    rates = [_rate(candidate) for candidate in every.candidates if candidate.levels in overloaded]
    exceeded = max(rates, default=0.0) * SUFFICIENT_RATIO > _rate(result.recommended)
    return exceeded or every.recommended.levels in overloaded


def _recommend_usable(
    group: CandidateSet, refused: Recommendation, fitted: Estimate | None, *, provisional: bool
) -> Recommendation:
    """The recommendation among the usable combinations; ``refused`` where there is none."""
    line_bits_per_s = refused.line_bits_per_s
    usable = [candidate for candidate in group.candidates if _is_usable(candidate)]
    if not usable:
        return refused
    reference, first, capacity = _find_reference(usable, fitted, line_bits_per_s)
    against = None if reference is Reference.LINK else first
    candidates = evaluate_candidates(group, against, capacity, line_bits_per_s)
    evaluated = [candidate for candidate in candidates if _is_usable(candidate)]
    best = next((item for item in evaluated if first is not None and item.levels == first.levels), None)
    sure = [item for item in evaluated if item.enough]
    pool = sure or _list_likely(evaluated, against)
    margin_ns = group.delay_margin_ns
    chosen, rival, result = _choose(pool, margin_ns)
    undecided = () if provisional else _list_undecided(evaluated, pool, chosen, margin_ns)
    compared = bool(sure) and (len(evaluated) > 1 or capacity is not None)
    apart = tuple(item for item in evaluated if _are_apart(group, item, chosen))
    tested = compared and result.evidence is not DifferenceTest.RANGES and not apart and chosen.has_one_rate
    imprecise = tested and not undecided and not _is_precise(chosen.throughput_bits_per_s)
    return replace(
        refused,
        candidates=candidates,
        best=best,
        capacity=None if reference is Reference.LINK else capacity,
        capacity_least_bits_per_s=_find_least_capacity(fitted, line_bits_per_s),
        reference=reference,
        reference_bits_per_s=find_reference_rate(against, capacity),
        recommended=chosen,
        rival=rival,
        rival_rate=None if rival is None else compare_rates(group, rival, chosen),
        share_of_best_ratio=None if best is None else divide_medians(chosen, best),
        share_of_link_ratio=_divide_by_line(best, line_bits_per_s),
        preferred_for=result.reason,
        preferred_by=result.evidence,
        confidence=Confidence.MEDIUM if imprecise else _rate_confidence(tested, undecided),
        reason=_count_overloaded(group) if provisional else None,
        undecided=undecided,
        more_cycles=_find_most([*undecided, *(() if sure else (chosen,))]),
        provisional=provisional,
        apart=apart,
        imprecise=imprecise,
    )


def _is_precise(rate: Spread) -> bool:
    """Whether the interval of a median lies within what counts as enough of it, on either side."""
    low, high, median = rate.interval.low, rate.interval.high, rate.median
    if low is None or high is None or not median:
        return False
    return low >= SUFFICIENT_RATIO * median and SUFFICIENT_RATIO * high <= median


def _add_drift(result: Recommendation, drift: Drift | None) -> Recommendation:
    """The recommendation with the drift of its path, over which no one rate is to be expected."""
    if drift is None or drift.verdict not in (DriftVerdict.DRIFTING, DriftVerdict.STEPPED):
        return result if drift is None else replace(result, drift=drift.verdict)
    step = drift.step if drift.verdict is DriftVerdict.STEPPED else None
    ratio = drift.change.change_ratio if step is None else step.change_ratio
    changed = replace(result, drift=drift.verdict, drift_ratio=ratio)
    if not changed.drifted or result.confidence is Confidence.NONE:
        return changed
    return replace(changed, confidence=Confidence.LOW, imprecise=False)


def _are_apart(group: CandidateSet, first: Candidate, second: Candidate) -> bool:
    """Whether the cycles of one combination lie before those of the other, but for few.

    By the share of all pairs of their cycles in which the first is earlier (ties count half): Mann and
    Whitney, Annals of Mathematical Statistics 18, 1947.
    """
    cycles = [np.array([*group.by_cycle.get(item.levels, {})]) for item in (first, second)]
    if first.levels == second.levels or not all(own.size for own in cycles):
        return False
    steps = np.sign(cycles[1] - cycles[0][:, None])
    return abs(float(steps.mean())) >= 2 * APART_RATIO - 1


def _list_undecided(
    evaluated: Sequence[Candidate], pool: Sequence[Candidate], chosen: Candidate, margin_ns: float
) -> tuple[Candidate, ...]:
    """Those outside the pool that would be preferred to the chosen one if they carried enough."""
    left = [item for item in evaluated if item.enough is None and item not in pool]
    return tuple(item for item in left if _choose([chosen, item], margin_ns)[0] is item)


def _rate_confidence(tested: bool, undecided: Sequence[Candidate]) -> Confidence:
    """Low without a test of what was chosen, medium where one that it would lose to is undecided."""
    if not tested:
        return Confidence.LOW
    return Confidence.MEDIUM if undecided else Confidence.HIGH


def _find_most(candidates: Sequence[Candidate]) -> int | None:
    """The most cycles that one of them needs more; None where one of these is not known."""
    outlooks = [candidate.more_cycles for candidate in candidates]
    return max((n for n in outlooks if n is not None), default=None) if all(outlooks) else None


def _find_reference(
    usable: Sequence[Candidate], fitted: Estimate | None, line_bits_per_s: float | None
) -> tuple[Reference, Candidate | None, Estimate | None]:
    """What shares are of: the kind, the best combination, and the capacity to hold all against.

    A combination above the link's payload rate is no reference, nor is a capacity fitted above it. Where no
    other one came to 90 % of the payload rate, that rate is the reference.
    """
    firm = [item for item in usable if not item.over_line]
    best = max(firm, key=_rate, default=None)
    top = math.inf if line_bits_per_s is None else line_bits_per_s * OVER_LINE_RATIO
    if fitted is not None and fitted.interval.decided and fitted.value and fitted.value <= top:
        return Reference.CAPACITY, best or max(usable, key=_rate), fitted
    near = best is not None and _rate(best) >= SUFFICIENT_RATIO * (line_bits_per_s or 0.0)
    if len(firm) < len(usable) and line_bits_per_s is not None and not near:
        exact = IntervalBuilder(n=0, method="lab-link").build(line_bits_per_s, line_bits_per_s)
        link = Estimate(name="payload rate", unit="bit/s", value=line_bits_per_s, interval=exact)
        return Reference.LINK, best, link
    return Reference.HIGHEST_MEDIAN, best or max(usable, key=_rate), None


def _find_least_capacity(fitted: Estimate | None, line_bits_per_s: float | None) -> float | None:
    """The low end of a capacity that throughput did not reach yet; None where it is known or no link's."""
    if fitted is None or fitted.undecided is not Undecided.STILL_RISING or line_bits_per_s is not None:
        return None
    return fitted.interval.low


def _divide_by_line(best: Candidate | None, line_bits_per_s: float | None) -> float | None:
    """The best one's median over the link's payload rate; None where it counted more than it carried."""
    if best is None or best.over_line or best.median_bits_per_s is None or not line_bits_per_s:
        return None
    return best.median_bits_per_s / line_bits_per_s


def _list_likely(evaluated: Sequence[Candidate], best: Candidate | None) -> list[Candidate]:
    """What carries enough by medians; what is above the link's payload rate only where nothing else does."""
    seeming = [item for item in evaluated if _seems_enough(item, best)]
    return [item for item in seeming if not item.over_line] or seeming or [max(evaluated, key=_rate)]


def _choose(pool: Sequence[Candidate], margin_ns: float) -> tuple[Candidate, Candidate | None, Preference]:
    """The one to prefer, the rival to name alongside it, and why."""
    result = prefer([item.option for item in pool], margin_ns)
    return pool[result.chosen], None if result.rival is None else pool[result.rival], result


def _read_climbs(result: Recommendation, group: CandidateSet, source: StudySource) -> Recommendation:
    """The recommendation with the RTT at the end of the trials of the recommended one and its rival."""
    known: dict[Levels, Candidate] = {}
    wanted = {item.levels: item for item in (result.recommended, result.rival) if item is not None}
    for cell in group.measured.cells:
        item = wanted.get((cell.streams, cell.window_bytes))
        if item is not None:
            climb = classify_cell_climb(source, cell.sample, group.delay_margin_ns, LIMIT_TRIALS)
            known[item.levels] = replace(item, climb=climb)

    def look(candidate: Candidate | None) -> Candidate | None:
        return candidate if candidate is None else known.get(candidate.levels, candidate)

    read = replace(
        result,
        candidates=tuple(known.get(candidate.levels, candidate) for candidate in result.candidates),
        best=look(result.best),
        recommended=look(result.recommended),
        rival=look(result.rival),
    )
    return replace(read, confidence=Confidence.LOW) if read.too_short else read


def _recommend_nothing(group: CandidateSet, name: str, line_bits_per_s: float | None) -> Recommendation:
    """The answer that recommends nothing, with the reason."""
    return Recommendation(
        name=name,
        medium=group.measured.key.medium,
        candidates=group.candidates,
        best=None,
        capacity=None,
        reference_bits_per_s=None,
        recommended=None,
        confidence=Confidence.NONE,
        reason=_find_reason(group),
        undecided=(),
        more_cycles=None,
        line_bits_per_s=line_bits_per_s,
    )


def _find_reason(group: CandidateSet) -> str:
    measured = group.measured
    if measured.key.medium == Flag.LOOPBACK_FALLBACK:
        return "the traffic went over this machine's loopback and no network"
    if measured.key.is_udp:
        return "UDP has no window; see its loss and jitter"
    if not group.candidates:
        silent = f"throughput_bits_per_s: {NOT_MEASURED}"
        if any(item.reason == silent for item in measured.sample.selection.excluded):
            return "only round trips were measured, no traffic"
        return "no trial completed"
    reasons = sorted(
        {candidate.exclusion for candidate in group.candidates if candidate.exclusion is not None}
    )
    if reasons:
        return f"{' or '.join(reasons)} {_locate(len(group.candidates))}"
    return "nothing was carried"


def _count_overloaded(group: CandidateSet) -> str:
    """In how many combinations the emulation was overloaded, the figures of which are provisional."""
    count = sum(not candidate.testable for candidate in group.candidates)
    every = len(group.candidates)
    where = _locate(every) if count == every else f"in {count} of {every} combinations"
    return f"{OVERLOADED} {where}"


def _locate(combinations: int) -> str:
    few = {1: "in the only combination", 2: "in both combinations"}
    return few.get(combinations, f"in all {combinations} combinations")


def _is_usable(candidate: Candidate) -> bool:
    """Whether it says something of the path."""
    return candidate.exclusion is None and bool(candidate.median_bits_per_s)


def _seems_enough(candidate: Candidate, best: Candidate | None) -> bool:
    """By medians alone; the best one always does."""
    if best is not None and candidate.levels == best.levels:
        return True
    return candidate.enough is None and (candidate.share_ratio or 0.0) >= SUFFICIENT_RATIO


def _size(candidate: Candidate) -> tuple[float, int]:
    return math.inf if candidate.size_bytes is None else candidate.size_bytes, candidate.streams


def _rate(candidate: Candidate) -> float:
    return candidate.median_bits_per_s or 0.0
