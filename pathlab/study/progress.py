"""How much of a plan was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pathlab.store.flags import Status
from pathlab.store.records import JournalRecord, PlanRecord
from pathlab.study.trials import TrialTable, list_values

ENDED, FINISHED = "ended", "finished"  # kinds of the journal's last entry


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCounts:
    """``planned`` rows, those of them ``done`` and still ``missing``, cycles, and trials by outcome.

    ``failed`` counts every trial that did not complete, repeats included; ``stages`` are where these ended.
    """

    planned: int
    done: int  # plan rows with a complete trial
    missing: int  # plan rows that another run has still to measure
    cycles: int
    complete: int
    failed: int
    stages: tuple[str, ...]


def count_trials(
    plan: Sequence[PlanRecord], journal: Sequence[JournalRecord], table: TrialTable
) -> RunCounts:
    """Count plan rows and trials."""
    statuses, rows, stages = list_values(table.frame, ("status", "plan_row", "failed_stage"))
    done = len({row for row, status in zip(rows, statuses, strict=True) if status == Status.COMPLETE})
    failed = [
        stage or status for stage, status in zip(stages, statuses, strict=True) if status != Status.COMPLETE
    ]
    return RunCounts(
        planned=len(plan),
        done=done,
        missing=_count_missing(journal, len(plan) - done),
        cycles=len({row.cycle for row in plan} or set(table.frame["cycle"].tolist())),
        complete=len(statuses) - len(failed),
        failed=len(failed),
        stages=tuple(sorted(set(failed))),
    )


def _count_missing(journal: Sequence[JournalRecord], without_result: int) -> int:
    """Of the rows without a result those that are still wanted: not so after a stop rule or a ceiling."""
    last = journal[-1] if journal else None
    if last is None or last.kind not in (ENDED, FINISHED):
        return without_result
    return min(without_result, 0 if last.kind == FINISHED else int(last.facts.get("missing", without_result)))
