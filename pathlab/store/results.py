"""Results of one campaign: one folder, one file, one transaction per trial."""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import sqlalchemy as sa

from pathlab._version import VERSION
from pathlab.errors import StoreError, UsageError
from pathlab.store.database import (
    DATABASE_NAME,
    locate_database,
    needs_upgrade,
    open_engine,
    read_meta,
    upgrade_database,
    write_meta,
)
from pathlab.store.faults import translate_faults
from pathlab.store.lock import FolderLock
from pathlab.store.records import CampaignRecord, HostRecord, PlanRecord, TrialRecord
from pathlab.store.schema import CAMPAIGN, HOST, METADATA, PLAN, SERIES, TRIAL, column_types, from_row, to_row
from pathlab.store.series import check_kind, decode_series, encode_series

if TYPE_CHECKING:
    import pandas as pd

_FRAME_TYPES: Mapping[type, Any] = {int: "Int64", float: "Float64", str: "string"}


class Results:
    """A results file, open for reading, or for writing by this process alone.

    Made by ``create`` and ``open``; a context manager. Every method raises StoreError when the file cannot
    be read or written; what was stored before is never lost by that.
    """

    def __init__(
        self, database: Path, engine: sa.Engine, meta: Mapping[str, str], lock: FolderLock | None
    ) -> None:
        self.path = database
        self.format_version = int(meta["format_version"])
        self.program_version = meta.get("program_version", "unknown")
        self._engine = engine
        self._lock = lock
        self._writable = lock is not None
        with self._reading() as connection:
            row = connection.execute(sa.select(CAMPAIGN)).mappings().one_or_none()
        if row is None:
            raise StoreError(
                f"'{database}' holds no campaign", hint="Run the campaign again into another folder."
            )
        self.campaign = from_row(CampaignRecord, row)

    @classmethod
    def create(cls, folder: str | Path, campaign: CampaignRecord, plan: Sequence[PlanRecord]) -> Results:
        """Make a results folder with its plan and return it, open for writing.

        Raises StoreError when the folder already holds results, or another process writes it.
        """
        folder = Path(folder)
        database = folder / DATABASE_NAME
        fresh = database.with_name(DATABASE_NAME + ".new")
        with translate_faults(database):
            folder.mkdir(parents=True, exist_ok=True)
            lock = FolderLock(folder)
        try:
            if database.exists():
                raise StoreError(
                    f"folder '{folder}' already holds results",
                    hint="Run the same campaign again to continue them, or give another folder.",
                )
            with translate_faults(database, subject="a plan that names a row twice"):
                fresh.unlink(missing_ok=True)
                with open_engine(fresh, write=True).begin() as connection:
                    METADATA.create_all(connection)
                    write_meta(connection, VERSION)
                    connection.execute(sa.insert(CAMPAIGN), to_row(campaign))
                    if plan:
                        connection.execute(sa.insert(PLAN), [to_row(row) for row in plan])
                # whole or not at all: a results file without its plan never bears the final name
                fresh.rename(database)
                _sync_folder(folder)
            engine = open_engine(database, write=True)
            return cls(database, engine, read_meta(engine, database), lock)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def open(cls, path: str | Path, *, write: bool = False) -> Results:
        """Open a results folder, or the file inside one; an older format is upgraded, with a copy kept.

        Raises StoreError: missing, not PathLab's, of a newer format, or being written by another process.
        """
        database = locate_database(Path(path))
        lock = None
        with translate_faults(database):
            if write:
                lock = FolderLock(database.parent)
        try:
            engine = open_engine(database, write=write)
            meta = read_meta(engine, database)
            if needs_upgrade(meta):
                _upgrade(database, int(meta["format_version"]), locked=write)
                meta = read_meta(engine, database)
            return cls(database, engine, meta, lock)
        except BaseException:
            if lock is not None:
                lock.release()
            raise

    def close(self) -> None:
        """Let go of the file; a second call does nothing."""
        self._engine.dispose()
        self._writable = False
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def folder(self) -> Path:
        """The results folder."""
        return self.path.parent

    def plan(self) -> list[PlanRecord]:
        """Return the plan in its order of execution."""
        return self._plan_rows(sa.select(PLAN))

    def unfinished(self) -> list[PlanRecord]:
        """Return the plan rows that have no complete trial, in order."""
        done = sa.exists().where(TRIAL.c.plan_row == PLAN.c.row, TRIAL.c.status == "complete")
        return self._plan_rows(sa.select(PLAN).where(~done))

    def attempts(self) -> dict[int, int]:
        """Return the highest attempt stored for each plan row that has one."""
        query = sa.select(TRIAL.c.plan_row, sa.func.max(TRIAL.c.attempt)).group_by(TRIAL.c.plan_row)
        with self._reading() as connection:
            return {int(row): int(attempt) for row, attempt in connection.execute(query)}

    def add_host(self, host: HostRecord) -> None:
        """Store the facts of one host."""
        with self._writing(f"host '{host.name}'") as connection:
            connection.execute(sa.insert(HOST), to_row(host))

    def hosts(self) -> list[HostRecord]:
        """Return the facts of every host, as they were recorded, in that order."""
        with self._reading() as connection:
            rows = connection.execute(sa.select(HOST).order_by(HOST.c.host_id)).mappings().all()
        return [from_row(HostRecord, row) for row in rows]

    def add_trial(self, trial: TrialRecord, series: Mapping[str, pa.Table]) -> int:
        """Store one trial with its series in one transaction and return its id.

        When this returns, the trial is on the disk. Raises UsageError for a value or a kind of series
        that does not fit, StoreError when the trial could not be stored.
        """
        row = to_row(trial)
        blobs = {kind: encode_series(kind, table) for kind, table in series.items()}
        subject = f"attempt {trial.attempt} of plan row {trial.plan_row}: not planned, or stored already"
        with self._writing(subject) as connection:
            key = connection.execute(sa.insert(TRIAL), row).inserted_primary_key
            trial_id = int(key[0]) if key else 0
            for kind, blob in blobs.items():
                values = {
                    "trial_id": trial_id,
                    "kind": kind,
                    "rows": series[kind].num_rows,
                    "sha256": hashlib.sha256(blob).hexdigest(),
                    "blob": blob,
                }
                connection.execute(sa.insert(SERIES), values)
        return trial_id

    def trials(self, **where: Any) -> pd.DataFrame:
        """Return trials as a data frame, one typed column per field and ``trial_id``; missing stays missing.

        ``where`` names columns: a value selects equal ones, a list any of its values, None what was not
        measured. Raises UsageError for a column that does not exist.
        """
        import pandas as pd

        rows = self._trial_rows(where)
        types = {"trial_id": int} | {name: item.base for name, item in column_types(TrialRecord).items()}
        columns = {
            name: pd.Series([row[name] for row in rows], dtype=_FRAME_TYPES.get(base, object))
            for name, base in types.items()
        }
        return pd.DataFrame(columns)

    def records(self, **where: Any) -> list[TrialRecord]:
        """Return trials as records, in the order in which they were stored; ``where`` as in ``trials``."""
        return [from_row(TrialRecord, row) for row in self._trial_rows(where)]

    def record(self, trial_id: int) -> TrialRecord:
        """Return one trial. Raises UsageError when there is none of that id."""
        found = self.records(trial_id=trial_id)
        if not found:
            raise UsageError(
                f"there is no trial {trial_id} in '{self.path}'", hint="Results.trials() lists them."
            )
        return found[0]

    def series_kinds(self, trial_id: int) -> tuple[str, ...]:
        """Return the kinds of series that a trial kept, by name."""
        query = sa.select(SERIES.c.kind).where(SERIES.c.trial_id == trial_id).order_by(SERIES.c.kind)
        with self._reading() as connection:
            return tuple(connection.execute(query).scalars())

    def series_table(self, trial_id: int, kind: str) -> pa.Table:
        """Return one series as the Arrow table that was stored.

        Raises UsageError for an unknown kind or trial, StoreError when the trial kept no such series or it is
        damaged.
        """
        check_kind(kind)
        query = sa.select(SERIES.c.blob, SERIES.c.sha256)
        query = query.where(SERIES.c.trial_id == trial_id, SERIES.c.kind == kind)
        with self._reading() as connection:
            found = connection.execute(query).one_or_none()
        if found is None:
            self.record(trial_id)
            kept = ", ".join(self.series_kinds(trial_id)) or "none"
            raise StoreError(f"trial {trial_id} kept no series '{kind}'", hint=f"It kept: {kept}.")
        if hashlib.sha256(found.blob).hexdigest() != found.sha256:
            raise StoreError(
                f"series '{kind}' of trial {trial_id} in '{self.path}' is damaged",
                hint="Every other series and every trial's figures can still be read.",
            )
        return decode_series(kind, found.blob)

    def series(self, trial_id: int, kind: str) -> pd.DataFrame:
        """Return one series as a data frame with nullable columns, so that a lost probe stays missing.

        Raises as ``series_table``.
        """
        import pandas as pd

        kinds: dict[Any, Any] = {
            pa.int64(): pd.Int64Dtype(),
            pa.int32(): pd.Int32Dtype(),
            pa.float64(): pd.Float64Dtype(),
            pa.bool_(): pd.BooleanDtype(),
            pa.string(): pd.StringDtype(),
        }
        frame: pd.DataFrame = self.series_table(trial_id, kind).to_pandas(types_mapper=kinds.get)
        return frame

    def export_record(self, trial_id: int, *, with_series: bool = False) -> dict[str, Any]:
        """Return one trial as a dict that JSON can hold: its figures, its plan row, versions and campaign.

        ``with_series`` adds every series as lists by column. Raises as ``record`` and ``series_table``.
        """
        trial = dataclasses.asdict(self.record(trial_id))
        trial["flags"] = list(trial["flags"])
        planned = self._plan_rows(sa.select(PLAN).where(PLAN.c.row == trial["plan_row"]))
        kinds = self.series_kinds(trial_id)
        exported: dict[str, Any] = {
            "format_version": self.format_version,
            "program_version": self.program_version,
            "campaign": {"name": self.campaign.name, "digest": self.campaign.digest},
            "plan": dataclasses.asdict(planned[0]) if planned else None,
            "trial": {"trial_id": trial_id, **trial},
            "series_kinds": list(kinds),
        }
        if with_series:
            exported["series"] = {kind: self.series_table(trial_id, kind).to_pydict() for kind in kinds}
        return exported

    def _plan_rows(self, query: sa.Select[Any]) -> list[PlanRecord]:
        with self._reading() as connection:
            rows = connection.execute(query.order_by(PLAN.c.row)).mappings().all()
        return [from_row(PlanRecord, row) for row in rows]

    def _trial_rows(self, where: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        query = sa.select(TRIAL).order_by(TRIAL.c.trial_id)
        for name, value in where.items():
            column = TRIAL.c.get(name)
            if column is None:
                nearest = difflib.get_close_matches(name, TRIAL.c.keys(), n=1)
                meant = f"; did you mean '{nearest[0]}'?" if nearest else ""
                raise UsageError(
                    f"trials have no column '{name}'{meant}", hint="trials().columns lists them."
                )
            several = isinstance(value, (list, tuple, set, frozenset, range))
            query = query.where(
                column.in_([_plain(item) for item in value]) if several else column == _plain(value)
            )
        with self._reading() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with translate_faults(self.path), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _writing(self, subject: str) -> Iterator[sa.Connection]:
        if not self._writable:
            raise UsageError(f"'{self.path}' is open for reading only", hint="Open it with write=True.")
        with translate_faults(self.path, subject=subject), self._engine.begin() as connection:
            yield connection


def _plain(value: Any) -> Any:
    """A scalar of numpy or pandas as Python's own, which is all that SQLite takes."""
    return value.item() if hasattr(value, "item") else value


def _upgrade(database: Path, found: int, *, locked: bool) -> None:
    lock = None
    with translate_faults(database):
        if not locked:
            lock = FolderLock(database.parent)
    try:
        upgrade_database(database, found)
    finally:
        if lock is not None:
            lock.release()


def _sync_folder(folder: Path) -> None:
    """Make a new name in a folder survive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
