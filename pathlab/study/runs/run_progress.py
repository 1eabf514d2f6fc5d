"""How far a campaign is while somebody follows it: the state of each row, the time left, what it has used.

Everything comes from the results, so that a run is followed alike from its own process and from any other.
"""

from __future__ import annotations

import datetime
import functools
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pathlab.campaign.plan_times import PLAN_TIMES, PlanTimes, TimeLeft
from pathlab.errors import Stage
from pathlab.store.flags import Status
from pathlab.store.following import TrialOutcome
from pathlab.store.records import JournalRecord
from pathlab.study.runs.progress import BEGUN, ENDED, FINISHED

PAUSED, CONTINUED = "paused", "continued"  # kinds of journal entries around a pause


class RowState(StrEnum):
    """What became of a row of the plan so far; one letter, since plans are long."""

    PLANNED = "p"
    COMPLETE = "c"
    FAILED = "f"  # tried again by a retry or by the next run
    INTERRUPTED = "i"
    SAFETY = "s"  # ended by a safety limit, not tried again


class RunState(StrEnum):
    """What the run that writes some results does."""

    RUNNING = "running"
    PAUSING = "pausing"  # after the trial under way
    PAUSED = "paused"
    STOPPING = "stopping"  # after the trial under way
    FINISHED = "finished"
    ENDED = "ended"  # before its plan was complete; the same command continues it
    KILLED = "killed"  # without a word: its process was killed, or the machine went down
    STORED = "stored"  # of no run, such as imported results


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What can be seen of a run besides its results: the process that writes them, and requests to it."""

    writer: int | None
    stop_requested: bool = False
    pause_requested: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgress:
    """``rows`` holds a letter of RowState for each row of the plan.

    ``left`` None: not known, such as of searches, which decide as they go. ``sent_bytes`` is what the trials
    recorded, ``sent_today_bytes`` that of those which began today, by this machine's clock. ``measuring_s``
    is the time for which runs went on, without pauses; ``paused_s`` that of the pauses.
    """

    rows: str
    planned: int
    complete: int
    failed_trials: int
    left: TimeLeft | None
    sent_bytes: int
    sent_today_bytes: int
    measuring_s: float
    paused_s: float


class RunFollower:
    """Counts a campaign's rows, bytes and time as its trials and journal entries come in.

    ``planned``: rows of its plan.
    """

    def __init__(self, planned: int) -> None:
        self._rows = [RowState.PLANNED] * planned
        self._times: PlanTimes | None = None
        self._searches = False
        self._sent_by_day: Counter[datetime.date] = Counter()
        self._failed = 0
        self._last: JournalRecord | None = None
        self._begun: datetime.datetime | None = None  # of the run under way, or of the last one killed
        self._seen: datetime.datetime | None = None  # the latest time of an entry or a trial
        self._paused_at: datetime.datetime | None = None
        self._measured_s = self._paused_s = self._paused_now_s = 0.0

    @property
    def planned(self) -> int:
        """Rows of the plan."""
        return len(self._rows)

    def extend_plan(self, planned: int) -> None:
        """Rows were added, as searches for the lossless rate do."""
        self._rows += [RowState.PLANNED] * (planned - len(self._rows))

    def catch_up(self, trials: Iterable[TrialOutcome], journal: Iterable[JournalRecord]) -> None:
        """Take into account what is stored already: in the order of time."""
        steps: list[tuple[str, Callable[[], None]]] = [
            *((trial.started_utc, functools.partial(self.add_trial, trial)) for trial in trials),
            *((item.recorded_utc, functools.partial(self.add_entry, item)) for item in journal),
        ]
        for _, step in sorted(steps, key=operator.itemgetter(0)):
            step()

    def add_trial(self, trial: TrialOutcome) -> None:
        """Take a trial into account."""
        began = _read_time(trial.started_utc)
        self._seen = began or self._seen
        if began is not None:
            self._sent_by_day[began.astimezone().date()] += trial.sent_bytes
        self._failed += trial.status == Status.FAILED
        if 0 <= trial.plan_row < len(self._rows) and self._rows[trial.plan_row] != RowState.COMPLETE:
            self._rows[trial.plan_row] = _find_state(trial)

    def add_entry(self, entry: JournalRecord) -> None:
        """Take an entry of the journal into account."""
        self._last = entry
        now = _read_time(entry.recorded_utc) or self._seen
        if entry.kind in BEGUN:
            self._close(self._seen)
            self._begun = now
            times = PlanTimes.from_facts(entry.facts.get(PLAN_TIMES), len(self._rows))
            self._times = times or self._times
        elif entry.kind in (ENDED, FINISHED):
            self._close(now)
        elif entry.kind == PAUSED:
            self._paused_at = now
        elif entry.kind == CONTINUED:
            self._end_pause(now)
        self._seen = now

    def find_state(self, signs: Signs) -> RunState:
        """What the run does now."""
        kind = self._last.kind if self._last is not None else None
        if kind in (ENDED, FINISHED):  # a run that begins says so as soon as its hosts answer
            return RunState.FINISHED if kind == FINISHED else RunState.ENDED
        if signs.writer is None:
            return RunState.STORED if kind is None else RunState.KILLED
        if signs.stop_requested:
            return RunState.STOPPING
        if kind == PAUSED:
            return RunState.PAUSED
        return RunState.PAUSING if signs.pause_requested else RunState.RUNNING

    def describe_last(self) -> str | None:
        """The text of the latest journal entry, such as why the run ended."""
        return None if self._last is None else self._last.text

    def describe(self, state: RunState, now: datetime.datetime) -> RunProgress:
        """How far it is. ``now`` with a time zone: counts where the run goes on."""
        goes_on = state in (RunState.RUNNING, RunState.PAUSING, RunState.PAUSED, RunState.STOPPING)
        measured_s, paused_s = self._measured_s, self._paused_s
        if self._begun is not None:
            end = now if goes_on else (self._seen or self._begun)
            pause_s = self._paused_now_s
            if self._paused_at is not None:
                pause_s += max(0.0, (end - self._paused_at).total_seconds())
            measured_s += max(0.0, (end - self._begun).total_seconds() - pause_s)
            paused_s += pause_s
        wanted = [row for row, state_ in enumerate(self._rows) if state_ not in _SETTLED]
        if state == RunState.FINISHED:
            wanted = []  # a stop rule may have left rows out
        return RunProgress(
            rows="".join(self._rows),
            planned=len(self._rows),
            complete=self._rows.count(RowState.COMPLETE),
            failed_trials=self._failed,
            left=self._times.sum_left(wanted) if self._times is not None else None,
            sent_bytes=sum(self._sent_by_day.values()),
            sent_today_bytes=self._sent_by_day[now.astimezone().date()],
            measuring_s=measured_s,
            paused_s=paused_s,
        )

    def _end_pause(self, at: datetime.datetime | None) -> None:
        if self._paused_at is not None and at is not None:
            self._paused_now_s += max(0.0, (at - self._paused_at).total_seconds())
        self._paused_at = None

    def _close(self, at: datetime.datetime | None) -> None:
        """A run is over at this time: add what it took."""
        if self._begun is not None and at is not None:
            self._end_pause(at)
            whole_s = (at - self._begun).total_seconds()
            self._measured_s += max(0.0, whole_s - self._paused_now_s)
            self._paused_s += self._paused_now_s
        self._begun, self._paused_at, self._paused_now_s = None, None, 0.0


_SETTLED = (RowState.COMPLETE, RowState.SAFETY)


def read_budget(model: Mapping[str, Any]) -> dict[str, Any]:
    """The limits of a campaign's stored model, by name; what it does not limit is left out."""
    budget = model.get("budget")
    if not isinstance(budget, Mapping):
        return {}
    names = ("bytes_per_campaign", "bytes_per_day", "rate_bits_per_s", "hours")
    return {name: budget[name] for name in names if budget.get(name)}


def _find_state(trial: TrialOutcome) -> RowState:
    if trial.status == Status.COMPLETE:
        return RowState.COMPLETE
    if trial.failed_stage == Stage.SAFETY_LIMIT:
        return RowState.SAFETY
    return RowState.INTERRUPTED if trial.status == Status.INTERRUPTED else RowState.FAILED


def _read_time(text: str) -> datetime.datetime | None:
    """ISO 8601, in UTC where it names no zone; None for anything else, which a damaged file may hold."""
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo is not None else time.replace(tzinfo=datetime.UTC)
