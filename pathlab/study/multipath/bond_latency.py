"""Round trips of messages over several links, against the first link alone, in pairs of a cycle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pathlab.analysis.verdicts.paired_samples import compare_paired
from pathlab.analysis.verdicts.two_samples import GroupShift
from pathlab.store.flags import Flag
from pathlab.study.base.answer import Answer, Spread, measure_spread
from pathlab.study.base.message_values import read_round_trips_ns
from pathlab.study.base.selection import Sample
from pathlab.study.base.trials import TrialTable
from pathlab.study.multipath.bond_cells import BondCell, BondGroup, list_bond_groups
from pathlab.study.multipath.multipath import make_bond_answer

QUANTILES = ("median", "p99")


@dataclass(frozen=True, slots=True, kw_only=True)
class BondLatency:
    """Round trips of one way to use the links; ``median_ratio`` and ``p99_ratio`` are over ``baseline``.

    ``baseline`` is the first link alone, None where it was not measured or is this one. ``missed``: trials
    that did not keep the offered rate, left out. ``provisional``: every trial was lab-limited, so that
    nothing is compared.
    """

    name: str
    bond: str
    message_bytes: int
    offered_messages_per_s: int | None
    trials: int
    missed: int
    median_ns: Spread
    p99_ns: Spread
    baseline: str | None
    median_ratio: GroupShift | None
    p99_ratio: GroupShift | None
    provisional: bool = False


def measure_bond_latencies(table: TrialTable) -> tuple[Answer[BondLatency], ...]:
    """Every way to use the links with messages whose replies were timed, links alone among them."""
    return tuple(
        make_bond_answer(group, cell, item)
        for group in list_bond_groups(table)
        if group.message_bytes is not None and group.condition.get("reply")
        for cell, item in _measure(group)
    )


def _measure(group: BondGroup) -> Iterator[tuple[BondCell, BondLatency]]:
    values = {
        name: [item.average_cycles(read_round_trips_ns(item, name)) for item in map(_keep, group.cells)]
        for name in QUANTILES
    }
    for index, cell in enumerate(group.cells):
        links = group.find_links(cell)
        first = group.cells.index(links[0]) if links else index
        compared = first != index and not (cell.provisional or group.cells[first].provisional)
        ratios = {}
        for name in QUANTILES:
            before, after = group.match_values([values[name][first], values[name][index]])
            ratios[name] = (
                compare_paired(before, after, drawn_tests=group.sample.drawn_tests(1)) if compared else None
            )
        kept = _keep(cell)
        yield (
            cell,
            BondLatency(
                name=cell.name,
                bond=cell.variant.bond,
                message_bytes=group.message_bytes or 0,
                offered_messages_per_s=group.offered_messages_per_s,
                trials=len(kept),
                missed=len(cell.sample) - len(kept),
                median_ns=measure_spread(read_round_trips_ns(kept, "median")),
                p99_ns=measure_spread(read_round_trips_ns(kept, "p99")),
                baseline=links[0].name if compared else None,
                median_ratio=ratios["median"],
                p99_ratio=ratios["p99"],
                provisional=cell.provisional,
            ),
        )


def _keep(cell: BondCell) -> Sample:
    """The trials that kept the offered rate."""
    return cell.sample.take(~cell.sample.table.flagged(Flag.RATE_MISSED)[cell.sample.places])
