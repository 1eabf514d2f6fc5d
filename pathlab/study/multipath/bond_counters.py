"""Reordering as TCP counts it, at each level of ``tcp_reordering``, and what these levels change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pathlab.analysis.estimators.interval import Interval
from pathlab.study.base.answer import Answer, Spread, make_cell_answer, measure_spread
from pathlab.study.base.selection import Rules, Sample, select
from pathlab.study.base.trials import Condition, StudySource, TrialTable
from pathlab.study.comparison.levels import compare_levels_of
from pathlab.study.comparison.metrics import ChosenMetrics
from pathlab.study.comparison.releases import describe_releases
from pathlab.study.comparison.rows import ChangeVerdict
from pathlab.study.messages.message_rates import MESSAGE_SIZE, read_level
from pathlab.study.multipath.bond_cells import BOND, LINK_FAILED, REORDERING, is_multipath

#: Counters of reordering; segments out of order are also those behind a loss.
SEEN = ("reordering_seen_events", "dsack_duplicate_segments")
OUT_OF_ORDER, RETRANSMITTED = "out_of_order_segments", "retransmitted_segments"
RATES = ChosenMetrics(messages=("messages",), streams=("throughput",))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReorderingSeen:
    """What the TCP of both ends counted per trial, over trials of one level of ``tcp_reordering``.

    ``bond``: how the links were used, None in a campaign without. ``tcp_reordering`` None: the kernel's.
    ``seen_events``: how often the sender noticed reordering; ``duplicate_segments``: which the receiver had
    already (DSACK); ``out_of_order_segments`` came before one that was missing, lost or late.
    ``spurious_ratio``: duplicates of retransmitted segments over all trials together, None where none was
    retransmitted. ``gro``: whether the receiving interface joined packets, which hides reordering from these
    counters; None where not known.
    """

    bond: str | None
    tcp_reordering: int | None
    message_bytes: int | None
    trials: int
    seen_events: Spread
    duplicate_segments: Spread
    out_of_order_segments: Spread
    retransmitted_segments: Spread
    spurious_ratio: float | None
    gro: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdChange:
    """Throughput at one level of ``tcp_reordering`` over that at the lowest, in pairs of a cycle.

    Interval and verdict are corrected for all rows (Holm).
    """

    bond: str | None
    metric: str
    compared: str
    pairs: int
    ratio: float | None
    interval: Interval
    verdict: ChangeVerdict
    reason: str | None


def has_reordering(table: TrialTable) -> bool:
    """Whether TCP saw any in a trial, or the plan varies ``tcp_reordering``."""
    seen = any(bool((np.nan_to_num(table.get(name)) > 0).any()) for name in SEEN)
    return seen or any(map(_sets, dict.fromkeys(table.conditions)))


def count_reordering(source: StudySource, table: TrialTable) -> tuple[Answer[ReorderingSeen], ...]:
    """The counters of every combination with some reordering; with several links, of every combination.

    Levels of ``tcp_reordering`` are never pooled. Trials that a host or the lab limited are taken: they
    count as well.
    """
    everything = is_multipath(table)
    offloads = {host.name: host.facts for host in source.hosts()}
    return tuple(
        make_cell_answer(part, (streams, window), _count(part, offloads))
        for sample in select(table, Rules(flags=(), as_requested=True, needed=(), messages=True))
        for streams, window, part in _keep(sample).by_cell()
        if _has_some(part, everything=everything)
    )


def compare_thresholds(table: TrialTable) -> tuple[Answer[ThresholdChange], ...]:
    """Each level of ``tcp_reordering`` against the lowest one; nothing where it was not varied."""
    levels = {condition.get(REORDERING) for condition in table.conditions if _sets(condition)}
    if len(levels) < 2:
        return ()
    lowest = min((level for level in levels if level is not None), default=None)
    levels_of = compare_levels_of(table, REORDERING, lowest, RATES)
    return tuple(_describe_change(answer) for answer in describe_releases(levels_of))


def _sets(condition: Condition) -> bool:
    return REORDERING in dict(condition.settings)


def _describe_change(answer: Answer[Any]) -> Answer[ThresholdChange]:
    item = answer.result
    bond = answer.condition.get(BOND)
    result = ThresholdChange(
        bond=None if bond is None else str(bond),
        metric=item.metric,
        compared=f"{item.level} : {item.baseline}",
        pairs=item.pairs,
        ratio=item.ratio,
        interval=item.interval,
        verdict=item.verdict,
        reason=item.reason,
    )
    return Answer(
        condition=answer.condition,
        selection=answer.selection,
        result=result,
        streams=answer.streams,
        window_bytes=answer.window_bytes,
        autotuned=answer.autotuned,
    )


def _keep(sample: Sample) -> Sample:
    return sample.exclude(~np.isnan(sample.get("failover_at_ns")), LINK_FAILED)


def _has_some(part: Sample, *, everything: bool) -> bool:
    """Whether anything was counted; without several links, whether reordering was seen."""
    values = np.stack([part.get(name) for name in SEEN])
    if np.isnan(values).all():
        return False
    return everything or bool((np.nan_to_num(values) > 0).any())


def _count(part: Sample, facts: Mapping[str, Mapping[str, Any]]) -> ReorderingSeen:
    condition = part.condition
    seen, duplicates = (part.get(name) for name in SEEN)
    retransmitted = part.get(RETRANSMITTED)
    known = ~np.isnan(duplicates + retransmitted)
    total = float(retransmitted[known].sum())
    bond = None if condition.get(BOND) is None else str(read_level(condition, BOND))
    size = condition.get(MESSAGE_SIZE)
    return ReorderingSeen(
        bond=bond,
        tcp_reordering=condition.get(REORDERING),
        message_bytes=None if size is None else int(size),
        trials=len(part),
        seen_events=measure_spread(seen),
        duplicate_segments=measure_spread(duplicates),
        out_of_order_segments=measure_spread(part.get(OUT_OF_ORDER)),
        retransmitted_segments=measure_spread(retransmitted),
        spurious_ratio=float(duplicates[known].sum()) / total if total > 0 else None,
        gro=_find_gro(condition, facts),
    )


def _find_gro(condition: Condition, facts: Mapping[str, Mapping[str, Any]]) -> bool | None:
    """Whether any interface of the receiving host that is up joins packets; None where none says."""
    states = set(_list_gro(facts.get(condition.flow_ends[1], {})))
    return (True in states) if states else None


def _list_gro(facts: Mapping[str, Any]) -> Iterator[bool]:
    for name, nic in (facts.get("nics") or {}).items():
        state = (nic.get("offloads") or {}).get("gro")
        if name != "lo" and state is not None and nic.get("state") != "down":
            yield bool(state)
