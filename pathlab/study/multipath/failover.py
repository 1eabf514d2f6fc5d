"""What a failing link does to a flow over several: how deep its rate falls, and when it is back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pathlab.analysis.estimators.recovery import Recovery, estimate_recovery
from pathlab.study.base.answer import Answer, Spread, measure_spread
from pathlab.study.base.selection import Sample
from pathlab.study.base.trials import TrialTable
from pathlab.study.multipath.bond_cells import FAILOVER, list_bond_groups
from pathlab.study.multipath.multipath import make_bond_answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Failover:
    """One way to use several links while one of them fails.

    ``failure``: how it fails. ``dip_ratio``: the least rate of one interval, of that before. ``recovery_ns``:
    until the rate is 90 % of what the other links carry, or of before where that is lower; trials that did
    not recover in their window count as that. ``after_return``: trials that recovered only when the link had
    returned. ``retransmitted_bytes``: until then. ``provisional``: every trial was lab-limited.
    """

    name: str
    bond: str
    failure: str | None
    message_bytes: int | None
    trials: int
    dip_ratio: Spread
    recovery_ns: Recovery
    after_return: int
    retransmitted_bytes: Spread
    provisional: bool = False


def measure_failovers(table: TrialTable) -> tuple[Answer[Failover], ...]:
    """Every way to use several links in whose trials one failed.

    A trial without a recovery is counted as watched until the end of its steady window.
    """
    return tuple(
        make_bond_answer(
            group,
            cell,
            Failover(
                name=cell.name,
                bond=cell.variant.bond,
                failure=group.condition.get(FAILOVER),
                message_bytes=group.message_bytes,
                trials=len(cell.sample),
                dip_ratio=measure_spread(cell.sample.get("failover_dip_ratio")),
                recovery_ns=_estimate(cell.sample),
                after_return=_count_after_return(cell.sample),
                retransmitted_bytes=measure_spread(cell.sample.get("failover_retransmitted_bytes")),
                provisional=cell.provisional,
            ),
        )
        for group in list_bond_groups(table, failing=True)
        for cell in group.cells
        if len(cell.sample)
    )


def _count_after_return(sample: Sample) -> int:
    """Trials whose rate was back no earlier than their link, of which the other links do not say more."""
    back_ns = sample.get("failover_at_ns") + sample.get("failover_recovery_ns")
    return int((back_ns >= sample.get("failover_returned_at_ns")).sum())


def _estimate(sample: Sample) -> Recovery:
    times = sample.get("failover_recovery_ns")
    left = sample.get("steady_ns") - sample.get("failover_at_ns")
    known = ~np.isnan(times)
    usable = known | (left > 0)
    return estimate_recovery(np.where(known, times, left)[usable], known[usable])
