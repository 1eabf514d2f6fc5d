"""The answer: for each path the streams and the window to use, what that costs, and how sure it is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from pathlab.analysis.curve_fit import Estimate
from pathlab.analysis.drift import DriftVerdict
from pathlab.analysis.equivalence import MARGIN_RATIO
from pathlab.analysis.sufficiency import SUFFICIENT_RATIO
from pathlab.report.page.standing import Cells, Standing, judge_standings, read_cells
from pathlab.report.sections.material import Material
from pathlab.report.sections.places import MEDIA, Book
from pathlab.study.lines import know_line
from pathlab.study.selection import NOT_MEASURED, Basis
from pathlab.study.source import Condition

FALLBACK = "loopback-fallback"


class Certainty(StrEnum):
    """How sure a recommendation is. The values are stable and machine-readable."""

    DECIDED = "decided"  # shown to carry enough, and everything smaller shown not to
    ENOUGH = "enough"  # shown to carry enough; something smaller may do as well
    TENTATIVE = "tentative"  # by medians, which chance may have brought about; or the only one
    NONE = "none"  # nothing to recommend, as ``reason`` says


@dataclass(frozen=True, slots=True, kw_only=True)
class PathAnswer:
    """What one condition (a path, and every setting besides streams and window) says.

    ``reference_bits_per_s`` is the fitted capacity where one was decided (``capacity``), else the highest
    median. ``standings`` are in ascending (window, streams). ``undecided`` are the smaller combinations that
    may do as well; ``more_cycles`` would probably decide about them and about the recommended one.
    ``line_bits_per_s`` is what the lab's narrowest link leaves for data. ``contests`` counts the verdicts on
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
        answers.append(
            replace(
                answer_path(cells, names[key], capacities.get(key)),
                line_bits_per_s=None if line is None else line.data_bits_per_s,
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


def answer_path(cells: Cells, name: str, fitted: Estimate | None) -> PathAnswer:
    """Recommend a combination of one condition, by the rule that the page states (``answer_text.RULE``).

    Notes
    -----
    Of the combinations that tell of the path and carry enough (``judge_standings``), those with the least
    streams x window are taken, of these the ones whose dRTT / throughput is the least (within 5 %), of these
    the one with the fewest streams. Where none is shown to carry enough, the same is done by medians alone
    and called tentative; so is a combination that has neither another one nor a capacity to be held against.
    """
    usable = [one for one in cells.standings if _tells(one)]
    capacity = fitted if fitted is not None and fitted.interval.decided and fitted.value else None
    if not usable or cells.condition.medium == FALLBACK:
        return _refuse(cells, name)
    best = max(usable, key=lambda one: one.rate.median or 0.0)
    standings = judge_standings(cells, best, capacity)
    judged = [one for one in standings if _tells(one)]
    best = next(one for one in judged if one.levels == best.levels)
    sure = [one for one in judged if one.enough]
    chosen = _choose(sure or [one for one in judged if _seems_enough(one, best)])
    smaller = tuple(one for one in judged if one.enough is None and _size(one) < _size(chosen))
    certainty = Certainty.TENTATIVE
    if sure and (len(judged) > 1 or capacity is not None):
        certainty = Certainty.ENOUGH if smaller else Certainty.DECIDED
    open_ones = [*smaller, *(() if sure else (chosen,))]
    outlooks = [one.more_cycles for one in open_ones]
    return replace(
        _refuse(cells, name),
        standings=standings,
        best=best,
        capacity=capacity,
        reference_bits_per_s=best.rate.median if capacity is None else capacity.value,
        recommended=chosen,
        certainty=certainty,
        reason=None,
        undecided=smaller,
        more_cycles=max((n for n in outlooks if n is not None), default=None) if all(outlooks) else None,
    )


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


def _seems_enough(one: Standing, best: Standing) -> bool:
    """By medians alone; the best one always does."""
    if one.levels == best.levels:
        return True
    return one.enough is None and (one.share_ratio or 0.0) >= SUFFICIENT_RATIO


def _size(one: Standing) -> float:
    return math.inf if one.size_bytes is None else one.size_bytes


def _cost(one: Standing) -> float:
    return math.inf if one.cost_ns_per_bit_per_s is None else one.cost_ns_per_bit_per_s


def _choose(candidates: Sequence[Standing]) -> Standing:
    least = min(_size(one) for one in candidates)
    small = [one for one in candidates if _size(one) <= least]
    cost = min(_cost(one) for one in small)
    bar = cost + MARGIN_RATIO * abs(cost) if math.isfinite(cost) else cost
    return min((one for one in small if _cost(one) <= bar), key=lambda one: one.streams)
