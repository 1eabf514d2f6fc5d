"""Cycles of trials that no plan had: neighbours in time of different conditions, never trials of days apart.

Of imported trials and of those of a history.
"""

from __future__ import annotations

import datetime
import itertools
import statistics
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlab.store.records import TrialRecord
    from pathlab.store.results import Results

#: A pause longer than this multiple of the median pause ends a cycle, ...
PAUSE_RATIO = 4
#: ... and so does one of six hours: the path may be another one at that time of day.
PAUSE_MAX_S = 6 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedTrial:
    """When a trial started (None: not known), and everything but its time that it was measured under."""

    started: datetime.datetime | None
    condition: Hashable


def read_start(started_utc: str) -> datetime.datetime | None:
    """The time of a record, None where it is none."""
    try:
        result = datetime.datetime.fromisoformat(started_utc)
    except ValueError:
        return None
    return result if result.tzinfo else result.replace(tzinfo=datetime.UTC)


def sort_by_time(trials: Sequence[TimedTrial]) -> list[int]:
    """The places of the trials in the order of their times; of equal ones, each condition once in turn."""
    seen: Counter[Hashable] = Counter()
    keys = []
    for index, trial in enumerate(trials):
        keys.append((trial.started or _NEVER, seen[trial.started, trial.condition], index))
        seen[trial.started, trial.condition] += 1
    return [index for *_, index in sorted(keys)]


def time_trial(record: TrialRecord, settings: Mapping[str, Any]) -> TimedTrial:
    """When a trial started, and its path and settings."""
    condition = repr((record.path_source, record.path_destination, sorted(settings.items())))
    return TimedTrial(started=read_start(record.started_utc), condition=condition)


def continue_cycles(results: Results, new: Sequence[TimedTrial]) -> list[int]:
    """The cycles of further trials, in the order of their times: the last stored one may go on."""
    _, last = results.find_plan_end()
    settings = {row.row: row.settings for row in results.plan(cycle=last)}
    latest = [
        time_trial(record, settings[record.plan_row])
        for record in results.records(cycle=last)
        if record.plan_row in settings
    ]
    latest = [latest[index] for index in sort_by_time(latest)]
    known = [trial.started for trial in latest if trial.started is not None]
    if not latest or not new or new[0].started is None or not known or new[0].started < max(known):
        return [last + 1 + cycle for cycle in number_cycles(new)]
    return [last + cycle for cycle in number_cycles([*latest, *new])[len(latest) :]]


def number_cycles(trials: Sequence[TimedTrial]) -> list[int]:
    """The cycle of each trial, which are in the order of ``sort_by_time``: from 0, ascending.

    A cycle ends before a trial whose condition it already has, and at a pause of more than four usual ones
    (the median), or of six hours: what is compared in pairs of a cycle then met the same path, and not that
    of another day.
    """
    longest_s = _find_longest_pause_s(trials)
    cycles: list[int] = []
    members: set[Hashable] = set()
    for index, trial in enumerate(trials):
        pause_s = _measure_pause_s(trials[index - 1], trial) if index else 0.0
        if index and (trial.condition in members or pause_s > longest_s):
            members.clear()
        cycles.append(0 if not index else cycles[-1] + (not members))
        members.add(trial.condition)
    return cycles


_NEVER = datetime.datetime.min.replace(tzinfo=datetime.UTC)


def _measure_pause_s(before: TimedTrial, after: TimedTrial) -> float:
    if before.started is None or after.started is None:
        return 0.0
    return (after.started - before.started).total_seconds()


def _find_longest_pause_s(trials: Sequence[TimedTrial]) -> float:
    pauses = [_measure_pause_s(*pair) for pair in itertools.pairwise(trials)]
    known = [pause for pause in pauses if pause > 0]
    return min(PAUSE_MAX_S, PAUSE_RATIO * statistics.median(known)) if known else PAUSE_MAX_S
