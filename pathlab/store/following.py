"""Reading on in results that are being written: what was stored after given numbers, and a light overview."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from pathlab.store.records import JournalRecord, TrialRecord
from pathlab.store.results import Results
from pathlab.store.row_check import check_rows, read_records
from pathlab.store.schema import JOURNAL, TRIAL


@dataclass(frozen=True, slots=True, order=True)
class Cursor:
    """The highest numbers that a reader has, of the journal and of trials; both count from 1."""

    journal: int = 0
    trial: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEntry:
    """A row of the journal or a trial, and the cursor of a reader who has it."""

    cursor: Cursor
    record: JournalRecord | TrialRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialOutcome:
    """What progress needs of a trial."""

    plan_row: int
    status: str
    failed_stage: str | None
    started_utc: str
    sent_bytes: int


def read_entries(results: Results, after: Cursor, most: int) -> list[StoredEntry]:
    """What was stored after a cursor, in the order of time, about ``most`` entries at a time; none: all read.

    Within journal and trials the order is that of their numbers. An entry of the journal comes behind the
    trials that began before it. Raises StoreError.
    """
    with results.reading() as connection:
        journal_query = sa.select(JOURNAL).where(JOURNAL.c.journal_id > after.journal)
        entries = connection.execute(journal_query.order_by(JOURNAL.c.journal_id).limit(most)).all()
        trial_query = sa.select(TRIAL).where(TRIAL.c.trial_id > after.trial)
        trials = connection.execute(trial_query.order_by(TRIAL.c.trial_id).limit(most)).all()
    journal = read_records(JournalRecord, entries, results.path)
    measured = read_records(TrialRecord, trials, results.path)
    merged = _merge(
        after,
        list(zip([int(row.journal_id) for row in entries], journal, strict=True)),
        list(zip([int(row.trial_id) for row in trials], measured, strict=True)),
    )
    result = []
    left = {JournalRecord: len(entries), TrialRecord: len(trials)}
    full = {JournalRecord: len(entries) == most, TrialRecord: len(trials) == most}
    for entry in merged:
        kind = type(entry.record)
        result.append(entry)
        left[kind] -= 1
        if full[kind] and not left[kind]:  # more of its kind may come before the other kind's next
            break
    return result


def read_last(results: Results) -> Cursor:
    """The cursor of a reader who has everything that is stored now. Raises StoreError."""
    with results.reading() as connection:
        journal = connection.execute(sa.select(sa.func.max(JOURNAL.c.journal_id))).scalar()
        trial = connection.execute(sa.select(sa.func.max(TRIAL.c.trial_id))).scalar()
    return Cursor(int(journal or 0), int(trial or 0))


def read_journal(results: Results, last: Cursor) -> list[JournalRecord]:
    """The journal up to a cursor, in order. Raises StoreError."""
    query = sa.select(JOURNAL).where(JOURNAL.c.journal_id <= last.journal).order_by(JOURNAL.c.journal_id)
    with results.reading() as connection:
        return read_records(JournalRecord, connection.execute(query).all(), results.path)


def read_outcomes(results: Results, last: Cursor) -> list[TrialOutcome]:
    """How the trials up to a cursor ended, in the order of their numbers. Raises StoreError."""
    names = ("plan_row", "status", "failed_stage", "started_utc", "sent_total_bytes", "received_total_bytes")
    query = sa.select(TRIAL.c.trial_id, *(TRIAL.c[name] for name in names))
    query = query.where(TRIAL.c.trial_id <= last.trial).order_by(TRIAL.c.trial_id)
    with results.reading() as connection:
        rows = connection.execute(query).all()
    check_rows(TrialRecord, rows, results.path)
    return [describe_outcome(row) for row in rows]


def describe_outcome(trial: TrialRecord | sa.Row[tuple[object, ...]]) -> TrialOutcome:
    """The outcome of a trial; what arrived counts as sent where the sender's own count is missing."""
    return TrialOutcome(
        plan_row=trial.plan_row,
        status=trial.status,
        failed_stage=trial.failed_stage,
        started_utc=trial.started_utc,
        sent_bytes=trial.sent_total_bytes or trial.received_total_bytes or 0,
    )


def _merge(
    after: Cursor,
    entries: Sequence[tuple[int, JournalRecord]],
    trials: Sequence[tuple[int, TrialRecord]],
) -> Iterator[StoredEntry]:
    """Both in one order of time; each keeps its own order, whatever its times are."""
    journal, trial = after.journal, after.trial
    entries_left, trials_left = deque(entries), deque(trials)
    while entries_left or trials_left:
        if trials_left and not (entries_left and _comes_before(entries_left[0][1], trials_left[0][1])):
            trial, measured = trials_left.popleft()
            yield StoredEntry(cursor=Cursor(journal, trial), record=measured)
        else:
            journal, entry = entries_left.popleft()
            yield StoredEntry(cursor=Cursor(journal, trial), record=entry)


def _comes_before(entry: JournalRecord, trial: TrialRecord) -> bool:
    return entry.recorded_utc < trial.started_utc  # ISO 8601 in UTC, whose texts sort as the times do
