"""How much of a plan was measured, what of it was excluded, and what a reader must be warned of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pathlab.analysis.estimators.quantiles import median_interval_minimum
from pathlab.store.flags import Status
from pathlab.store.records import JournalRecord, PlanRecord
from pathlab.study.base.answer import Spread, measure_spread
from pathlab.study.base.cells import Cell, MeasuredCondition
from pathlab.study.base.trials import TrialTable, list_values

ENDS = ("sender", "receiver")
ENDED, FINISHED = "ended", "finished"  # kinds of the journal's last entry
BUSY = "busy"  # kind of an entry on hosts that others used before the first trial
LEFT_OUT = "left-out"  # kind of an entry on trials of technologies that a host lacks
BEGUN = ("started", "resumed")  # kinds of the first entry of a run


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCounts:
    """``planned`` rows, those of them ``done`` and still ``missing``, cycles, and trials by outcome.

    ``failed`` counts every trial that failed, repeats included; ``stages`` are where these ended.
    ``interrupted`` ones were ended by the user or by a signal.
    """

    planned: int
    done: int  # plan rows with a complete trial
    missing: int  # plan rows that another run has still to measure
    cycles: int
    complete: int
    failed: int
    stages: tuple[str, ...]
    interrupted: int = 0

    @property
    def all_complete(self) -> bool:
        """Whether every planned row was measured at the first attempt."""
        return self.done == self.complete == self.planned and not (self.failed or self.interrupted)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialLength:
    """A length that complete trials had: the steady window requested, or an amount and the lengths measured.

    ``duration_ns`` None: by amount, of ``amount_bytes`` (None: not known).
    """

    duration_ns: int | None
    amount_bytes: int | None
    measured_ns: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialUse:
    """Trials of several conditions: ``excluded`` from medians by reason, ``flags`` of complete ones."""

    excluded: Mapping[str, int]
    flags: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionWarnings:
    """The measured combinations that a reader must be warned of.

    ``mostly`` are, by flag, those of which more than half of the complete trials bear it, ``partly`` those of
    which any does. ``short`` were granted less than the window requested, ``least_granted_bytes`` at least.
    ``too_few`` have fewer trials than a confidence interval needs, ``least_trials`` the fewest of all.
    """

    cells: tuple[Cell, ...]
    mostly: Mapping[str, tuple[Cell, ...]]
    partly: Mapping[str, tuple[Cell, ...]]
    short: tuple[Cell, ...]
    least_granted_bytes: int | None
    too_few: tuple[Cell, ...]
    least_trials: int

    @property
    def evenly_few(self) -> bool:
        """Whether all combinations have the same, too small number of trials."""
        return bool(self.too_few) and all(len(cell.complete) == self.least_trials for cell in self.cells)


def survey_conditions(conditions: Sequence[MeasuredCondition]) -> TrialUse:
    """Count the excluded trials and the flags of all conditions together, in the order of their names."""
    excluded, flags = Counter[str](), Counter[str]()
    for condition in conditions:
        excluded.update({item.reason: item.trials for item in condition.sample.selection.excluded})
        flags.update(condition.complete.count_flags())
    return TrialUse(excluded=dict(sorted(excluded.items())), flags=dict(sorted(flags.items())))


def find_warnings(*conditions: MeasuredCondition) -> ConditionWarnings:
    """What to warn of in conditions, over their combinations with a complete trial."""
    cells = tuple(cell for condition in conditions for cell in condition.measured_cells)
    counts = [(cell, cell.complete.count_flags()) for cell in cells]
    names = sorted({name for _, flags in counts for name in flags})
    short = tuple(cell for cell in cells if cell.complete.is_short.any())
    grants = (cell.complete.find_least_granted(end) for cell in short for end in ENDS)
    needed = median_interval_minimum()
    return ConditionWarnings(
        cells=cells,
        mostly={
            name: result
            for name in names
            if (
                result := tuple(cell for cell, flags in counts if 2 * flags.get(name, 0) > len(cell.complete))
            )
        },
        partly={name: tuple(cell for cell, flags in counts if name in flags) for name in names},
        short=short,
        least_granted_bytes=min((size for size in grants if size is not None), default=None),
        too_few=tuple(cell for cell in cells if len(cell.complete) < needed),
        least_trials=min((len(cell.complete) for cell in cells), default=0),
    )


def count_trials(
    plan: Sequence[PlanRecord], journal: Sequence[JournalRecord], table: TrialTable
) -> RunCounts:
    """Count plan rows and trials."""
    statuses, rows, stages = list_values(table.frame, ("status", "plan_row", "failed_stage"))
    done = len({row for row, status in zip(rows, statuses, strict=True) if status == Status.COMPLETE})
    others = (Status.COMPLETE, Status.INTERRUPTED)
    failed = [stage or status for stage, status in zip(stages, statuses, strict=True) if status not in others]
    return RunCounts(
        planned=len(plan),
        done=done,
        missing=count_missing(journal, len(plan) - done),
        cycles=len({row.cycle for row in plan} or set(table.frame["cycle"].tolist())),
        complete=statuses.count(Status.COMPLETE),
        failed=len(failed),
        stages=tuple(sorted(set(failed))),
        interrupted=statuses.count(Status.INTERRUPTED),
    )


def describe_busy_hosts(journal: Sequence[JournalRecord]) -> tuple[tuple[str, str], ...]:
    """Of each run that began on busy hosts the time, ISO 8601, and what the hosts were found to do."""
    entries = ((entry, entry.facts.get("found") or {}) for entry in journal if entry.kind == BUSY)
    return tuple(
        (entry.recorded_utc, "; ".join(f"{name}: {text}" for name, text in result.items()))
        for entry, result in entries
        if result
    )


def describe_left_out(journal: Sequence[JournalRecord]) -> str | None:
    """What the latest run left out because a host lacks a technology; None: nothing."""
    text = None
    for entry in journal:
        if entry.kind == LEFT_OUT:
            text = entry.text
        elif entry.kind in BEGUN:
            text = None
    return text


def count_missing(journal: Sequence[JournalRecord], without_result: int) -> int:
    """Of the rows without a result those that are still wanted: not so after a stop rule or a ceiling."""
    last = journal[-1] if journal else None
    if last is None or last.kind not in (ENDED, FINISHED):
        return without_result
    return min(without_result, 0 if last.kind == FINISHED else int(last.facts.get("missing", without_result)))


def list_lengths(table: TrialTable) -> tuple[TrialLength, ...]:
    """Every length of complete trials, in the order in which they were first measured."""
    result: dict[tuple[int | None, int | None], list[float]] = {}
    columns = list_values(table.frame, ("status", "duration_ns", "steady_ns"))
    for condition, status, duration_ns, steady_ns in zip(table.conditions, *columns, strict=True):
        if status == Status.COMPLETE:
            amount = condition.get("transfer_bytes") if not duration_ns else None
            key = (duration_ns or None, amount if isinstance(amount, int) else None)
            result.setdefault(key, []).append(steady_ns or np.nan)
    return tuple(
        TrialLength(
            duration_ns=duration_ns, amount_bytes=amount, measured_ns=measure_spread(np.array(measured))
        )
        for (duration_ns, amount), measured in result.items()
    )
