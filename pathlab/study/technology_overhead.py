"""By what factor a technology is slower than the best transport beneath it, and its language's share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from pathlab.analysis.verdicts.paired_samples import compare_paired
from pathlab.analysis.verdicts.two_samples import GroupShift
from pathlab.study.answer import Answer, Spread, measure_spread
from pathlab.study.message_setups import make_load_answer
from pathlab.study.technology_round_trips import Facts, TechnologyFacts, TechnologyGroup, TechnologyLoad


@dataclass(frozen=True, slots=True, kw_only=True)
class TechnologyOverhead:
    """Round trips of a technology over those of the best transport beneath it, in pairs of a cycle.

    ``beneath`` is the load of PathLab's own engine on that transport with the least median in the group.
    ``median`` and ``p99`` are the factors of these quantiles. ``language_share_ratio``: of the time that the
    technology adds to the median, the share that ``baseline`` adds too: a program of the same language with
    its standard library alone. It is that of each cycle over the cycles, and None without a baseline.
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
    language_share_ratio: Spread | None


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
        for one in group.loads:
            known = facts.get(one.engine)
            beneath = group.find_beneath(known.beneath) if known and not one.is_native else None
            if known is not None and beneath is not None and one.median_ns is not None:
                yield make_load_answer(one.load, _compare(group, one, beneath, known))


def _compare(
    group: TechnologyGroup, one: TechnologyLoad, beneath: TechnologyLoad, facts: TechnologyFacts
) -> TechnologyOverhead:
    baseline = group.find(facts.baseline) if facts.baseline else None
    return TechnologyOverhead(
        technology=one.technology,
        group=group.name,
        message_bytes=group.size_bytes,
        offered_messages_per_s=group.offered_messages_per_s,
        beneath=beneath.technology,
        median=_compare_quantile(beneath, one, "median"),
        p99=_compare_quantile(beneath, one, "p99"),
        language=facts.language,
        baseline=None if baseline is None else baseline.technology,
        language_share_ratio=None if baseline is None else _measure_share(beneath, baseline, one),
    )


def _compare_quantile(beneath: TechnologyLoad, one: TechnologyLoad, name: str) -> GroupShift:
    first, second = beneath.read_cycles_ns(name), one.read_cycles_ns(name)
    both = sorted(first.keys() & second.keys())
    return compare_paired([first[cycle] for cycle in both], [second[cycle] for cycle in both])


def _measure_share(beneath: TechnologyLoad, baseline: TechnologyLoad, one: TechnologyLoad) -> Spread:
    """The share of each cycle; of none in which the technology adds no time."""
    below, language, whole = (load.read_cycles_ns("median") for load in (beneath, baseline, one))
    shares = [
        (language[cycle] - below[cycle]) / (whole[cycle] - below[cycle])
        for cycle in sorted(below.keys() & language.keys() & whole.keys())
        if whole[cycle] > below[cycle]
    ]
    return measure_spread(np.array(shares, dtype=np.float64))
