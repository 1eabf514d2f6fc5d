"""The searches for the lossless rate at work: rows are planned as trials show what to try next.

In each cycle all searches take turns, a trial each. A row is stored before its trial runs, and a search is
read from the stored plan and trials alone: a run that was killed continues at the first row without a trial.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from pathlab.analysis.planning.loss_search import SearchRule
from pathlab.campaign.budget import Estimator
from pathlab.campaign.cell import pace_cell
from pathlab.campaign.factors import format_levels
from pathlab.campaign.order import PlanRow, list_varied
from pathlab.runner.campaign.cycle import STOPPED, CycleRunner, RunParts
from pathlab.runner.campaign.interruption import Interruption
from pathlab.runner.campaign.search_rows import record_row
from pathlab.runner.events import SearchNow
from pathlab.runner.journal import SEARCH
from pathlab.store.records import TrialRecord
from pathlab.study.lossless.rate_searches import (
    RateSearch,
    SearchKey,
    describe_ending,
    is_settled,
    list_searches,
    name_search,
)


class RateSearches:
    """The searches of one run. ``left_out`` are rows that are not measured here."""

    def __init__(self, parts: RunParts, rule: SearchRule, left_out: Collection[int]) -> None:
        self._parts, self._rule = parts, rule
        self._plan = parts.results.plan()
        first: dict[SearchKey, PlanRow] = {}
        for record in self._plan:
            first.setdefault(name_search(record), parts.rows[record.row])
        self._first = {key: row for key, row in first.items() if row.row not in left_out}
        self._varied = list_varied([dict(key.settings) for key in first])
        self._records: dict[int, TrialRecord] = {}
        self.learn(parts.results.records())

    def learn(self, records: Iterable[TrialRecord]) -> None:
        """Take trials into account that were stored since."""
        self._records |= {record.plan_row: record for record in records if is_settled(record)}

    def list_unfinished(self, cycle: int | None = None) -> list[RateSearch]:
        """The searches of a cycle, or all, that have not ended."""
        plan = [row for row in self._plan if cycle is None or row.cycle == cycle]
        searches = list_searches(plan, self._records.values(), self._rule)
        return [search for search in searches if search.key in self._first and not search.is_finished]

    def count_unplanned(self) -> int:
        """Unfinished searches whose next row is not in the plan yet."""
        return sum(search.open_row is None for search in self.list_unfinished())

    def estimate_left(self, estimator: Estimator) -> tuple[int, int]:
        """Trials that are expected still, and their time one after the other in ns."""
        trials = time_ns = 0
        for search in self.list_unfinished():
            left = max(1, self._rule.trials_expected - len(search.measured))
            trials += left
            time_ns += left * estimator.trial(self._first[search.key]).time_ns
        return trials, time_ns

    def run(
        self, cycles: CycleRunner, interruption: Interruption, await_slot: Callable[[int], bool]
    ) -> str | None:
        """Run every search to its end, cycle by cycle; return why the whole run ends, if it does.

        Raises Interrupted when a signal does. A search whose trial failed, retries included, is left as it
        is: the next run continues it.
        """
        for cycle in range(self._parts.campaign.cycles_planned):
            if not self.list_unfinished(cycle):
                continue
            if not await_slot(cycle):
                return STOPPED
            ending = self._run_cycle(cycle, cycles, interruption)
            if ending is not None:
                return ending
        return None

    def _run_cycle(self, cycle: int, cycles: CycleRunner, interruption: Interruption) -> str | None:
        failed: set[SearchKey] = set()
        is_new_cycle = True
        while searches := [search for search in self.list_unfinished(cycle) if search.key not in failed]:
            rows = {search.key: self._choose_row(search) for search in searches}
            for search in searches:
                self._parts.emit(self._describe_step(search, rows[search.key]))
            ending = cycles.run(rows.values(), interruption, is_new_cycle=is_new_cycle)
            is_new_cycle = False
            self.learn(self._parts.results.records(plan_row=[row.row for row in rows.values()]))
            failed |= {key for key, row in rows.items() if row.row not in self._records}
            self._report_ended(cycle, rows.keys() - failed)
            if ending is not None:
                return ending
        return None

    def _choose_row(self, search: RateSearch) -> PlanRow:
        """The row that is planned and not measured, or a new one, which is stored."""
        if search.open_row is not None:
            return self._parts.rows[search.open_row.row]
        rate = search.state.next_bits_per_s
        assert rate is not None, "a search that has not ended has a next rate"
        first = self._first[search.key]
        row = replace(first, row=len(self._plan), cell=pace_cell(first.cell, rate))
        record = record_row(row)
        self._parts.results.add_plan_row(record)
        self._plan.append(record)
        self._parts.rows[row.row] = row
        return row

    def _describe_step(self, search: RateSearch, row: PlanRow) -> SearchNow:
        rate = row.cell.pacing_bits_per_s or 0
        tried = next((item.trials for item in search.state.rates if item.rate_bits_per_s == rate), 0)
        return SearchNow(
            row=row.row,
            rate_bits_per_s=rate,
            trial=tried + 1,
            below_bits_per_s=search.state.below_bits_per_s,
            above_bits_per_s=search.state.above_bits_per_s,
        )

    def _report_ended(self, cycle: int, keys: Collection[SearchKey]) -> None:
        """Say of each of these searches that has ended what it found."""
        plan = [row for row in self._plan if row.cycle == cycle]
        for search in list_searches(plan, self._records.values(), self._rule):
            if search.key in keys and search.is_finished:
                text = f"{self._name(search.key)}: {describe_ending(search.state, self._rule)}"
                state = search.state
                facts = {
                    "ending": str(state.ending),
                    "below_bits_per_s": state.below_bits_per_s,
                    "above_bits_per_s": state.above_bits_per_s,
                    "trials": state.trials,
                }
                self._parts.journal.add(SEARCH, text, row=search.rows[0].row, facts=facts)

    def _name(self, key: SearchKey) -> str:
        """Path and varied levels of a search; the cycle where there are several."""
        levels = format_levels({name: level for name, level in key.settings if name in self._varied})
        cycles = self._parts.campaign.cycles_planned
        parts = [f"{key.path_source} to {key.path_destination}"]
        parts += [f"{name} {text}" for name, text in levels.items()]
        parts += [f"cycle {key.cycle + 1}"] if cycles > 1 else []
        return ", ".join(parts)
