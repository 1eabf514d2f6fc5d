"""Check the integrity of a results file: every page, row, column and series, and its captures."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from pathlab.errors import PathlabError
from pathlab.store.capture_files import check_captures
from pathlab.store.database import connect_reading, open_engine, read_meta
from pathlab.store.faults import translate_faults
from pathlab.store.flags import Flag, Status
from pathlab.store.location import locate_database
from pathlab.store.older_files import add_missing_columns
from pathlab.store.row_check import list_type_faults, list_value_faults
from pathlab.store.schema import CAMPAIGN, PLAN, SERIES, TABLES, TRIAL
from pathlab.store.series import decode_series
from pathlab.store.series_columns import SERIES_KINDS, find_column_fault

_BATCH_ROWS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What a check looked at, each fault as one line, and what is no damage but may be unwanted."""

    path: Path
    trials: int
    series: int
    faults: tuple[str, ...]
    notes: tuple[str, ...] = ()


def check_results(path: Path) -> Check:
    """Hold a results file against itself: SQLite, keys, counts, digests, series, types, captures.

    Nothing is changed.

    Raises StoreError when it cannot be opened at all.
    """
    database = locate_database(path)
    with translate_faults(database):
        faults = [*_check_sqlite(database)]
    if faults:
        return Check(path=database, trials=0, series=0, faults=tuple(faults))
    engine = open_engine(database, write=False)
    writer = read_meta(engine, database).get("program_version", "unknown")
    add_missing_columns(engine, database, writer, write=False)
    with translate_faults(database), engine.connect() as connection:
        faults += _check_records(connection)
        trials = int(connection.execute(sa.select(sa.func.count()).select_from(TRIAL)).scalar_one())
        series = 0
        for fault in _check_series(connection):
            series += 1
            if fault:
                faults.append(fault)
        captures = list(check_captures(connection, database.parent))
    faults += [line for line, is_damage in captures if is_damage]
    notes = tuple(line for line, is_damage in captures if not is_damage)
    return Check(path=database, trials=trials, series=series, faults=tuple(faults), notes=notes)


def _check_sqlite(database: Path) -> Iterator[str]:
    with contextlib.closing(connect_reading(database)) as connection:
        for (said,) in connection.execute("PRAGMA integrity_check"):
            if said != "ok":
                yield f"SQLite: {' '.join(str(said).split())}"
        for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check"):
            yield f"row {row} of table '{table}' belongs to a row of '{parent}' that is not there"


def _check_records(connection: sa.Connection) -> Iterator[str]:
    """Every column of every row, then trials against their plan."""
    for record, table in TABLES.items():
        result = connection.execute(sa.select(table), execution_options={"yield_per": _BATCH_ROWS})
        for rows in result.partitions():
            faults = [*list_type_faults(record, rows)]
            yield from faults
            if not faults:  # what has a wrong type is not looked into
                yield from list_value_faults(record, rows)
    count = connection.execute(sa.select(sa.func.count()).select_from(CAMPAIGN)).scalar_one()
    if count != 1:
        yield f"table 'campaign' has {count} rows, not one"
    yield from _check_trials(connection)


def _check_trials(connection: sa.Connection) -> Iterator[str]:
    plan = {row.row: row.cycle for row in connection.execute(sa.select(PLAN.c.row, PLAN.c.cycle))}
    if set(plan) != set(range(len(plan))):
        yield f"the plan has {len(plan)} rows, and they are not numbered 0 to {len(plan) - 1}"
    done: dict[int, int] = {}
    repeated = {Flag.LAB_LIMITED, Flag.HOST_STALLED}
    columns = (TRIAL.c.trial_id, TRIAL.c.plan_row, TRIAL.c.cycle, TRIAL.c.status, TRIAL.c.flags)
    for number, plan_row, cycle, status, flags in connection.execute(sa.select(*columns)):
        if plan_row not in plan:
            yield f"trial {number} measured plan row {plan_row}, which is not there"
        elif plan[plan_row] != cycle:
            yield f"trial {number} belongs to another cycle than its plan row {plan_row}"
        if status != Status.COMPLETE or (isinstance(flags, tuple) and repeated.intersection(flags)):
            continue  # a trial in which the lab was at its limit, or a program stood still, is measured again
        if done.setdefault(plan_row, number) != number:
            both = f"{done[plan_row]} and {number}"
            yield f"plan row {plan_row} is complete twice, by trials {both}"


def _check_series(connection: sa.Connection) -> Iterator[str | None]:
    """One answer per series: None, or what is wrong with it."""
    keys = connection.execute(sa.select(SERIES.c.trial_id, SERIES.c.kind)).all()
    for trial_id, kind in keys:
        if not isinstance(trial_id, int) or kind not in SERIES_KINDS:
            yield f"table 'series' has a row of trial {trial_id!r} and kind {kind!r}, which there is not"
            continue
        result = connection.execute(
            sa.select(SERIES.c.rows, SERIES.c.sha256, SERIES.c.blob).where(
                SERIES.c.trial_id == trial_id, SERIES.c.kind == kind
            )
        ).one()
        yield _check_blob(f"series '{kind}' of trial {trial_id}", kind, result)


def _check_blob(subject: str, kind: str, result: Any) -> str | None:
    if not isinstance(result.blob, bytes) or not isinstance(result.rows, int):
        return f"{subject} holds no bytes, or no number of rows"
    if hashlib.sha256(result.blob).hexdigest() != result.sha256:
        return f"{subject} does not have the digest that was stored with it"
    try:
        table = decode_series(kind, result.blob)
    except PathlabError as error:
        return f"{subject}: {error}"
    if table.num_rows != result.rows:
        return f"{subject} has {table.num_rows} rows where {result.rows} were stored"
    fault = find_column_fault(kind, table)
    return None if fault is None else f"{subject}: {fault}"
