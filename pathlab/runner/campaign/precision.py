"""The stop rule at work: which cells of a campaign are known well enough."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pathlab.analysis.estimators.interval import CONFIDENCE_RATIO
from pathlab.analysis.estimators.quantiles import median_interval_minimum
from pathlab.analysis.planning.stopping import StopDecision, StopRule, evaluate_stop_rule
from pathlab.campaign.model import Campaign
from pathlab.campaign.order import PlanRow
from pathlab.store.records import TrialRecord
from pathlab.study.base.selection import is_counted


def name_cell(row: PlanRow) -> str:
    """Path and factor levels of a row; rows that differ in the cycle alone have the same name."""
    levels: Mapping[str, Any] = dict(row.settings)
    return json.dumps([row.path.source, row.path.destination, levels], sort_keys=True)


class Precision:
    """What has been measured of each cell, by cycle. Without a stop rule no cell is ever done."""

    def __init__(self, campaign: Campaign, rows: Mapping[int, PlanRow]) -> None:
        self._rule = _read_rule(campaign)
        self._rows = rows
        self._values: dict[str, list[tuple[int, float]]] = {
            name_cell(row): [] for row in rows.values() if self._rule is not None and not row.control
        }

    def add(self, records: Iterable[TrialRecord]) -> None:
        """Take the trials that the report's medians are made of; control rows have no cell."""
        if self._rule is None:
            return
        for record in records:
            row = self._rows.get(record.plan_row)  # none where its technology is no longer there
            rate = record.throughput_bits_per_s
            if row is not None and rate is not None and is_counted(record) and not row.control:
                self._values[name_cell(row)].append((record.cycle, rate))

    def evaluate(self, cycle: int) -> StopDecision | None:
        """What the cycles before ``cycle`` say; None without a stop rule.

        Later values do not count, so that a resumed run decides as an uninterrupted one.
        """
        if self._rule is None:
            return None
        known = {
            name: [value for before, value in values if before < cycle]
            for name, values in self._values.items()
        }
        return evaluate_stop_rule(known, cycle, self._rule)

    def list_done(self, cycle: int) -> frozenset[str]:
        """The cells that need no trial in ``cycle``."""
        decision = self.evaluate(cycle)
        if decision is None or self._rule is None or cycle < self._rule.minimum_cycles:
            return frozenset()
        return frozenset(cell.name for cell in decision.cells if cell.reached)


def _read_rule(campaign: Campaign) -> StopRule | None:
    if campaign.until_ratio is None:
        return None
    least = max(campaign.cycles_least, median_interval_minimum(CONFIDENCE_RATIO))
    return StopRule(
        half_width_ratio=campaign.until_ratio,
        minimum_cycles=least,
        maximum_cycles=max(least, campaign.cycles_planned),
    )
