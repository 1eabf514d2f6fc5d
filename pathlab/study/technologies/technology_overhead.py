"""By what factor a technology is slower than the best transport beneath it, and its language's share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from pathlab.analysis.estimators.corrections import ALPHA_RATIO, correct_holm
from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.paired_samples import compare_paired
from pathlab.analysis.verdicts.two_samples import GroupShift
from pathlab.study.base.answer import Answer
from pathlab.study.messages.message_setups import make_load_answer
from pathlab.study.technologies.technology_round_trips import (
    Facts,
    TechnologyFacts,
    TechnologyGroup,
    TechnologyLoad,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TechnologyOverhead:
    """Round trips of a technology over those of the best transport beneath it, in pairs of a cycle.

    ``beneath`` is the load of PathLab's own engine on that transport with the least median in the group.
    ``median`` and ``p99`` are the factors of these quantiles, both over that load. ``language_share_ratio``:
    of the time that the technology adds to the median, the share that ``baseline`` adds too: a program of
    the same language with its standard library alone, over the same transport. It is the quotient of two
    medians over ``share_cycles``, without an interval. None without such a baseline, where the technology
    adds no time, and where the quotient is not within 0 and 1.
    """

    technology: str
    group: str
    message_bytes: int
    offered_messages_per_s: int | None
    beneath: str
    median: GroupShift
    p99: GroupShift
    language: str
    baseline: str | None
    language_share_ratio: float | None
    share_cycles: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastMedian:
    """Which load of a group has the least median, and which others may have it as well.

    ``rivals``: not shown to be slower, in order of their medians; empty where the least is decided.
    ``cycles``: the fewest pairs of a comparison. ``undecided``: why none was tested.
    """

    technology: str
    rivals: tuple[str, ...]
    cycles: int
    undecided: Undecided | None = None


def measure_overheads(
    groups: Iterable[TechnologyGroup], facts: Facts
) -> Iterator[Answer[TechnologyOverhead]]:
    """The overhead of every technology of a group whose transport beneath was measured in it.

    Notes
    -----
    ``compare_paired`` over the cycles, whose values are each trial's quantile: samples within a trial depend
    on each other, so that trials, and not round trips, are what intervals come from.
    In simulation (``tests/statistics/test_technology_overhead.py``) 95 % intervals hold the factor in 92 %
    or more at 7 and 20 cycles with a first-order correlation of up to 0.7, with the best of several
    transports beneath chosen from the same cycles.
    """
    for group in groups:
        for load in group.loads:
            known = facts.get(load.engine)
            beneath = group.find_beneath(known.beneath) if known and not load.is_native else None
            if known is not None and beneath is not None and load.median_ns is not None:
                baseline = _find_baseline(group, known, facts)
                yield make_load_answer(load.load, _compare(group, load, beneath, baseline, known))


def _find_baseline(group: TechnologyGroup, known: TechnologyFacts, facts: Facts) -> TechnologyLoad | None:
    """The load of the baseline, if the same kind of transport is beneath both."""
    name = known.baseline
    alike = name is not None and name in facts and facts[name].beneath == known.beneath
    return group.find(name) if name is not None and alike else None


def find_least_median(group: TechnologyGroup) -> LeastMedian | None:
    """The load with the least median, against each of the others in pairs of a cycle.

    None where no other was measured. Levels are corrected over the comparisons (Holm), since the least is
    chosen from the same cycles.
    """
    known = [load for load in group.loads if load.median_ns is not None]
    if len(known) < 2:
        return None
    least, others = known[0], known[1:]
    shifts = [_compare_quantile(least, other, "median", tests=len(others)) for other in others]
    adjusted = correct_holm([shift.p_value for shift in shifts])
    decided = [
        p is not None and p < ALPHA_RATIO and (shift.shift or 0.0) > 0
        for p, shift in zip(adjusted, shifts, strict=True)
    ]
    few = min(shifts, key=lambda item: item.first_n)
    return LeastMedian(
        technology=least.technology,
        rivals=tuple(other.technology for other, clear in zip(others, decided, strict=True) if not clear),
        cycles=few.first_n,
        undecided=few.undecided if all(shift.undecided for shift in shifts) else None,
    )


def _compare(
    group: TechnologyGroup,
    load: TechnologyLoad,
    beneath: TechnologyLoad,
    baseline: TechnologyLoad | None,
    facts: TechnologyFacts,
) -> TechnologyOverhead:
    share, cycles = (None, 0) if baseline is None else _measure_share(beneath, baseline, load)
    return TechnologyOverhead(
        technology=load.technology,
        group=group.name,
        message_bytes=group.size_bytes,
        offered_messages_per_s=group.offered_messages_per_s,
        beneath=beneath.technology,
        median=_compare_quantile(beneath, load, "median"),
        p99=_compare_quantile(beneath, load, "p99"),
        language=facts.language,
        baseline=None if baseline is None else baseline.technology,
        language_share_ratio=share,
        share_cycles=cycles,
    )


def _compare_quantile(
    beneath: TechnologyLoad, load: TechnologyLoad, name: str, *, tests: int = 1
) -> GroupShift:
    first, second = beneath.read_cycles_ns(name), load.read_cycles_ns(name)
    both = sorted(first.keys() & second.keys())
    drawn_tests = load.load.kept.drawn_tests(tests)
    return compare_paired(
        [first[cycle] for cycle in both], [second[cycle] for cycle in both], drawn_tests=drawn_tests
    )


def _measure_share(
    beneath: TechnologyLoad, baseline: TechnologyLoad, item: TechnologyLoad
) -> tuple[float | None, int]:
    """The share over the cycles in which all three were measured, and how many these are."""
    nses = [load.read_cycles_ns("median") for load in (beneath, baseline, item)]
    cycles = sorted(set.intersection(*(set(each) for each in nses)))
    if not cycles:
        return None, 0
    below, language, whole = (np.array([each[cycle] for cycle in cycles]) for each in nses)
    added, added_ns = float(np.median(language - below)), float(np.median(whole - below))
    shares = added_ns > 0 and 0 <= added <= added_ns
    return (added / added_ns if shares else None), len(cycles)
