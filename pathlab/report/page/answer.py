"""The answer: for each path the streams and the window to use, what that costs, and how sure it is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from pathlab.analysis.estimators.interval import CONFIDENCE_RATIO, Interval
from pathlab.analysis.estimators.payload import OVER_LINE_RATIO
from pathlab.analysis.fits.curve_fit import Estimate
from pathlab.analysis.verdicts.drift import DriftVerdict
from pathlab.analysis.verdicts.preference import DifferenceTest, Preference, Reason, prefer
from pathlab.analysis.verdicts.sufficiency import SUFFICIENT_RATIO
from pathlab.report.page.standing import Cells, Standing, judge_standings, mark_over_line, read_cells
from pathlab.report.sections.material import TRIALS_PER_CELL, Material
from pathlab.report.sections.places import MEDIA, Book
from pathlab.study.climbs import judge_climb
from pathlab.study.lines import know_line
from pathlab.study.selection import NOT_MEASURED, Basis
from pathlab.study.source import Condition

FALLBACK = "loopback-fallback"


class Certainty(StrEnum):
    """How sure a recommendation is. The values are stable and machine-readable."""

    DECIDED = "decided"  # shown to carry enough, and everything smaller shown not to
    ENOUGH = "enough"  # shown to carry enough; something that would be preferred may do as well
    TENTATIVE = "tentative"  # by medians, which chance may have brought about; or the only one
    NONE = "none"  # nothing to recommend, as ``reason`` says


class Reference(StrEnum):
    """What shares are of. The values are stable and machine-readable."""

    HIGHEST_MEDIAN = "highest-median"  # of the combinations that are not above the link's payload rate
    CAPACITY = "fitted-capacity"
    LINK = "link-payload-rate"  # where what came near the link's rate counted more than it can carry


@dataclass(frozen=True, slots=True, kw_only=True)
class PathAnswer:
    """What one condition (a path, and every setting besides streams and window) says.

    ``reference_bits_per_s`` is what shares are of, ``reference`` says which rate that is. ``standings`` are
    in ascending (window, streams). ``rival`` is the combination to name beside the recommended one, which is
    preferred to it for ``preferred_for``, shown by ``preferred_by`` (None: a tie-breaker). ``undecided`` are
    the combinations that would be preferred if they carried enough; ``more_cycles`` would probably decide
    about them and about the recommended one. ``line_bits_per_s`` is the payload rate of the lab's narrowest
    link. ``contests`` counts the verdicts on
    more streams against larger windows at equal product. ``drift`` is the verdict over the campaign.
    """

    name: str
    condition: Condition
    basis: Basis
    standings: tuple[Standing, ...]
    best: Standing | None
    capacity: Estimate | None
    reference_bits_per_s: float | None
    recommended: Standing | None
    certainty: Certainty
    reason: str | None
    undecided: tuple[Standing, ...]
    more_cycles: int | None
    reference: Reference | None = None
    rival: Standing | None = None
    preferred_for: Reason | None = None
    preferred_by: DifferenceTest | None = None
    line_bits_per_s: float | None = None
    contests: tuple[tuple[str, int], ...] = ()
    drift: DriftVerdict | None = None

    @property
    def doubted(self) -> tuple[Standing, ...]:
        """Combinations that were measured and say nothing sure of the path."""
        return tuple(one for one in self.standings if one.doubt is not None)

    @property
    def smaller(self) -> tuple[Standing, ...]:
        """Every combination that was measured with less streams x window than the recommended one."""
        chosen = self.recommended
        return () if chosen is None else tuple(one for one in self.standings if _size(one) < _size(chosen))

    @property
    def over_line(self) -> tuple[Standing, ...]:
        """Combinations that would count, and are above the link's payload rate."""
        return tuple(one for one in self.standings if _tells(one) and one.over_line)

    @property
    def unsettled(self) -> tuple[Standing, ...]:
        """The recommended one and its rival, as far as round trips still rose at the end of their trials."""
        both = (self.recommended, self.rival)
        return tuple(one for one in both if one is not None and one.climb and one.climb.still_rising)

    @property
    def too_short(self) -> bool:
        """Whether less delay decided, and the recommended one's delay was still rising when trials ended."""
        return self.preferred_for is Reason.DELAY and self.recommended in self.unsettled

    @property
    def lone(self) -> bool:
        """Whether a single combination tells of the path, so that there is nothing to compare it with."""
        return sum(_tells(one) for one in self.standings) == 1


def answer_paths(material: Material) -> tuple[PathAnswer, ...]:
    """The answer of every condition, in the order in which they were first measured."""
    limits = {
        (answer.condition, (answer.streams, answer.window_bytes)): answer.result
        for answer in material.answers("limits")
        if answer.streams is not None
    }
    found = read_cells(material.study.study_table(), limits)
    capacities = {answer.condition: answer.result.capacity for answer in material.answers("surface")}
    names = _name_conditions(material, [cells.condition for cells in found])
    drifts = {answer.condition: answer.result.verdict for answer in material.answers("drift")}
    contests: dict[Condition, Counter[str]] = {}
    for answer in material.answers("streams_vs_windows"):
        contests.setdefault(answer.condition, Counter())[str(answer.result.comparison.verdict)] += 1
    environment = material.source.campaign.environment
    answers = []
    for cells in found:
        key = cells.condition
        line = know_line(environment, cells.sample)
        data_bits_per_s = None if line is None else line.data_bits_per_s
        found_answer = answer_path(cells, names[key], capacities.get(key), data_bits_per_s)
        answers.append(
            replace(
                _look_at_climbs(found_answer, cells, material),
                contests=tuple(sorted(contests.get(key, Counter()).items())),
                drift=drifts.get(key),
            )
        )
    return tuple(answers)


def _name_conditions(material: Material, conditions: Sequence[Condition]) -> dict[Condition, str]:
    """Path and what sets it apart from the other conditions; the medium where nothing else does."""
    known = {place.key: place.name for place in Book(material).places}
    names = {one: known.get(one, f"{one.path_source} → {one.path_destination}") for one in conditions}
    shared = Counter(names.values())
    return {
        one: f"{name} ({MEDIA.get(one.medium, one.medium)})" if shared[name] > 1 else name
        for one, name in names.items()
    }


def answer_path(
    cells: Cells, name: str, fitted: Estimate | None, line_bits_per_s: float | None = None
) -> PathAnswer:
    """Recommend a combination of one condition, by the rule that the page states (``answer_text.RULE``).

    Notes
    -----
    Of the combinations that tell of the path and carry enough (``judge_standings``), that is taken which
    ``preference.prefer`` names: less measured delay and loss, then the least streams x window, then the
    fewest streams. Where none is shown to carry enough, the same is done by medians alone and called
    tentative; so is a combination that has neither another one nor a capacity to be held against, and one
    that is preferred by the ranges of its few trials.
    """
    cells = mark_over_line(cells, line_bits_per_s)
    usable = [one for one in cells.standings if _tells(one)]
    refused = replace(_refuse(cells, name), line_bits_per_s=line_bits_per_s)
    if not usable or cells.condition.medium == FALLBACK or cells.condition.is_udp:
        return refused
    reference, first, capacity = _find_reference(usable, fitted, line_bits_per_s)
    against = None if reference is Reference.LINK else first
    standings = judge_standings(cells, against, capacity, line_bits_per_s)
    judged = [one for one in standings if _tells(one)]
    best = next((one for one in judged if first is not None and one.levels == first.levels), None)
    sure = [one for one in judged if one.enough]
    pool = sure or _list_likely(judged, against)
    chosen, rival, found = _choose(pool, cells.delay_margin_ns)
    undecided = tuple(
        one
        for one in judged
        if one.enough is None and one not in pool and _choose([chosen, one], cells.delay_margin_ns)[0] is one
    )
    certainty = Certainty.TENTATIVE
    if sure and (len(judged) > 1 or capacity is not None) and found.evidence is not DifferenceTest.RANGES:
        certainty = Certainty.ENOUGH if undecided else Certainty.DECIDED
    open_ones = [*undecided, *(() if sure else (chosen,))]
    outlooks = [one.more_cycles for one in open_ones]
    return replace(
        refused,
        standings=standings,
        best=best,
        capacity=None if reference is Reference.LINK else capacity,
        reference=reference,
        reference_bits_per_s=_read_reference(against, capacity),
        recommended=chosen,
        rival=rival,
        preferred_for=found.reason,
        preferred_by=found.evidence,
        certainty=certainty,
        reason=None,
        undecided=undecided,
        more_cycles=max((n for n in outlooks if n is not None), default=None) if all(outlooks) else None,
    )


def _find_reference(
    usable: Sequence[Standing], fitted: Estimate | None, line_bits_per_s: float | None
) -> tuple[Reference, Standing | None, Estimate | None]:
    """What shares are of: the kind, the best combination, and the capacity to hold all against.

    A combination above the link's payload rate is no reference, nor is a capacity fitted above it. Where no
    other one came to 90 % of the payload rate, that rate is the reference.
    """
    firm = [one for one in usable if not one.over_line]
    best = max(firm, key=_rate, default=None)
    top = math.inf if line_bits_per_s is None else line_bits_per_s * OVER_LINE_RATIO
    if fitted is not None and fitted.interval.decided and fitted.value and fitted.value <= top:
        return Reference.CAPACITY, best or max(usable, key=_rate), fitted
    near = best is not None and _rate(best) >= SUFFICIENT_RATIO * (line_bits_per_s or 0.0)
    if len(firm) < len(usable) and line_bits_per_s is not None and not near:
        exact = Interval(
            low=line_bits_per_s,
            high=line_bits_per_s,
            n=0,
            confidence_ratio=CONFIDENCE_RATIO,
            coverage_ratio=None,
            method="lab-link",
        )
        link = Estimate(name="payload rate", unit="bit/s", value=line_bits_per_s, interval=exact)
        return Reference.LINK, best, link
    return Reference.HIGHEST_MEDIAN, best or max(usable, key=_rate), None


def _read_reference(best: Standing | None, capacity: Estimate | None) -> float | None:
    if capacity is not None:
        return capacity.value
    return None if best is None else best.rate.median


def _list_likely(judged: Sequence[Standing], best: Standing | None) -> list[Standing]:
    """What carries enough by medians; what is above the link's payload rate only where nothing else does."""
    seeming = [one for one in judged if _seems_enough(one, best)]
    return [one for one in seeming if not one.over_line] or seeming or [max(judged, key=_rate)]


def _choose(pool: Sequence[Standing], margin_ns: float) -> tuple[Standing, Standing | None, Preference]:
    """The one to prefer, the rival to name beside it, and why."""
    found = prefer([one.option for one in pool], margin_ns)
    return pool[found.chosen], None if found.rival is None else pool[found.rival], found


def _look_at_climbs(answer: PathAnswer, cells: Cells, material: Material) -> PathAnswer:
    """The answer with what the series of the recommended one and its rival say of the end of their trials."""
    looked: dict[tuple[int, int | None], Standing] = {}
    wanted = {one.levels: one for one in (answer.recommended, answer.rival) if one is not None}
    for streams, window, part in cells.sample.by_cell():
        one = wanted.get((streams, window))
        if one is not None:
            climb = judge_climb(material.source, part, cells.delay_margin_ns, TRIALS_PER_CELL)
            looked[one.levels] = replace(one, climb=climb)

    def look(one: Standing | None) -> Standing | None:
        return one if one is None else looked.get(one.levels, one)

    found = replace(
        answer,
        standings=tuple(looked.get(one.levels, one) for one in answer.standings),
        best=look(answer.best),
        recommended=look(answer.recommended),
        rival=look(answer.rival),
    )
    return replace(found, certainty=Certainty.TENTATIVE) if found.too_short else found


def _refuse(cells: Cells, name: str) -> PathAnswer:
    """The answer that recommends nothing, with the reason."""
    return PathAnswer(
        name=name,
        condition=cells.condition,
        basis=cells.sample.basis,
        standings=cells.standings,
        best=None,
        capacity=None,
        reference_bits_per_s=None,
        recommended=None,
        certainty=Certainty.NONE,
        reason=_find_reason(cells),
        undecided=(),
        more_cycles=None,
    )


def _find_reason(cells: Cells) -> str:
    if cells.condition.medium == FALLBACK:
        return "the traffic went over this machine's loopback and no network"
    if cells.condition.is_udp:
        return "UDP has no window; see its loss and jitter"
    if not cells.standings:
        silent = f"throughput_bits_per_s: {NOT_MEASURED}"
        if any(one.reason == silent for one in cells.sample.basis.left_out):
            return "round trips alone were measured, and no traffic"
        return "no trial completed"
    doubts = sorted({one.doubt for one in cells.standings if one.doubt is not None})
    if doubts:
        return f"{_count(len(cells.standings))} {' or '.join(doubts)}"
    return "nothing was carried"


def _count(combinations: int) -> str:
    return "in the only combination" if combinations == 1 else f"in all {combinations} combinations"


def _tells(one: Standing) -> bool:
    """Whether it says something of the path."""
    return one.doubt is None and bool(one.rate.median)


def _seems_enough(one: Standing, best: Standing | None) -> bool:
    """By medians alone; the best one always does."""
    if best is not None and one.levels == best.levels:
        return True
    return one.enough is None and (one.share_ratio or 0.0) >= SUFFICIENT_RATIO


def _size(one: Standing) -> float:
    return math.inf if one.size_bytes is None else one.size_bytes


def _rate(one: Standing) -> float:
    return one.rate.median or 0.0
